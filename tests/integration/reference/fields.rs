//! A JSON Schema as lists of fields, one per object.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Common formats, and their names. The schemas spell them as patterns.
const FORMATS: [(&str, &str); 4] = [
    (
        r"(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?$",
        "label key",
    ),
    (r"^([A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?)?$", "label value"),
    (r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", "DNS-1123 subdomain"),
    (r"[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "DNS-1123 label"),
];

/// Definitions of which the field's own description says enough.
const KNOWN: [&str; 6] = ["Code", "Date", "NodePortRange", "Release", "Scheme", "Word"];

/// Objects of a schema on their way into the page.
struct FieldLists<'a> {
    definitions: &'a Map<String, Value>,
    /// Heading of each definition that has a list or gets one, by name.
    headings: BTreeMap<&'a str, String>,
    /// Path of the first list that has a field of this name with this meaning.
    first_lists: BTreeMap<(String, String), String>,
    page: String,
}

/// A schema with the references in it followed.
struct Resolved<'a> {
    schema: &'a Value,
    /// Name of its definition.
    definition: Option<&'a str>,
}

/// Returns the lists of a schema's objects.
pub(super) fn described(schema: &Value) -> String {
    let mut lists = FieldLists {
        definitions: schema["$defs"].as_object().unwrap(),
        headings: BTreeMap::new(),
        first_lists: BTreeMap::new(),
        page: "\n## Fields\n".to_owned(),
    };
    let is_object = schema["properties"]["kind"].is_object();
    if is_object {
        lists
            .page
            .push_str("\n`apiVersion` and `kind` are as in the example. `status` is ignored.\n");
        lists.metadata(&schema["properties"]["metadata"]);
        let spec = lists.resolve(&schema["properties"]["spec"]);
        lists.object("spec", &spec);
    } else {
        lists.list("", schema);
    }
    lists.page
}

