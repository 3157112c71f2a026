//! Kustomizations as kustomize decodes them.
//!
//! `api/types` of kustomize decodes with sigs.k8s.io/yaml and Go's `encoding/json`: the last of
//! several equal keys wins, and field names match case-insensitively.

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error};
use yaml_serde::{Mapping, Value};

use super::kustomization::Kustomization;
use super::kustomization_fields::{KUSTOMIZATION, Type};
use crate::base::text::yaml::ValueReader;

/// A kustomization as kustomize decodes it, duplicate keys included, or the reason why a field has the
/// wrong type; and its fields as written.
pub struct DecodedKustomization(pub Result<Kustomization, String>, pub Value);

impl<'de> Deserialize<'de> for DecodedKustomization {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut written = ValueReader::default().deserialize(deserializer)?;
        // kustomize's parser expands merge keys (`<<`) before it decodes fields.
        written.apply_merge().map_err(D::Error::custom)?;
        let value = in_usual_case(written.clone(), KUSTOMIZATION);
        let decoded = yaml_serde::from_value(value).map_err(|error| error.to_string());
        Ok(Self(decoded, written))
    }
}

/// Renames fields to kustomize's own case, and converts booleans of YAML 1.1 to YAML 1.2.
///
/// kustomize decodes from JSON with sorted keys. If a field occurs in several cases, the last in
/// byte order wins, which is the lower-case one.
fn in_usual_case(value: Value, wanted: Type) -> Value {
    match (value, wanted) {
        (Value::Sequence(items), Type::List(wanted)) => {
            items.into_iter().map(|item| in_usual_case(item, *wanted)).collect()
        }
        (Value::Mapping(fields), Type::Object(_)) => {
            let mut entries: Vec<(Value, Value)> = fields.into_iter().collect();
            entries.sort_by(|(one, _), (other, _)| one.as_str().cmp(&other.as_str()));
            let mut usual = Mapping::new();
            for (key, value) in entries {
                match key.as_str().and_then(|key| wanted.field(key)) {
                    Some((name, field_type)) => {
                        usual.insert(Value::from(name), in_usual_case(value, field_type))
                    }
                    None => usual.insert(key, value),
                };
            }
            Value::Mapping(usual)
        }
        (Value::String(text), Type::Bool) => match text.to_ascii_lowercase().as_str() {
            "y" | "yes" | "on" => Value::Bool(true),
            "n" | "no" | "off" => Value::Bool(false),
            _ => Value::String(text),
        },
        (value, _) => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &str) -> Result<Kustomization, String> {
        let DecodedKustomization(kustomization, _) =
            yaml_serde::from_str(text).map_err(|error| error.to_string())?;
        kustomization
    }

    // Source: output of `kustomize build` 5.8.2 for the same texts.
    #[test]
    fn the_last_of_equal_keys_counts_in_any_case() {
        for (text, namespace) in [
            ("namespace: one\nnamespace: two\n", "two"),
            ("NameSpace: one\n", "one"),
            ("namespace: two\nNamespace: one\n", "two"),
            ("Namespace: one\nnamespace: two\n", "two"),
        ] {
            assert_eq!(decoded(text).unwrap().namespace.as_deref(), Some(namespace), "{text}");
        }
        let nested =
            decoded("labels:\n- pairs: {a: b, a: c}\nresources: [a]\nresources: [b]\n").unwrap();
        assert_eq!(nested.resources.unwrap(), ["b"]);
        assert_eq!(nested.labels.unwrap()[0].pairs.as_ref().unwrap()["a"], Value::from("c"));
        let patches =
            decoded("Patches: [{Path: a.yaml, Target: {NAME: x}}]\n").unwrap().patches.unwrap();
        assert_eq!(patches[0].path().unwrap(), "a.yaml");
        let options = decoded("generatorOptions: {disableNameSuffixHash: on}\n")
            .unwrap()
            .generator_options
            .unwrap();
        assert_eq!(options.disable_name_suffix_hash, Some(true));
        let merged = decoded("commonLabels: {<<: {a: b}, a: c}\n").unwrap();
        assert_eq!(merged.common_labels.unwrap()["a"], Value::from("c"));
        assert_eq!(decoded("namePrefix: !!str x-\n").unwrap().name_prefix.as_deref(), Some("x-"));
        assert_eq!(decoded("namePrefix: ! x-\n").unwrap().name_prefix.as_deref(), Some("x-"));
    }

    #[test]
    fn what_kustomize_cannot_decode_is_refused() {
        for text in ["resources: a.yaml\n", "namespace: 5\n", "- a\n", "namePrefix: 0x1f\n"] {
            assert!(decoded(text).is_err(), "{text}");
        }
    }
}
