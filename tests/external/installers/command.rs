//! `sipgen inventory`.

use std::fs;
use std::path::PathBuf;

use super::{HOSTS, INSTALLER};
use crate::support::{Repo, Run, assert_says, run};

fn inventory(repo: &Repo, arguments: &[&str]) -> Run {
    run(&mut repo.sipgen(&[&["inventory"], arguments].concat()))
}

/// A file without its first line, the mark of ownership.
fn body(path: PathBuf) -> String {
    fs::read_to_string(path)
        .unwrap()
        .split_once('\n')
        .unwrap()
        .1
        .to_owned()
}

#[test]
fn the_command_prints_what_would_be_written_and_writes_nothing() {
    let repo = Repo::of_fixture("provisioning");

    let printed = inventory(&repo, &["lab/depot"]).expect(0);

    assert!(!repo.exists("overlays"));
    repo.generate(&[]).expect(0);
    assert_eq!(
        printed.stdout,
        body(repo.path().join(INSTALLER).join("hosts.ini"))
    );
    assert_eq!(printed.stderr, "");
}

#[test]
fn the_command_prints_either_form_and_by_default_that_of_the_settings() {
    let repo = Repo::of_fixture("provisioning");
    let yaml = inventory(&repo, &["lab/depot", "--format", "yaml"])
        .expect(0)
        .stdout;
    let ini = inventory(&repo, &["lab/depot"]).expect(0).stdout;
    repo.write("sipgen.yaml", "provisioning: {inventory: yaml}\n");

    assert_eq!(inventory(&repo, &["lab/depot"]).expect(0).stdout, yaml);
    assert_eq!(
        inventory(&repo, &["lab/depot", "--format", "ini"])
            .expect(0)
            .stdout,
        ini
    );
    repo.generate(&[]).expect(0);
    assert_eq!(yaml, body(repo.path().join(INSTALLER).join("hosts.yaml")));
}

#[test]
fn the_command_has_an_inventory_of_a_revision() {
    let repo = Repo::of_fixture("provisioning");
    let before = inventory(&repo, &["lab/depot"]).expect(0).stdout;
    repo.replace(HOSTS, "ip: 198.51.100.13", "ip: 198.51.100.93");

    assert_eq!(
        inventory(&repo, &["lab/depot", "--rev", "HEAD"])
            .expect(0)
            .stdout,
        before
    );
    assert!(
        inventory(&repo, &["lab/depot"])
            .expect(0)
            .stdout
            .contains("198.51.100.93")
    );
}

#[test]
fn the_command_prints_no_half_of_an_inventory() {
    let repo = Repo::of_fixture("provisioning");
    repo.replace("clusters/press.yaml", "cpu: 64", "cpu: 640");

    let run = inventory(&repo, &["lab/press"]).expect(1);

    assert_eq!(run.stdout, "");
    assert_says(&run.stderr, &["error[SIP", "body-1"]);
    assert_says(
        &inventory(&repo, &["lab/depot"]).expect(0).stdout,
        &["[kube-master]"],
    );
}

#[test]
fn the_command_says_what_has_no_inventory() {
    let repo = Repo::of_fixture("quickstart");

    let run = inventory(&repo, &["tenant-a/edge"]).expect(2);
    assert_says(&run.stderr, &["`tenant-a/edge` is a SIPCluster"]);
    let run = inventory(&repo, &["tenant-a/none"]).expect(2);
    assert_says(
        &run.stderr,
        &["no Provisioning of cluster `tenant-a/none` in the repo"],
    );
}
