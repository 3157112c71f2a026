//! The network data of hosts: its holders, and the references of hosts.
//!
//! A host names a Secret: a manifest, or the one that a generator of a kustomization makes. It may
//! lack the keys that Metal3 reads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use camino::Utf8PathBuf;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::base::api::host::Metadata;
use crate::base::api::names::{ObjectName, SecretKey};
use crate::base::api::network_data::{MalformedNetworkData, NetworkData, NoAddress, SECRET_KEYS};
use crate::base::finding::{DocumentField, Origin, Place};
use crate::base::text::from_base64;
use crate::input::load::{Document, Files, mentions, sops};

/// The network data of a host.
pub type HostNetworkData = Result<Arc<NetworkData>, NoNetworkData>;

/// Reasons why a host has no network data. The display completes "host …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoNetworkData {
    /// The host refers to no network data.
    #[error("has no network data")]
    Absent,
    /// The referenced Secret is not in the repo.
    #[error("has network data in the Secret {0}, which is not in the repo")]
    Missing(SecretKey),
    /// The referenced Secret has no key for network data: its keys.
    #[error("has network data in the Secret {0}, which has no key `networkData`")]
    Keyless(SecretKey, BTreeSet<String>),
    /// It has another format: its holder and the format.
    #[error(
        "has network data in {0}, in the format of {1} instead of OpenStack's network_data.json"
    )]
    OtherFormat(NetworkDataHolder, &'static str),
    /// It cannot be read: its holder and the reason.
    #[error("has network data in {0}, which {1}")]
    Unreadable(NetworkDataHolder, String),
    /// It is encrypted: its holder and the place of the value.
    #[error("has network data in {0}, which is encrypted with SOPS")]
    Encrypted(NetworkDataHolder, Box<Place>),
}

/// Reasons why a host has no address on an interface. The display completes "host …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoAddressReason {
    /// The host has no network data.
    #[error(transparent)]
    NoData(NoNetworkData),
    /// Its network data has no address on the interface.
    #[error(transparent)]
    NoAddress(#[from] NoAddress),
}

/// A holder of network data, in order of precedence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, derive_more::Display)]
#[display("{} {key}", if *is_generated { "what a kustomization generates as" } else { "the Secret" })]
pub struct NetworkDataHolder {
    /// Set for a generator of a kustomization, and not for a Secret.
    pub is_generated: bool,
    /// The Secret, or the one that the generator makes.
    pub key: SecretKey,
}

/// A Secret with network data that no host names.
#[derive(Debug, Clone)]
pub struct UnnamedNetworkData {
    /// Namespace and name.
    pub key: SecretKey,
    /// Its position.
    pub origin: Origin,
}

/// Network data with its position.
#[derive(Debug)]
pub(crate) struct LocatedNetworkData {
    pub(crate) holder: NetworkDataHolder,
    /// Position of the value: in a Secret, or in a generator.
    pub(crate) field: DocumentField,
    /// Set if a build of the repo reaches it. It then wins over its snapshot.
    pub(crate) is_declared: bool,
    /// Set if it is a copy of a live object. A snapshot has many that no host names.
    pub(crate) is_live: bool,
    /// Set if a generator makes it to replace or merge into another.
    pub(crate) overrides: bool,
    pub(crate) data: Data,
}

/// Reasons why network data cannot be read. The display is a clause about its holder.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum NetworkDataError {
    #[error("{0}")]
    Malformed(MalformedNetworkData),
    #[error("is encrypted with SOPS")]
    Encrypted,
    #[error("is not base64 of a text")]
    NotBase64,
    #[error("needs {0}, which is not in the repo")]
    NoFile(Utf8PathBuf),
}

/// Network data, or the reason why it is unknown.
pub(crate) type Data = Result<Arc<NetworkData>, NetworkDataError>;

/// A Secret with network data, before builds name it. Its texts are dropped, because they are long
/// and a site has thousands.
pub(crate) struct NetworkDataObject {
    /// Name in its file; `None` if it is invalid.
    pub(crate) name: Option<ObjectName>,
    /// Namespace in its file.
    pub(crate) namespace: Option<String>,
    /// Set if it is a copy of a live object.
    pub(crate) is_live: bool,
    /// Field and key of the network data.
    pub(crate) route: [&'static str; 2],
    pub(crate) data: Data,
}

pub(crate) fn read_value(value: &str, encoded: bool) -> Result<NetworkData, NetworkDataError> {
    if sops::is_encrypted(value) {
        return Err(NetworkDataError::Encrypted);
    }
    if !encoded {
        return read_text(value);
    }
    read_text(&from_base64(value).ok_or(NetworkDataError::NotBase64)?)
}

/// Parses network data; a file that sops encrypted is returned as [`NetworkDataError::Encrypted`].
pub(super) fn read_text(text: &str) -> Result<NetworkData, NetworkDataError> {
    if sops::is_encrypted_file(text) {
        return Err(NetworkDataError::Encrypted);
    }
    NetworkData::parse(text).map_err(NetworkDataError::Malformed)
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

/// Returns the keys of Secrets that have no network data, by name. A Secret without a namespace
/// matches any, because a build may give it one.
///
/// Most Secrets hold credentials and are not parsed. They are searched by name only if a host lacks
/// network data, and their values are dropped.
pub(super) fn keyless_secrets(
    repo: &Files,
    files: &[Utf8PathBuf],
    wanted: &BTreeSet<SecretKey>,
) -> BTreeMap<SecretKey, BTreeSet<String>> {
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
        Some((name, secret.metadata.namespace, keys))
    };
    let secrets = mentions(&["Secret"]);
    // Unreadable files were reported earlier.
    let found = repo.scan(files, |_, content| secrets(content), read).unwrap_or_default();
    let mut keyless = BTreeMap::new();
    for (name, namespace, keys) in found {
        let is_meant = |key: &&SecretKey| {
            key.name.as_str() == name
                && namespace.as_deref().is_none_or(|namespace| namespace == key.namespace.as_str())
        };
        for key in wanted.iter().filter(is_meant) {
            keyless.entry(key.clone()).or_insert_with(|| keys.clone());
        }
    }
    keyless
}
