//! `sipgen generate --check --build`, with programs that stand in for kustomize.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::{Repo, Run, assert_says, run};

/// The patches of the hosts of the quickstart.
const PATCHES: &str = "overlays/hosts/declared/sites/lab/tenant-a.edge.yaml";

/// Returns a script that stands in for kustomize: it builds the overlay by a program, and the repo's own
/// files as the hosts of the patches without labels and annotations.
fn building(overlay: &str) -> String {
    let own = format!("grep -v -e '^  labels:' -e '^  annotations:' -e '^    ' {PATCHES}");
    format!("case $2 in */overlays/*) {overlay} ;; *) {own} ;; esac")
}

/// Runs `sipgen generate --check --build` with a script as kustomize. The script gets the directory as `$2`.
fn check(repo: &Repo, script: &str, more: &[&str]) -> Run {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("kustomize");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    run(repo
        .sipgen(&["generate", "--check", "--build"])
        .args(more)
        .env("SIPGEN_KUSTOMIZE", program))
}

#[test]
fn a_build_that_fails_or_differs_is_an_error() {
    let repo = Repo::generated("quickstart");
    for (script, says) in [
        (
            "echo \"Error: no matches for Id in $2/x.yaml\" >&2; exit 1".to_owned(),
            ["error[SIP0117]", "fails", "no matches for Id"],
        ),
        ("exit 0".to_owned(), ["error[SIP0714]", "differs from the plan", "0 times"]),
        (
            building(&format!("sed 's/node-type: .*/node-type: Other/' {PATCHES}")),
            [
                "error[SIP0714]",
                "--> overlays/hosts/declared/sites/lab/kustomization.yaml",
                "another label `sip.airshipit.org/node-type`",
            ],
        ),
        (
            building(&format!("sed 's/Prune=false/Prune=true/' {PATCHES}")),
            [
                "error[SIP0714]",
                "differs from the plan",
                "another annotation `argocd.argoproj.io/sync-options`",
            ],
        ),
        (
            building(&format!("sed 's/^metadata:/spec: {{online: false}}\\nmetadata:/' {PATCHES}")),
            ["error[SIP0714]", "the host `tenant-a/", "another value of `spec`"],
        ),
        (
            building(&format!(
                "cat {PATCHES}; printf -- '---\\nkind: Secret\\nmetadata: {{name: x}}\\n'"
            )),
            ["error[SIP0714]", "the Secret `x` 1 times", "differs from the plan"],
        ),
    ] {
        let run = check(&repo, &script, &[]).expect(1);

        assert_says(&run.stderr, &says);
    }

    let right = check(&repo, &building(&format!("cat {PATCHES}")), &[]).expect(0);
    assert_says(&right.stderr, &["kustomize has made "]);
}

#[test]
fn without_kustomize_no_build_is_said_to_be_right() {
    let repo = Repo::generated("quickstart");
    let mut command = repo.sipgen(&["generate", "--check", "--build"]);
    let git = Command::new("sh").args(["-c", "command -v git"]).output().unwrap();
    let git = String::from_utf8(git.stdout).unwrap();
    let path = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(git.trim(), path.path().join("git")).unwrap();

    let run = run(command.env("PATH", path.path()).env_remove("SIPGEN_KUSTOMIZE")).expect(2);

    assert_says(&run.stderr, &["neither `kustomize` nor `kubectl`"]);
}

#[test]
fn stale_output_is_not_built() {
    let repo = Repo::generated("quickstart");
    repo.replace("sites/lab/clusters/edge.yaml", "standby: 0", "standby: 1");

    let run = check(&repo, "exit 1", &[]).expect(1);

    assert_says(&run.stderr, &["no build was checked", "stale files"]);
    assert!(!run.stderr.contains("SIP0117"), "{}", run.stderr);
}

/// Returns the directories that `--base` lets kustomize build, without the repo's path.
fn built_since(repo: &Repo, base: &str) -> (Vec<String>, String) {
    let log = tempfile::tempdir().unwrap();
    let log = log.path().join("builds");
    let overlay = format!("cat {PATCHES}");
    let script = format!("echo \"$2\" >> {}\n{}", log.display(), building(&overlay));
    let run = check(repo, &script, &["--base", base]).expect(0);
    let root = fs::canonicalize(repo.path()).unwrap();
    let text = fs::read_to_string(&log).unwrap_or_default();
    let shown = |line: &str| {
        let path = line.strip_prefix(root.to_str().unwrap()).unwrap();
        path.trim_start_matches('/').to_owned()
    };
    let mut built: Vec<String> = text.lines().map(shown).collect();
    built.sort();
    (built, run.stderr)
}

#[test]
fn only_builds_that_a_change_affects_are_made() {
    const OVERLAY: &str = "overlays/hosts/declared/sites/lab";
    let repo = Repo::generated("quickstart");
    repo.write("apps/kustomization.yaml", "resources: [a.yaml, ../overlays/crds/dex]\n");
    repo.write("apps/a.yaml", "kind: ConfigMap\nmetadata: {name: a}\napiVersion: v1\n");
    repo.write("overlays/crds/dex/x", "");
    repo.commit();
    let all = built_since(&repo, "").0;
    assert!(all.contains(&"apps".to_owned()) && all.len() > 4, "{all:?}");

    assert_eq!(built_since(&repo, "HEAD").0, [""; 0]);

    // An input of no build.
    repo.write("README.md", "new");
    assert_eq!(built_since(&repo, "HEAD").0, [""; 0]);

    // A kustomization of the user's own that lists the output.
    repo.write("apps/a.yaml", "kind: ConfigMap\nmetadata: {name: b}\napiVersion: v1\n");
    let (built, said) = built_since(&repo, "HEAD");
    assert_eq!(built, ["apps"]);
    assert_says(&said, &["kustomize has made 1 build; no change affects"]);

    // What the overlay is made of, in a commit.
    repo.replace("sites/lab/hosts/kustomization.yaml", "resources:", "# why\nresources:");
    repo.commit();
    let (built, _) = built_since(&repo, "HEAD^");
    assert_eq!(built, ["apps", OVERLAY, "sites/lab"]);

    repo.write("sipgen.yaml", "# settings\n");
    assert_eq!(built_since(&repo, "HEAD").0, all);

    let (built, said) = built_since(&repo, "no-such-branch");
    assert_eq!(built, all);
    assert_says(&said, &["`no-such-branch` is no commit of this clone"]);
}
