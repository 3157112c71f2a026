//! What the previous run knew and this run does not find: a removal that is proven is carried out and reported as a
//! danger; anything else is an error, and every file stays as it was.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::support::scenes::losses::{CLUSTER, generated, host};
use crate::support::{Repo, assert_says};

/// A way in which a file stops being one that is read.
type Hide = fn(&Path);

/// Moves a file out of the repo, and returns where it is.
fn moved_out(file: &Path) -> std::path::PathBuf {
    let elsewhere = tempfile::tempdir().unwrap().keep().join("moved.yaml");
    fs::rename(file, &elsewhere).unwrap();
    elsewhere
}

/// Every way that makes the loss of what a file has unproven.
const HIDDEN: [(&str, Hide); 11] = [
    ("link out of the repo", |file| symlink(moved_out(file), file).unwrap()),
    ("dangling link", |file| {
        fs::remove_file(file).unwrap();
        symlink("nowhere.yaml", file).unwrap();
    }),
    ("link to a file of another ending", |file| {
        fs::rename(file, file.with_extension("txt")).unwrap();
        symlink(file.with_extension("txt").file_name().unwrap(), file).unwrap();
    }),
    ("pipe", |file| {
        fs::remove_file(file).unwrap();
        assert!(Command::new("mkfifo").arg(file).status().unwrap().success());
    }),
    ("socket", |file| {
        fs::remove_file(file).unwrap();
        drop(std::os::unix::net::UnixListener::bind(file).unwrap());
    }),
    ("name that is not UTF-8", |file| {
        fs::rename(file, file.with_file_name(OsStr::from_bytes(b"w\xff.yaml"))).unwrap();
    }),
    ("directory behind a link out of the repo", |file| {
        let elsewhere = tempfile::tempdir().unwrap().keep().join("moved");
        fs::rename(file.parent().unwrap(), &elsewhere).unwrap();
        symlink(elsewhere, file.parent().unwrap()).unwrap();
    }),
    ("syntax error", |file| {
        let text = fs::read_to_string(file).unwrap();
        fs::write(file, text.replace("kind: ", "kund: ").replace("spec: {", "\tspec: {[")).unwrap();
    }),
    ("cut off", |file| {
        let text = fs::read_to_string(file).unwrap();
        fs::write(file, text[..text.find("namespace").unwrap()].replace("kind: ", "kund: "))
            .unwrap();
    }),
    ("ignored by git", |file| {
        fs::write(file.with_file_name(".gitignore"), file.file_name().unwrap().as_bytes()).unwrap();
        let mut remove = Command::new("git");
        remove.args(["rm", "-q", "--cached"]).arg(file).current_dir(file.parent().unwrap());
        assert!(remove.status().unwrap().success());
    }),
    ("on another page of its list", |file| {
        let page = "{apiVersion: v1, kind: List, metadata: {continue: abc}, items: [{apiVersion: v1, kind: \
                    ConfigMap, metadata: {name: x}}]}\n";
        fs::write(file, page).unwrap();
    }),
];

/// Ways in which only a snapshot can lack a host.
const HIDDEN_HOST: [(&str, Hide); 2] = [
    ("without its spec", |file| {
        let text = fs::read_to_string(file).unwrap().replace("available", "provisioned");
        let kept: Vec<&str> = text.lines().filter(|line| !line.starts_with("spec:")).collect();
        fs::write(file, kept.join("\n") + "\n").unwrap();
    }),
    ("with a spec that is null", |file| {
        let text = fs::read_to_string(file).unwrap().replace("available", "deprovisioning");
        fs::write(file, text.replace("spec: {", "spec: null\nother: {")).unwrap();
    }),
];

/// Ways in which only a cluster's own file, which the output names, can be missed.
const HIDDEN_WHERE_NAMED: [(&str, Hide); 2] = [
    ("directory", |file| {
        fs::remove_file(file).unwrap();
        fs::create_dir(file).unwrap();
    }),
    ("truncated in its first line", |file| fs::write(file, "apiVersion: \"airship.").unwrap()),
];

#[track_caller]
fn assert_refused(repo: &Repo, why: &str, lost: &str) {
    let before = repo.files("overlays");
    for command in [&["generate"][..], &["generate", "--check"], &["validate"], &["diff"]] {
        let run = crate::support::run(&mut repo.sipgen(command));
        assert_eq!(
            run.code,
            if command == ["diff"] { run.code.max(1) } else { 1 },
            "{why}: {command:?}\n{}{}",
            run.stdout,
            run.stderr
        );
        assert_says(&format!("{}{}", run.stdout, run.stderr), &["SIP0017", lost, "is missing"]);
    }
    assert_eq!(repo.files("overlays"), before, "{why}");
}

