//! Structural schemas, as CustomResourceDefinitions have them: a field that is not listed is unknown.
//! Validators of JSON Schema accept such fields. The API server checks CEL rules and formats in
//! addition.

use std::collections::HashMap;

use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use super::JsonObject;
use crate::base::text::joined;

/// A structural schema.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "JsonObject")]
pub struct StructuralSchema {
    root: JsonObject,
    /// Its regular expressions. Go's are valid here but for rare ones, which are not checked.
    patterns: HashMap<String, Regex>,
}

impl From<JsonObject> for StructuralSchema {
    fn from(root: JsonObject) -> Self {
        let mut patterns = HashMap::new();
        collect_patterns(&root, &mut patterns);
        Self { root, patterns }
    }
}

fn collect_patterns(schema: &JsonObject, patterns: &mut HashMap<String, Regex>) {
    let pattern = schema.get("pattern").and_then(Value::as_str);
    if let Some((pattern, Ok(regex))) = pattern.map(|pattern| (pattern, Regex::new(pattern))) {
        patterns.insert(pattern.to_owned(), regex);
    }
    for inner in schema.values().filter_map(Value::as_object) {
        collect_patterns(inner, patterns);
    }
}

impl StructuralSchema {
    /// Returns the keywords of the schema itself.
    pub(crate) fn keywords(&self) -> &JsonObject {
        &self.root
    }

    /// Returns the first violation by a value; `None` if it is valid. `name` is that of the value, if
    /// it is a field.
    pub(crate) fn violation(&self, value: &Value, name: &str) -> Option<String> {
        self.check(&self.root, value, name).err()
    }

    /// Checks a value at a path. The error says what is wrong.
    fn check(&self, schema: &JsonObject, value: &Value, at: &str) -> Result<(), String> {
        let is_on = |keyword: &str| schema.get(keyword) == Some(&Value::Bool(true));
        if value.is_null() && is_on("nullable") {
            return Ok(());
        }
        if is_on("x-kubernetes-int-or-string") {
            let fits = value.is_string() || is_integer(value);
            return fits.then_some(()).ok_or_else(|| format!("{at} must be a text or an integer"));
        }
        let Some(expected) = schema.get("type").and_then(Value::as_str) else { return Ok(()) };
        match (expected, value) {
            ("object", Value::Object(fields)) => self.check_fields(schema, fields, at)?,
            ("array", Value::Array(items)) => {
                check_limits(schema, "Items", items.len(), at)?;
                if let Some(Value::Object(item_schema)) = schema.get("items") {
                    for (index, item) in items.iter().enumerate() {
                        self.check(item_schema, item, &format!("{at}[{index}]"))?;
                    }
                }
            }
            ("string", Value::String(text)) => {
                check_limits(schema, "Length", text.chars().count(), at)?;
                let pattern = schema.get("pattern").and_then(Value::as_str);
                let pattern = pattern.and_then(|pattern| self.patterns.get(pattern));
                if pattern.is_some_and(|pattern| !pattern.is_match(text)) {
                    return Err(format!("{at} does not have the required form"));
                }
            }
            ("integer", value) if is_integer(value) => check_range(schema, value, at)?,
            ("number", Value::Number(_)) => check_range(schema, value, at)?,
            ("boolean", Value::Bool(_)) => {}
            _ => return Err(format!("{at} must be of type {expected}")),
        }
        match schema.get("enum").and_then(Value::as_array) {
            Some(values) if !values.contains(value) => {
                Err(format!("{at} must be one of {}", joined(values, ", ")))
            }
            _ => Ok(()),
        }
    }

    fn check_fields(
        &self,
        schema: &JsonObject,
        fields: &JsonObject,
        at: &str,
    ) -> Result<(), String> {
        let path = |field: &str| {
            if at.is_empty() { field.to_owned() } else { format!("{at}.{field}") }
        };
        let known = schema.get("properties").and_then(Value::as_object);
        let keeps_others =
            schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true));
        for (field, value) in fields {
            let field_schema = known.and_then(|known| known.get(field));
            match field_schema.or(schema.get("additionalProperties")) {
                Some(Value::Object(field_schema)) => {
                    self.check(field_schema, value, &path(field))?
                }
                Some(Value::Bool(true)) => {}
                _ if keeps_others => {}
                _ => return Err(format!("{} is no field", path(field))),
            }
        }
        let required = schema.get("required").and_then(Value::as_array);
        let mut required = required.into_iter().flatten().filter_map(Value::as_str);
        match required.find(|field| !fields.contains_key(*field)) {
            Some(missing) => Err(format!("{} is missing", path(missing))),
            None => Ok(()),
        }
    }
}

