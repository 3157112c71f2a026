//! Secrets that hosts name for network data, but that lack the keys that Metal3 reads.
//!
//! Most Secrets hold credentials and are not parsed. They are searched by name only if a host lacks
//! network data, and their values are dropped.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8PathBuf;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::base::api::host::Metadata;
use crate::base::api::names::SecretKey;
use crate::base::api::network_data::SECRET_KEYS;
use crate::base::finding::Origin;
use crate::input::load::{Document, Files, mentions};

/// A Secret without network data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeylessSecret {
    /// Its position.
    pub origin: Origin,
    /// Its keys.
    pub keys: BTreeSet<String>,
}

/// A Secret without its values.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SecretKeys {
    api_version: String,
    metadata: Metadata,
    data: Option<BTreeMap<String, IgnoredAny>>,
    string_data: Option<BTreeMap<String, IgnoredAny>>,
}

/// Finds Secrets by name that have no network data. A Secret without a namespace matches any,
/// because a build may give it one.
pub(crate) fn find(
    repo: &Files,
    files: &[Utf8PathBuf],
    wanted: &BTreeSet<SecretKey>,
) -> BTreeMap<SecretKey, KeylessSecret> {
    if wanted.is_empty() {
        return BTreeMap::new();
    }
    let read = |document: Document<'_>| {
        if document.kind() != Some("Secret") {
            return None;
        }
        let secret = document.parse::<SecretKeys>().ok()?;
        let values = secret.data.into_iter().chain(secret.string_data).flatten();
        let keys: BTreeSet<String> = values.map(|(key, _)| key).collect();
        // Other API groups have kinds of the name `Secret`.
        let is_keyless =
            secret.api_version == "v1" && !SECRET_KEYS.iter().any(|key| keys.contains(*key));
        let name = secret.metadata.name.filter(|_| is_keyless)?;
        let keyless = KeylessSecret { origin: document.origin.clone(), keys };
        Some((name, secret.metadata.namespace, keyless))
    };
    let secrets = mentions(&["Secret"]);
    // Unreadable files were reported earlier.
    let found = repo.scan(files, |_, content| secrets(content), read).unwrap_or_default();
    let mut keyless = BTreeMap::new();
    for (name, namespace, secret) in found {
        let is_meant = |key: &&SecretKey| {
            key.name.as_str() == name
                && namespace.as_deref().is_none_or(|namespace| namespace == key.namespace.as_str())
        };
        for key in wanted.iter().filter(is_meant) {
            keyless.entry(key.clone()).or_insert_with(|| secret.clone());
        }
    }
    keyless
}