impl<'a> FieldLists<'a> {
    /// Follows `$ref` and the union with null by which optional fields are spelled.
    fn resolve(&self, schema: &'a Value) -> Resolved<'a> {
        let mut found = Resolved { schema, definition: None };
        loop {
            let variants = found.schema["anyOf"].as_array();
            let only = variants.and_then(|all| match all.as_slice() {
                [one, null] if null["type"] == "null" => Some(one),
                _ => None,
            });
            if let Some(only) = only {
                found.schema = only;
            } else if let Some(name) = found.schema["$ref"].as_str() {
                let name = name.strip_prefix("#/$defs/").unwrap();
                found.definition = Some(name);
                found.schema = &self.definitions[name];
            } else {
                return found;
            }
        }
    }

    /// Kubernetes defines the metadata; sipgen's own are names, labels and annotations that it reads.
    fn metadata(&mut self, schema: &'a Value) {
        let fields = schema["properties"].as_object().unwrap();
        self.page.push_str("\n### `metadata`\n\n");
        for name in ["name", "namespace"] {
            let meaning = if name == "name" {
                "**Required.** The object's name."
            } else {
                "The object's namespace, if no kustomization sets it."
            };
            self.field(&format!("`{name}`"), "string", meaning);
        }
        for group in ["labels", "annotations"] {
            let known = fields[group]["properties"].as_object();
            for (name, field) in known.into_iter().flatten() {
                let is_required = fields[group]["required"]
                    .as_array()
                    .is_some_and(|all| all.contains(&Value::from(name.as_str())));
                let mut meaning = self.meaning(field);
                if is_required {
                    meaning.insert_str(0, "**Required.** ");
                }
                self.field(&format!("`{group}.{name}`"), "string", &meaning);
            }
        }
    }

    /// Writes the list of an object below a heading.
    fn object(&mut self, path: &str, object: &Resolved<'a>) {
        write!(self.page, "\n### `{path}`\n").unwrap();
        self.list(path, object.schema);
    }

    fn list(&mut self, path: &str, schema: &'a Value) {
        if !path.is_empty()
            && let Some(description) = schema["description"].as_str()
            && !self.page.contains(&format!(": {description}\n"))
        {
            write!(self.page, "\n{description}\n").unwrap();
        }
        self.page.push('\n');
        let fields = schema["properties"].as_object().unwrap();
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut fields: Vec<_> = fields.iter().collect();
        fields.sort_by_key(|(name, _)| !required.contains(&name.as_str()));
        let mut nested = Vec::new();
        let is_accepted = |field: &Value| {
            let description = field["description"].as_str().unwrap_or_default();
            !["Rejected", "Ignored"].iter().any(|word| description.starts_with(word))
        };
        for (name, field) in fields.into_iter().filter(|(_, field)| is_accepted(field)) {
            let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let (kind, object) = self.kind(field, &below);
            let mut meaning = self.meaning(field);
            let key = (name.clone(), meaning.clone());
            let first = self.first_lists.entry(key).or_insert(path.to_owned());
            if !first.is_empty() && first.as_str() != path && meaning.split(' ').count() > 8 {
                meaning = format!("As in [`{first}`](#{}).", anchor(first));
            }
            if required.contains(&name.as_str()) {
                meaning.insert_str(0, "**Required.** ");
            }
            self.field(&format!("`{name}`"), &kind, &meaning);
            if let Some((path, object)) = object {
                let is_described =
                    object.definition.is_some_and(|name| self.headings.contains_key(name));
                if !is_described {
                    let heading = object.definition.map(|name| (name, path.clone()));
                    self.headings.extend(heading);
                    nested.push((path, object));
                }
            }
        }
        for (path, object) in nested {
            self.object(&path, &object);
        }
    }

    fn field(&mut self, name: &str, kind: &str, meaning: &str) {
        writeln!(self.page, "- {name}, {kind}: {}", meaning.replace('\n', " ")).unwrap();
    }

    /// Returns the name of a field's type, and the object in it with its path.
    fn kind(&self, field: &'a Value, path: &str) -> (String, Option<(String, Resolved<'a>)>) {
        let resolved = self.resolve(field);
        let schema = resolved.schema;
        let wrapped = |what: &str, inner: &'a Value, path: String| {
            let (kind, object) = self.kind(inner, &path);
            let many = kind.replacen("string", "strings", 1);
            let many = many.replacen("[object]", "[objects]", 1);
            (format!("{what} {many}"), object)
        };
        if schema["properties"].is_object() {
            let heading = match resolved.definition.and_then(|name| self.headings.get(name)) {
                Some(elsewhere) => elsewhere.clone(),
                None => path.to_owned(),
            };
            let kind = format!("[object](#{})", anchor(&heading));
            return (kind, Some((path.to_owned(), resolved)));
        }
        if schema["items"].is_object() {
            return wrapped("list of", &schema["items"], format!("{path}[]"));
        }
        let values = [&schema["additionalProperties"], &schema["allOf"][0]["additionalProperties"]];
        if let Some(values) = values.into_iter().find(|values| values.is_object()) {
            let key = if schema["propertyNames"]["enum"].is_array() { "ROLE" } else { "NAME" };
            return wrapped("map of", values, format!("{path}.{key}"));
        }
        if let Some(patterns) = schema["patternProperties"].as_object() {
            return wrapped("map of", patterns.values().next().unwrap(), format!("{path}.NAME"));
        }
        if let Some(variants) = schema["anyOf"].as_array()
            && let Some(object) = variants.iter().find(|one| one["maxProperties"] == 1)
        {
            let (kind, object) = self.kind(object, path);
            return (format!("string or {kind}"), object);
        }
        let kinds = match &schema["type"] {
            Value::String(one) => vec![one.as_str()],
            Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
            _ if schema["enum"].is_array() => vec!["string"],
            _ => vec!["string"],
        };
        let kinds: Vec<&str> = kinds.into_iter().filter(|kind| *kind != "null").collect();
        let pattern = schema["pattern"].as_str();
        let format =
            FORMATS.iter().find(|(end, _)| pattern.is_some_and(|pattern| pattern.ends_with(end)));
        let format = format.map_or(String::new(), |(_, name)| format!(" ({name})"));
        (format!("{}{format}", kinds.join(" or ")), None)
    }

    /// Returns what a field means, and its limits.
    fn meaning(&self, field: &'a Value) -> String {
        let resolved = self.resolve(field);
        let schema = resolved.schema;
        let own = field["description"].as_str();
        let description = own.or(schema["description"].as_str()).unwrap_or_default();
        let mut text = description.to_owned();
        let is_known = |name: &str| {
            KNOWN.contains(&name)
                || !schema["type"].is_string()
                || !schema["enum"].is_null()
                || schema["properties"].is_object()
                || self.kind(field, "").0.contains('(')
        };
        if let Some(advice) = schema["patternErrorMessage"].as_str() {
            if !self.page.contains(advice) {
                write!(text, " {advice}.").unwrap();
            }
        } else if own.is_some() && resolved.definition.is_some_and(|name| !is_known(name)) {
            let format = schema["description"].as_str().unwrap_or_default();
            write!(text, " {format}").unwrap();
        }
        if let (Some(least), Some(most)) = (schema["minimum"].as_i64(), schema["maximum"].as_i64())
            && !text.contains(&most.to_string())
            && !text.contains("range")
        {
            write!(text, " From {} to {}.", separated(least), separated(most)).unwrap();
        }
        text.push_str(&default(field, schema, description));
        if let Some(example) = field["examples"][0].as_str().or(schema["examples"][0].as_str())
            && !text.contains(example)
        {
            write!(text, " Example: `{example}`.").unwrap();
        }
        text.push_str(&values(schema, &text));
        text
    }
}

