//! The tests of `integration::validating` that need another program.

use std::fs;
use std::path::Path;

use crate::support::scenes::validating::{json, schema_file, with_a_warning};
use crate::support::{Repo, edge_with, run_tool, text, tool};

#[test]
fn its_json_keeps_to_its_schema() {
    let documents = [
        json(&Repo::of_fixture("quickstart"), &[]),
        json(&with_a_warning(), &["--strict"]),
        json(&edge_with("active: 2", "active: -2"), &[]),
        json(&edge_with("kind: SIPCluster", "kind: SIPCluster\nkind: ["), &[]),
    ];
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("documents.json");
    fs::write(&file, serde_json::to_string(&documents).unwrap()).unwrap();
    let script = "import json, sys, jsonschema\n\
                  schema, documents = (json.load(open(file)) for file in sys.argv[1:])\n\
                  jsonschema.Draft202012Validator.check_schema(schema)\n\
                  for document in documents:\n    \
                      jsonschema.Draft202012Validator(schema).validate(document)\n";
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/venv/bin/python");

    let output =
        run_tool(tool(python.to_str().unwrap()).args(["-c", script]).arg(schema_file()).arg(&file));

    assert!(output.status.success(), "{}", text(&output.stderr));
}
