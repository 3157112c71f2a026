//! What `.gitattributes` says of generated files, asked of git.

use camino::Utf8Path;

use crate::support::scenes::git::quickstart;
use crate::support::{EDGE, Repo};

/// The attributes of a file, in the order of their names here.
fn attributes(repo: &Repo, file: &str) -> [String; 4] {
    ["text", "eol", "linguist-generated", "gitlab-generated"].map(|name| {
        let line = repo.git(&["check-attr", "-z", name, "--", file]);
        line.split('\0').nth(2).unwrap().to_owned()
    })
}

#[test]
fn services_fold_in_reviews_and_the_labels_of_hosts_never_do() {
    let repo = quickstart();
    repo.write(".gitattributes", &sipgen::setup::init::attributes(Utf8Path::new("overlays")));
    let output = repo.files("overlays");

    for file in output.keys() {
        let generated = if file.starts_with("hosts/") { "unset" } else { "set" };
        assert_eq!(
            attributes(&repo, &format!("overlays/{file}")),
            ["set", "lf", generated, generated],
            "{file}"
        );
    }
    for other in [EDGE, "other/overlays/clusters/a.yaml", "overlays.yaml"] {
        assert_eq!(attributes(&repo, other), ["unspecified"; 4], "{other}");
    }
}

#[test]
fn the_docs_have_the_same_lines() {
    let docs = include_str!("../../../docs/reference/git.md");

    let attributes = sipgen::setup::init::attributes(Utf8Path::new("overlays"));

    let (_, lines) = attributes.split_once('\n').unwrap();
    assert!(docs.contains(lines), "{lines}");
}

#[test]
fn the_output_directory_may_have_any_name() {
    for output in [
        "out put",
        "a/b c",
        "#1",
        "!x",
        "[a]*?",
        r"back\slash",
        "\"quoted\"",
        "サイト",
        "tab\there",
    ] {
        let repo = Repo::empty();
        repo.write(".gitattributes", &sipgen::setup::init::attributes(Utf8Path::new(output)));

        assert_eq!(attributes(&repo, &format!("{output}/clusters/a/b.yaml"))[2], "set", "{output}");
        assert_eq!(
            attributes(&repo, &format!("{output}/hosts/declared/b.yaml"))[2],
            "unset",
            "{output}"
        );
        assert_eq!(attributes(&repo, "a/clusters/a/b.yaml")[2], "unspecified", "{output}");
    }
}

#[test]
fn a_checkout_changes_no_line_end() {
    let repo = quickstart();
    repo.write(".gitattributes", &sipgen::setup::init::attributes(Utf8Path::new("overlays")));
    repo.commit();
    repo.git(&["config", "core.autocrlf", "true"]);
    let before = repo.files("overlays");

    repo.git(&["rm", "--quiet", "-r", "--cached", "."]);
    repo.git(&["reset", "--quiet", "--hard"]);

    assert!(repo.read(EDGE).contains("\r\n"));
    assert_eq!(repo.files("overlays"), before);
}
