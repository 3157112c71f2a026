//! GitHub's runner, for composite actions.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::ci_examples::bash;
use crate::support::{Run, repo_file, run};

/// A job that uses the action at the root of sipgen's repo.
pub(crate) struct Job<'a> {
    checkout: &'a Path,
    /// Contexts of expressions: `github`, `inputs`, `steps`.
    contexts: Value,
    variables: BTreeMap<String, String>,
    files: TempDir,
}

/// The action, as it is parsed.
pub(crate) fn action() -> Value {
    yaml_serde::from_str(&repo_file("action.yml")).unwrap()
}

impl<'a> Job<'a> {
    /// A job for an event, in a directory with the checkout.
    pub(crate) fn new(checkout: &'a Path, name: &str, event: &Value) -> Self {
        let github = json!({"event": event, "token": "token-of-the-bot"});
        let mut job = Self {
            checkout,
            contexts: json!({"github": github, "inputs": {}, "steps": {}}),
            variables: BTreeMap::new(),
            files: tempfile::tempdir().unwrap(),
        };
        job.set("GITHUB_EVENT_NAME", name);
        job.set("GITHUB_REPOSITORY", "platform/fleet");
        for (variable, file) in
            [("GITHUB_PATH", "path"), ("GITHUB_STEP_SUMMARY", "summary"), ("RUNNER_TEMP", "temp")]
        {
            let path = job.files.path().join(file);
            job.set(variable, path.to_str().unwrap());
        }
        fs::create_dir(job.files.path().join("temp")).unwrap();
        job
    }

    /// Sets a variable of the runner.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.variables.insert(name.to_owned(), value.to_owned());
    }

    /// Returns a file that steps have written: `path` or `summary`.
    pub(crate) fn file(&self, name: &str) -> String {
        fs::read_to_string(self.files.path().join(name)).unwrap_or_default()
    }

    /// Returns an output of the action.
    pub(crate) fn output(&self, name: &str) -> String {
        let outputs = &action()["outputs"];
        self.evaluated(outputs[name]["value"].as_str().unwrap())
    }

    /// Uses the action, with the sipgen of the tests unless the inputs name a package.
    pub(crate) fn uses(&mut self, inputs: &[(&str, &str)]) -> Run {
        let action = action();
        self.contexts["steps"] = json!({});
        self.contexts["inputs"] = json!({});
        for (name, input) in action["inputs"].as_object().unwrap() {
            let default = self.evaluated(input["default"].as_str().unwrap());
            self.contexts["inputs"][name] = default.into();
        }
        self.contexts["inputs"]["package"] = "none".into();
        for (name, value) in inputs {
            assert!(action["inputs"].get(name).is_some(), "{name}");
            self.contexts["inputs"][name] = (*value).into();
        }
        let mut all = Run { code: 0, stdout: String::new(), stderr: String::new() };
        for step in action["runs"]["steps"].as_array().unwrap() {
            let condition = step["if"].as_str().unwrap_or("true");
            if self.evaluated(condition) != "true" {
                continue;
            }
            let step = self.step(step);
            all.stdout += &step.stdout;
            all.stderr += &step.stderr;
            all.code = step.code;
            if all.code != 0 {
                break;
            }
        }
        all
    }

    fn step(&mut self, step: &Value) -> Run {
        assert_eq!(step["shell"], "bash");
        let output = self.files.path().join("output");
        fs::write(&output, "").unwrap();
        let mut command = bash(step["run"].as_str().unwrap(), self.checkout);
        command.envs(&self.variables).env("GITHUB_OUTPUT", &output);
        let path = command.get_envs().find(|(name, _)| *name == "PATH");
        let path = path.unwrap().1.unwrap().to_str().unwrap().to_owned();
        let added: Vec<String> = self.file("path").lines().map(str::to_owned).collect();
        command.env("PATH", [added, vec![path]].concat().join(":"));
        for (name, value) in step["env"].as_object().unwrap() {
            command.env(name, self.evaluated(value.as_str().unwrap()));
        }
        let run = run(&mut command);
        if let Some(id) = step["id"].as_str() {
            for line in fs::read_to_string(&output).unwrap().lines() {
                let (name, value) = line.split_once('=').unwrap();
                self.contexts["steps"][id]["outputs"][name] = value.into();
            }
        }
        run
    }

    /// Replaces expressions by their values.
    fn evaluated(&self, text: &str) -> String {
        let mut values = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${{ ") {
            let (expression, behind) = after.split_once(" }}").unwrap();
            values += before;
            values += &self.value(expression);
            rest = behind;
        }
        values + rest
    }

    /// Returns the value of a path in a context, or of its comparison with an empty text.
    fn value(&self, expression: &str) -> String {
        if let Some(path) = expression.strip_suffix(" != ''") {
            return (!self.value(path).is_empty()).to_string();
        }
        let (context, path) = expression.split_once('.').unwrap();
        let context = self.contexts.get(context);
        let context = context.unwrap_or_else(|| panic!("unknown context in {expression}"));
        let value = path.split('.').fold(context, |value, key| &value[key]);
        value.as_str().unwrap_or_default().to_owned()
    }
}
