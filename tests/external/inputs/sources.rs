//! The tests of `integration::inputs::sources` that need another program.

use crate::support::scenes::inputs::sipgen;
use crate::support::{Repo, assert_says, host};

fn with_sources(fixture: &str, settings: &str) -> Repo {
    let repo = Repo::generated(fixture);
    repo.write("sipgen.yaml", settings);
    repo
}

#[test]
fn the_namespace_of_a_source_is_that_of_what_has_none() {
    let repo = Repo::empty();
    repo.write("inventory/hosts.yaml", &host("host-1", "").replace("  namespace: metal\n", ""));
    repo.write("inventory/kustomization.yaml", "resources: [hosts.yaml]\n");
    repo.want("tenant-a/edge", 1);
    repo.write(
        "sipgen.yaml",
        "sources: [{paths: [inventory], namespace: site-a}, {paths: [clusters]}]\n",
    );
    repo.generate(&[]).expect(0);
    let patch = repo.read("overlays/hosts/declared/inventory/tenant-a.edge.yaml");
    assert_says(&patch, &["# The host site-a/host-1"]);
    // The patch finds the host where kustomize knows of no namespace, and the next run reads who has it.
    let host =
        crate::support::built_host(repo.path().join("overlays/hosts/declared/inventory"), "host-1");
    assert!(crate::support::is_labelled(&host));
    repo.generate(&["--check"]).expect(0);
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
        &["SIP0503", "no longer matches the selector", "--> sites/lab/hosts/rack-a.yaml\n"],
    );
}

#[test]
fn a_failing_build_is_told_in_kustomizes_words_without_paths_of_this_run() {
    let repo = with_sources("quickstart", "sources: [{kustomization: sites/lab}]\n");
    repo.replace("sites/lab/kustomization.yaml", "resources:", "nonsense: true\nresources:");
    let run = sipgen(&repo, &["generate", "--check"]).expect(1);
    assert_says(
        &run.stderr,
        &["error[SIP0011]", "kustomize reports", "nonsense", "sipgen.yaml:1:"],
    );
    assert!(!run.stderr.contains("/tmp/"), "{}", run.stderr);
    for (directory, words) in [
        ("sites/lap", "is no directory"),
        ("linked", "is no directory"),
        ("sites", "has no kustom"),
    ] {
        std::os::unix::fs::symlink("sites/lab", repo.path().join("linked")).ok();
        repo.write("sipgen.yaml", &format!("sources: [{{kustomization: {directory}}}]\n"));
        assert_says(&sipgen(&repo, &["generate", "--check"]).expect(1).stderr, &["SIP0011", words]);
    }
}
