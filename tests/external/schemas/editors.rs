//! The JSON Schemas, as an editor uses them.

use serde_json::{Value, json};

use super::{judges, schema, sipclusters, with};
use crate::support::{python_tool, run_tool, text};

const NAMES: [&str; 4] = ["sipcluster", "provisioning", "software", "settings"];

/// Every part of a schema, with the way to it.
fn parts(schema: &Value, way: &str, found: &mut Vec<(String, Value)>) {
    found.push((way.to_owned(), schema.clone()));
    match schema {
        Value::Object(fields) => {
            fields.iter().for_each(|(key, part)| parts(part, &format!("{way}/{key}"), found))
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, part)| parts(part, &format!("{way}/{index}"), found));
        }
        _ => {}
    }
}

fn parts_of(schema: &Value) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    parts(schema, "", &mut found);
    found
}

#[test]
fn each_is_a_schema_of_draft_2020_12() {
    let directory = tempfile::tempdir().unwrap();
    for name in NAMES {
        let schema = schema(name);
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert_eq!(schema["$id"], format!("urn:sipgen:schema:{name}"));
        assert!(schema["title"].is_string() && schema["description"].is_string(), "{name}");
        let file = directory.path().join(format!("{name}.json"));
        std::fs::write(&file, schema.to_string()).unwrap();
        let output = run_tool(python_tool("check-jsonschema").arg("--check-metaschema").arg(&file));
        assert!(output.status.success(), "{name}: {}", text(&output.stdout));
    }
}

#[test]
fn every_field_says_what_it_means() {
    for name in NAMES {
        for (way, part) in parts_of(&schema(name)) {
            // Within conditions, fields are named and not described.
            let is_condition = [
                "/if/",
                "/then/",
                "/else/",
                "/not/",
                "/allOf/",
                "/anyOf/",
                "/oneOf/",
                "defaultSnippets",
            ]
            .iter()
            .any(|word| way.contains(word));
            if way.ends_with("/properties") && !is_condition {
                for (field, described) in part.as_object().unwrap() {
                    assert!(
                        described["description"].is_string(),
                        "{name}: {way}/{field}: {described}"
                    );
                }
            }
        }
    }
}

/// Nothing that only a compiler, a documentation of code or an API server understands.
#[test]
fn there_is_nothing_for_anybody_else() {
    for name in NAMES {
        for (way, part) in parts_of(&schema(name)) {
            let key = way.rsplit('/').next().unwrap();
            assert!(!key.starts_with("x-"), "{name}: {way}");
            if let (true, Some(text)) = (key == "description", part.as_str()) {
                assert!(!text.contains("[`") && !text.contains("::"), "{name}: {way}: {text}");
            }
            if let (true, Some(format)) = (key == "format", part.as_str()) {
                assert!(["date-time", "ipv4", "ipv6"].contains(&format), "{name}: {way}: {format}");
            }
        }
    }
}

/// A misspelt key is underlined, wherever keys are ours.
#[test]
fn every_mapping_with_fields_of_its_own_is_closed() {
    for name in NAMES {
        for (way, part) in parts_of(&schema(name)) {
            let is_mapping = part["properties"].is_object() && part["type"] == "object";
            // Annotations may have any name, and a managed field is Kubernetes' own.
            if is_mapping {
                assert!(part.get("additionalProperties").is_some(), "{name}: {way}");
            }
        }
        let open = schema(name).get("additionalProperties").cloned();
        assert_eq!(open, Some(Value::Bool(false)), "{name}");
    }
}

#[test]
fn words_to_choose_from_are_listed_with_their_meaning() {
    let schema = schema("settings");
    let mode = &schema["$defs"]["Mode"];
    assert_eq!(mode["enum"], json!(["auto", "declared", "observed"]));
    let meanings = mode["markdownEnumDescriptions"].as_array().unwrap();
    assert!(meanings.len() == 3 && meanings.iter().all(Value::is_string), "{meanings:?}");
}

#[test]
fn what_holds_without_being_written_is_said() {
    let settings = schema("settings");
    assert_eq!(settings["properties"]["output"]["default"], "overlays");
    assert_eq!(settings["properties"]["credentials"]["default"], "reference");
    let cluster = schema("sipcluster");
    let definitions = &cluster["$defs"];
    assert_eq!(definitions["Auth"]["properties"]["replicas"]["default"], 2);
    assert_eq!(definitions["Connector"]["properties"]["id"].get("default"), None);
}

/// What stands in Markdown is given as Markdown, because a description is shown as it is.
#[test]
fn code_in_a_description_is_shown_as_code() {
    let schema = schema("sipcluster");
    let nodes = &schema["$defs"]["SIPClusterSpec"]["properties"]["nodes"];
    assert_eq!(nodes["markdownDescription"], "Node sets by role: `ControlPlane` and `Worker`.");
}

#[test]
fn a_value_is_never_repeated_where_it_may_be_a_secret() {
    let secret = "/spec/services/auth/0/staticClients/0/secret";
    let definitions = schema("sipcluster")["$defs"].clone();
    let property = &definitions["StaticClient"]["properties"]["secret"];
    assert!(property["errorMessage"].as_str().unwrap().contains("secretEnv"), "{property}");
    let refused = judges::editor(
        &schema("sipcluster"),
        &[with(&sipclusters::valid(), secret, json!("hush"))],
    );
    assert!(!refused[0].is_empty());
}
