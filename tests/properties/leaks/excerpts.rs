//! Findings show the lines as they were read.

use crate::support::Repo;

/// A host that is gone is shown where the last run had written it, although this run writes the file anew.
#[test]
fn a_line_that_is_written_anew_is_shown_as_it_was() {
    let repo = Repo::of_hosts(3);
    repo.want("tenant-a/edge", 3);
    repo.generate(&[]).expect(0);
    let hosts = repo.read("inventory/hosts.yaml");
    let (_, others) = hosts.split_once("name: host-1\n").unwrap();
    repo.write("inventory/hosts.yaml", others.split_once("---\n").unwrap().1);
    repo.want("tenant-a/edge", 2);

    let said = repo.generate(&[]).expect(0).stderr;

    let finding = said
        .split("\n\n")
        .find(|finding| finding.contains("SIP0506"))
        .unwrap_or_else(|| panic!("{said}"));
    let line = finding.lines().find(|line| line.contains(" | ") && line.contains("name")).unwrap();
    assert!(line.contains("host-1") && !line.contains("host-2"), "{finding}");
}
