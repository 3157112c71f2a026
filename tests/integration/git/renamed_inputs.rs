//! Generated files name their input in a comment. When that is all that differs, nobody is bothered.

use crate::support::scenes::git::{ONE_WORKER, TWO_WORKERS, quickstart};
use crate::support::{EDGE, Repo, assert_says};

const RENAMED: &str = "sites/lab/clusters/renamed.yaml";

/// Renames the file of the quickstart's cluster, which generated files name.
fn rename_an_input(repo: &Repo) {
    repo.git(&["mv", EDGE, RENAMED]);
    repo.replace("sites/lab/clusters/kustomization.yaml", "edge.yaml", "renamed.yaml");
}

#[test]
fn a_change_of_comments_alone_is_no_reason_to_refuse_either() {
    let repo = quickstart();
    rename_an_input(&repo);
    repo.git(&["add", "sites"]);

    for arguments in [&["--check"][..], &["--check", "--exit-code", "--from-index"]] {
        let run = repo.generate(arguments).expect(0);
        assert_says(
            &run.stderr,
            &["files differ only in the comment that names their input", "`sipgen generate"],
        );
        assert!(!run.stderr.contains("help:"), "{}", run.stderr);
    }
    assert_eq!(repo.generate(&["--check", "--format", "github"]).expect(0).stdout, "");
    repo.generate(&["--exit-code"]).expect(1);
    assert!(!repo.generate(&["--check"]).expect(0).stderr.contains("differ"));
}

#[test]
fn beside_one_that_matters_changes_of_comments_are_not_called_stale() {
    let repo = quickstart();
    rename_an_input(&repo);
    let renamed = repo.generate(&["--check", "--format", "sarif"]).expect(0).stdout;
    assert!(!renamed.contains("\"ruleId\""), "{renamed}");
    repo.replace(RENAMED, ONE_WORKER, TWO_WORKERS);

    let run = repo.generate(&["--check"]).expect(1);

    let named: Vec<&str> =
        run.stderr.lines().filter(|line| line.starts_with("  changed")).collect();
    assert_eq!(named.len(), 6, "{}", run.stderr);
    assert_says(&run.stderr, &["differ only in the comment"]);
}
