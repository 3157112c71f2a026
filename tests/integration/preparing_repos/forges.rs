//! How GitHub and GitLab are recognised.

use crate::preparing_repos::{init, newcomer};
use crate::support::{Repo, python_tool, run_tool, text, tool};

#[track_caller]
fn gets(repo: &Repo, github: bool, gitlab: bool) {
    let run = init(repo, &[]).expect(0);

    assert_eq!(repo.exists(".github/workflows/sipgen.yaml"), github, "{}", run.stderr);
    assert_eq!(repo.exists(".gitlab/sipgen.yml"), gitlab, "{}", run.stderr);
    assert_eq!(run.stderr.contains("There is no CI job"), !github && !gitlab, "{}", run.stderr);
}

#[test]
fn the_remote_tells_where_the_repo_is_hosted() {
    for (url, github, gitlab) in [
        ("git@github.com:platform/fleet.git", true, false),
        ("https://gitlab.example.com/github/fleet.git", false, true),
        ("https://git.example.com/platform/fleet.git", false, false),
    ] {
        let repo = newcomer();
        repo.git(&["remote", "add", "upstream", url]);

        gets(&repo, github, gitlab);
    }
}

#[test]
fn without_a_remote_its_files_do() {
    let github = newcomer();
    github.write(".github/CODEOWNERS", "* @platform\n");
    gets(&github, true, false);

    let gitlab = newcomer();
    gitlab.write(".gitlab-ci.yml", "stages: [test]\n");
    gets(&gitlab, false, true);
}

#[test]
fn what_a_job_says_is_valid_in_its_place() {
    let repo = newcomer();
    init(&repo, &["--ci", "github"]).expect(0);
    init(&repo, &["--ci", "gitlab"]).expect(0);

    let output = run_tool(tool("actionlint").current_dir(repo.path()));
    assert!(output.status.success(), "{}", text(&output.stdout));
    let mut schema = python_tool("check-jsonschema");
    schema.args(["--builtin-schema", "vendor.gitlab-ci", ".gitlab-ci.yml", ".gitlab/sipgen.yml"]);
    let output = run_tool(schema.current_dir(repo.path()));
    assert!(output.status.success(), "{}", text(&output.stdout));
}
