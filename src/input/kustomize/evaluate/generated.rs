//! ConfigMaps and Secrets of a kustomization's generators.

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};
use yaml_serde::{Mapping, Value};

use super::object::{Behavior, BuildObject, scalar_text, set_at, text_at, value_at};
use super::{BuildEvaluation, EvaluationError, StepResult, refuse};
use crate::base::api::kustomization::{GeneratorOptions, KustomizeGenerator, unquoted};
use crate::base::finding::{ForeignValue, Place, RouteStep};
use crate::base::text::credentials::masked_value;
use crate::base::text::non_empty;
use crate::input::kustomize::BuildNode;

/// Line length of base64 in kustomize's output.
const LINE: usize = 70;

impl BuildEvaluation<'_> {
    /// Builds the object of a generator in a list.
    pub(super) fn generated(
        &self,
        node: &BuildNode,
        list: &str,
        generator: &KustomizeGenerator,
    ) -> StepResult<BuildObject> {
        let refused = |why: &str| EvaluationError::Refused(format!("a generator {why}"));
        let name = non_empty(&generator.name).ok_or_else(|| refused("has no name"))?;
        let is_secret = list == "secretGenerator";
        let kind = if is_secret { "Secret" } else { "ConfigMap" };
        let global = &node.kustomization.generator_options;
        let options = || global.iter().chain(&generator.options);
        let mut object = Mapping::new();
        let mut set = |route: &[&str], value: &str| set_at(&mut object, route, value.into());
        set(&["apiVersion"], "v1");
        set(&["kind"], kind);
        set(&["metadata", "name"], name);
        if let Some(namespace) = non_empty(&generator.namespace) {
            set(&["metadata", "namespace"], namespace);
        }
        // The generator's own options replace those of its kustomization.
        for GeneratorOptions { labels, annotations, .. } in options() {
            for (field, pairs) in [("labels", labels), ("annotations", annotations)] {
                for (key, value) in pairs.iter().flatten() {
                    set(&["metadata", field, key], value);
                }
            }
        }
        if is_secret {
            set(&["type"], non_empty(&generator.secret_type).unwrap_or("Opaque"));
            object.insert("data".into(), Mapping::new().into());
        }
        for (key, value) in self.pairs(node, generator)? {
            let (field, value) = match str::from_utf8(&value) {
                _ if is_secret => ("data", base64(&value)),
                Ok(text) => ("data", text.to_owned()),
                Err(_) => ("binaryData", base64(&value)),
            };
            if set_at(&mut object, &[field, &key], value.into()).is_some() {
                return Err(refused(&format!("repeats the key `{key}`")));
            }
        }
        if options().any(|it| it.immutable == Some(true)) {
            object.insert("immutable".into(), true.into());
        }
        let mut made = BuildObject::new(node.origin.clone(), object);
        made.needs_hash = !options().any(|it| it.disable_name_suffix_hash == Some(true));
        made.generated = Some(match generator.behavior.as_deref() {
            Some("merge") => Behavior::Merge,
            Some("replace") => Behavior::Replace,
            _ => Behavior::Create,
        });
        Ok(made)
    }

    /// Returns the keys and values of a generator.
    fn pairs(
        &self,
        node: &BuildNode,
        generator: &KustomizeGenerator,
    ) -> StepResult<Vec<(String, Vec<u8>)>> {
        let file = |path: &str| {
            self.bytes_of(node, path)?.ok_or_else(|| {
                let path = masked_value(path);
                let why = format!("a generator reads `{path}`, which is not in the repo");
                EvaluationError::Beyond(why)
            })
        };
        let mut pairs = Vec::new();
        for path in generator.env_files() {
            let Ok(content) = String::from_utf8(file(path)?) else {
                return refuse(format!("`{}` is not UTF-8", masked_value(path)));
            };
            for line in content.trim_start_matches('\u{feff}').lines().map(str::trim_start) {
                let (key, value) = line.split_once('=').unwrap_or((line, ""));
                if !key.is_empty() && !line.starts_with('#') {
                    pairs.push((key.to_owned(), value.as_bytes().to_vec()));
                }
            }
        }
        for literal in generator.literals.iter().flatten() {
            let split = literal.split_once('=').filter(|(key, _)| !key.is_empty());
            let Some((key, value)) = split else {
                return refuse("a literal of a generator must have the form `key=value`");
            };
            pairs.push((key.to_owned(), unquoted(value).as_bytes().to_vec()));
        }
        for (source, (key, path)) in generator.files.iter().flatten().zip(generator.keyed_files()) {
            let is_keyed = source.contains('=');
            if is_keyed && (key.is_empty() || path.is_empty() || path.contains('=')) {
                return refuse("a file of a generator must have the form `path` or `key=path`");
            }
            let content = file(path).map_err(|error| without_credential(error, source))?;
            pairs.push((key.to_owned(), content));
        }
        Ok(pairs)
    }
}

