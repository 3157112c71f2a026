//! The network data of hosts: what holds it, and which host refers to which.
//!
//! A host names a Secret. Its data is read off the Secret, off the generator of a kustomization that makes it, off a
//! ConfigMap of that name, or off a plain file beside the host: the first of these that is there counts.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use camino::{Utf8Path, Utf8PathBuf};

use super::keyless::Keyless;
use crate::api::host::{self, live_field};
use crate::api::names::{HostKey, SecretKey};
use crate::api::network_data::{Malformed, NetworkData, NetworkDataSecret, SECRET_KEYS};
use crate::finding::{Origin, Place, Step};
use crate::kustomize::Builds;
use crate::load::sops;

/// A host's network data, or why there is none.
#[derive(Debug, Clone)]
pub enum Network {
    /// It is there.
    Known(Arc<NetworkData>),
    /// The host refers to none.
    Absent,
    /// The referenced Secret is not in the repo.
    Missing(SecretKey),
    /// The referenced Secret has no network data.
    Keyless(SecretKey, Keyless),
    /// It is there, but cannot be read: what holds it, and why.
    Unreadable(Holder, String),
    /// It is there, encrypted, and sops does not decrypt it, which a finding says: what holds it.
    Refused(Holder),
    /// It is there, encrypted: what holds it, and where the value is.
    Encrypted(Holder, Place),
}

/// Why a host has no address on an interface. The display names what is to blame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unaddressed {
    /// The host refers to no network data.
    #[error("has no network data")]
    NoNetworkData,
    /// The referenced Secret is not in the repo.
    #[error("has network data in the Secret {0}, which is not in the repo")]
    NoSecret(SecretKey),
    /// The Secret that it refers to has no key for it.
    #[error("has network data in the Secret {0}, which has no key `networkData`")]
    NoKey(SecretKey),
    /// What holds it cannot be read.
    #[error("has network data in {0}, which {1}")]
    Unreadable(Holder, String),
    /// sops does not decrypt what holds it, which a finding says.
    #[error("has network data in {0}, which cannot be decrypted")]
    Refused(Holder),
    /// It is encrypted.
    #[error("has network data in {0}, which is encrypted with SOPS")]
    Encrypted(Holder),
    /// Its network data has no network of this id.
    #[error("has no network `{0}` in its network data")]
    NoNetwork(String),
    /// The network has no static address, as with DHCP.
    #[error("has no address in its network `{0}`")]
    NoAddress(String),
}

/// Holder of network data, in order of precedence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holder {
    /// A Secret.
    Secret(SecretKey),
    /// A generator of a kustomization, by the Secret or ConfigMap that it makes.
    Generator(SecretKey),
    /// A ConfigMap.
    ConfigMap(SecretKey),
    /// A file of the repo that is no manifest.
    File(Utf8PathBuf),
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Holder::Secret(key) => write!(f, "the Secret {key}"),
            Holder::Generator(key) => write!(f, "what a kustomization generates as {key}"),
            Holder::ConfigMap(key) => write!(f, "the ConfigMap {key}"),
            Holder::File(file) => write!(f, "the file {file}"),
        }
    }
}

impl Holder {
    pub(super) fn key(&self) -> Option<&SecretKey> {
        match self {
            Holder::Secret(key) | Holder::Generator(key) | Holder::ConfigMap(key) => Some(key),
            Holder::File(_) => None,
        }
    }

    pub(super) fn is_like(&self, other: &Holder) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// A Secret with network data that no host names.
#[derive(Debug, Clone)]
pub struct Unnamed {
    /// Namespace and name.
    pub key: SecretKey,
    /// Where it stands.
    pub origin: Origin,
}

/// Network data, and where it stands.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) holder: Holder,
    /// The value's own place.
    pub(crate) place: Place,
    /// Where what holds it begins.
    pub(crate) start: Place,
    /// Whether it is a manifest that a build of the repo reaches: it wins over a snapshot of it.
    pub(crate) is_declared: bool,
    /// Whether it is a live object's copy. A snapshot of a base cluster has many that are of no use here.
    pub(crate) is_live: bool,
    /// Whether it is made to take another one's place.
    pub(crate) overrides: bool,
    pub(crate) data: Result<Arc<NetworkData>, Unreadable>,
}

