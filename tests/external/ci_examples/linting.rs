//! Workflows and examples pass their linters.

use std::fs;
use std::path::PathBuf;

use yaml_serde::Value;

use crate::ci_examples::parsed;
use crate::scanners::files;
use crate::support::{python_tool, repo_path, run_tool, text, tool};

/// The workflows of this repo and of the examples.
fn workflows() -> Vec<PathBuf> {
    [files("examples/github"), files(".github/workflows")].concat()
}

#[test]
fn workflows_of_github_are_valid_with_their_scripts() {
    // Without it, actionlint would let scripts pass unread.
    run_tool(tool("shellcheck").arg("--version"));

    let output = run_tool(tool("actionlint").args(workflows()));

    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

#[test]
fn jobs_of_gitlab_are_valid() {
    let directory = tempfile::tempdir().unwrap();
    let mut documents = Vec::new();
    for file in files("examples/gitlab") {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        // The inputs of a component are a document of their own.
        for (number, document) in fs::read_to_string(&file).unwrap().split("\n---\n").enumerate() {
            let path = directory.path().join(format!("{number}-{name}"));
            fs::write(&path, document).unwrap();
            documents.push(path);
        }
    }

    let output = run_tool(
        python_tool("check-jsonschema")
            .args(["--builtin-schema", "vendor.gitlab-ci"])
            .args(documents),
    );

    assert!(output.status.success(), "{}", text(&output.stdout));
}

#[test]
fn scripts_of_gitlab_are_valid() {
    let jobs = ["sipgen-check", "sipgen-plan", "sipgen-comment"]
        .map(|name| (name, crate::ci_examples::job(name)));
    let snapshot =
        parsed("gitlab/snapshot.yml")["sipgen-snapshot"]["script"][0].as_str().unwrap().to_owned();
    let cron_job = parsed("kubernetes/snapshot.yaml");
    let pod = &cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    let in_pod = pod["containers"][0]["args"][0].as_str().unwrap().to_owned();
    for (name, lines) in
        jobs.into_iter().chain([("sipgen-snapshot", snapshot), ("the CronJob", in_pod)])
    {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("script.sh");
        fs::write(&script, format!("#!/bin/sh\nset -e\n{lines}\n")).unwrap();

        let output = run_tool(tool("shellcheck").arg(&script));

        assert!(output.status.success(), "{name}: {}", text(&output.stdout));
    }
}

#[test]
fn actions_are_pinned_to_a_commit() {
    for file in workflows() {
        for line in fs::read_to_string(&file).unwrap().lines().filter(|line| line.contains("uses:"))
        {
            let (_, pin) = line.split_once('@').unwrap();
            let (commit, version) =
                pin.split_once(" # v").unwrap_or_else(|| panic!("no version beside {line}"));
            assert!(commit.len() == 40 && commit.chars().all(|c| c.is_ascii_hexdigit()), "{line}");
            assert!(version.starts_with(|c: char| c.is_ascii_digit()), "{line}");
        }
    }
}

#[test]
fn no_script_has_an_expression_in_it_and_no_job_more_rights_than_it_needs() {
    for file in workflows() {
        let name = file.display();
        let workflow: Value = yaml_serde::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(
            workflow["permissions"].as_mapping().map(yaml_serde::Mapping::len),
            Some(0),
            "{name}"
        );
        assert!(workflow["on"].get("pull_request_target").is_none(), "{name}");
        for job in workflow["jobs"].as_mapping().unwrap().values() {
            assert!(job["permissions"].is_mapping(), "{name}");
            for step in job["steps"].as_sequence().unwrap() {
                // A branch's name would become part of the script.
                assert!(
                    !step["run"].as_str().unwrap_or_default().contains("${{"),
                    "{name}: {step:?}"
                );
                let checks_out =
                    step["uses"].as_str().is_some_and(|uses| uses.starts_with("actions/checkout@"));
                assert!(!checks_out || step["with"]["persist-credentials"] == false, "{name}");
            }
        }
    }
}

#[test]
fn examples_install_the_version_that_they_belong_to() {
    let version = env!("CARGO_PKG_VERSION");
    let forms = [
        // Whoever copies the file sets it.
        "SIPGEN_WHEEL: \"\"\n".to_owned(),
        format!("default: sipgen=={version}\n"),
        format!("uses: OWNER/sipgen@{:0<40} # v{version}\n", ""),
    ];
    for file in
        [files("examples/github"), files("examples/gitlab"), vec![repo_path("action.yml")]].concat()
    {
        let text = fs::read_to_string(&file).unwrap();
        assert!(
            forms.iter().any(|form| text.contains(form)),
            "{} installs another version than {version}",
            file.display()
        );
    }
}
