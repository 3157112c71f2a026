//! Services of a SIPCluster whose entries only the [descriptor](super::service_kind) of their kind
//! describes.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error};
use serde_json::{Map, Value, json};

use super::names::NodePort;
use super::service_fields::ServiceFields;
use super::service_kind::{EntryDescriptor, ServiceKind};

/// An entry of a kind of service.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub struct DescribedService {
    /// Fields common to all services.
    #[serde(flatten)]
    pub service: ServiceFields,
    /// Fields of its kind.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

/// Services by the field of their kind.
#[derive(Debug, Clone, Default, serde::Serialize)]
#[serde(transparent)]
pub struct DescribedServices(pub BTreeMap<String, Option<Vec<DescribedService>>>);

/// Default number of pods. With two, a service survives the loss of a node.
pub(crate) const DEFAULT_REPLICAS: u16 = 2;
/// Maximum number of pods of a service, more than any base cluster requires.
pub(crate) const MOST_REPLICAS: u16 = 100;

fn described() -> impl Iterator<Item = (&'static ServiceKind, &'static EntryDescriptor)> {
    ServiceKind::all().iter().filter_map(|kind| Some((kind, kind.entry.as_ref()?)))
}

impl<'de> Deserialize<'de> for DescribedServices {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut lists = BTreeMap::<String, Value>::deserialize(deserializer)?;
        // Unknown fields are reported elsewhere.
        lists.retain(|field, _| described().any(|(kind, _)| kind.field == *field));
        let services = lists.into_iter().map(|(field, list)| {
            Ok((field, serde_json::from_value(list).map_err(D::Error::custom)?))
        });
        services.collect::<Result<_, _>>().map(Self)
    }
}

impl JsonSchema for DescribedServices {
    fn schema_name() -> Cow<'static, str> {
        "DescribedServices".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties = Map::new();
        for (kind, entry) in described() {
            let mut items = entry_schema(kind, entry, generator);
            if !generator.settings().inline_subschemas {
                let (first, rest) = kind.field.split_at(1);
                let name = first.to_ascii_uppercase() + rest;
                let reference = json_schema!({"$ref": format!("#/$defs/{name}")});
                let definition = std::mem::replace(&mut items, reference);
                generator.definitions_mut().insert(name, definition.to_value());
            }
            let list =
                json!({"description": entry.list, "type": ["array", "null"], "items": items});
            properties.insert(kind.field.clone(), list);
        }
        json_schema!({"type": "object", "properties": properties})
    }
}

fn entry_schema(
    kind: &ServiceKind,
    entry: &EntryDescriptor,
    generator: &mut SchemaGenerator,
) -> Schema {
    let (mut required, mut required_by_editors) = (vec!["image"], Vec::new());
    let mut editor = Map::new();
    if !kind.roles.is_empty() {
        required_by_editors.push("nodeInterfaceId");
        let interface = json!({"nodeInterfaceId": {"type": "string", "minLength": 1}});
        editor.insert("properties".to_owned(), interface);
    }
    let mut fields = Map::new();
    for (name, described) in &entry.fields {
        let mut field = described.keywords().clone();
        match (field.get("type").cloned(), name.as_str()) {
            (Some(_), _) if entry.required.contains(name) => required.push(name),
            (Some(only), _) => {
                // An API server must accept older objects without what editors require.
                let editor = field.get("x-editor").and_then(|editor| editor.get("type"));
                required_by_editors.extend(editor.map(|_| name.as_str()));
                field.insert("type".to_owned(), json!([only, "null"]));
            }
            (None, "nodePort") => {
                required.push(name);
                field.extend([
                    ("type".to_owned(), json!("integer")),
                    ("format".to_owned(), json!("int64")),
                    ("x-kubernetes-validations".to_owned(), json!([NodePort::rule()])),
                    ("x-editor".to_owned(), NodePort::range()),
                ]);
            }
            (None, _) => field.extend([
                ("type".to_owned(), json!(["integer", "null"])),
                ("format".to_owned(), json!("int64")),
                ("minimum".to_owned(), json!(1)),
                ("maximum".to_owned(), json!(MOST_REPLICAS)),
                ("x-editor".to_owned(), json!({"default": DEFAULT_REPLICAS})),
            ]),
        }
        fields.insert(name.clone(), field.into());
    }
    editor.insert("required".to_owned(), json!(required_by_editors));
    let mut schema = ServiceFields::json_schema(generator);
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.extend(fields);
    }
    schema.insert("description".to_owned(), json!(entry.description));
    schema.insert("required".to_owned(), json!(required));
    schema.insert("x-editor".to_owned(), Value::Object(editor));
    schema
}
