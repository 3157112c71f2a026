//! What templates are given, for those who write their own: taken from the types of the values, so that it is true.

use schemars::Schema;
use serde_json::Value;

use super::{services, templates};

/// A value that a template is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// How a template writes it: `cluster.name`, or `servers[].name` for what each item of a list has.
    pub name: String,
    /// What it is: `text`, `number`, `list`, …; ending in `or none` where it may be missing.
    pub kind: String,
    /// What it means.
    pub meaning: String,
}

/// The values that a template is given, in alphabetical order; `None` for an unknown template.
///
/// Templates of one directory are given the same. A file below `partials/` is given what the template has that
/// includes it; listed is what all services' templates have.
pub fn given(template: &str) -> Option<Vec<Given>> {
    let (directory, _) = template.split_once('/')?;
    if templates::embedded(template).is_none() && !template.starts_with(templates::PARTIALS) {
        return None;
    }
    let mut given = Vec::new();
    collect("", services::schema(directory)?.as_value(), &mut given);
    Some(given)
}

/// The schema of a type whose values are only ever written.
pub(super) fn schema_of<T: schemars::JsonSchema>() -> Schema {
    let settings = schemars::generate::SchemaSettings::draft2020_12();
    settings
        .for_serialize()
        .with(|settings| settings.inline_subschemas = true)
        .into_generator()
        .into_root_schema_for::<T>()
}

/// Collects the fields of an object, each followed by those inside it.
fn collect(inside: &str, schema: &Value, given: &mut Vec<Given>) {
    for (field, schema) in schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let name = if inside.is_empty() {
            field.clone()
        } else {
            format!("{inside}.{field}")
        };
        let meaning = schema
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .replace('\n', " ");
        let (present, is_optional) = present(schema);
        let kind = kind(present) + if is_optional { ", or none" } else { "" };
        given.push(Given {
            name: name.clone(),
            kind,
            meaning,
        });
        match present.get("items") {
            Some(items) => collect(&format!("{name}[]"), items, given),
            None => collect(&name, present, given),
        }
    }
}

/// The schema of a value that is there, and whether it may be missing.
fn present(schema: &Value) -> (&Value, bool) {
    let is_null = |schema: &Value| schema.get("type").and_then(Value::as_str) == Some("null");
    match schema
        .get("anyOf")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
    {
        Some([value, null]) if is_null(null) => (value, true),
        _ => {
            let types = schema.get("type").and_then(Value::as_array);
            (
                schema,
                types.is_some_and(|types| types.contains(&"null".into())),
            )
        }
    }
}

fn kind(schema: &Value) -> String {
    let named = |schema: &Value| {
        let constant = schema
            .get("const")
            .and_then(Value::as_str)
            .map(|name| vec![name.to_owned()]);
        let several = || {
            Some(
                schema
                    .get("enum")?
                    .as_array()?
                    .iter()
                    .filter_map(Value::as_str)
                    .map(str::to_owned)
                    .collect(),
            )
        };
        constant.or_else(several).unwrap_or_default()
    };
    let alternatives = schema
        .get("oneOf")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let names: Vec<String> = alternatives
        .chain([schema])
        .flat_map(named)
        .map(|name| format!("`{name}`"))
        .collect();
    if !names.is_empty() {
        return names.join(" or ");
    }
    let types = schema.get("type");
    let first = types
        .and_then(Value::as_array)
        .and_then(|types| types.first())
        .or(types);
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
