//! The plan: what a change does, for the comment.

use std::process::Command;

use crate::ci_examples::{bash, job, parsed, sh, step};
use crate::support::{EDGE, Repo, assert_says, run};

/// A repo whose target branch is `main`, with its overlays.
fn with_base() -> Repo {
    let repo = Repo::generated("quickstart");
    repo.git(&["branch", "--move", "main"]);
    repo.git(&["switch", "--quiet", "--create", "change"]);
    repo
}

/// Checks out what the forge makes of a change: a merge of it into the target branch, as that is now.
fn merged(repo: &Repo) {
    repo.git(&["switch", "--quiet", "--detach", "main"]);
    repo.git(&["merge", "--quiet", "--no-ff", "--message", "merged", "change"]);
}

/// The step of GitHub, with the files that its runner gives it.
fn github(repo: &Repo) -> Command {
    let file = |name: &str| repo.path().join(".git").join(name);
    let base =
        parsed("github/sipgen.yaml")["jobs"]["check"]["steps"].as_sequence().and_then(|steps| {
            steps.iter().find_map(|step| step["env"]["BASE"].as_str().map(str::to_owned))
        });
    let mut command = bash(&step("check", "Plan"), repo.path());
    command
        .env("BASE", base.unwrap())
        .env("PLAN", file("plan.md"))
        .env("GITHUB_OUTPUT", file("output"))
        .env("GITHUB_STEP_SUMMARY", file("summary"));
    command
}

/// The job of GitLab in a pipeline of merged results.
fn gitlab(repo: &Repo) -> Command {
    let id = |revision: &[&str]| repo.git(revision).trim().to_owned();
    let mut command = sh(&job("sipgen-plan"), repo.path());
    command
        .env("CI_MERGE_REQUEST_DIFF_BASE_SHA", id(&["merge-base", "main", "change"]))
        .env("CI_MERGE_REQUEST_TARGET_BRANCH_SHA", id(&["rev-parse", "HEAD^1"]));
    command
}

#[test]
fn a_change_has_a_plan_that_is_marked_for_the_comment() {
    let repo = with_base();
    repo.replace(EDGE, "nodePort: 30443", "nodePort: 30444");
    repo.generate(&[]).expect(0);
    repo.commit();
    merged(&repo);

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
    merged(&repo);

    run(&mut github(&repo)).expect(0);
    run(&mut gitlab(&repo)).expect(0);

    assert_eq!(repo.read(".git/output"), "plan=none\n");
    assert_eq!(repo.read("sipgen-plan.env"), "SIPGEN_PLAN=none\n");
    assert!(repo.read(".git/plan.md").starts_with("<!-- sipgen -->\n"));
}

#[test]
fn a_pipeline_of_the_change_alone_has_the_plan_of_the_change() {
    let repo = with_base();
    repo.replace(EDGE, "nodePort: 30443", "nodePort: 30444");
    repo.generate(&[]).expect(0);
    repo.commit();

    // GitLab leaves the variable empty where nothing is merged.
    run(gitlab(&repo).env("CI_MERGE_REQUEST_TARGET_BRANCH_SHA", "")).expect(0);

    assert_says(&repo.read("sipgen-plan.md"), &["tenant-a/edge", "30444"]);
}

/// Has the target branch get a cluster, which wants none of the hosts.
fn land_a_cluster(repo: &Repo, name: &str) {
    let current = repo.git(&["rev-parse", "HEAD"]);
    repo.git(&["switch", "--quiet", "main"]);
    repo.want(&format!("tenant-b/{name}"), 0);
    repo.generate(&[]).expect(0);
    repo.commit();
    repo.git(&["switch", "--quiet", "--detach", current.trim()]);
}

#[test]
fn what_lands_on_the_target_branch_is_no_change_of_this_one() {
    let repo = with_base();
    repo.write("docs/readme.md", "New.\n");
    repo.commit();
    land_a_cluster(&repo, "earlier");
    merged(&repo);
    land_a_cluster(&repo, "later");

    run(&mut github(&repo)).expect(0);
    run(&mut gitlab(&repo)).expect(0);

    assert_eq!(repo.read(".git/output"), "plan=none\n", "{}", repo.read(".git/plan.md"));
    assert_eq!(
        repo.read("sipgen-plan.env"),
        "SIPGEN_PLAN=none\n",
        "{}",
        repo.read("sipgen-plan.md")
    );
}

#[test]
fn a_checkout_has_the_commits_that_the_plan_reads() {
    let repo = with_base();
    repo.replace(EDGE, "nodePort: 30443", "nodePort: 30444");
    repo.generate(&[]).expect(0);
    repo.commit();
    merged(&repo);
    let steps = parsed("github/sipgen.yaml")["jobs"]["check"]["steps"].clone();
    let depth = steps[0]["with"]["fetch-depth"].as_i64().unwrap();
    let checkout = Repo::empty();
    let from = format!("file://{}", repo.path().display());
    checkout.git(&["fetch", "--quiet", "--depth", &depth.to_string(), &from, "HEAD"]);
    checkout.git(&["switch", "--quiet", "--detach", "FETCH_HEAD"]);

    run(&mut github(&checkout)).expect(0);

    assert_says(&checkout.read(".git/plan.md"), &["tenant-a/edge", "30444"]);
}

#[test]
fn a_base_that_was_not_fetched_fails_the_job() {
    let repo = with_base();
    merged(&repo);
    let gone = "0123456789012345678901234567890123456789";

    run(github(&repo).env("BASE", gone)).expect(2);
    run(gitlab(&repo).env("CI_MERGE_REQUEST_TARGET_BRANCH_SHA", gone)).expect(2);

    assert!(!repo.exists(".git/output") && !repo.exists("sipgen-plan.env"));
}
