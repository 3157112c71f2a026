//! Texts, entries and links that stand where an input stood: what they hide is not absent.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use crate::support::scenes::losses::{CLUSTER, generated, host};
use crate::support::scenes::provisionings::with_spec;
use crate::support::{Repo, assert_says, copy, run};

/// A change of a repo.
type Change = fn(&Repo);

/// A repo with two declared hosts in one build, one of them assigned, and a component without hosts.
fn declared() -> Repo {
    let repo = Repo::empty();
    repo.write(
        CLUSTER,
        "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {name: web, namespace: t}\n\
         spec: {nodes: {Worker: {labelSelector: {matchLabels: {for: web}}, count: {active: 1}}}}\n",
    );
    repo.write("racks/a.yaml", &host("a").replace("for: a", "for: web"));
    repo.write("racks/kustomization.yaml", "resources: [a.yaml]\n");
    repo.generate(&[]).expect(0);
    // The spare would replace the host.
    repo.write("racks/b.yaml", &host("b").replace("for: b", "for: web"));
    repo.write("racks/kustomization.yaml", "resources: [a.yaml, b.yaml]\n");
    repo.generate(&[]).expect(0);
    repo.commit();
    assert!(repo.read("overlays/hosts/declared/racks/t.web.yaml").contains("name: \"a\""));
    repo
}

const SOFTWARE: &str = "clusters/software.yaml";

/// A repo with a Provisioning and its packages.
fn with_packages() -> Repo {
    let repo = with_spec("  masters: [{head: {mac-address: '00:00:5e:00:53:01'}}]\n");
    repo.write(
        SOFTWARE,
        "apiVersion: bpa.akraino.org/v1alpha1\nkind: Software\n\
         metadata: {name: tools, namespace: lab, labels: {cluster: depot}}\nspec: {masterSoftware: [htop]}\n",
    );
    repo.generate(&[]).expect(0);
    repo.commit();
    repo
}

/// Texts that have no object, or not all of one.
fn unread_texts(original: &str) -> Vec<(&'static str, Vec<u8>)> {
    let lfs = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22e\nsize 12345\n";
    let name_ends = original.find("name: ").unwrap() + "name: ".len();
    vec![
        ("Git LFS", lfs.into()),
        ("git-crypt", b"\0GITCRYPT\0\x17\x8f\xfe\x01".to_vec()),
        ("Ansible Vault", "$ANSIBLE_VAULT;1.1;AES256\n62313365396662343061393464336163\n".into()),
        ("PGP", "-----BEGIN PGP MESSAGE-----\n\nhQEMA4z\n-----END PGP MESSAGE-----\n".into()),
        ("age", "-----BEGIN AGE ENCRYPTED FILE-----\nYWdlLWVuY3J5\n".into()),
        ("SOPS", "data: ENC[AES256_GCM,data:x,type:str]\nsops: {version: 3.9.0}\n".into()),
        (
            "encrypted kind",
            "apiVersion: x\nkind: ENC[AES256_GCM,data:x,type:str]\nmetadata: {name: y}\n".into(),
        ),
        (
            "conflicts",
            format!("<<<<<<< ours\n{original}=======\nx: 1\n>>>>>>> theirs\n").into_bytes(),
        ),
        ("text", "not found\n".into()),
        ("HTML", "<html><body>404: Not Found</body></html>\n".into()),
        (
            "list of objects",
            "[{\"apiVersion\": \"metal3.io/v1alpha1\", \"kind\": \"BareMetalHost\"}]\n".into(),
        ),
        ("no kind", "apiVersion: metal3.io/v1alpha1\nmetadata: {name: x}\n".into()),
        ("no name", "apiVersion: metal3.io/v1alpha1\nkind: HardwareData\nmetadata: {}\n".into()),
        (
            "cut off in the name",
            original[..name_ends + 1].replace("metadata: {", "metadata:\n  ").into_bytes(),
        ),
    ]
}

/// Texts that only the place of the file tells from files of other programs.
const DATA: [(&str, &str); 5] = [
    ("empty", ""),
    ("blank", "\n---\n\n"),
    ("mapping", "replicas: 1\n"),
    ("empty mapping", "{}\n"),
    ("empty list", "[]\n"),
];