/// Returns the sentence on a default that the description does not have.
fn default(field: &Value, schema: &Value, description: &str) -> String {
    let default = match &field["default"] {
        Value::Null => &schema["default"],
        other => other,
    };
    let shown = match default {
        Value::Null | Value::Object(_) => return String::new(),
        Value::Array(items) if items.is_empty() => return String::new(),
        Value::String(text) if text.is_empty() => return String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let lower = description.to_lowercase();
    if lower.contains("default: ") || lower.contains("by default") {
        return String::new();
    }
    format!(" Default: `{shown}`.")
}

/// Returns the values that an enumeration allows, with their meanings.
fn values(schema: &Value, described: &str) -> String {
    let Some(values) = schema["enum"].as_array() else {
        return String::new();
    };
    let is_said = |value: &Value| {
        let value = value.as_str().unwrap_or_default();
        described.contains(&format!("`{value}`"))
    };
    if values.iter().all(is_said) {
        return String::new();
    }
    let meanings = schema["markdownEnumDescriptions"].as_array();
    let mut text = String::new();
    for (index, value) in values.iter().filter_map(Value::as_str).enumerate() {
        let meaning = meanings.and_then(|all| all[index].as_str());
        match meaning {
            Some(meaning) => write!(text, "<br>`{value}`: {meaning}").unwrap(),
            None if index == 0 => write!(text, " One of `{value}`").unwrap(),
            None => write!(text, ", `{value}`").unwrap(),
        }
    }
    if meanings.is_none() {
        text.push('.');
    }
    text
}

/// Formats a number with thousands separators.
fn separated(number: i64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    let groups: Vec<_> = groups.map(String::from_utf8_lossy).collect();
    groups.join(",")
}

/// Returns the anchor of a heading that is a path.
fn anchor(path: &str) -> String {
    let kept = path.chars().filter(|char| char.is_alphanumeric() || "-_".contains(*char));
    kept.collect::<String>().to_lowercase()
}
