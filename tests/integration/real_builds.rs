//! `sipgen generate --check --build`, with programs that stand in for kustomize.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::{Repo, Run, assert_says, run};

/// Runs `sipgen generate --check --build` with a script as kustomize. The script gets the directory as `$2`.
fn check(repo: &Repo, script: &str) -> Run {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("kustomize");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    run(repo
        .sipgen(&["generate", "--check", "--build"])
        .env("SIPGEN_KUSTOMIZE", program))
}

#[test]
fn a_build_that_fails_or_differs_is_an_error() {
    let repo = Repo::generated("quickstart");
    let overlay = "overlays/hosts/declared/sites/lab";
    for (script, says) in [
        (
            "echo \"Error: no matches for Id in $2/x.yaml\" >&2; exit 1".to_owned(),
            ["error[SIP0117]", "fails", "no matches for Id"],
        ),
        (
            "exit 0".to_owned(),
            ["error[SIP0714]", "differs from the plan", "0 times"],
        ),
        (
            // The patches alone have all labels, and one of them is wrong.
            format!("sed 's/node-type: .*/node-type: Other/' {overlay}/tenant-a.edge.yaml"),
            [
                "error[SIP0714]",
                "--> overlays/hosts/declared/sites/lab/kustomization.yaml",
                "another label `sip.airshipit.org/node-type`",
            ],
        ),
        (
            format!("sed 's/Prune=false/Prune=true/' {overlay}/tenant-a.edge.yaml"),
            [
                "error[SIP0714]",
                "differs from the plan",
                "another annotation `argocd.argoproj.io/sync-options`",
            ],
        ),
    ] {
        let run = check(&repo, &script).expect(1);

        assert_says(&run.stderr, &says);
    }

    let right = check(&repo, &format!("cat {overlay}/tenant-a.edge.yaml")).expect(0);
    assert_says(&right.stderr, &["kustomize has made "]);
}

#[test]
fn without_kustomize_no_build_is_said_to_be_right() {
    let repo = Repo::generated("quickstart");
    let mut command = repo.sipgen(&["generate", "--check", "--build"]);
    let git = Command::new("sh")
        .args(["-c", "command -v git"])
        .output()
        .unwrap();
    let git = String::from_utf8(git.stdout).unwrap();
    let path = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(git.trim(), path.path().join("git")).unwrap();

    let run = run(command
        .env("PATH", path.path())
        .env_remove("SIPGEN_KUSTOMIZE"))
    .expect(2);

    assert_says(&run.stderr, &["neither `kustomize` nor `kubectl`"]);
}

#[test]
fn stale_output_is_not_built() {
    let repo = Repo::generated("quickstart");
    repo.replace("sites/lab/clusters/edge.yaml", "standby: 0", "standby: 1");

    let run = check(&repo, "exit 1").expect(1);

    assert_says(&run.stderr, &["no build was checked", "stale files"]);
    assert!(!run.stderr.contains("SIP0117"), "{}", run.stderr);
}
