//! The schemas that rendered custom resources are checked against, compared with the definitions that they are from.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};
use yaml_serde::Value as Yaml;

use crate::support::documents;

/// The kinds that sipgen renders.
const KINDS: [(&str, &str, &str); 5] = [
    ("application-crd.yaml", "argoproj.io/v1alpha1", "Application"),
    ("cert-manager.io_certificates.yaml", "cert-manager.io/v1", "Certificate"),
    ("external-secrets.io_externalsecrets.yaml", "external-secrets.io/v1", "ExternalSecret"),
    ("cert-manager.io_issuers.yaml", "cert-manager.io/v1", "Issuer"),
    (
        "kustomize.toolkit.fluxcd.io_kustomizations.yaml",
        "kustomize.toolkit.fluxcd.io/v1",
        "Kustomization",
    ),
];

/// The keywords that sipgen checks.
const KEYWORDS: [&str; 17] = [
    "additionalProperties",
    "enum",
    "items",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "nullable",
    "pattern",
    "properties",
    "required",
    "type",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
];

/// A schema with what is checked of it.
fn reduced(schema: &Value) -> Value {
    let Value::Object(keywords) = schema else {
        return schema.clone();
    };
    let kept = keywords.iter().filter(|(keyword, _)| KEYWORDS.contains(&keyword.as_str()));
    let kept = kept.map(|(keyword, value)| {
        let value = match keyword.as_str() {
            "properties" => {
                let fields = value.as_object().unwrap().iter();
                Value::Object(
                    fields.map(|(name, schema)| (name.clone(), reduced(schema))).collect(),
                )
            }
            "items" | "additionalProperties" => reduced(value),
            _ => value.clone(),
        };
        (keyword.clone(), value)
    });
    Value::Object(kept.collect::<Map<_, _>>())
}

/// The schema of the spec in the definition of a kind.
fn definition(file: &str, api_version: &str, kind: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/crds").join(file);
    let text = fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{path:?}: {error}; `tests/tools/install` fetches it"));
    let (_, version) = api_version.split_once('/').unwrap();
    let versions = documents(&text)[0]["spec"]["versions"].as_sequence().unwrap().clone();
    let version: Yaml = versions
        .into_iter()
        .find(|served| served["name"] == version)
        .unwrap_or_else(|| panic!("{file} has no {version}"));
    let schema = serde_json::to_value(&version["schema"]["openAPIV3Schema"]).unwrap();
    let spec = reduced(&schema["properties"]["spec"]);
    json!({
        "apiVersion": api_version,
        "kind": kind,
        "schema": {"type": "object", "required": ["spec"], "properties": {"spec": spec}}
    })
}

#[test]
fn the_schemas_are_those_of_the_definitions() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src/output/render/custom_resources.json");
    let definitions = KINDS.map(|(file, api_version, kind)| definition(file, api_version, kind));

    let lines = definitions.map(|definition| definition.to_string());
    let text = format!("[\n{}\n]\n", lines.join(",\n"));

    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        fs::write(&path, text).unwrap();
        return;
    }
    assert!(
        fs::read_to_string(&path).unwrap() == text,
        "run this test with UPDATE_SCHEMA=1 to update {path:?}"
    );
}
