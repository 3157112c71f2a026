//! `sipgen generate --branch`.

use std::fs;

use crate::support::scenes::git::{changed_by, hook, id, message, quickstart, status, want_more};
use crate::support::scenes::git_branch::stale;
use crate::support::{EDGE, Repo, assert_says, copy, fixtures};

#[test]
fn a_new_branch_starts_at_head_and_nothing_else_changes() {
    let repo = stale();
    repo.write("staged", "mine\n");
    repo.git(&["add", "staged"]);
    let (index, head) = (fs::read(repo.path().join(".git/index")).unwrap(), id(&repo, "HEAD"));
    let on_disk = repo.on_disk("");

    let run = repo.generate(&["--branch", "sipgen/next"]).expect(0);

    assert_eq!(id(&repo, "sipgen/next~"), head);
    assert_eq!(changed_by(&repo, "sipgen/next").len(), 6);
    assert_says(
        &message(&repo, "sipgen/next"),
        &[
            "tenant-a/edge: add 1 host",
            "+ 1 Worker host: tenant-a/lab-c2",
            &format!("Sipgen-Inputs: {head}\n"),
        ],
    );
    assert_says(&run.stderr, &["committed 6 files as", "on branch sipgen/next"]);
    assert!(repo.on_disk("") == on_disk, "files have changed");
    assert_eq!(fs::read(repo.path().join(".git/index")).unwrap(), index);
    assert_eq!(id(&repo, "HEAD"), head);
    assert_says(&repo.git(&["reflog", "show", "sipgen/next"]), &["sipgen generate"]);
}

#[test]
fn the_branch_has_what_a_commit_on_head_would_have() {
    let (repo, other) = (stale(), stale());

    repo.generate(&["--branch", "next"]).expect(0);
    other.generate(&["--commit"]).expect(0);

    assert_eq!(id(&repo, "next^{tree}"), id(&other, "HEAD^{tree}"));
}

#[test]
fn a_second_run_adds_no_commit() {
    let repo = stale();
    repo.generate(&["--branch", "next"]).expect(0);
    let before = id(&repo, "next");

    let run = repo.generate(&["--branch", "next"]).expect(0);

    assert_says(&run.stderr, &["no commit: branch `next` already has the generated files"]);
    assert_eq!(id(&repo, "next"), before);
}

#[test]
fn without_changes_no_branch_is_made() {
    let repo = quickstart();

    let run = repo.generate(&["--branch", "next"]).expect(0);

    assert_says(
        &run.stderr,
        &["no commit: HEAD already has the generated files; branch `next` was not created"],
    );
    assert_eq!(repo.git(&["branch", "--list", "next"]), "");
}

#[test]
fn without_changes_a_branch_that_is_behind_stays_there() {
    let repo = quickstart();
    repo.git(&["branch", "next"]);
    repo.write("notes", "mine\n");
    repo.commit();

    let run = repo.generate(&["--branch", "next"]).expect(0);

    assert_says(
        &run.stderr,
        &["HEAD already has the generated files; branch `next` was not moved and is behind HEAD"],
    );
    assert_eq!(id(&repo, "next"), id(&repo, "HEAD~"));
}

/// Has the branch `next` go on from HEAD with a change of its own.
fn go_on(repo: &Repo, change: impl FnOnce()) {
    repo.git(&["switch", "--quiet", "--create", "next"]);
    change();
    repo.commit();
    repo.git(&["switch", "--quiet", "-"]);
}

#[test]
fn a_branch_with_inputs_of_its_own_keeps_what_they_call_for() {
    let repo = quickstart();
    go_on(&repo, || {
        want_more(&repo);
        repo.generate(&[]).expect(0);
    });
    let before = id(&repo, "next");

    let run = repo.generate(&["--branch", "next"]).expect(2);

    assert_says(
        &run.stderr,
        &["branch `next` has changes of its own", EDGE, "git switch next", "generate --commit"],
    );
    assert_eq!(id(&repo, "next"), before);
}

