//! The tests of `integration::diffing::json` that need another program.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::scenes::diffing::*;
use crate::support::scenes::diffing_json::{json, schema_file};
use crate::support::{EDGE, Repo};
use crate::support::{assert_says, run, run_tool, text, tool};

/// Whether documents keep to the schema, and why not, by a validator of another house.
fn validate(documents: &[Value]) -> Result<(), String> {
    validate_by(&schema_file(), documents)
}

fn validate_by(schema: &Path, documents: &[Value]) -> Result<(), String> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("documents.json");
    fs::write(&file, serde_json::to_string(documents).unwrap()).unwrap();
    let script = "import json, sys, jsonschema\n\
                  schema, documents = (json.load(open(file)) for file in sys.argv[1:])\n\
                  jsonschema.Draft202012Validator.check_schema(schema)\n\
                  for document in documents:\n    \
                      jsonschema.Draft202012Validator(schema).validate(document)\n";
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/venv/bin/python");
    let output =
        run_tool(tool(python.to_str().unwrap()).args(["-c", script]).arg(schema).arg(&file));
    if output.status.success() { Ok(()) } else { Err(text(&output.stderr)) }
}

#[test]
fn it_keeps_to_its_schema() {
    let changed = with_all_kinds_of_changes();
    let mut documents = vec![
        json(&changed, &["--lines"]),
        json(&changed, &["--base", "HEAD"]),
        json(&Repo::generated("quickstart"), &[]),
    ];
    changed.replace(EDGE, "active: 1", "active: 99");
    documents.push(json(&changed, &[]));
    documents.extend(
        crate::support::fixture_names().iter().map(|fixture| json(&Repo::of_fixture(fixture), &[])),
    );

    assert_eq!(validate(&documents), Ok(()));
}

#[test]
fn its_schema_refuses_another_version() {
    let mut document = json(&with_all_kinds_of_changes(), &[]);
    document["version"] = 2.into();

    assert_says(&validate(&[document]).unwrap_err(), &["1 was expected"]);
}

#[test]
fn the_consequences_of_a_hypothesis_keep_to_their_schema() {
    let repo = Repo::generated("multi-cluster");
    let arguments: [&[&str]; 3] = [
        &["--without", "rack=a3"],
        &["--remove", "tenant-a/core"],
        &["--scale", "tenant-a/core:Worker=+9", "--add", "3"],
    ];
    let documents = arguments.map(|arguments| {
        let all = [&["what-if", "--format", "json"], arguments].concat();
        serde_json::from_str(&run(&mut repo.sipgen(&all)).stdout).unwrap()
    });
    let schema = schema_file().with_file_name("what-if.schema.json");
    validate_by(&schema, &documents).unwrap();
}
