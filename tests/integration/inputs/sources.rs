use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use crate::support::scenes::inputs::{live, sipgen};
use crate::support::{Repo, assert_says, host, run};

fn with_sources(fixture: &str, settings: &str) -> Repo {
    let repo = Repo::generated(fixture);
    repo.write("sipgen.yaml", settings);
    repo
}

#[test]
fn globs_restrict_what_is_read() {
    let repo = Repo::of_hosts(3);
    repo.want("tenant-a/edge", 1);
    repo.want("tenant-b/old", 1);
    repo.write(
        "sipgen.yaml",
        "sources: [{paths: [inventory, 'clusters/**/*.yaml', '!clusters/tenant-b.*']}]\n",
    );
    repo.generate(&[]).expect(0);
    assert!(repo.hosts_of("tenant-b", "old").is_empty());
    assert_eq!(repo.hosts_of("tenant-a", "edge"), ["Worker metal/host-1"]);
}

#[test]
fn a_glob_that_matches_nothing_is_a_warning_at_the_glob() {
    let repo =
        with_sources("quickstart", "sources:\n  - paths:\n      - sites\n      - sitez/**\n");
    let run = sipgen(&repo, &["generate", "--check"]).expect(0);
    assert_says(&run.stderr, &["warning[SIP0012]", "`sitez/**`", "sipgen.yaml:4:9"]);
}

#[test]
fn a_host_whose_manifest_is_left_out_is_declared_all_the_same() {
    let repo = Repo::of_hosts(1);
    repo.want("tenant-a/edge", 1);
    repo.write("snapshot/hosts.yaml", &live(&host("host-1", "")));
    repo.write("sipgen.yaml", "sources: [{paths: [snapshot, clusters]}]\n");
    repo.generate(&[]).expect(0);
    assert!(repo.exists("overlays/hosts/declared/inventory/tenant-a.edge.yaml"));
    assert!(!repo.exists("overlays/hosts/observed"));
}

#[test]
fn a_build_takes_nothing_from_elsewhere() {
    for (entry, named) in [
        ("https://example.com/hosts.yaml", "https://example.com/hosts.yaml"),
        ("github.com/example/hosts", "github.com/example/hosts"),
        ("../../../outside", "../../../outside"),
        ("/etc", "/etc"),
        ("../../linked/hosts", "../../linked/hosts"),
    ] {
        let repo = with_sources("quickstart", "sources: [{kustomization: sites/lab}]\n");
        std::os::unix::fs::symlink("sites/lab", repo.path().join("linked")).unwrap();
        repo.replace(
            "sites/lab/hosts/kustomization.yaml",
            "  - rack-a.yaml",
            &format!("  - {entry}\n  - rack-a.yaml"),
        );
        let run = sipgen(&repo, &["generate", "--check"]).expect(1);
        let file = "sites/lab/hosts/kustomization.yaml";
        assert_says(
            &run.stderr,
            &["error[SIP0011]", &format!("`{named}`"), "not in the repo", file],
        );
    }
}

#[test]
fn a_build_that_does_not_end_is_ended() {
    let repo =
        with_sources("quickstart", "sources: [{kustomization: sites/lab, timeoutSeconds: 1}]\n");
    let slow = repo.path().join(".git/slow");
    fs::write(&slow, "#!/bin/sh\nsleep 60 & sleep 60\n").unwrap();
    fs::set_permissions(&slow, fs::Permissions::from_mode(0o755)).unwrap();
    let start = Instant::now();
    let ended = run(repo.sipgen(&["generate", "--check"]).env("SIPGEN_KUSTOMIZE", &slow)).expect(1);
    assert_says(&ended.stderr, &["SIP0011", "not built after 1 seconds"]);
    assert!(start.elapsed() < Duration::from_secs(40));
}

#[test]
fn a_source_is_built_once_a_run() {
    let repo = Repo::of_fixture("provisioning");
    // Provisionings make sipgen read the hosts once more, for their hardware.
    repo.write("sipgen.yaml", "sources: [{paths: [clusters]}, {kustomization: inventory}]\n");
    repo.write("inventory/kustomization.yaml", "resources: [hosts.yaml]\n");
    let (kustomize, runs) = (repo.path().join(".git/kustomize"), repo.path().join(".git/runs"));
    let script = format!(
        "#!/bin/sh\necho run >>{}\ncat {}/inventory/hosts.yaml\n",
        runs.display(),
        repo.path().display(),
    );
    fs::write(&kustomize, script).unwrap();
    fs::set_permissions(&kustomize, fs::Permissions::from_mode(0o755)).unwrap();
    for arguments in [&["generate", "--check"][..], &["validate"]] {
        let ended = run(repo.sipgen(arguments).env("SIPGEN_KUSTOMIZE", &kustomize));
        assert!(!ended.stderr.contains("SIP0011"), "{}", ended.stderr);
        assert_eq!(fs::read_to_string(&runs).unwrap(), "run\n", "{arguments:?}");
        fs::remove_file(&runs).unwrap();
    }
}

#[test]
fn a_machine_without_kustomize_is_told_so() {
    let repo = with_sources("quickstart", "sources: [{kustomization: sites/lab}]\n");
    let empty = tempfile::tempdir().unwrap();
    let missing = run(repo.sipgen(&["generate", "--check"]).env("PATH", empty.path())).expect(1);
    assert_says(
        &missing.stderr,
        &["SIP0011", "neither `kustomize` nor `kubectl`", "SIPGEN_KUSTOMIZE"],
    );
}

#[test]
fn a_source_that_says_nothing_or_two_things_is_refused() {
    for (sources, words) in [
        ("[{namespace: metal}]", "`paths` of source 1 is missing, and so is `kustomization`"),
        ("[{paths: [a], kustomization: b}]", "`kustomization` of source 1 is set beside `paths`"),
        ("[{paths: [../a]}]", "`../a`"),
        ("[{kustomization: ../a}]", "not a directory inside the repo"),
        ("[{kustomization: a, timeoutSeconds: 0}]", "`timeoutSeconds` of source 1 must not be 0"),
        ("[{kustomization: overlays/hosts}]", "in the output directory `overlays`"),
        ("[{path: [a]}]", "unknown field"),
    ] {
        let repo = with_sources("quickstart", &format!("sources: {sources}\n"));
        assert_says(
            &sipgen(&repo, &["generate", "--check"]).expect(1).stderr,
            &[words, "sipgen.yaml:1:"],
        );
    }
}

/// What such a source delivers would change with every run.
#[test]
fn a_source_that_lists_the_output_is_refused() {
    let repo = with_sources(
        "quickstart",
        "sources: [{kustomization: all}, {paths: [clusters/**, hosts/**]}]\n",
    );
    repo.write("all/kustomization.yaml", "resources: [base]\n");
    for (file, text, path) in [
        (
            "all/base/kustomization.yaml",
            "resources: [../../overlays/hosts/declared]\n",
            "overlays/hosts/declared",
        ),
        ("all/base/kustomization.yaml", "resources: [own]\n", "overlays/tenants/a/b/cluster-api"),
    ] {
        repo.write(
            "all/base/own/kustomization.yaml",
            "components: [../../../overlays/tenants/a/b/cluster-api]\n",
        );
        repo.write(file, text);
        let run = repo.generate(&[]).expect(1);
        assert_says(
            &run.stderr,
            &[
                "SIP0011",
                &format!("the source all needs `{path}`, which sipgen writes"),
                "sipgen.yaml:1:",
            ],
        );
    }
}
