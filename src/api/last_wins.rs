//! Kustomizations as kustomize decodes them.
//!
//! `api/types` of kustomize goes through sigs.k8s.io/yaml and Go's `encoding/json`: the last one of equal keys counts,
//! and fields are found in any case.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor};
use yaml_serde::{Mapping, Value};

use super::kustomization::Kustomization;

/// The fields that decide something here, as kustomize writes them.
const FIELDS: [&str; 20] = [
    "kind",
    "namespace",
    "namePrefix",
    "nameSuffix",
    "labels",
    "commonLabels",
    "commonAnnotations",
    "resources",
    "bases",
    "components",
    "patches",
    "patchesStrategicMerge",
    "patchesJson6902",
    "transformers",
    "replacements",
    "generators",
    "helmCharts",
    "helmChartInflationGenerator",
    "secretGenerator",
    "configMapGenerator",
];

/// A kustomization that kustomize would decode, duplicate keys included.
pub struct Decoded(pub Kustomization);

impl<'de> Deserialize<'de> for Decoded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let LastWins(mut value) = LastWins::deserialize(deserializer)?;
        value.apply_merge().map_err(D::Error::custom)?;
        if let Value::Mapping(fields) = &mut value {
            *fields = in_usual_case(std::mem::take(fields));
        }
        yaml_serde::from_value(value).map(Self).map_err(D::Error::custom)
    }
}

/// Writes fields in their usual case. kustomize decodes from JSON with sorted keys, so the last one by its letters
/// counts, which is the one in lower case.
fn in_usual_case(fields: Mapping) -> Mapping {
    let mut entries: Vec<(Value, Value)> = fields.into_iter().collect();
    entries.sort_by(|(one, _), (other, _)| one.as_str().cmp(&other.as_str()));
    let usual = |key: Value| {
        let known = key.as_str().and_then(|key| FIELDS.into_iter().find(|field| field.eq_ignore_ascii_case(key)));
        known.map_or(key, Value::from)
    };
    let mut usual_fields = Mapping::new();
    for (key, value) in entries {
        usual_fields.insert(usual(key), value);
    }
    usual_fields
}

/// Any YAML, in which the last one of equal keys counts.
struct LastWins(Value);

impl<'de> Deserialize<'de> for LastWins {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any).map(Self)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any YAML")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(Self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(LastWins(value)) = items.next_element()? {
            values.push(value);
        }
        Ok(Value::Sequence(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut mapping = Mapping::new();
        while let Some((LastWins(key), LastWins(value))) = entries.next_entry()? {
            mapping.insert(key, value);
        }
        Ok(Value::Mapping(mapping))
    }

    /// Passes by a tag.
    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<Value, A::Error> {
        let (LastWins(_), value) = tagged.variant()?;
        value.newtype_variant::<LastWins>().map(|LastWins(value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &str) -> Result<Kustomization, yaml_serde::Error> {
        yaml_serde::from_str(text).map(|Decoded(kustomization)| kustomization)
    }

    // As `kustomize build` of 5.8.2 did with the same texts.
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
        let nested = decoded("labels:\n- pairs: {a: b, a: c}\nresources: [a]\nresources: [b]\n").unwrap();
        assert_eq!(nested.resources.unwrap(), ["b"]);
        assert_eq!(nested.labels.unwrap()[0].pairs.as_ref().unwrap()["a"], Value::from("c"));
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
