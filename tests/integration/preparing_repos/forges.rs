//! How GitHub and GitLab are recognised.

use crate::support::Repo;
use crate::support::scenes::preparing_repos::{init, newcomer};

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
