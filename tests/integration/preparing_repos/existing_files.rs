//! What is there already, and stays as it is.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::scenes::preparing_repos::{init, newcomer, pre_commit};
use crate::support::{Run, assert_says, documents};

/// What is printed below the line that names a file.
fn lines_for(run: &Run, file: &str) -> String {
    let from =
        run.stderr.find(&format!("Add to {file}")).unwrap_or_else(|| panic!("{}", run.stderr));
    let block = run.stderr[from..].split("\n\n").nth(1).unwrap();
    format!("{block}\n")
}

#[test]
fn is_never_overwritten_and_complete_once_the_lines_are_added() {
    let repo = newcomer();
    let theirs = [
        ("sipgen.yaml", "credentials: none\n"),
        (".gitattributes", "*.png binary\n"),
        (".pre-commit-config.yaml", "repos:\n- repo: meta\n  hooks:\n  - id: check-hooks-apply\n"),
        (".gitlab-ci.yml", "stages: [test]\ninclude:\n    # Ours.\n    - local: ci/build.yml\n"),
        (".gitlab/sipgen.yml", "# ours\n"),
    ];
    theirs.iter().for_each(|(file, text)| repo.write(file, text));
    let before = repo.on_disk("");

    let run = init(&repo, &[]).expect(0);

    assert!(repo.on_disk("") == before, "files have changed");
    for file in [".gitattributes", ".pre-commit-config.yaml", ".gitlab-ci.yml"] {
        repo.write(file, &(repo.read(file) + &lines_for(&run, file)));
    }
    let again = init(&repo, &[]).expect(0);
    assert_eq!(
        again.stderr.lines().filter(|line| line.ends_with("complete")).count(),
        5,
        "{}",
        again.stderr
    );
    pre_commit(&repo, &["validate-config"]).expect(0);
    let pipeline = documents(&repo.read(".gitlab-ci.yml")).remove(0);
    assert_eq!(pipeline["include"][1]["local"], ".gitlab/sipgen.yml");
}

#[test]
fn without_a_list_gets_the_list_too() {
    let repo = newcomer();
    repo.write(".pre-commit-config.yaml", "fail_fast: true\n");
    repo.write(".gitlab-ci.yml", "stages: [test]\n");

    let run = init(&repo, &[]).expect(0);

    assert!(
        lines_for(&run, ".pre-commit-config.yaml").starts_with("repos:\n  - repo: local\n"),
        "{}",
        run.stderr
    );
    assert!(
        lines_for(&run, ".gitlab-ci.yml").starts_with("include:\n  - local:"),
        "{}",
        run.stderr
    );
}

#[test]
fn with_windows_line_ends_is_understood() {
    let repo = newcomer();
    init(&repo, &["--ci", "gitlab"]).expect(0);
    for file in [".gitattributes", ".pre-commit-config.yaml", ".gitlab-ci.yml", "sipgen.yaml"] {
        repo.write(file, &repo.read(file).replace('\n', "\r\n"));
    }

    let run = init(&repo, &["--ci", "gitlab"]).expect(0);

    assert_eq!(
        run.stderr.lines().filter(|line| line.ends_with("complete")).count(),
        5,
        "{}",
        run.stderr
    );
}

#[test]
fn is_not_written_through_a_link() {
    let repo = newcomer();
    let elsewhere = tempfile::tempdir().unwrap();
    symlink(elsewhere.path(), repo.path().join(".github")).unwrap();
    symlink(elsewhere.path().join("nothing"), repo.path().join(".gitattributes")).unwrap();

    let run = init(&repo, &["--ci", "github"]).expect(1);

    assert_says(
        &run.stderr,
        &["`.github` is not a regular text file", "`.gitattributes` is not a regular text file"],
    );
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    assert!(repo.exists("sipgen.yaml"));
}

#[test]
fn and_is_no_valid_setting_is_to_be_mended_first() {
    let repo = newcomer();
    repo.write("sipgen.yaml", "ouput: x\n");
    let before = repo.on_disk("");

    let run = init(&repo, &[]).expect(1);

    assert_says(&run.stderr, &["unknown field `ouput`", "sipgen.yaml:1:1"]);
    assert!(repo.on_disk("") == before, "files have changed");
}