#[track_caller]
fn assert_refused(repo: &Repo, why: &str, lost: &str) {
    let before = repo.files("overlays");
    let check = |arguments: &[&str]| {
        let run = run(&mut repo.sipgen(arguments));
        let said = format!("{}{}", run.stdout, run.stderr);
        assert_eq!(run.code, 1, "{why}: {arguments:?}\n{said}");
        // A document with a syntax error may be reported by itself, or with the build that lists it.
        let is_told = said.contains("SIP0017") && said.contains(lost)
            || said.contains("SIP0101")
            // What is left of it has no label with its cluster.
            || lost.starts_with("Software") && said.contains("SIP0801")
            || said.contains("SIP0117");
        assert!(is_told, "{why}: {arguments:?}\n{said}");
    };
    check(&["generate"]);
    check(&["validate"]);
    repo.git(&["add", "--all"]);
    check(&["generate", "--check", "--from-index"]);
    repo.commit();
    check(&["validate", "--rev", "HEAD"]);
    assert_eq!(repo.files("overlays"), before, "{why}");
}

#[test]
fn a_text_without_objects_hides_what_stood_there() {
    for (file, repo, lost) in [
        (CLUSTER, generated(), "cluster `t/web`"),
        ("snapshot/web.yaml", generated(), "host `t/web`"),
        ("racks/a.yaml", declared(), "host `t/a`"),
        (SOFTWARE, with_packages(), "Software of `lab/depot`"),
    ] {
        let original = repo.read(file);
        let data = DATA.map(|(why, text)| (why, text.as_bytes().to_vec()));
        for (why, text) in unread_texts(&original).into_iter().chain(data) {
            fs::write(repo.path().join(file), text).unwrap();
            assert_refused(&repo, why, lost);
        }
    }
}

#[test]
fn no_shortage_is_told_while_hosts_are_hidden() {
    let kustomization = "racks/kustomization.yaml";
    let agent = |name: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: f}}\n\
             spec:\n  interval: 1m\n  path: ./racks\n  prune: true\n  sourceRef: {{kind: GitRepository, name: f}}\n  \
             postBuild: {{substitute: {{host: {name}}}}}\n"
        )
    };
    let whole = host("a").replace("for: a", "for: web");
    let listed = "resources: [a.yaml]\n";
    let with = |more: &str| vec![(kustomization, format!("{listed}{more}").into_bytes())];
    let host_with =
        |from: &str, to: &str| vec![("racks/a.yaml", whole.replace(from, to).into_bytes())];
    let variable = whole.replace("name: a", "name: \"${host}\"").into_bytes();
    let hidden = [
        ("syntax", host_with("metadata: {", "metadata: [")),
        ("kind", host_with("BareMetalHost", "BaremetalHost")),
        ("name", host_with("name: a", "name: A")),
        ("transformers", with("transformers: [t.yaml]\n")),
        ("refused", with("patches: [{path: missing.yaml}]\n")),
        (
            "variables",
            vec![
                ("racks/a.yaml", variable),
                ("f/one.yaml", agent("one").into_bytes()),
                ("f/two.yaml", agent("two").into_bytes()),
            ],
        ),
        ("settings", vec![("sipgen.yaml", b"sources: [{kustomization: nowhere}]\n".to_vec())]),
    ];
    let request = declared().read(CLUSTER);
    for (why, files) in hidden {
        let repo = Repo::empty();
        repo.write(CLUSTER, &request);
        repo.write("racks/a.yaml", &whole);
        repo.write(kustomization, listed);
        for (file, content) in files {
            repo.write(file, "");
            fs::write(repo.path().join(file), content).unwrap();
        }
        let run = repo.generate(&[]).expect(1);
        let said = format!("{}{}", run.stdout, run.stderr);
        let codes: Vec<&str> = said.split("error[").skip(1).map(|error| &error[..7]).collect();
        assert!(codes.iter().all(|code| *code < "SIP0200"), "{why}: {said}");
        assert_eq!(codes.len(), 1, "{why}: {said}");
    }
}

