//! What the tests of `preparing_repos` begin with.

use std::fs;
use std::path::Path;

use crate::support::{Repo, Run, documents, python_tool, run, run_tool, text};

pub fn init(repo: &Repo, arguments: &[&str]) -> Run {
    let all: Vec<&str> = ["init"].into_iter().chain(arguments.iter().copied()).collect();
    run(&mut repo.sipgen(&all))
}

/// The quickstart without any commit, as somebody has it who has just begun.
pub fn newcomer() -> Repo {
    let repo = Repo::of_fixture("quickstart");
    fs::remove_dir_all(repo.path().join(".git")).unwrap();
    repo.git(&["init", "--quiet"]);
    repo
}

pub fn settings(repo: &Repo) -> yaml_serde::Value {
    documents(&repo.read("sipgen.yaml")).into_iter().next().unwrap_or_default()
}

#[track_caller]
pub fn pre_commit(repo: &Repo, arguments: &[&str]) -> Run {
    let program = Path::new(env!("CARGO_BIN_EXE_sipgen")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut command = python_tool("pre-commit");
    command
        .args(arguments)
        .current_dir(repo.path())
        .env("PATH", path)
        .env("PRE_COMMIT_HOME", repo.path().join(".git/pre-commit"));
    let output = run_tool(&mut command);
    Run {
        code: output.status.code().unwrap(),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    }
}