#[test]
fn a_cluster_whose_file_is_not_read_is_never_removed() {
    for (why, hide) in HIDDEN.iter().chain(&HIDDEN_WHERE_NAMED) {
        let repo = generated();
        hide(&repo.path().join(CLUSTER));

        assert_refused(&repo, why, "cluster `t/web`");
    }
}

#[test]
fn a_host_whose_file_is_not_read_is_never_replaced() {
    for (why, hide) in HIDDEN.iter().chain(&HIDDEN_HOST) {
        let repo = generated();
        hide(&repo.path().join("snapshot/web.yaml"));

        assert_refused(&repo, why, "host `t/web` of `t/web`");
    }
}

/// The objects by which a repo's own agent applies directories of the output.
#[test]
fn sipgen_applies_nothing_itself_while_the_object_that_did_is_not_read() {
    const OBJECT: &str = "agents/web.yaml";
    let flux = |path: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: own, namespace: \
             flux-system}}\nspec: {{interval: 1h, path: ./{path}, prune: false, sourceRef: {{kind: GitRepository, name: \
             flux-system}}}}\n"
        )
    };
    let argocd = |path: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: own, namespace: argocd}}\n\
             spec: {{project: default, destination: {{server: \"https://kubernetes.default.svc\"}}, source: {{repoURL: \
             \"https://example.com/fleet.git\", path: {path}}}}}\n"
        )
    };
    let declared = |repo: &Repo| {
        repo.write("racks/host.yaml", &host("racked").replace("for: racked", "for: web"));
        repo.write("racks/kustomization.yaml", "resources: [host.yaml]\n");
        repo.remove("snapshot/web.yaml");
        repo.remove("snapshot/hosts.yaml");
    };
    let settings = "argocd: {repoURL: \"https://example.com/fleet.git\"}\n";
    let observed = "overlays/hosts/observed/t.web";
    let overlay = "overlays/hosts/declared/racks";
    // sipgen's object of one directory is in the file where that of the other would be.
    let services = "overlays/clusters/t/web";
    let scenes = [
        ("gitops: flux\n".to_owned(), flux(observed), observed),
        (
            "gitops: flux\ntemplates: own\noutputs: [{name: x, scope: cluster}]\n".to_owned(),
            flux(services),
            services,
        ),
        ("gitops: flux\n".to_owned(), flux(overlay), overlay),
        (format!("gitops: argocd\n{settings}"), argocd(observed), observed),
    ];
    for (settings, object, directory) in &scenes {
        let applied = || {
            let repo = generated();
            if *directory == overlay {
                declared(&repo);
            }
            repo.write("sipgen.yaml", settings);
            let output = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ cluster.name }}\n  namespace: t\n";
            repo.write("own/outputs/x/a.yaml", output);
            repo.write(OBJECT, object);
            repo.generate(&["--rebalance"]).expect(0);
            repo.commit();
            repo
        };
        // An agent does not get what git ignores, so that is a removal.
        for (why, hide) in HIDDEN.iter().filter(|(why, _)| *why != "ignored by git") {
            let repo = applied();
            hide(&repo.path().join(OBJECT));
            assert_refused(&repo, why, &format!("the agent's object that applied {directory}"));
        }
        let repo = applied();
        repo.remove(OBJECT);
        repo.generate(&[]).expect(0);
    }
}

/// Requests and hosts without a namespace, each with what gives it one.
#[test]
fn what_an_unread_file_named_keeps_its_name() {
    let named = "resources: [it.yaml]\nnamespace: t\n";
    let listed = "resources: [it.yaml]\n";
    let agent = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: c, namespace: f}\n\
                 spec: {path: ./c, targetNamespace: t, interval: 1m, sourceRef: {kind: GitRepository, name: flux-system}}\n";
    let conflict =
        agent.replace("kind: Kustomization", "<<<<<<< HEAD\nkind: Kustomization\n=======");
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 123\n";
    let empty = ["", "# resources: [it.yaml]\n", "kind: Kustomization\nresources:\n"];
    let in_builds =
        [("c/kustomization.yaml", "cluster `t/web`"), ("h/kustomization.yaml", "host `t/h1`")];
    let in_builds = in_builds.into_iter().flat_map(|it| empty.map(|text| (it, text)));
    let in_agents = ["", pointer, &conflict].map(|text| (("agent.yaml", "cluster `t/web`"), text));
    for ((file, lost), text) in in_builds.chain(in_agents) {
        let repo = Repo::empty();
        let request = "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {name: web}\n\
                       spec: {nodes: {Worker: {labelSelector: {}, count: {active: 1}}}}\n";
        repo.write("c/it.yaml", request);
        repo.write("h/it.yaml", &host("h1").replace("status:", "#").replace(", namespace: t", ""));
        repo.write("h/kustomization.yaml", named);
        repo.write("c/kustomization.yaml", if file == "agent.yaml" { listed } else { named });
        if file == "agent.yaml" {
            repo.write(file, agent);
        }
        // It would replace the lost one.
        repo.write("more/it.yaml", &host("h2").replace("status:", "#"));
        repo.write("more/kustomization.yaml", listed);
        repo.generate(&[]).expect(0);
        repo.commit();

        repo.write(file, text);

        assert_refused(&repo, text, lost);
    }
}

