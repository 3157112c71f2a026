//! `sipgen schema`: JSON Schemas for editors and CustomResourceDefinitions for API servers, in the hands of an
//! independent validator and of the API server's own code.

mod definitions;
mod editors;
mod judges;
mod provisioning;
mod settings;
mod sipclusters;
mod upstream;

use std::process::Command;

use serde_json::Value;

use crate::support::run;

/// What `sipgen schema` prints.
#[track_caller]
fn printed(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sipgen"));
    run(command.arg("schema").args(arguments)).expect(0).stdout
}

/// A JSON Schema that `sipgen schema` prints.
#[track_caller]
fn schema(name: &str) -> Value {
    serde_json::from_str(&printed(&[name])).unwrap()
}

/// A document with something else at a JSON pointer; null removes what is there.
fn with(document: &Value, pointer: &str, value: Value) -> Value {
    let mut changed = document.clone();
    let (above, last) = pointer.rsplit_once('/').unwrap();
    let parent = changed.pointer_mut(above).unwrap_or_else(|| panic!("nothing is at {above}"));
    match parent {
        Value::Array(items) => items[last.parse::<usize>().unwrap()] = value,
        Value::Object(fields) if value.is_null() => {
            fields.remove(&last.replace("~1", "/"));
        }
        Value::Object(fields) => {
            fields.insert(last.replace("~1", "/"), value);
        }
        _ => panic!("{above} has nothing in it"),
    }
    changed
}