/// Checks a number of items or characters.
fn check_limits(schema: &JsonObject, what: &str, length: usize, at: &str) -> Result<(), String> {
    let limit = |keyword: &str| schema.get(&format!("{keyword}{what}")).and_then(Value::as_u64);
    let length = u64::try_from(length).unwrap_or(u64::MAX);
    if limit("min").is_some_and(|least| length < least) {
        return Err(format!("{at} is too short"));
    }
    if limit("max").is_some_and(|most| length > most) {
        return Err(format!("{at} is too long"));
    }
    Ok(())
}

fn check_range(schema: &JsonObject, value: &Value, at: &str) -> Result<(), String> {
    let limit = |keyword: &str| schema.get(keyword).and_then(Value::as_f64);
    let number = value.as_f64().unwrap_or_default();
    let is_outside = limit("minimum").is_some_and(|least| number < least)
        || limit("maximum").is_some_and(|most| number > most);
    if is_outside {
        return Err(format!("{at} is out of range"));
    }
    Ok(())
}

fn is_integer(value: &Value) -> bool {
    value.is_i64() || value.is_u64()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_schema_does_not_allow_is_named() {
        let schema = json!({
            "type": "object",
            "required": ["name"],
            "properties": {
                "name": {"type": "string", "minLength": 1, "maxLength": 3, "pattern": "^[-._a-zA-Z0-9]+$"},
                "kind": {"type": "string", "enum": ["a", "b"]},
                "port": {"x-kubernetes-int-or-string": true},
                "count": {"type": "integer", "minimum": 1, "maximum": 9},
                "list": {"type": "array", "maxItems": 2, "items": {"type": "boolean"}},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                "none": {"type": "string", "nullable": true}
            }
        });
        let schema: StructuralSchema = serde_json::from_value(schema).unwrap();
        let with = |field: &str, value: Value| {
            let mut object = json!({"name": "a"});
            object[field] = value;
            schema.violation(&object, "")
        };
        for (field, value) in [
            ("kind", json!("b")),
            ("port", json!("http")),
            ("port", json!(80)),
            ("count", json!(9)),
            ("list", json!([true, false])),
            ("labels", json!({"a": "b"})),
            ("free", json!({"a": {"b": 1}})),
            ("none", Value::Null),
        ] {
            assert_eq!(with(field, value), None, "{field}");
        }
        for (field, value, problem) in [
            ("nam", json!("a"), "nam is no field"),
            ("name", json!("abcd"), "name is too long"),
            ("name", json!(""), "name is too short"),
            ("name", json!("/"), "name does not have the required form"),
            ("name", json!(1), "name must be of type string"),
            ("name", Value::Null, "name must be of type string"),
            ("kind", json!("c"), "kind must be one of \"a\", \"b\""),
            ("port", json!(1.5), "port must be a text or an integer"),
            ("count", json!(0), "count is out of range"),
            ("count", json!(1.5), "count must be of type integer"),
            ("list", json!([true, 1]), "list[1] must be of type boolean"),
            ("list", json!([true, true, true]), "list is too long"),
            ("labels", json!({"a": 1}), "labels.a must be of type string"),
        ] {
            assert_eq!(with(field, value).as_deref(), Some(problem), "{field}");
        }
        assert_eq!(schema.violation(&json!({}), "").as_deref(), Some("name is missing"));
    }

    #[test]
    fn a_schema_of_one_text_has_its_pattern() {
        let schema = json!({"type": "string", "pattern": "^[a-z]+$"});
        let schema: StructuralSchema = serde_json::from_value(schema).unwrap();

        assert_eq!(schema.violation(&json!("ntp"), "mode"), None);
        let problem = schema.violation(&json!("NTP"), "mode");
        assert_eq!(problem.as_deref(), Some("mode does not have the required form"));
    }
}
