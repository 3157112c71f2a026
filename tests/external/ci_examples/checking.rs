//! The gate: what is stale does not pass.

use crate::ci_examples::{bash, job, sh, step};
use crate::support::{Repo, assert_says, run};

#[test]
fn github_refuses_what_is_stale_with_an_annotation() {
    let repo = Repo::of_fixture("quickstart");

    let stale = run(&mut bash(&step("check", "Check"), repo.path())).expect(1);
    assert_says(&stale.stdout, &["::error file=sites/lab/clusters/edge.yaml,line="]);

    repo.generate(&[]).expect(0);
    run(&mut bash(&step("check", "Check"), repo.path())).expect(0);
}

#[test]
fn gitlab_refuses_what_is_stale_and_leaves_a_report() {
    let repo = Repo::of_fixture("quickstart");
    let issues = || {
        let report: Vec<serde_json::Value> =
            serde_json::from_str(&repo.read("gl-code-quality-report.json")).unwrap();
        report.len()
    };

    run(&mut sh(&job("sipgen-check"), repo.path())).expect(1);
    assert!(issues() > 0);

    repo.generate(&[]).expect(0);
    run(&mut sh(&job("sipgen-check"), repo.path())).expect(0);
    assert_eq!(issues(), 0);
}

#[test]
fn code_scanning_gets_a_report_of_what_is_stale_and_does_not_fail() {
    let repo = Repo::of_fixture("quickstart");
    let workflow = crate::ci_examples::parsed("github/code-scanning.yaml");
    let steps = workflow["jobs"]["scan"]["steps"].as_sequence().unwrap();
    let script = steps.iter().find(|step| step["name"] == "Scan").unwrap()["run"].as_str().unwrap();
    let report = repo.path().join("of the runner.sarif");

    run(bash(script, repo.path()).env("REPORT", &report)).expect(0);
    assert_says(&std::fs::read_to_string(&report).unwrap(), &["\"ruleId\": \"SIP0009\""]);

    let no_repo = tempfile::tempdir().unwrap();
    run(bash(script, no_repo.path()).env("REPORT", &report)).expect(1);
}
