//! The gate: what is stale does not pass.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::ci_examples::action::{path_with_pip, wheel};
use crate::ci_examples::forge::Forge;
use crate::ci_examples::{bash, job, parsed, sh, step};
use crate::support::programs::succeed;
use crate::support::{Repo, assert_says, run, tool};

type Shell = fn(&str, &Path) -> Command;

#[test]
fn jobs_install_the_wheel_that_is_set_and_refuse_one_that_is_not_pinned() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("path");
    let wheel = wheel(directory.path());
    let gitlab = parsed("gitlab/sipgen.yml")[".sipgen"]["before_script"][0].clone();
    let gitlab = format!("{}\nsipgen check", gitlab.as_str().unwrap());
    let github = step("check", "Install sipgen");
    let forge = Forge::with(&[]);
    fs::copy(&wheel, forge.repo().with_file_name("sipgen-0.1.0-py3-none-any.whl")).unwrap();
    let url = format!("http://127.0.0.1:{}/sipgen-0.1.0-py3-none-any.whl", forge.port);
    let sum = succeed(tool("sha256sum").arg(&wheel));

    for (shell, script) in [(bash as Shell, &github), (sh, &gitlab)] {
        let install = |wheel: &str| {
            let mut command = shell(script, directory.path());
            command.envs([("RUNNER_TEMP", directory.path()), ("GITHUB_PATH", &path)]);
            command.envs([("SIPGEN_WHEEL", wheel), ("PATH", &path_with_pip()), ("NO_PROXY", "*")]);
            run(command.env("TMPDIR", directory.path()))
        };
        for not_pinned in ["", &url] {
            let says = install(not_pinned).expect(1).stdout;
            assert_says(&says, &["SIPGEN_WHEEL is `", "set it in .git", "#sha256="]);
        }
        let another = install(&format!("{url}#sha256={:0<64}", "")).expect(1);
        assert_says(&another.stderr, &["DO NOT MATCH THE HASHES"]);
        install(&format!("{url}#sha256={}", &sum[..64])).expect(0);
        install(wheel.to_str().unwrap()).expect(0);
    }

    let added = fs::read_to_string(path).unwrap();
    let sipgen = Path::new(added.lines().next().unwrap()).join("sipgen");
    let says = run(&mut Command::new(sipgen)).expect(0).stdout;
    assert_says(&says, &["from the wheel"]);
}

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
    let workflow = parsed("github/code-scanning.yaml");
    let steps = workflow["jobs"]["scan"]["steps"].as_sequence().unwrap();
    let script = steps.iter().find(|step| step["name"] == "Scan").unwrap()["run"].as_str().unwrap();
    let report = repo.path().join("of the runner.sarif");

    run(bash(script, repo.path()).env("REPORT", &report)).expect(0);
    assert_says(&std::fs::read_to_string(&report).unwrap(), &["\"ruleId\": \"SIP0009\""]);

    let no_repo = tempfile::tempdir().unwrap();
    run(bash(script, no_repo.path()).env("REPORT", &report)).expect(1);
}
