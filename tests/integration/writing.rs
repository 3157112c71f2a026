//! What a run writes into a repo, and what it leaves alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;

use walkdir::WalkDir;

use crate::support::{OnDisk, Repo, Run, assert_says};

const EDGE: &str = "sites/lab/clusters/edge.yaml";
const EDGE_HOSTS: &str = "overlays/hosts/declared/sites/lab/tenant-a.edge.yaml";
const ONE_WORKER: &str = "active: 1\n        standby: 1";
const TWO_WORKERS: &str = "active: 2\n        standby: 1";

/// The files that are new, changed, gone, or replaced by others of the same text.
fn touched(
    before: &BTreeMap<String, OnDisk>,
    after: &BTreeMap<String, OnDisk>,
) -> BTreeSet<String> {
    let all = before.keys().chain(after.keys());
    all.filter(|path| before.get(*path) != after.get(*path)).cloned().collect()
}

#[test]
fn the_first_run_writes_the_labels_and_the_services_and_nothing_else() {
    let repo = Repo::of_fixture("quickstart");
    let before = repo.on_disk("");

    repo.generate(&[]).expect(0);

    let written: Vec<String> = touched(&before, &repo.on_disk("")).into_iter().collect();
    // The load balancers' names of shared directories are in the order of their hashes.
    let hash = regex::Regex::new("(shared/[a-z-]+)/[0-9a-f]{10}/").unwrap();
    let mut written: Vec<String> =
        written.iter().map(|path| hash.replace(path, "$1/HASH/").into_owned()).collect();
    written.sort();
    insta::assert_snapshot!(written.join("\n"), @"
    overlays/clusters/tenant-a/edge/auth/certificate.yaml
    overlays/clusters/tenant-a/edge/auth/config.yaml
    overlays/clusters/tenant-a/edge/auth/kubeadm-structured/authentication-configuration.yaml
    overlays/clusters/tenant-a/edge/auth/kubeadm-structured/kustomization.yaml
    overlays/clusters/tenant-a/edge/auth/kubeadm/kustomization.yaml
    overlays/clusters/tenant-a/edge/auth/kustomization.yaml
    overlays/clusters/tenant-a/edge/auth/service.yaml
    overlays/clusters/tenant-a/edge/jumphost/authorized_keys
    overlays/clusters/tenant-a/edge/jumphost/hosts
    overlays/clusters/tenant-a/edge/jumphost/kustomization.yaml
    overlays/clusters/tenant-a/edge/jumphost/service.yaml
    overlays/clusters/tenant-a/edge/jumphost/ssh_config
    overlays/clusters/tenant-a/edge/kustomization.yaml
    overlays/clusters/tenant-a/edge/loadbalancer-controlplane/haproxy.cfg
    overlays/clusters/tenant-a/edge/loadbalancer-controlplane/kustomization.yaml
    overlays/clusters/tenant-a/edge/loadbalancer-controlplane/service.yaml
    overlays/clusters/tenant-a/edge/loadbalancer-worker/haproxy.cfg
    overlays/clusters/tenant-a/edge/loadbalancer-worker/kustomization.yaml
    overlays/clusters/tenant-a/edge/loadbalancer-worker/service.yaml
    overlays/crds/dex/crds.yaml
    overlays/crds/dex/kustomization.yaml
    overlays/hosts/declared/sites/lab/kustomization.yaml
    overlays/hosts/declared/sites/lab/tenant-a.edge.yaml
    overlays/shared/auth-kubeadm-structured/HASH/kustomization.yaml
    overlays/shared/auth-kubeadm-structured/HASH/replacements.yaml
    overlays/shared/auth-kubeadm/HASH/kustomization.yaml
    overlays/shared/auth-kubeadm/HASH/replacements.yaml
    overlays/shared/auth/HASH/deployment.yaml
    overlays/shared/auth/HASH/kustomization.yaml
    overlays/shared/auth/HASH/networkpolicy.yaml
    overlays/shared/auth/HASH/poddisruptionbudget.yaml
    overlays/shared/auth/HASH/rbac.yaml
    overlays/shared/jumphost/HASH/deployment.yaml
    overlays/shared/jumphost/HASH/host
    overlays/shared/jumphost/HASH/kustomization.yaml
    overlays/shared/jumphost/HASH/networkpolicy.yaml
    overlays/shared/jumphost/HASH/persistentvolumeclaim.yaml
    overlays/shared/jumphost/HASH/rbac.yaml
    overlays/shared/jumphost/HASH/refresh
    overlays/shared/jumphost/HASH/sshd_config
    overlays/shared/jumphost/HASH/start
    overlays/shared/loadbalancer/HASH/deployment.yaml
    overlays/shared/loadbalancer/HASH/deployment.yaml
    overlays/shared/loadbalancer/HASH/kustomization.yaml
    overlays/shared/loadbalancer/HASH/kustomization.yaml
    overlays/shared/loadbalancer/HASH/networkpolicy.yaml
    overlays/shared/loadbalancer/HASH/networkpolicy.yaml
    overlays/shared/loadbalancer/HASH/poddisruptionbudget.yaml
    overlays/shared/loadbalancer/HASH/poddisruptionbudget.yaml
    overlays/tenants/tenant-a/edge/cluster-api/kustomization.yaml
    overlays/tenants/tenant-a/edge/endpoints/endpoints.yaml
    overlays/tenants/tenant-a/edge/endpoints/kustomization.yaml
    ");
}

#[test]
fn a_second_run_touches_nothing() {
    for fixture in crate::support::fixture_names() {
        let repo = Repo::of_fixture(&fixture);
        repo.generate(&[]).expect(0);
        let before = repo.on_disk("");
        let second = repo.generate(&["--exit-code"]).expect(0);
        assert!(second.stderr.contains("no file changes"), "{}", second.stderr);
        assert!(repo.on_disk("") == before, "{fixture}");
    }
}

#[test]
fn a_cluster_that_grows_keeps_its_hosts() {
    let repo = Repo::generated("quickstart");
    let before = repo.hosts_of("tenant-a", "edge");

    repo.replace(EDGE, ONE_WORKER, TWO_WORKERS);
    repo.generate(&[]).expect(0);

    let expected: Vec<String> =
        before.into_iter().chain(["Worker tenant-a/lab-c2".to_owned()]).collect();
    assert_eq!(repo.hosts_of("tenant-a", "edge"), expected);
}

#[test]
fn growth_touches_only_the_files_that_name_the_new_host() {
    let repo = Repo::generated("quickstart");
    let before = repo.on_disk("overlays");

    repo.replace(EDGE, ONE_WORKER, TWO_WORKERS);
    repo.generate(&[]).expect(0);

    let after = repo.on_disk("overlays");
    let touched = touched(&before, &after);
    let names_it = |path: &&String| crate::support::text(&after[*path].content).contains("lab-c2");
    assert!(touched.contains("hosts/declared/sites/lab/tenant-a.edge.yaml"));
    assert_eq!(touched, after.keys().filter(names_it).cloned().collect());
}

#[test]
fn a_service_edited_by_hand_is_restored() {
    let repo = Repo::generated("quickstart");
    let before = repo.files("overlays");

    repo.replace(
        "overlays/clusters/tenant-a/edge/loadbalancer-worker/service.yaml",
        "30080",
        "30090",
    );
    repo.generate(&[]).expect(0);

    assert_eq!(repo.files("overlays"), before);
}

#[test]
fn a_file_that_somebody_edits_is_restored_wherever_it_is() {
    let repo = Repo::generated("quickstart");
    let generated = repo.files("overlays");
    for (file, text) in &generated {
        repo.write(&format!("overlays/{file}"), &format!("{text}# edited\n"));

        repo.generate(&[]).expect(0);

        assert_eq!(repo.files("overlays"), generated, "{file}");
    }
}

/// Some change files of no cluster, others those of all.
const SETTINGS: [&str; 4] = [
    "gitops: flux\n",
    "gitops: argocd\nargocd: {repoURL: \"https://git.example.com/x\"}\n",
    "hosts: {form: component}\n",
    "services: {networkPolicies: false}\n",
];

#[test]
fn settings_have_the_same_effect_in_a_generated_repo_as_in_a_new_one() {
    for settings in SETTINGS {
        let [new, generated] = [Repo::of_fixture, Repo::generated].map(|of| {
            let repo = of("multi-cluster");
            let text = repo.read("sipgen.yaml") + settings;
            repo.write("sipgen.yaml", &text);
            repo.generate(&[]).expect(0);
            repo.generate(&["--check"]).expect(0);
            repo.files("overlays")
        });

        assert_eq!(generated, new, "{settings}");
    }
}

/// The directories of the output, and one that does not exist in each.
fn directories_of_output(repo: &Repo) -> BTreeSet<String> {
    let existing = directories(&repo.path().join("overlays"));
    let new = existing.iter().map(|directory| format!("{directory}/new"));
    existing.iter().cloned().chain(new).collect()
}

#[test]
fn a_generated_file_that_is_not_rendered_is_deleted_wherever_it_is() {
    let repo = Repo::of_fixture("quickstart");
    repo.generate(&[]).expect(0);
    let generated = repo.on_disk("");
    let of_ours = repo.read("overlays/clusters/tenant-a/edge/kustomization.yaml");
    for directory in directories_of_output(&repo) {
        let stray = repo.path().join("overlays").join(directory).join("stray");
        fs::create_dir_all(stray.parent().unwrap()).unwrap();
        fs::write(&stray, &of_ours).unwrap();

        repo.generate(&["--check"]).expect(1);
        repo.generate(&[]).expect(0);

        let touched = touched(&generated, &repo.on_disk(""));
        assert_eq!(touched, BTreeSet::new(), "{stray:?}");
    }
}

#[test]
fn a_foreign_file_is_named_wherever_it_is() {
    let repo = Repo::of_fixture("quickstart");
    repo.generate(&[]).expect(0);
    for directory in directories_of_output(&repo) {
        let foreign = repo.path().join("overlays").join(directory).join("foreign");
        fs::create_dir_all(foreign.parent().unwrap()).unwrap();
        fs::write(&foreign, "mine").unwrap();

        let run = repo.generate(&["--check"]).expect(0);

        let name = foreign.strip_prefix(repo.path()).unwrap().to_str().unwrap();
        assert_says(&run.stderr, &["SIP0006", name]);
        fs::remove_file(&foreign).unwrap();
    }
}

#[test]
fn a_directory_of_hosts_that_is_named_as_the_patches_of_a_cluster_is_refused() {
    let repo = Repo::generated("quickstart");
    let hosts = repo.read("sites/lab/hosts/rack-a.yaml");
    let named = "sites/lab/tenant-a.edge.yaml";
    repo.write(&format!("{named}/rack.yaml"), &hosts.replace("lab-a", "lab-z"));
    repo.write(
        &format!("{named}/kustomization.yaml"),
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: tenant-a\nresources: [rack.yaml]\n",
    );
    let before = repo.on_disk("");

    // The cluster of the patches is up to date, so that its files are not among the rendered ones.
    let run = repo.generate(&[]).expect(1);

    assert_says(&run.stderr, &["error[SIP0015]", EDGE_HOSTS]);
    assert_eq!(touched(&before, &repo.on_disk("")), BTreeSet::new());
}

#[test]
fn emptied_services_are_restored() {
    let repo = Repo::generated("quickstart");
    let before = repo.files("overlays");

    for path in repo.files("overlays/clusters").keys() {
        repo.write(&format!("overlays/clusters/{path}"), "");
    }
    repo.generate(&[]).expect(0);

    assert_eq!(repo.files("overlays"), before);
}

#[test]
fn a_host_entered_for_two_clusters_by_hand_is_an_error_that_names_both_places() {
    let repo = Repo::of_hosts(3);
    repo.want("tenant/one", 1);
    repo.want("tenant/two", 1);
    repo.generate(&[]).expect(0);
    repo.replace("overlays/hosts/declared/inventory/tenant.two.yaml", "host-2", "host-1");

    let message = repo.refused();

    insta::assert_snapshot!(message, @r#"
    warning[SIP0522]: tenant/one and 1 more cluster have 2 hosts of namespace `metal`, which Cluster API cannot claim
      --> clusters/tenant.one.yaml:3:37
       |
     3 | metadata: {namespace: tenant, name: one}
       |                                     ^^^
      help: Machines claim hosts of their own namespace only: keep hosts and Cluster in one namespace, by the request's `metadata.namespace` or that of the BareMetalHosts

    error[SIP0504]: host metal/host-1 is assigned 2 times: generated files were merged or edited
      --> overlays/hosts/declared/inventory/tenant.one.yaml:6:9  (as Worker of tenant/one)
       |
     6 |   name: "host-1"
       |         ^^^^^^^^
      --> overlays/hosts/declared/inventory/tenant.two.yaml:6:9  (as Worker of tenant/two)
       |
     6 |   name: "host-1"
       |         --------
      help: restore the files as the main branch has them, such as by `git checkout origin/main -- overlays/hosts/declared/inventory/tenant.one.yaml overlays/hosts/declared/inventory/tenant.two.yaml`, and run `sipgen generate`

    1 error in tenant/one, tenant/two: no files written
    "#);
}

#[test]
fn an_edited_generated_file_is_named_with_the_command_that_restores_it() {
    let repo = Repo::of_fixture("quickstart");
    repo.generate(&[]).expect(0);
    repo.commit();
    let file = "overlays/clusters/tenant-a/edge/jumphost/hosts";
    let committed = repo.read(file);
    repo.write(file, &format!("{committed}192.0.2.1 intruder\n"));
    let deleted = "overlays/clusters/tenant-a/edge/jumphost/ssh_config";
    repo.remove(deleted);
    // A change of inputs makes another file stale, which nobody has edited.
    repo.replace("sites/lab/clusters/edge.yaml", "haproxy:3.0", "haproxy:3.2");

    let said = repo.generate(&["--check"]).expect(1).stderr;
    let what = "edited since the last commit, by hand or with other inputs: ";
    let restore =
        format!("{what}{file}, {deleted}; `git checkout HEAD -- {file} {deleted}` restores");
    assert_says(&said, &[&restore]);
    repo.git(&["checkout", "HEAD", "--", file, deleted]);
    assert!(!repo.generate(&["--check"]).expect(1).stderr.contains(what));

    repo.write(file, &format!("{committed}192.0.2.1 intruder\n"));
    let said = repo.generate(&[]).expect(0).stderr;
    assert_says(&said, &[&format!("{what}{file} was restored; change requests, ")]);
    assert_eq!(repo.read(file), committed);
}

#[test]
fn a_host_moved_to_another_cluster_by_hand_stays_there() {
    let repo = Repo::of_hosts(3);
    repo.want("tenant/one", 2);
    repo.want("tenant/two", 1);
    repo.generate(&[]).expect(0);
    let [one, two] =
        ["one", "two"].map(|name| format!("overlays/hosts/declared/inventory/tenant.{name}.yaml"));
    let text = repo.read(&one);
    let (first, second) = (text.find("---").unwrap(), text.rfind("---").unwrap());

    repo.write(&one, &(text[..first].to_owned() + &text[second..]));
    repo.write(&two, &(repo.read(&two) + &text[first..second].replace("\"one\"", "\"two\"")));
    repo.want("tenant/one", 1);
    repo.want("tenant/two", 2);
    repo.generate(&[]).expect(0);

    assert_eq!(repo.hosts_of("tenant", "one"), ["Worker metal/host-2"]);
    assert_eq!(repo.hosts_of("tenant", "two"), ["Worker metal/host-1", "Worker metal/host-3"]);
}

/// A run that finds something in its way changes nothing and says what it is.
#[track_caller]
fn refused(repo: &Repo, reason: &str) {
    assert_says(&repo.refused(), &[reason, "no files written"]);
}

#[test]
fn a_foreign_file_where_ours_is_to_be_is_not_overwritten() {
    let repo = Repo::of_fixture("quickstart");
    repo.write("overlays/clusters/tenant-a/edge/kustomization.yaml", "resources: [mine.yaml]\n");

    refused(
        &repo,
        "`overlays/clusters/tenant-a/edge/kustomization.yaml` is a file without sipgen's first line",
    );
}

#[test]
fn a_file_of_ours_that_has_lost_its_mark_is_not_overwritten() {
    let repo = Repo::generated("quickstart");
    let text = repo.read(EDGE_HOSTS);
    let (_, without_mark) = text.split_once('\n').unwrap();
    repo.write(EDGE_HOSTS, without_mark);

    refused(&repo, &format!("`{EDGE_HOSTS}` is a file without sipgen's first line"));
}

#[test]
fn conflicts_of_a_merge_in_generated_files_are_named() {
    for file in ["overlays/clusters/tenant-a/edge/jumphost/service.yaml", EDGE_HOSTS] {
        let repo = Repo::generated("quickstart");
        let text = repo.read(file);
        repo.write(file, &format!("<<<<<<< HEAD\n---\n=======\n{text}>>>>>>> other\n"));

        refused(&repo, &format!("SIP0005]: `{file}` is a file with conflict markers of git"));
    }
}

#[test]
fn a_directory_where_a_file_is_to_be_is_not_replaced() {
    let repo = Repo::of_fixture("quickstart");
    fs::create_dir_all(repo.path().join(EDGE_HOSTS)).unwrap();

    refused(&repo, &format!("`{EDGE_HOSTS}` is a directory"));
}

#[test]
fn a_file_where_a_directory_is_to_be_is_not_replaced() {
    let repo = Repo::of_fixture("quickstart");
    repo.write("overlays/hosts", "# Generated by sipgen from nothing. Do not edit.\n");

    refused(&repo, "`overlays/hosts` is a file where a directory is required");
}

#[test]
fn a_file_in_place_of_the_output_directory_is_not_replaced() {
    for output in ["build", "build/overlays"] {
        let repo = Repo::of_fixture("quickstart");
        repo.write("sipgen.yaml", &format!("output: {output}\n"));
        repo.write("build", "mine\n");

        refused(&repo, "error[SIP0005]: `build` is not a directory");
    }
}

#[test]
fn nothing_is_written_through_a_symbolic_link() {
    for link in ["overlays", "overlays/clusters", "overlays/clusters/tenant-a/edge/jumphost"] {
        let repo = Repo::of_fixture("quickstart");
        let elsewhere = tempfile::tempdir().unwrap();
        fs::create_dir_all(repo.path().join(link).parent().unwrap()).unwrap();
        symlink(elsewhere.path(), repo.path().join(link)).unwrap();

        refused(&repo, &format!("`{link}` is a symbolic link"));

        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0, "{link}");
    }
}

#[test]
fn a_symbolic_link_in_place_of_a_file_is_not_replaced() {
    let repo = Repo::generated("quickstart");
    let elsewhere = tempfile::tempdir().unwrap();
    let target = elsewhere.path().join("target.yaml");
    fs::rename(repo.path().join(EDGE_HOSTS), &target).unwrap();
    symlink(&target, repo.path().join(EDGE_HOSTS)).unwrap();
    repo.replace(EDGE, ONE_WORKER, TWO_WORKERS);
    let before = fs::read(&target).unwrap();

    refused(&repo, &format!("`{EDGE_HOSTS}` is a symbolic link"));

    assert_eq!(fs::read(&target).unwrap(), before);
}

#[test]
fn foreign_files_that_are_not_in_the_way_are_named_and_left_alone() {
    let repo = Repo::of_fixture("quickstart");
    repo.write("overlays/flux.yaml", "kind: Kustomization\n");
    repo.write("overlays/clusters/tenant-a/edge/.gitkeep", "");
    repo.write("overlays/clusters/tenant-z/old/notes.txt", "mine\n");
    let before = repo.on_disk("");

    let run = repo.generate(&[]).expect(0);

    assert_says(&run.stderr, &["sipgen did not write 3 files in `overlays`"]);
    let after = repo.on_disk("");
    for path in [
        "overlays/flux.yaml",
        "overlays/clusters/tenant-a/edge/.gitkeep",
        "overlays/clusters/tenant-z/old/notes.txt",
    ] {
        assert_says(&run.stderr, &[path]);
        assert_eq!(after.get(path), before.get(path));
    }
}

#[test]
fn files_have_the_permissions_of_any_new_file() {
    let repo = Repo::generated("quickstart");
    repo.write("any", "");
    let mode = |path: &str| fs::metadata(repo.path().join(path)).unwrap().mode();

    assert_eq!(mode(EDGE_HOSTS), mode("any"));
}

/// Runs sipgen as a user whom permissions bind, which they do not bind root.
fn generate_without_privileges(repo: &Repo) -> Run {
    if fs::metadata(repo.path()).unwrap().uid() != 0 {
        return repo.generate(&[]);
    }
    let nobody = Some(65534);
    for entry in WalkDir::new(repo.path()) {
        chown(entry.unwrap().path(), nobody, nobody).unwrap();
    }
    // The build's own directory may be closed to others.
    let open = tempfile::tempdir().unwrap();
    fs::set_permissions(open.path(), Permissions::from_mode(0o755)).unwrap();
    let program = open.path().join("sipgen");
    fs::copy(env!("CARGO_BIN_EXE_sipgen"), &program).unwrap();
    let mut setpriv = Command::new("setpriv");
    setpriv
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&program)
        .arg("generate");
    // Root's own settings of git cannot be read by others.
    setpriv.env("HOME", open.path());
    let output = crate::support::run_tool(setpriv.current_dir(repo.path()));
    Run {
        code: output.status.code().unwrap(),
        stdout: crate::support::text(&output.stdout),
        stderr: crate::support::text(&output.stderr),
    }
}

