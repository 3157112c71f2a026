//! Checkouts with `core.autocrlf`.

use std::collections::BTreeMap;

use crate::support::scenes::git::{EDGE_HOSTS, quickstart, status, want_more};
use crate::support::{EDGE, Repo};

/// A clone of the quickstart whose files end their lines with carriage return and line feed.
fn with_carriage_returns() -> Repo {
    let repo = quickstart();
    repo.git(&["config", "core.autocrlf", "true"]);
    repo.git(&["rm", "--quiet", "-r", "--cached", "."]);
    repo.git(&["reset", "--quiet", "--hard"]);
    assert!(repo.read(EDGE).contains("\r\n") && repo.read(EDGE_HOSTS).contains("\r\n"));
    repo
}

fn without(files: BTreeMap<String, String>) -> BTreeMap<String, String> {
    files.into_iter().map(|(path, text)| (path, text.replace("\r\n", "\n"))).collect()
}

#[test]
fn generated_files_that_differ_in_line_ends_are_unchanged() {
    let repo = with_carriage_returns();
    let before = repo.on_disk("");

    repo.generate(&["--check"]).expect(0);
    repo.generate(&["--exit-code"]).expect(0);

    assert!(repo.on_disk("") == before, "files have changed");
}

#[test]
fn changed_files_are_what_they_are_anywhere_and_have_line_feeds() {
    let (repo, other) = (with_carriage_returns(), quickstart());
    want_more(&other);
    repo.write(EDGE, &other.read(EDGE).replace('\n', "\r\n"));

    let diff = repo.generate(&["--diff"]).expect(0).stdout;
    let plain = other.generate(&["--diff"]).expect(0).stdout;

    assert_eq!(diff, plain);
    assert!(!repo.read(EDGE_HOSTS).contains('\r'));
    assert_eq!(without(repo.files("overlays")), other.files("overlays"));
}

#[test]
fn inputs_and_templates_say_the_same_with_either_line_end() {
    let write = |repo: &Repo, end: &str| {
        let own = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ name }}\n";
        let own =
            &format!("{own}data:\n  text: |\n    one\n    two\n").replace("{{ name }}", "mine");
        repo.write("sipgen.yaml", "templates: mine\n");
        repo.write("mine/loadbalancer/shared/poddisruptionbudget.yaml", own);
        for (path, text) in repo.files("") {
            repo.write(&path, &text.replace('\n', end));
        }
        repo.generate(&[]).expect(0);
    };
    let (repo, other) = (Repo::of_fixture("quickstart"), Repo::of_fixture("quickstart"));

    write(&repo, "\r\n");
    write(&other, "\n");

    assert_eq!(repo.files("overlays"), other.files("overlays"));
}

#[test]
fn a_commit_from_such_a_checkout_has_line_feeds_and_leaves_nothing_dirty() {
    let repo = with_carriage_returns();
    repo.replace(EDGE, "active: 1\r\n        standby: 1", "active: 2\r\n        standby: 1");
    repo.git(&["commit", "--quiet", "--all", "--message", "more"]);

    repo.generate(&[]).expect(0);
    repo.commit();

    assert!(!repo.git(&["show", &format!("HEAD:{EDGE_HOSTS}")]).contains('\r'));
    assert_eq!(status(&repo), [""; 0]);
}