/// A document of another version or kind, or with another name, does not prove that the object is gone.
#[test]
fn an_object_that_is_not_read_hides_what_stood_there() {
    let (live, web) = ("live/web.yaml", "metadata: {name: web,");
    for (file, from, to) in [
        (live, "metal3.io/v1alpha1", "metal3.io/v1beta1"),
        (live, "apiVersion: metal3.io/v1alpha1\n", ""),
        (live, "kind: BareMetalHost", "kind: BaremetalHosts"),
        (live, web, "metadata: {name: {{ .Values.prefix }}-web,"),
        (live, web, "metadata: {name: {{ .Values.name }},"),
        (CLUSTER, web, "metadata: {name: \"{{ .Values.name }}\","),
        (CLUSTER, web, "metadata: {name: CLUSTER_NAME,"),
        (CLUSTER, "namespace: t", "namespace: \"${TENANT}\""),
    ] {
        let repo = generated();
        for name in ["web", "db", "hosts"] {
            let snapshot = format!("snapshot/{name}.yaml");
            let text = repo.read(&snapshot).replace("namespace: t,", "namespace: t, uid: u,");
            repo.write(&format!("live/{name}.yaml"), &text);
            repo.remove(&snapshot);
        }
        repo.generate(&[]).expect(0);
        repo.commit();
        let before = repo.files("overlays");
        repo.replace(file, from, to);
        // Another host of the same kind is none that may be missing.
        repo.write("live/other.yaml", &host("other").replace("v1alpha1", "v1beta1"));
        for _ in 0..2 {
            let told = repo.generate(&[]).expect(1).stderr;
            let is_told = ["error[SIP0017]", "error[SIP0112]"].iter().any(|it| told.contains(it));
            assert!(is_told && told.contains(file), "{to}\n{told}");
            assert_eq!(repo.files("overlays"), before, "{to}");
            repo.commit();
        }
        // A file that is removed is gone.
        repo.remove(file);
        assert!(!repo.generate(&["--allow-empty"]).stderr.contains("error["), "{to}");
    }
}

#[test]
fn without_history_data_beside_observed_hosts_hides_what_stood_there() {
    for (why, text) in DATA {
        let repo = generated();
        repo.write("snapshot/web.yaml", text);
        // Elsewhere, data is that of other programs.
        repo.write("chart/values.yaml", "image: x\n");
        repo.commit();
        let shallow = tempfile::tempdir().unwrap();
        let from = format!("file://{}", repo.path().display());
        let to = shallow.path().to_str().unwrap();
        repo.git(&["clone", "--quiet", "--depth=1", &from, to]);
        let outside = tempfile::tempdir().unwrap();
        copy(repo.path(), outside.path());
        fs::remove_dir_all(outside.path().join(".git")).unwrap();
        for directory in [shallow.path(), outside.path()] {
            let check = |expected: i32| {
                let mut sipgen = repo.sipgen(&["generate", "--check", "--repo"]);
                let run = run(sipgen.arg(directory));
                assert_eq!(run.code, expected, "{why}\n{}", run.stderr);
                run.stderr
            };
            let told = check(1);
            assert_says(&told, &["SIP0017", "host `t/web`", "snapshot/web.yaml"]);
            // A file that is removed is gone.
            fs::remove_file(directory.join("snapshot/web.yaml")).unwrap();
            assert!(!check(1).contains("SIP0017"), "{why}");
        }
    }
}

#[test]
fn a_part_of_a_build_that_is_not_read_hides_a_host() {
    let changes: [(&str, Change); 8] = [
        ("remote base", |repo| {
            repo.remove("racks/a.yaml");
            repo.write(
                "racks/kustomization.yaml",
                "resources: [\"https://git.example/racks?ref=v1\", b.yaml]\n",
            );
        }),
        ("remote base without a scheme", |repo| {
            repo.remove("racks/a.yaml");
            repo.write(
                "racks/kustomization.yaml",
                "resources: [git.example/racks//a?ref=v1, b.yaml]\n",
            );
        }),
        ("a base outside of the repo", |repo| {
            repo.remove("racks/a.yaml");
            repo.write("racks/kustomization.yaml", "resources: [../../racks, b.yaml]\n");
        }),
        ("a listed file is gone", |repo| repo.remove("racks/a.yaml")),
        ("a listed file is ignored", |repo| {
            repo.git(&["rm", "-q", "--cached", "racks/a.yaml"]);
            repo.write(".gitignore", "a.yaml\n");
        }),
        ("a directory without a kustomization", |repo| {
            fs::create_dir(repo.path().join("racks/a")).unwrap();
            fs::rename(repo.path().join("racks/a.yaml"), repo.path().join("racks/a/hosts.txt"))
                .unwrap();
            repo.write("racks/kustomization.yaml", "resources: [a, b.yaml]\n");
        }),
        ("a chart", |repo| {
            repo.remove("racks/a.yaml");
            repo.write(
                "racks/kustomization.yaml",
                "resources: [b.yaml]\nhelmCharts: [{name: racks, repo: \"https://x.example\"}]\n",
            );
        }),
        ("an inner build", |repo| {
            repo.remove("racks/a.yaml");
            repo.write(
                "racks/a/kustomization.yaml",
                "resources: [\"https://git.example/racks?ref=v1\"]\n",
            );
            repo.write("racks/kustomization.yaml", "resources: [a, b.yaml]\n");
        }),
    ];
    for (why, change) in changes {
        let repo = declared();
        change(&repo);
        let before = repo.files("overlays");
        for command in [&["generate"][..], &["validate"]] {
            let run = run(&mut repo.sipgen(command));
            let said = format!("{}{}", run.stdout, run.stderr);
            assert_eq!(run.code, 1, "{why}\n{said}");
            assert!(
                said.contains("host `t/a` of `t/web` is missing") || said.contains("SIP0118"),
                "{why}\n{said}"
            );
        }
        assert_eq!(repo.files("overlays"), before, "{why}");
    }
}

