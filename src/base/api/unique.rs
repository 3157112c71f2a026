//! Mappings without duplicate keys.
//!
//! serde's maps keep the last value of a duplicate key. kustomize and the API server reject the
//! document, so sipgen must not choose a value.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

/// A mapping without duplicate keys.
#[derive(Deserialize)]
#[serde(transparent, bound = "V: Deserialize<'de>")]
struct UniqueMap<V>(#[serde(deserialize_with = "map")] BTreeMap<String, V>);

/// Deserializes a mapping.
///
/// # Errors
///
/// If a key occurs twice, or the value is not such a mapping.
pub(crate) fn map<'de, K, V, D>(deserializer: D) -> Result<BTreeMap<K, V>, D::Error>
where
    K: Deserialize<'de> + Ord + fmt::Debug,
    V: Deserialize<'de>,
    D: Deserializer<'de>,
{
    struct Entries<K, V>(PhantomData<(K, V)>);

    impl<'de, K: Deserialize<'de> + Ord + fmt::Debug, V: Deserialize<'de>> Visitor<'de>
        for Entries<K, V>
    {
        type Value = BTreeMap<K, V>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a mapping")
        }

        fn visit_map<M: MapAccess<'de>>(self, mut entries: M) -> Result<Self::Value, M::Error> {
            let mut map = BTreeMap::new();
            while let Some(key) = entries.next_key()? {
                match map.entry(key) {
                    Entry::Vacant(entry) => entry.insert(entries.next_value()?),
                    Entry::Occupied(entry) => {
                        let message = format_args!("duplicate key {:?}", entry.key());
                        return Err(M::Error::custom(message));
                    }
                };
            }
            Ok(map)
        }
    }

    deserializer.deserialize_map(Entries(PhantomData))
}

/// Deserializes a mapping or null.
///
/// # Errors
///
/// See [`map`].
pub(crate) fn optional<'de, V: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BTreeMap<String, V>>, D::Error> {
    Ok(Option::<UniqueMap<V>>::deserialize(deserializer)?.map(|unique| unique.0))
}

/// Deserializes a list of mappings, or null.
///
/// # Errors
///
/// See [`map`].
pub(crate) fn optional_list<'de, V: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<BTreeMap<String, V>>>, D::Error> {
    let list = Option::<Vec<UniqueMap<V>>>::deserialize(deserializer)?;
    Ok(list.map(|list| list.into_iter().map(|unique| unique.0).collect()))
}