/// Why network data cannot be read. The display is one clause about what holds it.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("{0}")]
    Malformed(Malformed),
    #[error("is encrypted with SOPS")]
    Encrypted(Sealed),
    #[error("is not base64 of a text")]
    NotBase64,
    #[error("needs {0}, which is not in the repo")]
    NoFile(Utf8PathBuf),
    /// sops does not decrypt it, which a finding says.
    #[error("cannot be decrypted")]
    Refused,
}

/// An encrypted value: where it is in what the file decrypts to.
#[derive(Debug, Clone)]
pub(crate) enum Sealed {
    /// A value of a Secret or ConfigMap, by the name and namespace that the file says.
    Object(Arc<Utf8Path>, String, Option<String>),
    /// All of a file.
    File(Utf8PathBuf),
    /// All of a file that stands in a value, as a generator puts it there.
    Text(String),
    /// A value in what somebody else has rendered: what sops has signed is no more.
    Rendered,
}

/// A Secret or ConfigMap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Secret,
    ConfigMap,
}

impl Kind {
    /// The kind as manifests have it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Secret => "Secret",
            Kind::ConfigMap => "ConfigMap",
        }
    }
}

/// The value of a Secret or ConfigMap that has network data: its route, and whether it is encoded. As in the API server,
/// a plain value wins over an encoded one.
pub(crate) fn value(kind: Kind, object: &NetworkDataSecret) -> Option<([Step; 2], &str, bool)> {
    let fields = match kind {
        Kind::Secret => [
            ("stringData", &object.string_data, false),
            ("data", &object.data, true),
        ],
        Kind::ConfigMap => [
            ("data", &object.data, false),
            ("binaryData", &object.binary_data, true),
        ],
    };
    let mut values = fields
        .into_iter()
        .filter_map(|(field, values, encoded)| Some((field, values.as_ref()?, encoded)));
    values.find_map(|(field, values, encoded)| {
        let mut named = SECRET_KEYS
            .into_iter()
            .zip([&values.network_data, &values.value]);
        named.find_map(|(name, value)| {
            Some(([field.into(), name.into()], value.as_deref()?, encoded))
        })
    })
}

impl Held {
    /// Takes the network data out of a Secret or ConfigMap; `None` when it holds none. Nothing else of it is kept.
    pub(crate) fn of_object(
        kind: Kind,
        key: SecretKey,
        origin: &Origin,
        object: &NetworkDataSecret,
        builds: &Builds,
    ) -> Option<Self> {
        let (route, value, encoded) = value(kind, object)?;
        let sealed = || match (
            origin.is_rendered(),
            origin.made_for(),
            &object.metadata.name,
        ) {
            (true, None, _) | (.., None) => Sealed::Rendered,
            // What a build of ours has made may have another namespace than its file says.
            (_, Some(_), Some(name)) => Sealed::Object(origin.file.clone(), name.clone(), None),
            (.., Some(name)) => {
                let namespace = object.metadata.namespace.clone().unwrap_or_default();
                Sealed::Object(origin.file.clone(), name.clone(), Some(namespace))
            }
        };
        Some(Self {
            holder: match kind {
                Kind::Secret => Holder::Secret(key),
                Kind::ConfigMap => Holder::ConfigMap(key),
            },
            place: origin.at(route),
            start: origin.start(),
            is_declared: !builds.reach_of(origin).is_empty(),
            is_live: live_field(&object.metadata).is_some(),
            overrides: false,
            data: read_value(value, encoded, sealed).map(Arc::new),
        })
    }

    /// The network data that a generator puts into a file.
    pub(crate) fn generated(
        key: SecretKey,
        place: Place,
        overrides: bool,
        data: Result<NetworkData, Unreadable>,
    ) -> Self {
        let (holder, start, data) = (Holder::Generator(key), place.clone(), data.map(Arc::new));
        Self {
            holder,
            place,
            start,
            is_declared: true,
            is_live: false,
            overrides,
            data,
        }
    }
}

