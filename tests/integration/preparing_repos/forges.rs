//! How GitHub and GitLab are recognised.

use crate::support::Repo;
use crate::support::scenes::preparing_repos::{init, newcomer};

#[track_caller]
fn gets(repo: &Repo, github: bool, gitlab: bool) {
    let run = init(repo, &[]).expect(0);

    assert_eq!(repo.exists(".github/workflows/sipgen.yaml"), github, "{}", run.stderr);
    assert_eq!(repo.exists(".gitlab/sipgen.yml"), gitlab, "{}", run.stderr);
    assert_eq!(run.stderr.contains("no CI job created"), !github && !gitlab, "{}", run.stderr);
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

/// The lines of the workflow that say on which branch it runs.
fn branches(repo: &Repo) -> String {
    init(repo, &["--ci", "github"]).expect(0);
    let workflow = repo.read(".github/workflows/sipgen.yaml");
    let lines = workflow.lines().skip_while(|line| !line.starts_with("  push:")).skip(1);
    lines.take_while(|line| !line.is_empty()).map(|line| format!("{}\n", line.trim())).collect()
}

#[test]
fn a_job_is_for_the_default_branch_of_the_repo() {
    let source = |branch: &str| {
        format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\n\
             metadata: {{name: flux-system, namespace: flux-system}}\n\
             spec: {{url: \"https://git.example.com/fleet.git\", ref: {{branch: {branch}}}}}\n"
        )
    };
    let application = |revision: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: a, namespace: argocd}}\n\
             spec: {{source: {{repoURL: \"https://git.example.com/fleet.git\", path: a, targetRevision: {revision}}}}}\n"
        )
    };

    // The branch that is checked out.
    let repo = newcomer();
    repo.git(&["checkout", "--quiet", "-b", "develop"]);
    assert_eq!(branches(&repo), "branches: [develop]\n");

    // The branch that Flux fetches.
    let repo = newcomer();
    repo.git(&["checkout", "--quiet", "-b", "feature"]);
    repo.write("flux/source.yaml", &source("trunk"));
    assert_eq!(branches(&repo), "branches: [trunk]\n");

    // A revision of Argo CD may be a tag.
    for (revision, line) in [("live", "branches: [live]\n"), ("v1.0", "branches: [feature]\n")] {
        let repo = newcomer();
        repo.git(&["checkout", "--quiet", "-b", "live"]);
        repo.git(&["commit", "--quiet", "--allow-empty", "--message", "x"]);
        repo.git(&["checkout", "--quiet", "-b", "feature"]);
        repo.write("argocd/a.yaml", &application(revision));
        assert_eq!(branches(&repo), line, "{revision}");
    }

    // What the remote says comes first.
    let repo = newcomer();
    repo.write("flux/source.yaml", &source("trunk"));
    repo.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/master"]);
    assert_eq!(branches(&repo), "branches: [master]\n");

    // Nothing decides.
    let repo = newcomer();
    repo.git(&["commit", "--quiet", "--allow-empty", "--message", "x"]);
    repo.git(&["checkout", "--quiet", "--detach"]);
    let open = "# The repo does not decide its default branch; write it here.\nbranches: [main]\n";
    assert_eq!(branches(&repo), open);
}
