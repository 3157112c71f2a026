//! The component of GitLab CI/CD: its inputs, how it installs sipgen, and that its jobs are those of `sipgen.yml`.

use std::collections::BTreeSet;
use std::fs;

use regex::Regex;
use serde_json::Value;

use crate::ci_examples::action::{path_with_pip, wheel};
use crate::ci_examples::{job, sh};
use crate::support::{repo_file, run, run_tool, text, tool};

/// Returns the two documents of the component: the inputs and the jobs.
fn documents() -> (String, String) {
    let text = repo_file("examples/gitlab/component.yml");
    let (inputs, jobs) = text.split_once("\n---\n").unwrap();
    (inputs.to_owned(), jobs.to_owned())
}

/// The jobs of the component.
pub(crate) fn jobs() -> Value {
    yaml_serde::from_str(&documents().1).unwrap()
}

/// Returns the default of an input.
pub(crate) fn default_of(input: &str) -> String {
    let inputs: Value = yaml_serde::from_str(&documents().0).unwrap();
    inputs["spec"]["inputs"][input]["default"].as_str().unwrap().to_owned()
}

/// Returns the script of a job.
pub(crate) fn script(jobs: &Value, name: &str) -> String {
    lines(&jobs[name]["script"])
}

fn lines(script: &Value) -> String {
    let lines = script.as_array().unwrap().iter();
    let lines: Vec<&str> = lines.map(|line| line.as_str().unwrap()).collect();
    lines.join("\n")
}

#[test]
fn jobs_that_both_files_have_do_the_same() {
    for name in ["sipgen-check", "sipgen-plan", "sipgen-comment"] {
        assert_eq!(script(&jobs(), name), job(name), "{name}");
    }
}

#[test]
fn every_input_exists_and_is_used_outside_of_scripts() {
    let (inputs, text) = documents();
    let inputs: Value = yaml_serde::from_str(&inputs).unwrap();
    let declared = inputs["spec"]["inputs"].as_object().unwrap().keys();
    let reference = Regex::new(r"\$\[\[ inputs\.([a-z]+) \]\]").unwrap();
    let used = reference.captures_iter(&text).map(|input| input[1].to_owned());

    assert_eq!(declared.cloned().collect::<BTreeSet<_>>(), used.collect::<BTreeSet<_>>());
    for job in jobs().as_object().unwrap().values() {
        for part in ["before_script", "script"] {
            assert!(!job[part].to_string().contains("$[["), "{job}");
        }
    }
}

#[test]
fn the_scripts_are_valid() {
    let jobs = jobs();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("script.sh");
    for text_of in [lines(&jobs[".sipgen"]["before_script"]), script(&jobs, "sipgen-regenerate")] {
        fs::write(&file, format!("#!/bin/sh\nset -e\n{text_of}\n")).unwrap();

        let output = run_tool(tool("shellcheck").arg(&file));

        assert!(output.status.success(), "{}", text(&output.stdout));
    }
}

#[test]
fn jobs_use_the_installed_wheel() {
    let directory = tempfile::tempdir().unwrap();
    let install = lines(&jobs()[".sipgen"]["before_script"]);
    let script = format!("{install}\nsipgen generate");
    let mut command = sh(&script, directory.path());
    command
        .env("PATH", path_with_pip())
        .env("SIPGEN_PACKAGE", wheel(directory.path()))
        .env("TMPDIR", directory.path());

    let run = run(&mut command).expect(0);

    assert_eq!(run.stdout, "from the wheel: --version\nfrom the wheel: generate\n");
}