pub(crate) fn read_value(
    value: &str,
    encoded: bool,
    sealed: impl Fn() -> Sealed,
) -> Result<NetworkData, Unreadable> {
    if sops::is_encrypted(value) {
        return Err(Unreadable::Encrypted(sealed()));
    }
    if !encoded {
        return read_text(value, || Sealed::Text(value.to_owned()));
    }
    let compact: String = value.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let bytes = BASE64_STANDARD
        .decode(compact)
        .map_err(|_| Unreadable::NotBase64)?;
    let text = String::from_utf8(bytes).map_err(|_| Unreadable::NotBase64)?;
    read_text(&text, || Sealed::Text(text.clone()))
}

/// Reads network data that may be a file that sops has encrypted.
pub(crate) fn read_text(
    text: &str,
    sealed: impl Fn() -> Sealed,
) -> Result<NetworkData, Unreadable> {
    if sops::form(text).is_some() {
        return Err(Unreadable::Encrypted(sealed()));
    }
    NetworkData::parse(text).map_err(Unreadable::Malformed)
}

/// A value that is decrypted.
pub(crate) fn read_decrypted(value: &str, encoded: bool) -> Result<NetworkData, Unreadable> {
    kept_secret(read_value(value, encoded, || Sealed::Rendered))
}

/// Marks what was decrypted, so that no message shows a value of it.
pub(crate) fn kept_secret(
    read: Result<NetworkData, Unreadable>,
) -> Result<NetworkData, Unreadable> {
    match read {
        Ok(data) => Ok(data.decrypted()),
        Err(Unreadable::Malformed(Malformed::Address { .. } | Malformed::Unreachable { .. })) => {
            Err(Unreadable::Malformed(Malformed::Decrypted))
        }
        other => other,
    }
}

/// The field of a host that names its network data, or would.
pub(crate) fn field(spec: Option<&host::Spec>) -> &'static [&'static str] {
    let named = |reference: &host::Reference| {
        reference
            .name
            .as_deref()
            .is_some_and(|name| !name.is_empty())
    };
    match spec {
        Some(spec)
            if !spec.network_data.as_ref().is_some_and(named)
                && spec.preprovisioning_network_data_name.is_some() =>
        {
            &["spec", "preprovisioningNetworkDataName"]
        }
        _ => &["spec", "networkData", "name"],
    }
}

/// A host, as far as its network data concerns it.
pub(crate) struct Referring<'a> {
    pub(crate) key: &'a HostKey,
    pub(crate) spec: Option<&'a host::Spec>,
    /// The file of the repo that describes it.
    pub(crate) file: Option<&'a Utf8Path>,
}

impl Referring<'_> {
    /// The Secret with its network data for inspection, which is of use even where it gives no addresses.
    pub(super) fn for_inspection(&self) -> Option<SecretKey> {
        let name = self
            .spec?
            .preprovisioning_network_data_name
            .as_deref()?
            .parse()
            .ok()?;
        Some(SecretKey {
            namespace: self.key.namespace.clone(),
            name,
        })
    }

    /// The Secrets in which its network data is looked for, by their precedence. A kustomization moves a Secret to another
    /// namespace, but not the reference inside a host.
    pub(crate) fn names(&self) -> Vec<SecretKey> {
        let Some(spec) = self.spec else {
            return Vec::new();
        };
        let reference = spec.network_data.as_ref();
        let name = reference
            .and_then(|reference| reference.name.as_deref())
            .or(spec.preprovisioning_network_data_name.as_deref())
            .filter(|name| !name.is_empty());
        let Some(Ok(name)) = name.map(str::parse) else {
            return Vec::new();
        };
        let namespace = reference
            .and_then(|reference| reference.namespace.as_deref())
            .map(str::parse);
        let own = SecretKey {
            namespace: self.key.namespace.clone(),
            name,
        };
        match namespace {
            Some(Ok(namespace)) if namespace != own.namespace => vec![
                SecretKey {
                    namespace,
                    ..own.clone()
                },
                own,
            ],
            _ => vec![own],
        }
    }
}
