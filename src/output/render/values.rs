//! Documents the values of templates, for authors of own templates.
//!
//! Names and descriptions are generated from the types of the values, so they are never out of
//! date.

use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::Value;

use super::outputs::OutputValues;
use super::value_schema::schema_of;
use super::{cluster_kustomization, installation, services, templates, tenant};
use crate::base::layout;
use crate::base::layout::outputs::OUTPUTS;

/// A value of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateValue {
    /// Expression in a template: `cluster.name`, or `servers[].name` for a field of list items.
    pub name: String,
    /// Type: `text`, `number`, `list`, …; with the suffix `or none` if it is optional.
    pub kind: String,
    /// Description.
    pub meaning: String,
}

/// Returns the values of a template in alphabetical order; `None` for an unknown template.
///
/// Templates of one directory have the same values, and so have those of all outputs. A file below
/// `partials/` has those of the template that includes it; the list has those common to all services.
pub fn given(template: &str) -> Option<Vec<TemplateValue>> {
    let (directory, _) = template.split_once('/').unwrap_or((template, ""));
    let is_known = directory == OUTPUTS
        || templates::embedded(template).is_some()
        || template.starts_with(templates::PARTIALS);
    if !is_known {
        return None;
    }
    let mut given = Vec::new();
    collect("", schema(directory)?.as_value(), &mut given);
    Some(given)
}

/// Returns the schema of the values for a directory of templates.
fn schema(directory: &str) -> Option<Schema> {
    Some(match directory {
        "cluster" => schema_of::<cluster_kustomization::ClusterKustomizationValues<'_>>(),
        layout::CRDS => schema_of::<NoValues>(),
        layout::INSTALLER => schema_of::<installation::InstallerValues<'_>>(),
        OUTPUTS => schema_of::<OutputValues<'_>>(),
        "partials" => schema_of::<services::ServiceContext<'_, NoValues>>(),
        "tenant" => schema_of::<tenant::TenantValues<'_>>(),
        service => return services::schema(service),
    })
}

/// Returns the schema of the values of outputs' templates.
pub fn output_schema() -> Value {
    let mut schema = schema_of::<OutputValues<'_>>();
    schema.insert("$id".to_owned(), "urn:sipgen:schema:output-values".into());
    schema.to_value()
}

/// No values.
#[derive(Serialize, JsonSchema)]
struct NoValues {}

/// Collects the fields of an object, each followed by those inside it.
fn collect(inside: &str, schema: &Value, given: &mut Vec<TemplateValue>) {
    for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
        let name = if inside.is_empty() { field.clone() } else { format!("{inside}.{field}") };
        let meaning = schema["description"].as_str().unwrap_or_default().replace('\n', " ");
        let (present, is_optional) = present(schema);
        let kind = kind(present) + if is_optional { ", or none" } else { "" };
        given.push(TemplateValue { name: name.clone(), kind, meaning });
        match present.get("items") {
            Some(items) => collect(&format!("{name}[]"), items, given),
            None => collect(&name, present, given),
        }
    }
}

/// Returns the schema of a value when present, and whether it is optional.
fn present(schema: &Value) -> (&Value, bool) {
    match schema["anyOf"].as_array().map(Vec::as_slice) {
        // schemars describes an optional struct as `anyOf` with null, and an optional scalar as two
        // types.
        Some([value, null]) if null["type"] == "null" => (value, true),
        _ => {
            let types = schema["type"].as_array();
            (schema, types.is_some_and(|types| types.contains(&"null".into())))
        }
    }
}

fn kind(schema: &Value) -> String {
    let named = |schema: &Value| -> Vec<String> {
        let words = schema.get("enum").and_then(Value::as_array);
        let words = words.into_iter().flatten().chain(schema.get("const"));
        words.filter_map(Value::as_str).map(|word| format!("`{word}`")).collect()
    };
    let alternatives = schema.get("oneOf").and_then(Value::as_array).into_iter().flatten();
    let names: Vec<String> = alternatives.chain([schema]).flat_map(named).collect();
    if !names.is_empty() {
        return names.join(" or ");
    }
    let types = schema.get("type");
    let first = types.and_then(Value::as_array).and_then(|types| types.first()).or(types);
    let kind = match first.and_then(Value::as_str) {
        Some("string") => "text",
        Some("integer" | "number") => "number",
        Some("boolean") => "true or false",
        Some("array") => "list",
        Some("object") if schema.get("properties").is_none() => "values by name",
        Some("object") => "object",
        _ => "value",
    };
    kind.to_owned()
}
