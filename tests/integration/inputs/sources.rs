use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use super::{live, sipgen};
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
    repo.write("sipgen.yaml", "sources: [{paths: [inventory, 'clusters/**/*.yaml', '!clusters/tenant-b.*']}]\n");
    repo.generate(&[]).expect(0);
    assert!(repo.hosts_of("tenant-b", "old").is_empty());
    assert_eq!(repo.hosts_of("tenant-a", "edge"), ["Worker metal/host-1"]);
}

#[test]
fn a_glob_that_matches_nothing_is_a_warning_at_the_glob() {
    let repo = with_sources("quickstart", "sources:\n  - paths:\n      - sites\n      - sitez/**\n");
    let run = sipgen(&repo, &["generate", "--check"]).expect(0);
    assert_says(&run.stderr, &["warning[SIP0012]", "`sitez/**`", "sipgen.yaml:4:9"]);
}

#[test]
fn the_namespace_of_a_source_is_that_of_what_has_none() {
    let repo = Repo::empty();
    repo.write("inventory/hosts.yaml", &host("host-1", "").replace("  namespace: metal\n", ""));
    repo.write("inventory/kustomization.yaml", "resources: [hosts.yaml]\n");
    repo.want("tenant-a/edge", 1);
    repo.write("sipgen.yaml", "sources: [{paths: [inventory], namespace: site-a}, {paths: [clusters]}]\n");
    repo.generate(&[]).expect(0);
    let patch = repo.read("overlays/hosts/declared/inventory/tenant-a.edge.yaml");
    assert_says(&patch, &["# The host site-a/host-1"]);
    // The patch finds the host where kustomize knows of no namespace, and the next run reads who has it.
    let host = crate::support::built_host(repo.path().join("overlays/hosts/declared/inventory"), "host-1");
    assert!(crate::support::is_labelled(&host));
    repo.generate(&["--check"]).expect(0);
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
fn what_the_real_kustomize_builds_gives_the_same_files() {
    let repo = with_sources("quickstart", "sources: [{kustomization: sites/lab}]\n");
    sipgen(&repo, &["generate", "--check"]).expect(0);
    // Nothing is read a second time by a glob.
    repo.write("sipgen.yaml", "sources: [{paths: [sites]}, {kustomization: sites/lab}]\n");
    sipgen(&repo, &["generate", "--check"]).expect(0);
    repo.commit();
    repo.replace("sites/lab/kustomization.yaml", "  - hosts/\n", "");
    sipgen(&repo, &["generate", "--rev", "HEAD", "--check"]).expect(0);
    sipgen(&repo, &["generate", "--from-index", "--check"]).expect(0);
    sipgen(&repo, &["generate", "--check"]).expect(1);
}

#[test]
fn findings_of_what_is_built_name_the_file_that_kustomize_names() {
    let repo = with_sources("quickstart", "sources: [{kustomization: sites/lab}]\n");
    repo.replace(crate::support::EDGE, "active: 2", "active: -2");
    let run = sipgen(&repo, &["generate", "--check"]).expect(1);
    assert_says(&run.stderr, &["--> sites/lab/clusters/edge.yaml\n"]);
}

#[test]
fn a_host_that_only_a_patch_changes_is_read_as_it_is_built() {
    let repo = with_sources("quickstart", "sources: [{kustomization: sites/lab}]\n");
    repo.write(
        "sites/lab/kustomization.yaml",
        "resources: [hosts/, clusters/]\npatches:\n  - target: {kind: BareMetalHost}\n    patch: |-\n      - op: replace\n        \
         path: /metadata/labels/hardware.example.com~1flavor\n        value: none\n",
    );
    let run = sipgen(&repo, &["generate", "--check"]).expect(0);
    assert_says(
        &run.stderr,
        &["SIP0503", "no longer what the labelSelector asks for", "--> sites/lab/hosts/rack-a.yaml\n"],
    );
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
        repo.replace("sites/lab/hosts/kustomization.yaml", "  - rack-a.yaml", &format!("  - {entry}\n  - rack-a.yaml"));
        let run = sipgen(&repo, &["generate", "--check"]).expect(1);
        let file = "sites/lab/hosts/kustomization.yaml";
        assert_says(&run.stderr, &["error[SIP0011]", &format!("`{named}`"), "not in the repo", file]);
    }
}

#[test]
fn a_failing_build_is_told_in_kustomizes_words_without_paths_of_this_run() {
    let repo = with_sources("quickstart", "sources: [{kustomization: sites/lab}]\n");
    repo.replace("sites/lab/kustomization.yaml", "resources:", "nonsense: true\nresources:");
    let run = sipgen(&repo, &["generate", "--check"]).expect(1);
    assert_says(&run.stderr, &["error[SIP0011]", "kustomize says", "nonsense", "sipgen.yaml:1:"]);
    assert!(!run.stderr.contains("/tmp/"), "{}", run.stderr);
    for (directory, words) in
        [("sites/lap", "is no directory"), ("linked", "is no directory"), ("sites", "has no kustom")]
    {
        std::os::unix::fs::symlink("sites/lab", repo.path().join("linked")).ok();
        repo.write("sipgen.yaml", &format!("sources: [{{kustomization: {directory}}}]\n"));
        assert_says(&sipgen(&repo, &["generate", "--check"]).expect(1).stderr, &["SIP0011", words]);
    }
}

#[test]
fn a_build_that_does_not_end_is_ended() {
    let repo = with_sources("quickstart", "sources: [{kustomization: sites/lab, timeoutSeconds: 1}]\n");
    let slow = repo.path().join(".git/slow");
    fs::write(&slow, "#!/bin/sh\nsleep 60 & sleep 60\n").unwrap();
    fs::set_permissions(&slow, fs::Permissions::from_mode(0o755)).unwrap();
    let start = Instant::now();
    let ended = run(repo.sipgen(&["generate", "--check"]).env("SIPGEN_KUSTOMIZE", &slow)).expect(1);
    assert_says(&ended.stderr, &["SIP0011", "not built after 1 seconds"]);
    assert!(start.elapsed() < Duration::from_secs(40));
}

#[test]
fn a_machine_without_kustomize_is_told_so() {
    let repo = with_sources("quickstart", "sources: [{kustomization: sites/lab}]\n");
    let empty = tempfile::tempdir().unwrap();
    let missing = run(repo.sipgen(&["generate", "--check"]).env("PATH", empty.path())).expect(1);
    assert_says(&missing.stderr, &["SIP0011", "neither `kustomize` nor `kubectl`", "SIPGEN_KUSTOMIZE"]);
}

#[test]
fn a_source_that_says_nothing_or_two_things_is_refused() {
    for (sources, words) in [
        ("[{namespace: metal}]", "neither `paths` nor a `kustomization`"),
        ("[{paths: [a], kustomization: b}]", "both `paths` and a `kustomization`"),
        ("[{paths: [../a]}]", "`../a`"),
        ("[{kustomization: ../a}]", "no directory inside the repo"),
        ("[{kustomization: a, timeoutSeconds: 0}]", "timeoutSeconds: 0"),
        ("[{kustomization: overlays/hosts}]", "in the output directory overlays"),
        ("[{path: [a]}]", "unknown field"),
    ] {
        let repo = with_sources("quickstart", &format!("sources: {sources}\n"));
        assert_says(&sipgen(&repo, &["generate", "--check"]).expect(1).stderr, &[words, "sipgen.yaml:1:"]);
    }
}
