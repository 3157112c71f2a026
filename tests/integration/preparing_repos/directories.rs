//! Where `sipgen init` may be run.

use std::fs;
use std::process::Command;

use crate::support::scenes::preparing_repos::{init, newcomer, pre_commit};
use crate::support::{Repo, assert_says, copy, fixtures, run};

#[test]
fn outside_of_a_git_repo_is_refused() {
    let directory = tempfile::tempdir().unwrap();

    let sipgen = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sipgen"));
        run(command.args(arguments).current_dir(directory.path())).expect(2)
    };

    assert_says(&sipgen(&["init"]).stderr, &["the working directory is not in a git repo"]);
    assert_says(
        &sipgen(&["init", "--repo", "."]).stderr,
        &["is not in a git repo: run `git init`"],
    );
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn below_the_root_is_refused_with_the_root() {
    let repo = newcomer();

    let run = init(&repo, &["--repo", "sites"]).expect(2);

    let root = repo.path().canonicalize().unwrap();
    assert_says(
        &run.stderr,
        &["sites` is not the root of its git repo", &format!("--repo {}", root.display())],
    );
    assert!(!repo.exists("sites/sipgen.yaml"));
}

#[test]
fn inside_the_repo_stands_for_the_repo_where_none_is_named() {
    let repo = newcomer();

    run(repo.sipgen(&["init"]).current_dir(repo.path().join("sites/lab"))).expect(0);

    assert!(repo.exists("sipgen.yaml"));
}

#[test]
fn with_a_bare_repo_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let git = Command::new("git")
        .args(["init", "--quiet", "--bare"])
        .current_dir(directory.path())
        .status();
    assert!(git.unwrap().success());
    let mut command = Command::new(env!("CARGO_BIN_EXE_sipgen"));

    let run = run(command.args(["init", "--repo"]).arg(directory.path())).expect(2);

    assert_says(&run.stderr, &["is a bare repo"]);
}

#[test]
fn that_is_a_worktree_of_git_is_prepared_like_any_other() {
    let repo = Repo::of_fixture("quickstart");
    let elsewhere = tempfile::tempdir().unwrap();
    let worktree = elsewhere.path().join("größe 1");
    repo.git(&["worktree", "add", "--quiet", "--detach", worktree.to_str().unwrap()]);

    run(repo.sipgen(&["init"]).current_dir(&worktree)).expect(0);

    assert!(worktree.join("sipgen.yaml").exists());
    assert!(!repo.exists("sipgen.yaml"));
}

#[test]
fn with_settings_below_the_root_each_is_a_site() {
    let repo = newcomer();
    repo.write("sites/lab/sipgen.yaml", "output: generated\n");

    init(&repo, &[]).expect(0);

    // With one at the root, the repo would be one site.
    assert!(!repo.exists("sipgen.yaml") && repo.exists(".pre-commit-config.yaml"));
    assert_says(&repo.read(".gitattributes"), &["/sites/lab/generated/**"]);
}

#[test]
fn is_prepared_again_with_and_without_its_settings() {
    let repo = newcomer();
    repo.git(&["remote", "add", "origin", "https://github.com/example/fleet.git"]);
    init(&repo, &[]).expect(0);
    assert!(repo.exists(".github/workflows/sipgen.yaml"));
    init(&repo, &[]).expect(0);

    // The CI job has the name that settings have.
    repo.remove("sipgen.yaml");
    init(&repo, &[]).expect(0);
    assert!(repo.exists("sipgen.yaml"));
}

#[test]
fn with_several_sites_one_hook_judges_all() {
    let repo = newcomer();
    for site in ["sites/a", "sites/b"] {
        copy(&fixtures().join("quickstart/sites"), &repo.path().join(site));
        repo.write(&format!("{site}/sipgen.yaml"), "");
    }
    init(&repo, &[]).expect(0);
    repo.generate(&["--site", "a"]).expect(0);
    repo.commit();

    let stale = pre_commit(&repo, &["run", "--all-files"]).expect(1);
    repo.generate(&[]).expect(0);
    repo.commit();
    pre_commit(&repo, &["run", "--all-files"]).expect(0);

    assert_says(&stale.stdout, &["generated overlays are up to date", "sites/b/overlays"]);
    assert!(!stale.stdout.contains("+++ b/sites/a"), "{}", stale.stdout);
}
