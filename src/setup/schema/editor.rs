//! JSON Schemas for editors, mainly yaml-language-server.

use std::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::unwrapped;
use crate::base::api::assignment::PRIORITY;
use crate::base::api::names::{
    LABEL_KEY_PATTERN, LABEL_VALUE_PATTERN, NAMESPACE_PATTERN, OBJECT_NAME_PATTERN,
};
use crate::base::api::object_kind::ObjectKind;
use crate::base::api::provisioning::{self, Provisioning, Software};
use crate::base::api::sipcluster::{self, SIPCluster};
use crate::base::api::without_nulls;
use crate::input::decode::unknown_fields::accepts;
use crate::input::settings::Settings;

/// Key of schema fragments that only editors get.
const EDITOR: &str = "x-editor";

/// Returns the schema of SIPCluster.
pub fn sipcluster() -> Value {
    let metadata = metadata(json!({"properties": {
        // Hosts have the name as a label value.
        "name": {"maxLength": 63},
        "annotations": {"properties": {(PRIORITY): {
            "description": "An integer in quotes. Clusters with a higher priority choose hosts first.",
            "type": "string",
            "pattern": r"^\s*[+-]?[0-9]{1,18}\s*$",
            "default": "0"
        }}}
    }}));
    object::<SIPCluster>(&sipcluster::OBJECT, "sipcluster", metadata)
}

/// Returns the schema of Provisioning.
pub fn provisioning() -> Value {
    let cluster_type = json!({(provisioning::CLUSTER_TYPE): {
        "description": "The kind of hosts, if they are not bare-metal machines.",
        "type": "string",
        "examples": [provisioning::VIRTLET_VM]
    }});
    let metadata = cluster_label_metadata("The cluster's name.", cluster_type);
    object::<Provisioning>(&provisioning::OBJECT, "provisioning", metadata)
}

/// Returns the schema of Software.
pub fn software() -> Value {
    let description = "The name of the cluster whose machines get the packages.";
    let metadata = cluster_label_metadata(description, json!({}));
    object::<Software>(&provisioning::SOFTWARE, "software", metadata)
}

/// Returns the schema of metadata with a label for the cluster, and other labels.
fn cluster_label_metadata(description: &str, mut labels: Value) -> Value {
    labels[provisioning::CLUSTER] = json!({
        "description": description,
        "type": "string",
        "maxLength": provisioning::LONGEST_NAME,
        "pattern": OBJECT_NAME_PATTERN
    });
    metadata(json!({
        "required": ["labels"],
        "properties": {"labels": {"required": [provisioning::CLUSTER], "properties": labels}}
    }))
}

/// Returns the schema of `sipgen.yaml`.
pub fn settings() -> Value {
    let mut schema = generator().into_root_schema_for::<Settings>();
    RecursiveTransform(for_editors).transform(&mut schema);
    finished(schema, "sipgen.yaml", "settings")
}

/// Returns the schema of a whole object, including its apiVersion and kind.
fn object<T: JsonSchema>(identity: &ObjectKind, name: &str, metadata: Value) -> Value {
    let ObjectKind { kind, api_version, .. } = identity;
    let mut schema = generator().into_root_schema_for::<T>();
    let properties = schema.ensure_object().entry("properties").or_insert_with(|| json!({}));
    let constant =
        |text: &str, word: &str| json!({"description": text, "type": "string", "const": word});
    properties["apiVersion"] = constant("The API group and version.", api_version);
    properties["kind"] = constant("The kind.", kind);
    properties["metadata"] = metadata;
    for (name, meaning) in
        [("spec", "What is asked for."), ("status", "What was made of it, as a cluster reports.")]
    {
        if let Some(Value::Object(property)) = properties.get_mut(name) {
            property.entry("description").or_insert_with(|| meaning.into());
        }
    }
    schema.insert("required".to_owned(), json!(["apiVersion", "kind", "metadata", "spec"]));
    RecursiveTransform(for_editors).transform(&mut schema);
    finished(schema, &format!("{kind} ({api_version})"), name)
}

/// Returns a generator for deserialized fields.
fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().for_deserialize().into_generator()
}

/// What identifies the object.
// Fields that people do not write may have any value.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = ["name"]))]
#[expect(dead_code, reason = "only its schema is used")]
struct ObjectMetadata {
    /// The name, unique in the namespace.
    #[schemars(extend("maxLength" = 253, "pattern" = OBJECT_NAME_PATTERN))]
    name: String,
    /// The namespace.
    #[schemars(extend("maxLength" = 63, "pattern" = format!("^$|{NAMESPACE_PATTERN}")))]
    namespace: String,
    /// Keys and values by which objects are selected.
    #[schemars(extend(
        "propertyNames" = {"maxLength": 317, "pattern": LABEL_KEY_PATTERN},
        "additionalProperties" = {"type": "string", "maxLength": 63, "pattern": LABEL_VALUE_PATTERN}
    ))]
    labels: BTreeMap<String, String>,
    /// Keys and values that tools read.
    annotations: BTreeMap<String, String>,
    /// When the object was created.
    creation_timestamp: Value,
    /// The seconds in which its deletion may end.
    deletion_grace_period_seconds: Value,
    /// When it is to be gone.
    deletion_timestamp: Value,
    /// What controllers do before it is deleted.
    finalizers: Value,
    /// The start of a name that the API server makes.
    generate_name: Value,
    /// The number of changes of its spec.
    generation: Value,
    /// Which program set which field.
    managed_fields: Value,
    /// Objects with which it is deleted.
    owner_references: Value,
    /// The number of its last change.
    resource_version: Value,
    /// Its path in the API, before Kubernetes 1.20.
    self_link: Value,
    /// What tells it from an earlier object of its name.
    uid: Value,
}