/// Leaves the path out of an error if the entry looks like a key with its value.
fn without_credential(error: EvaluationError, entry: &str) -> EvaluationError {
    let Cow::Owned(shown) = masked_value(entry) else { return error };
    let why = format!("a generator cannot read `{shown}`");
    match error {
        EvaluationError::Refused(_) => EvaluationError::Refused(why),
        _ => EvaluationError::Beyond(why),
    }
}

/// Encodes base64 as kustomize does: in lines, if there is more than one.
fn base64(content: &[u8]) -> String {
    let encoded = BASE64_STANDARD.encode(content);
    if encoded.len() < LINE {
        return encoded;
    }
    let lines = encoded.as_bytes().chunks(LINE).map(String::from_utf8_lossy);
    lines.map(|line| format!("{line}\n")).collect()
}

/// Merges a generated object into an existing one, or replaces its data, as the behavior requires.
pub(super) fn absorb(old: &mut BuildObject, new: BuildObject, behavior: Behavior, place: &Place) {
    let mut made = new.value.clone();
    made.insert("metadata".into(), Mapping::new().into());
    for route in [["metadata", "name"], ["metadata", "namespace"]] {
        if let Some(text) = text_at(&old.value, &route) {
            set_at(&mut made, &route, text.into());
        }
    }
    let mut joined: Vec<&[&str]> = vec![&["metadata", "labels"], &["metadata", "annotations"]];
    if behavior == Behavior::Merge {
        joined.extend([&["data"][..], &["binaryData"]]);
    }
    for route in joined {
        let both = [&old.value, &new.value].into_iter();
        let pairs = both.filter_map(|object| value_at(object, route)?.as_mapping()).flatten();
        // Values become strings, whatever type they had.
        let text = |value: &Value| Value::from(scalar_text(value).unwrap_or_default());
        let pairs: Mapping = pairs.map(|(key, value)| (key.clone(), text(value))).collect();
        if !pairs.is_empty() {
            set_at(&mut made, route, pairs.into());
        }
    }
    old.value = made;
    // A merged object keeps its name suffix hash only if both generators ask for one.
    old.needs_hash &= new.needs_hash;
    // Later messages about these fields point at the generator.
    for field in ["data", "binaryData", "stringData", "type"] {
        let route = vec![RouteStep::from(field)];
        old.note(ForeignValue { route, place: place.clone(), goes_on: false, replaces: true });
    }
}

/// Returns the hash suffix of an object's name.
pub(super) fn hash(object: &BuildObject) -> String {
    let json = |value: Option<&Value>| {
        value
            .and_then(|value| serde_json::to_value(value).ok())
            .unwrap_or_else(|| serde_json::Value::from(""))
    };
    let kind = object.kind();
    let mut hashed = BTreeMap::from([
        ("kind", serde_json::Value::from(kind.as_str())),
        // kustomize reads a field named `metadata/name`, which no object has.
        ("name", serde_json::Value::from("")),
        ("data", json(object.value.get("data"))),
    ]);
    let other = if kind == "Secret" { "stringData" } else { "binaryData" };
    if let Some(data @ Value::Mapping(_)) = object.value.get(other) {
        hashed.insert(other, json(Some(data)));
    }
    if kind == "Secret" {
        let secret_type = object.value.get("type").and_then(scalar_text).unwrap_or_default();
        hashed.insert("type", serde_json::Value::from(secret_type));
    }
    let text = serde_json::to_string(&hashed).unwrap_or_default();
    // Go's `encoding/json` escapes these characters.
    let by_number = |c: char| match c {
        '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => format!("\\u{:04x}", u32::from(c)),
        other => other.to_string(),
    };
    let text: String = text.chars().map(by_number).collect();
    // kustomize's encoding: ten hex digits, with some replaced so that no words can appear.
    let digits = format!("{:.10x}", Sha256::digest(text.as_bytes()));
    let letters = [('0', "g"), ('1', "h"), ('3', "k"), ('a', "m"), ('e', "t")];
    letters.into_iter().fold(digits, |digits, (digit, letter)| digits.replace(digit, letter))
}