#[test]
fn a_cluster_is_removed_where_its_absence_is_proven() {
    let removals: [(&str, Hide); 3] = [
        ("its file is deleted", |file| fs::remove_file(file).unwrap()),
        ("its document is deleted", |file| fs::write(file, "# nothing left\n").unwrap()),
        ("it became another object", |file| {
            fs::write(file, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n").unwrap();
        }),
    ];
    for (why, remove) in removals {
        let repo = generated();
        // Nothing that may hold a request: a link to what is read, and one that git ignores.
        symlink("db.yaml", repo.path().join("clusters/same.yaml")).unwrap();
        symlink("/nowhere.yaml", repo.path().join("ignored.yaml")).unwrap();
        repo.write(".gitignore", "ignored.yaml\n");
        remove(&repo.path().join(CLUSTER));

        let diff = crate::support::run(&mut repo.sipgen(&["diff", "--base", "HEAD"]));
        assert_says(&diff.stdout, &["danger: ", "t/web"]);
        repo.generate(&[]).expect(0);
        assert!(!repo.exists("overlays/hosts/observed/t.web"), "{why}");
        assert!(repo.exists("overlays/hosts/observed/t.db"), "{why}");
    }
}

#[test]
fn what_is_not_read_may_be_excluded() {
    let repo = generated();
    symlink("/nowhere", repo.path().join("tools.yaml")).unwrap();
    fs::remove_file(repo.path().join(CLUSTER)).unwrap();
    assert_refused(&repo, "dangling link", "cluster `t/web`");

    repo.write("sipgen.yaml", "sources: [{paths: [\"!tools.yaml\"]}]\n");

    repo.generate(&[]).expect(0);
}

#[test]
fn other_clusters_go_on_without_it() {
    let repo = generated();
    HIDDEN[1].1(&repo.path().join(CLUSTER));

    let run = repo.generate(&["--keep-going"]).expect(1);

    assert_says(&run.stderr, &["SIP0017"]);
    assert!(repo.exists("overlays/hosts/observed/t.web/hosts.yaml"));
}

#[test]
fn a_loss_is_judged_by_what_is_staged_too() {
    let repo = generated();
    let file = repo.path().join(CLUSTER);
    fs::remove_file(&file).unwrap();
    symlink("../elsewhere/web.yaml", &file).unwrap();
    repo.git(&["add", "--all"]);
    fs::remove_file(&file).unwrap();

    let run = crate::support::run(&mut repo.sipgen(&["generate", "--from-index", "--check"]));

    assert_eq!(run.code, 1, "{}", run.stderr);
    assert_says(&run.stderr, &["SIP0017", "symbolic link"]);
}

#[test]
fn inputs_are_read_whatever_their_ending_is_called() {
    for name in ["clusters/web.YAML", "clusters/web.Yml", "clusters/web.JSON"] {
        let repo = generated();
        fs::rename(repo.path().join(CLUSTER), repo.path().join(name)).unwrap();

        repo.generate(&["--check"]).expect(0);
    }
}

#[test]
fn nothing_is_read_through_a_directory_that_became_a_link() {
    let repo = generated();
    // git tracks the file, but what is at its path now is no part of the repo.
    let elsewhere = tempfile::tempdir().unwrap();
    fs::rename(repo.path().join("clusters"), elsewhere.path().join("clusters")).unwrap();
    symlink(elsewhere.path().join("clusters"), repo.path().join("clusters")).unwrap();
    fs::write(elsewhere.path().join("clusters/db.yaml"), "kind: SIPCluster\nsecret: canary\n")
        .unwrap();

    let run = crate::support::run(&mut repo.sipgen(&["validate"]));

    assert_eq!(run.code, 1);
    assert!(!run.stdout.contains("canary"), "{}", run.stdout);
    assert_says(&run.stdout, &["SIP0017"]);
}

#[test]
fn nothing_is_read_through_a_link_out_of_the_repo() {
    for link in ["templates", "sipgen.yaml"] {
        let repo = generated();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("file"), "output: canary\n").unwrap();
        let target = if link == "templates" {
            elsewhere.path().to_owned()
        } else {
            elsewhere.path().join("file")
        };
        symlink(target, repo.path().join(link)).unwrap();
        if link == "templates" {
            repo.write("sipgen.yaml", "templates: templates\n");
        }

        let run = crate::support::run(&mut repo.sipgen(&["generate"]));

        assert_ne!(run.code, 0, "{link}");
        assert_says(&run.stderr, &["a symbolic link leads out of the repo"]);
    }
}