/// Returns the schema of metadata, merged with what is special to a kind.
fn metadata(special: Value) -> Value {
    let mut schema = ObjectMetadata::json_schema(&mut generator());
    if let Value::Object(special) = special {
        merge(schema.ensure_object(), special);
    }
    schema.to_value()
}

fn finished(mut schema: Schema, title: &str, name: &str) -> Value {
    let root = schema.ensure_object();
    let definitions = root.get_mut("$defs").and_then(Value::as_object_mut);
    for (name, definition) in definitions.into_iter().flatten() {
        if let Value::Object(definition) = definition {
            definition.entry("title").or_insert_with(|| name.as_str().into());
        }
    }
    root.insert("title".to_owned(), title.into());
    root.insert("$id".to_owned(), format!("urn:sipgen:schema:{name}").into());
    schema.to_value()
}

/// Adapts one schema to editors.
fn for_editors(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    if let Some(Value::Object(told)) = object.remove(EDITOR) {
        merge(object, told);
    }
    // Objects with known properties are closed, so that an editor underlines misspelled keys. Open
    // mappings stay open.
    let is_open = object.remove("x-kubernetes-preserve-unknown-fields").is_some();
    if object.contains_key("properties")
        && object.get("type").is_some_and(|types| accepts(types, "object"))
        && !is_open
    {
        object.entry("additionalProperties").or_insert(Value::Bool(false));
    }
    object.retain(|key, _| !key.starts_with("x-kubernetes-"));
    alternatives(object);
    required_without_default(object);
    // A default of null says no more than the field being optional.
    let default = object.remove("default").map(without_nulls).filter(|value| !value.is_null());
    object.extend(default.map(|value| ("default".to_owned(), value)));
    // Rust's integer sizes are not formats of JSON Schema.
    let format = object.get("format").and_then(Value::as_str);
    if format.is_some_and(|format| !format.starts_with("ip") && !format.contains('-')) {
        object.remove("format");
    }
    describe(object);
}

/// Replaces alternatives of constants by an enum, because editors list its values for an invalid
/// one.
fn alternatives(object: &mut Map<String, Value>) {
    let Some(Value::Array(words)) = object.get("oneOf") else { return };
    let is_word = |word: &Value| word.get("const").is_some_and(Value::is_string);
    if !words.iter().all(is_word) {
        return;
    }
    let each = |key: &str| {
        words.iter().map(|word| word.get(key).cloned().unwrap_or_default()).collect::<Vec<_>>()
    };
    let (words, descriptions) = (each("const"), each("description"));
    object.remove("oneOf");
    object.insert("type".to_owned(), "string".into());
    object.insert("enum".to_owned(), words.into());
    object.insert("markdownEnumDescriptions".to_owned(), descriptions.into());
}

/// Removes the defaults of required fields. They exist only because deserialization with defaults
/// reports missing fields better.
fn required_without_default(object: &mut Map<String, Value>) {
    let Some(Value::Array(names)) = object.get("required").cloned() else { return };
    for name in names.iter().filter_map(Value::as_str) {
        let property = object.get_mut("properties").and_then(|properties| properties.get_mut(name));
        if let Some(Value::Object(property)) = property {
            property.remove("default");
        }
    }
}

/// Joins the lines of each paragraph in a description, and marks it as Markdown if it contains
/// code.
fn describe(object: &mut Map<String, Value>) {
    let Some(Value::String(text)) = object.get_mut("description") else { return };
    *text = unwrapped(text);
    if text.contains('`') {
        let markdown = text.clone();
        object.insert("markdownDescription".to_owned(), markdown.into());
    }
}

/// Merges schemas: mappings and `required` lists are extended, anything else is replaced.
fn merge(schema: &mut Map<String, Value>, more: Map<String, Value>) {
    for (key, value) in more {
        match (schema.get_mut(&key), value) {
            (Some(Value::Object(fields)), Value::Object(more)) => merge(fields, more),
            (Some(Value::Array(names)), Value::Array(more)) if key == "required" => {
                let new: Vec<Value> = more.into_iter().filter(|it| !names.contains(it)).collect();
                names.extend(new);
            }
            (_, value) => {
                schema.insert(key, value);
            }
        }
    }
}