/// A run that may not write into a directory fails, names the path, and leaves all as it was.
#[track_caller]
fn refused_without_permission(repo: &Repo, read_only: &str, message: &str) {
    let directory = repo.path().join(read_only);
    let before = (repo.on_disk(""), directories(repo.path()));

    fs::set_permissions(&directory, Permissions::from_mode(0o555)).unwrap();
    let run = generate_without_privileges(repo);
    fs::set_permissions(&directory, Permissions::from_mode(0o755)).unwrap();

    let run = run.expect(2);
    assert_says(&run.stderr, &[message]);
    assert!(
        (repo.on_disk(""), directories(repo.path())) == before,
        "files or directories have changed"
    );
}

fn directories(top: &Path) -> BTreeSet<String> {
    let entries = WalkDir::new(top)
        .into_iter()
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().is_dir());
    entries.map(|entry| entry.path().to_str().unwrap().to_owned()).collect()
}

#[test]
fn without_permission_to_create_the_output_directory_nothing_changes() {
    let repo = Repo::of_fixture("quickstart");

    refused_without_permission(&repo, "", "cannot create the directory");
}

#[test]
fn without_permission_in_one_directory_no_file_changes_in_any() {
    let repo = Repo::generated("quickstart");
    repo.replace(EDGE, ONE_WORKER, TWO_WORKERS);

    // The kustomization names the Secrets of the new host, and is the first file of the directory.
    let directory = "overlays/hosts/declared/sites/lab";
    refused_without_permission(&repo, directory, &format!("{directory}/kustomization.yaml"));
}

#[test]
fn without_permission_to_create_one_directory_those_created_before_are_removed() {
    let repo = Repo::of_fixture("quickstart");
    repo.write("overlays/hosts/README", "mine\n");

    refused_without_permission(&repo, "overlays/hosts", "overlays/hosts/declared");
}

#[test]
fn without_permission_to_delete_one_file_no_other_changes() {
    let repo = Repo::empty();
    repo.observe("");
    repo.want("tenant/old", 1);
    repo.generate(&[]).expect(0);
    repo.want_no_more("tenant/old");
    repo.want("tenant/new", 1);
    let of_old = "overlays/hosts/observed/tenant.old";

    refused_without_permission(&repo, of_old, of_old);
}
