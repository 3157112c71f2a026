//! Secrets that hosts name for their network data and that have it under no key that Metal3 reads.
//!
//! Most Secrets hold credentials and are not parsed. Only where a host misses one are they looked at by name, and of their
//! values nothing is kept.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8PathBuf;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::api::host::Metadata;
use crate::api::names::SecretKey;
use crate::api::network_data::SECRET_KEYS;
use crate::finding::Origin;
use crate::load::{Document, Files, mentions};

/// A Secret without network data.
#[derive(Debug, Clone)]
pub struct Keyless {
    /// Where it stands.
    pub origin: Origin,
    /// The keys that it has.
    pub keys: BTreeSet<String>,
}

/// A Secret, its values left out.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SecretKeys {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    data: Option<BTreeMap<String, IgnoredAny>>,
    #[serde(default)]
    string_data: Option<BTreeMap<String, IgnoredAny>>,
}

/// Finds the Secrets of some names that have no network data. One that names no namespace gets it by a build.
pub(crate) fn find(
    repo: &Files,
    files: &[Utf8PathBuf],
    wanted: &BTreeSet<SecretKey>,
) -> BTreeMap<SecretKey, Keyless> {
    if wanted.is_empty() {
        return BTreeMap::new();
    }
    let read = |document: Document<'_>| {
        let secret = Some(&document)
            .filter(|document| document.kind() == Some("Secret"))?
            .parse::<SecretKeys>()
            .ok()?;
        let keys: BTreeSet<String> = secret
            .data
            .into_iter()
            .chain(secret.string_data)
            .flatten()
            .map(|(key, _)| key)
            .collect();
        let is_keyless =
            secret.api_version == "v1" && !SECRET_KEYS.iter().any(|key| keys.contains(*key));
        let name = secret.metadata.name.filter(|_| is_keyless)?;
        Some((
            name,
            secret.metadata.namespace,
            Keyless {
                origin: document.origin.clone(),
                keys,
            },
        ))
    };
    let secrets = mentions(&["Secret"]);
    // Unreadable files were reported earlier.
    let found = repo
        .scan(files, |_, content| secrets(content), read)
        .unwrap_or_default();
    let mut keyless = BTreeMap::new();
    for (name, namespace, secret) in found {
        let is_meant = |key: &&SecretKey| {
            key.name.as_str() == name
                && namespace
                    .as_deref()
                    .is_none_or(|namespace| namespace == key.namespace.as_str())
        };
        for key in wanted.iter().filter(is_meant) {
            keyless.entry(key.clone()).or_insert_with(|| secret.clone());
        }
    }
    keyless
}
