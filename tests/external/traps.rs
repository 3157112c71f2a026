//! The tests of `integration::traps` that need another program.

use crate::support::scenes::traps::repo_with;
use crate::support::{Repo, assert_says, run_tool, text, tool};

/// What others make of the labels of the host below, as the real ones say it.
fn labels_by_kustomize(repo: &Repo) -> String {
    let output = run_tool(tool("kustomize").arg("build").arg(repo.path().join("inventory")));
    text(&output.stdout)
}

#[test]
fn labels_that_others_read_otherwise_are_named_at_their_place() {
    let unquoted = [
        ("a", "008", "8"),
        ("b", "1e3", "1000"),
        ("c", "0x1F", "31"),
        ("d", "1_000", "1000"),
        ("e", "TRUE", "true"),
    ];
    let labels: String =
        unquoted.iter().map(|(key, value, _)| format!("    {key}: {value}\n")).collect();
    let repo = repo_with(&format!("  labels:\n{labels}    f: yes\n    g: \"008\"\n    h: a3\n"));

    let built = labels_by_kustomize(&repo);
    let run = repo.generate(&[]).expect(0);

    for (key, value, built_as) in unquoted {
        assert!(built.lines().any(|line| line.trim() == format!("{key}: {built_as}")), "{built}");
        assert_says(
            &run.stderr,
            &[&format!("the label {key} of host metal/a1 is `{value}` without quotes")],
        );
    }
    assert!(built.contains("f: \"yes\""), "{built}");
    assert_says(
        &run.stderr,
        &[
            "warning[SIP0320]: the label f of host metal/a1 is `yes` without quotes: kubectl reads a boolean",
            "--> inventory/hosts.yaml:8:8",
            "help: quote the value: a: \"008\"",
        ],
    );
    assert_eq!(run.stderr.matches("warning[SIP0320]").count(), 6, "{}", run.stderr);
}