#[test]
fn of_several_sites_each_may_go_to_the_same_branch() {
    let repo = Repo::of_fixture("quickstart");
    copy(&fixtures().join("quickstart/sites"), &repo.path().join("other"));
    crate::support::scenes::git::identify(&repo);
    repo.commit();

    repo.generate(&["--repo", "sites", "--branch", "next"]).expect(0);
    repo.generate(&["--repo", "other", "--branch", "next"]).expect(0);

    assert_eq!(repo.git(&["rev-list", "--count", "HEAD..next"]).trim(), "2");
}

#[test]
fn a_branch_that_is_behind_head_is_brought_there_first() {
    let repo = quickstart();
    repo.git(&["branch", "next", "HEAD~"]);
    want_more(&repo);
    repo.commit();

    repo.generate(&["--branch", "next"]).expect(0);

    assert_eq!(id(&repo, "next~"), id(&repo, "HEAD"));
}

#[test]
fn a_branch_that_is_ahead_of_head_goes_on() {
    let repo = stale();
    repo.generate(&["--branch", "next"]).expect(0);
    let first = id(&repo, "next");
    repo.replace(EDGE, crate::support::scenes::git::TWO_WORKERS, "active: 1\n        standby: 0");

    repo.generate(&["--branch", "next"]).expect(0);

    assert_eq!(id(&repo, "next~"), first);
    assert_says(&message(&repo, "next"), &["with uncommitted changes"]);
}

#[test]
fn a_branch_that_has_gone_another_way_is_refused() {
    let repo = stale();
    repo.generate(&["--branch", "next"]).expect(0);
    repo.write("notes", "mine\n");
    repo.commit();
    let before = id(&repo, "next");

    let run = repo.generate(&["--branch", "next"]).expect(2);

    assert_says(&run.stderr, &["branch `next` and HEAD have diverged", "git branch -D next"]);
    assert_eq!(id(&repo, "next"), before);
}

#[test]
fn a_branch_that_is_checked_out_anywhere_is_refused() {
    let repo = stale();
    let current = repo.git(&["branch", "--show-current"]);
    let linked = repo.path().join(".git/else where");
    repo.git(&["worktree", "add", "--quiet", "-b", "other", linked.to_str().unwrap()]);

    for branch in [current.trim(), "other"] {
        let before = id(&repo, branch);
        let run = repo.generate(&["--branch", branch]).expect(2);
        assert_says(&run.stderr, &[&format!("branch `{branch}` is checked out in `/")]);
        assert_eq!(id(&repo, branch), before);
    }
}

#[test]
fn a_name_that_is_none_is_refused() {
    let repo = stale();

    for name in ["-x", "a..b", "a b", "HEAD", "", "x.lock", "\u{1b}[2J"] {
        let run = repo.generate(&[&format!("--branch={name}")]).expect(2);
        assert!(!run.stderr.contains("\u{1b}[2J"), "{:?}", run.stderr);
    }
    assert_eq!(repo.git(&["for-each-ref", "--format=%(refname)"]).lines().count(), 1);
}

#[test]
fn a_branch_that_is_another_name_of_a_branch_is_refused() {
    let repo = stale();
    let current = repo.git(&["branch", "--show-current"]);
    repo.git(&["symbolic-ref", "refs/heads/alias", &format!("refs/heads/{}", current.trim())]);

    let run = repo.generate(&["--branch", "alias"]).expect(2);

    assert_says(&run.stderr, &["branch `alias` is a symbolic reference"]);
}

#[test]
fn no_hook_runs_for_another_branch() {
    let repo = stale();
    hook(&repo, "pre-commit", "exit 1");
    hook(&repo, "post-commit", "touch seen");

    repo.generate(&["--branch", "next"]).expect(0);

    assert!(!repo.exists("seen"));
}

#[test]
fn staged_inputs_can_go_to_a_branch() {
    let repo = quickstart();
    want_more(&repo);
    repo.git(&["add", EDGE]);
    repo.write(EDGE, "not: staged\n");

    repo.generate(&["--from-index", "--branch", "next"]).expect(0);

    assert_eq!(changed_by(&repo, "next").len(), 6);
    assert_eq!(status(&repo), [format!("MM {EDGE}")]);
}
