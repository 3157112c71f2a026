//! The lines below the plan.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use super::*;

/// What is printed, applied by git, makes the tree that generating makes.
#[track_caller]
fn git_can_apply(repo: &Repo) {
    let printed = repo.diff(&["--lines"]).expect(1).stdout;

    let mut git = Command::new("git");
    git.args(["apply", "--whitespace=nowarn"]).current_dir(repo.path());
    let mut child = git.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(printed.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{printed}");
    repo.diff(&[]).expect(0);
}

#[test]
fn they_can_be_applied_by_git_with_the_plan_above_them() {
    git_can_apply(&with_all_kinds_of_changes());
}

#[test]
fn they_can_be_applied_by_git_whatever_a_directory_is_called() {
    for name in [
        "two words",
        " blank",
        "tab\there",
        "qu\"ote",
        "back\\slash",
        "Größe",
        "日本",
        "bell\u{7}",
        "c1\u{85}",
        "\"",
        "a b\t",
    ] {
        let repo = Repo::of_hosts(1);
        fs::rename(repo.path().join("inventory"), repo.path().join(name)).unwrap();
        repo.want("tenant/one", 1);

        git_can_apply(&repo);
        repo.commit();
        repo.want("tenant/two", 0);
        repo.want("tenant/one", 0);
        git_can_apply(&repo);
    }
}

#[test]
fn of_empty_files_they_can_be_applied_by_git() {
    let repo = Repo::generated("quickstart");
    repo.write("overlays/clusters/tenant-a/edge/jumphost/start", "");
    repo.write("overlays/crds/dex/kustomization.yaml", "");

    git_can_apply(&repo);
}

#[test]
fn without_them_there_are_only_words() {
    let run = with_all_kinds_of_changes().diff(&[]).expect(1);

    assert!(!run.stdout.contains("diff --git"));
}
