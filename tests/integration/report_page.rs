//! `sipgen report`: the page is written with care, and works in a real browser.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::scenes::report_page::{page, report};
use crate::support::{EDGE, Repo, assert_says, edge_with, fixtures};

#[test]
fn the_same_input_gives_the_same_page() {
    let (one, other) = (Repo::generated("multi-cluster"), Repo::generated("multi-cluster"));
    for repo in [&one, &other] {
        repo.git(&["remote", "add", "origin", "https://user:secret@git.example.com/fleet.git"]);
    }
    let commit = one.git(&["rev-parse", "--short", "HEAD"]);
    other.git(&["fetch", "--quiet", one.path().to_str().unwrap(), "HEAD"]);
    other.git(&["reset", "--quiet", "FETCH_HEAD"]);

    let page_of_one = page(&one);

    assert!(page_of_one == page(&other));
    let commit = format!(r#""commit":"{}""#, commit.trim());
    for part in [commit.as_str(), r#""repo":"fleet""#, r#""isChanged":false"#] {
        assert!(page_of_one.contains(part), "{part}");
    }
    assert!(!page_of_one.contains("secret"));
}

#[test]
fn a_page_says_whether_its_files_are_committed() {
    let repo = Repo::generated("multi-cluster");
    let site = repo.path().join("site.html");
    let written = || {
        report(&repo, &[site.to_str().unwrap()]).expect(0);
        repo.read("site.html")
    };

    let first = written();
    assert!(first.contains(r#""isChanged":false"#));
    // The page itself is no change of its site.
    assert!(first == written());
    repo.write("notes.yaml", "a: 1\n");
    assert!(written().contains(r#""isChanged":true"#));
    let committed = report(&repo, &["-", "--rev", "HEAD"]).stdout;
    assert!(committed.contains(r#""isChanged":false"#));
}

#[test]
fn a_page_is_written_where_it_is_asked_for_and_nothing_else_is() {
    let repo = Repo::of_fixture("quickstart");
    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().join("site.html");

    report(&repo, &[file.to_str().unwrap()]).expect(0);

    assert_eq!(fs::read_to_string(&file).unwrap(), page(&repo));
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 1);
}

#[test]
fn a_page_is_replaced_and_one_that_stays_the_same_is_not_touched() {
    let repo = Repo::of_fixture("quickstart");
    report(&repo, &["site.html"]).expect(0);
    let first = repo.on_disk("")["site.html"].clone();

    report(&repo, &["site.html"]).expect(0);
    assert_eq!(repo.on_disk("")["site.html"], first);

    repo.replace(EDGE, "name: edge", "name: verge");
    report(&repo, &["site.html"]).expect(0);
    let second = repo.read("site.html");
    assert!(second.contains("verge") && second.as_bytes() != first.content);
}

#[test]
fn what_is_no_page_of_ours_is_not_replaced() {
    let repo = Repo::of_fixture("quickstart");
    repo.write("notes.html", "<!doctype html>\n<p>mine</p>\n");
    repo.write("empty.html", "");
    symlink("notes.html", repo.path().join("link.html")).unwrap();
    for (file, reason) in [
        ("notes.html", "is not a page written by sipgen"),
        ("empty.html", "is not a page written by sipgen"),
        ("link.html", "is not a regular file"),
        ("sites", "is not a regular file"),
        ("nowhere/site.html", "no such directory: `nowhere`"),
        ("sites/", "is not a regular file"),
        ("", "is not a file name"),
    ] {
        let run = report(&repo, &[file]).expect(2);

        assert_says(&run.stderr, &[file, reason]);
    }
    assert_eq!(repo.read("notes.html"), "<!doctype html>\n<p>mine</p>\n");
    assert_eq!(repo.read("empty.html"), "");
}

#[test]
fn errors_are_told_by_the_page_and_by_the_exit_code() {
    let repo = edge_with("active: 2", "active: 200");

    let run = report(&repo, &["-"]).expect(1);

    assert_says(&run.stderr, &["error"]);
    assert_says(&run.stdout, &["\"active\":200", "\"severity\":\"error\"", EDGE]);
}

#[test]
fn no_secret_is_in_a_page() {
    for fixture in ["quickstart", "observed", "jump-host"] {
        assert!(fixtures().join(fixture).is_dir());
        let page = page(&Repo::of_fixture(fixture));

        assert!(page.contains("</html>") && !page.contains("not-a-secret"), "{fixture}");
    }
}