#[test]
fn a_host_that_is_removed_in_full_is_gone() {
    let removals: [(&str, Change); 4] = [
        ("its file and entry", |repo| {
            repo.remove("racks/a.yaml");
            repo.write("racks/kustomization.yaml", "resources: [b.yaml]\n");
        }),
        ("its document", |repo| {
            let two = format!("{}---\n{}", repo.read("racks/a.yaml"), host("c"));
            repo.write("racks/a.yaml", &two);
            repo.commit();
            repo.write("racks/a.yaml", &host("c"));
        }),
        ("all but a comment", |repo| repo.write("racks/a.yaml", "# Sold in May.\n")),
        ("an emptied file that nothing lists", |repo| {
            repo.write("racks/a.yaml", "");
            repo.write("racks/kustomization.yaml", "resources: [b.yaml]\n");
        }),
    ];
    for (why, remove) in removals {
        let repo = declared();
        // Files of other programs are no inputs, and neither is a build without hosts.
        repo.write("racks/values.yaml", "image: x\n");
        repo.write("values.yaml", "");
        repo.write(".gitlab-ci.yml", "include: [{local: x.yml}]\n");
        repo.write("ansible/tasks.yml", "- name: a\n  ping: {}\n");
        repo.write(
            "chart/templates/a.yaml",
            "kind: ConfigMap\n{{ if .Values.a }}\nmetadata: {name: {{ .x }}}\n{{ end }}\n",
        );
        repo.write("docs/example.yaml", "a: b: c\n");
        repo.write("app/kustomization.yaml", "resources: [\"https://git.example/app?ref=v1\"]\n");
        remove(&repo);

        let run = repo.generate(&[]);

        assert_eq!(run.code, 0, "{why}\n{}", run.stderr);
        let hosts = repo.read("overlays/hosts/declared/racks/t.web.yaml");
        assert!(hosts.contains("name: \"b\"") && !hosts.contains("name: \"a\""), "{why}\n{hosts}");
    }
}

#[test]
fn a_tag_of_a_key_changes_nothing() {
    for (from, to) in [
        ("kind: SIPCluster", "! kind: SIPCluster"),
        ("kind: SIPCluster", "!!str kind: SIPCluster"),
        ("kind: SIPCluster", "!x kind: SIPCluster"),
        ("metadata: {", "! metadata: {! "),
        ("spec: {nodes", "spec: {! nodes"),
    ] {
        let repo = generated();
        repo.replace(CLUSTER, from, to);
        repo.generate(&["--check"]).expect(0);
    }
}

#[test]
fn a_link_to_a_directory_without_inputs_is_no_finding() {
    let component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- target: {kind: ConfigMap}\n  \
                     patch: '[{op: add, path: /metadata/labels, value: {tier: web}}]'\n";
    let with_link = |to: &str| {
        let repo = declared();
        repo.write("base/kustomization.yaml", component);
        repo.write("app/cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n");
        repo.write("app/kustomization.yaml", "resources: [cm.yaml]\ncomponents: [../link]\n");
        symlink(to, repo.path().join("link")).unwrap();
        repo
    };
    let repo = with_link("base");
    let said = run(&mut repo.sipgen(&["validate", "--strict"]));
    assert!(!said.stdout.contains("SIP0116"), "{}", said.stdout);
    repo.git(&["add", "--all"]);
    repo.generate(&["--check", "--from-index"]).expect(0);

    // Behind other links, or beside hosts, it is an error.
    let outside = tempfile::tempdir().unwrap();
    for to in [outside.path().to_str().unwrap(), "nowhere", "racks"] {
        assert_says(&with_link(to).refused(), &["SIP0116", "behind a symbolic link"]);
    }
    let repo = with_link("base");
    repo.write("racks/kustomization.yaml", "resources: [a.yaml, b.yaml]\ncomponents: [../link]\n");
    let said = repo.refused();
    assert_says(&said, &["SIP0116", "behind a symbolic link", "list `base` itself"]);
    assert!(!said.contains("not in the repo"), "{said}");
    let repo = with_link("base");
    repo.write("base/sub/kustomization.yaml", "resources: [../../racks/a.yaml]\n");
    repo.write("app/kustomization.yaml", "resources: [cm.yaml, ../link/sub]\n");
    assert_says(&repo.refused(), &["SIP0116", "behind a symbolic link"]);
}

