//! The plan: what a change does, for the comment.

use std::process::Command;

use crate::support::{EDGE, Repo, assert_says, run};
use crate::{bash, job, sh, step};

/// A repo whose base is `origin/main`, with its overlays.
fn with_base() -> Repo {
    let repo = Repo::generated("quickstart");
    repo.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    repo
}

/// The step of GitHub, with the files that its runner gives it.
fn github(repo: &Repo) -> Command {
    let file = |name: &str| repo.path().join(".git").join(name);
    let mut command = bash(&step("check", "Plan"), repo.path());
    command
        .env("BASE", "origin/main")
        .env("PLAN", file("plan.md"))
        .env("GITHUB_OUTPUT", file("output"))
        .env("GITHUB_STEP_SUMMARY", file("summary"));
    command
}

fn gitlab(repo: &Repo) -> Command {
    let mut command = sh(&job("sipgen-plan"), repo.path());
    command.env("CI_MERGE_REQUEST_DIFF_BASE_SHA", repo.git(&["rev-parse", "origin/main"]).trim());
    command
}

#[test]
fn a_change_has_a_plan_that_is_marked_for_the_comment() {
    let repo = with_base();
    repo.replace(EDGE, "nodePort: 30443", "nodePort: 30444");
    repo.generate(&[]).expect(0);
    repo.commit();

    run(&mut github(&repo)).expect(0);
    run(&mut gitlab(&repo)).expect(0);

    assert_eq!(repo.read(".git/output"), "plan=changes\n");
    assert_eq!(repo.read("sipgen-plan.env"), "SIPGEN_PLAN=changes\n");
    for plan in [".git/plan.md", ".git/summary", "sipgen-plan.md"] {
        assert!(repo.read(plan).starts_with("<!-- sipgen -->\n"), "{plan}: {}", repo.read(plan));
        assert_says(&repo.read(plan), &["tenant-a/edge", "30444"]);
    }
}

#[test]
fn no_change_is_said_to_be_none() {
    let repo = with_base();
    repo.write("docs/readme.md", "New.\n");
    repo.commit();

    run(&mut github(&repo)).expect(0);
    run(&mut gitlab(&repo)).expect(0);

    assert_eq!(repo.read(".git/output"), "plan=none\n");
    assert_eq!(repo.read("sipgen-plan.env"), "SIPGEN_PLAN=none\n");
    assert!(repo.read(".git/plan.md").starts_with("<!-- sipgen -->\n"));
}

#[test]
fn a_base_that_was_not_fetched_fails_the_job() {
    let repo = with_base();

    run(github(&repo).env("BASE", "origin/gone")).expect(2);
    run(gitlab(&repo).env("CI_MERGE_REQUEST_DIFF_BASE_SHA", "0123456789012345678901234567890123456789")).expect(2);

    assert!(!repo.exists(".git/output") && !repo.exists("sipgen-plan.env"));
}
