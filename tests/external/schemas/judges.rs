//! Who judges documents: the independent validator of JSON Schemas, and the API server's own code.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{python_tool, run_tool, text, tool};

/// What an editor would underline in each of some documents.
#[track_caller]
pub(super) fn editor(schema: &Value, documents: &[Value]) -> Vec<Vec<String>> {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, value: &Value| {
        let path = directory.path().join(name);
        fs::write(&path, serde_json::to_vec(value).unwrap()).unwrap();
        path
    };
    let mut validator = python_tool("check-jsonschema");
    validator.args(["--output-format", "json", "--schemafile"]).arg(file("schema.json", schema));
    for (number, document) in documents.iter().enumerate() {
        validator.arg(file(&format!("{number:04}.json"), document));
    }
    let output = run_tool(&mut validator);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}{}", text(&output.stdout), text(&output.stderr))
    });
    assert_eq!(report["parse_errors"].as_array().map_or(0, Vec::len), 0, "{report}");
    let mut found = vec![Vec::new(); documents.len()];
    for error in report["errors"].as_array().unwrap() {
        let name = error["filename"].as_str().unwrap().rsplit('/').next().unwrap();
        let number: usize = name.trim_end_matches(".json").parse().unwrap();
        found[number].push(format!(
            "{}: {}",
            error["path"].as_str().unwrap(),
            error["message"].as_str().unwrap()
        ));
    }
    found
}

/// What an API server says of an object.
#[derive(Debug, Deserialize)]
pub(super) struct Verdict {
    /// What is wrong with it.
    pub(super) errors: Vec<String>,
    /// The fields that it would lose.
    pub(super) dropped: Vec<String>,
    /// What would be stored.
    pub(super) stored: Option<Value>,
    /// The line of `kubectl get -o wide`, by column.
    pub(super) columns: Option<Value>,
}

/// What an API server with a definition says of objects that are created.
#[track_caller]
pub(super) fn server(definition: &str, objects: &[Value]) -> Vec<Verdict> {
    let requests: Vec<Value> = objects.iter().map(|object| json!({"object": object})).collect();
    answers(definition, &requests)
}

/// What an API server with a definition says of an object that takes the place of another one.
#[track_caller]
pub(super) fn update(definition: &str, old: &Value, object: &Value) -> Verdict {
    answers(definition, &[json!({"object": object, "old": old})]).pop().unwrap()
}

/// Why an API server refuses a definition; empty when it takes it.
#[track_caller]
pub(super) fn definition(definition: &str) -> String {
    ask(definition, &[]).err().unwrap_or_default()
}

#[track_caller]
fn answers(definition: &str, requests: &[Value]) -> Vec<Verdict> {
    let lines = ask(definition, requests).unwrap_or_else(|error| panic!("{error}"));
    let answers: Vec<Verdict> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), requests.len(), "{lines}");
    answers
}

#[track_caller]
fn ask(definition: &str, requests: &[Value]) -> Result<String, String> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(definition.as_bytes()).unwrap();
    let mut input = tempfile::tempfile().unwrap();
    for request in requests {
        writeln!(input, "{request}").unwrap();
    }
    std::io::Seek::rewind(&mut input).unwrap();
    let mut server = tool("api-server-validation");
    let output = run_tool(server.arg(file.path()).stdin(Stdio::from(input)));
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}