#[test]
fn a_linked_kustomization_is_reported_beside_inputs_only() {
    let listing = |linked: &str, by: &str| {
        let repo = declared();
        repo.write("app/cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n");
        repo.write("app/k.yaml", "resources: [cm.yaml]\n");
        symlink("../app/k.yaml", repo.path().join(linked).join("kustomization.yml")).unwrap();
        if !by.is_empty() {
            repo.write(by, &format!("resources: [../{linked}]\n"));
        }
        repo
    };
    listing("app", "").generate(&["--check"]).expect(0);
    listing("app", "site/kustomization.yaml").generate(&["--check"]).expect(0);

    let repo = listing("app", "");
    repo.replace("racks/kustomization.yaml", "resources: [", "resources: [../app, ");
    assert_says(&repo.refused(), &["SIP0116", "app/kustomization.yml is not read"]);
    let repo = listing("racks", "");
    repo.remove("racks/kustomization.yaml");
    assert_says(&repo.refused(), &["SIP0116", "racks/kustomization.yml is not read"]);
}

#[test]
fn the_root_is_where_git_says() {
    let around = tempfile::tempdir().unwrap();
    let repo = around.path().join("repo");
    fs::create_dir_all(&repo).unwrap();
    fs::create_dir(around.path().join("elsewhere")).unwrap();
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@example.com"]);
        let output = command.args(arguments).current_dir(&repo).output().unwrap();
        assert!(output.status.success(), "{arguments:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "--quiet", "--separate-git-dir", "../elsewhere/git"]);
    let from = generated();
    fs::create_dir(repo.join("clusters")).unwrap();
    fs::create_dir(repo.join("snapshot")).unwrap();
    crate::support::copy(&from.path().join("clusters"), &repo.join("clusters"));
    crate::support::copy(&from.path().join("snapshot"), &repo.join("snapshot"));
    let sipgen = |directory: &str, arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sipgen"));
        run(command.args(arguments).current_dir(repo.join(directory)))
    };
    sipgen("clusters", &["generate"]).expect(0);
    assert!(repo.join("overlays/hosts/observed/t.web/hosts.yaml").is_file());
    assert_eq!(fs::read_dir(around.path()).unwrap().count(), 2);
    assert_eq!(fs::read_dir(around.path().join("elsewhere")).unwrap().count(), 1);
    git(&["add", "--all"]);
    sipgen("", &["generate", "--check", "--from-index"]).expect(0);
    // A hook gets the git directory by a variable.
    fs::write(
        around.path().join("elsewhere/git/hooks/pre-commit"),
        format!("#!/bin/sh\nexec {} generate --check --from-index\n", env!("CARGO_BIN_EXE_sipgen")),
    )
    .unwrap();
    let hook = around.path().join("elsewhere/git/hooks/pre-commit");
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    git(&["commit", "--quiet", "--message", "state"]);
    sipgen("", &["validate", "--rev", "HEAD"]).expect(0);
    git(&["rm", "--quiet", "clusters/db.yaml"]);
    git(&["commit", "--quiet", "--no-verify", "--message", "remove"]);
    sipgen("", &["generate"]).expect(0);
    sipgen("", &["generate", "--check"]).expect(0);
}

/// The file is not gone, so these are not the defaults.
#[test]
fn empty_settings_hide_what_they_select() {
    for text in ["", "\n---\n"] {
        let repo = Repo::of_fixture("capm3");
        repo.generate(&[]).expect(0);
        repo.commit();
        let cluster = "cluster `tenant-a/";

        repo.write("sipgen.yaml", text);

        assert_refused(&repo, "empty settings", cluster);
    }
}
