//! The network data of hosts: what holds it, and which host refers to which.
//!
//! A host names a Secret. Its data is read off the Secret, off the generator of a kustomization that makes it, off a
//! ConfigMap of that name, or off a plain file beside the host: the first of these that is there counts.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use camino::{Utf8Path, Utf8PathBuf};

use super::decryption;
use super::host::live_field;
use super::keyless::{self, Keyless};
use super::network_files::PlainFiles;
use crate::api::host;
use crate::api::names::{HostKey, ObjectName, SecretKey};
use crate::api::network_data::{Malformed, NetworkData, NetworkDataSecret, SECRET_KEYS};
use crate::finding::{Code, Finding, Origin, Place, Step};
use crate::kustomize::Builds;
use crate::load::{Files, sops};

/// A host's network data, or why there is none.
#[derive(Debug, Clone)]
pub enum Network {
    /// It is there.
    Known(Arc<NetworkData>),
    /// The host refers to none.
    Absent,
    /// The Secret that it refers to is not in the repo.
    Missing(SecretKey),
    /// The Secret that it refers to has no network data.
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
    /// The Secret that it refers to is not in the repo.
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

/// What holds network data; what comes first counts before what comes after.
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
    fn key(&self) -> Option<&SecretKey> {
        match self {
            Holder::Secret(key) | Holder::Generator(key) | Holder::ConfigMap(key) => Some(key),
            Holder::File(_) => None,
        }
    }

    fn is_like(&self, other: &Holder) -> bool {
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

/// All network data of a repo.
#[derive(Default)]
pub(crate) struct Networks {
    held: BTreeMap<SecretKey, Vec<Held>>,
    /// What lies in plain files beside hosts.
    beside: BTreeMap<HostKey, Held>,
    /// The Secrets of manifests that no host names.
    unnamed: Vec<Unnamed>,
    /// The Secrets that hosts name and that have no network data.
    keyless: BTreeMap<SecretKey, Keyless>,
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
    fn for_inspection(&self) -> Option<SecretKey> {
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

impl Networks {
    /// Indexes what holds network data. A manifest wins over a snapshot of it; two that differ are a finding where a host
    /// names them. What is encrypted and one of the hosts needs, is decrypted if the settings allow it.
    pub(crate) fn new(
        repo: &Files,
        files: &[Utf8PathBuf],
        all: Vec<Held>,
        hosts: &[Referring<'_>],
        decrypt: bool,
        findings: &mut Vec<Finding>,
    ) -> Self {
        let mut held: BTreeMap<SecretKey, Vec<Held>> = BTreeMap::new();
        let mut duplicates: Vec<(SecretKey, Finding)> = Vec::new();
        for one in all {
            let Some(key) = one.holder.key() else {
                continue;
            };
            let alike = held.entry(key.clone()).or_default();
            match alike
                .iter_mut()
                .find(|other| other.holder.is_like(&one.holder))
            {
                None => alike.push(one),
                Some(other) if !other.is_declared && one.is_declared => *other = one,
                Some(other) if other.is_declared && !one.is_declared => {}
                Some(other) => {
                    let same = matches!((&other.data, &one.data), (Ok(a), Ok(b)) if a == b);
                    if !same {
                        let message =
                            format!("{} is there twice, with different network data", one.holder);
                        let finding = Finding::new(Code::DuplicateNetworkData, message)
                            .at(one.place.clone())
                            .see(other.place.clone(), "the other one")
                            .help("sipgen cannot tell which of them the host has: remove the other one");
                        duplicates.push((key.clone(), finding));
                    }
                }
            }
        }
        for alike in held.values_mut() {
            alike.sort_by(|a, b| {
                b.overrides
                    .cmp(&a.overrides)
                    .then_with(|| a.holder.cmp(&b.holder))
            });
        }
        let plain = PlainFiles::new(repo, files, hosts);
        let mut beside = BTreeMap::new();
        for host in hosts {
            if let Some(held) = plain.beside(host) {
                beside.entry(host.key.clone()).or_insert(held);
            }
        }
        let mut networks = Self {
            held,
            beside,
            unnamed: Vec::new(),
            keyless: BTreeMap::new(),
        };
        if !duplicates.is_empty() {
            let names = hosts
                .iter()
                .flat_map(|host| host.names().into_iter().chain(host.for_inspection()));
            let named: HashSet<SecretKey> =
                names.filter_map(|name| networks.key_of(&name)).collect();
            duplicates.retain(|(key, _)| named.contains(key));
            findings.extend(duplicates.into_iter().map(|(_, finding)| finding));
        }
        let is_there = |name: &SecretKey| networks.key_of(name).is_some();
        let lacking = hosts
            .iter()
            .map(Referring::names)
            .filter(|names| !names.iter().any(is_there));
        let lacking: BTreeSet<SecretKey> = lacking.flatten().collect();
        networks.keyless = keyless::find(repo, files, &lacking);
        if decrypt {
            let needed: BTreeSet<SecretKey> = hosts
                .iter()
                .flat_map(Referring::names)
                .filter_map(|name| networks.key_of(&name))
                .collect();
            let keyed = networks
                .held
                .iter_mut()
                .filter(|(key, _)| needed.contains(key))
                .flat_map(|(_, held)| held);
            findings.extend(decryption::decrypt(
                repo,
                keyed.chain(networks.beside.values_mut()).collect(),
            ));
        }
        networks.unnamed = networks.unnamed_by(hosts);
        networks
    }

    /// The Secrets of manifests whose network data no host names, in the order of files. Secrets that merely have a key
    /// of that name are not among them.
    pub(crate) fn unnamed(&self) -> &[Unnamed] {
        &self.unnamed
    }

    fn unnamed_by(&self, hosts: &[Referring<'_>]) -> Vec<Unnamed> {
        let named: HashSet<SecretKey> = hosts
            .iter()
            .filter_map(|host| host.names().iter().find_map(|name| self.key_of(name)))
            .chain(hosts.iter().filter_map(Referring::for_inspection))
            .collect();
        let has_networks =
            |held: &Held| matches!(&held.data, Ok(data) if data.ids().next().is_some());
        let place = |origin: &Origin| (origin.file.clone(), origin.first_line);
        let secrets =
            self.held
                .values()
                .flatten()
                .filter_map(|held| match (&held.holder, &held.start) {
                    (Holder::Secret(key), Place::Node(origin, _)) => Some((key, origin, held)),
                    _ => None,
                });
        // One that several builds put into several namespaces is of use if a host of any of them names it.
        let mut seen: HashSet<_> = secrets
            .clone()
            .filter(|(key, ..)| named.contains(key))
            .map(|(_, origin, _)| place(origin))
            .collect();
        let unnamed = secrets
            .filter(|(key, _, held)| !named.contains(key) && !held.is_live && has_networks(held));
        let unnamed = unnamed.map(|(key, origin, _)| Unnamed {
            key: key.clone(),
            origin: origin.clone(),
        });
        let mut unnamed: Vec<Unnamed> = unnamed.collect();
        unnamed.sort_by(|a, b| {
            place(&a.origin)
                .cmp(&place(&b.origin))
                .then_with(|| a.key.cmp(&b.key))
        });
        unnamed.retain(|secret| seen.insert(place(&secret.origin)));
        unnamed
    }

    /// What is held under a name, or under that of the generator that makes it.
    fn key_of(&self, name: &SecretKey) -> Option<SecretKey> {
        if self.held.contains_key(name) {
            return Some(name.clone());
        }
        let (base, hash) = name.name.as_str().rsplit_once('-')?;
        let is_hash = hash.len() == HASH
            && hash
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        let base: ObjectName = base.parse().ok().filter(|_| is_hash)?;
        let base = SecretKey {
            namespace: name.namespace.clone(),
            name: base,
        };
        let is_generated = |held: &Held| matches!(held.holder, Holder::Generator(_));
        self.held
            .get(&base)?
            .iter()
            .any(is_generated)
            .then_some(base)
    }

    /// The network data that a host refers to, or that lies beside it, with what is wrong with that.
    pub(crate) fn of(&self, host: &Referring<'_>) -> (Network, Vec<Finding>) {
        let names = host.names();
        let keyed = names
            .iter()
            .find_map(|name| self.held.get(&self.key_of(name)?));
        let all: Vec<&Held> = keyed
            .into_iter()
            .flatten()
            .chain(self.beside.get(host.key))
            .collect();
        let Some(first) = all.first() else {
            let keyless = names
                .iter()
                .find_map(|name| Some((name, self.keyless.get(name)?)));
            let network = match (keyless, names.first()) {
                (Some((name, keyless)), _) => Network::Keyless(name.clone(), keyless.clone()),
                (None, Some(name)) => Network::Missing(name.clone()),
                (None, None) => Network::Absent,
            };
            return (network, Vec::new());
        };
        let mut findings: Vec<Finding> = unreadable(host.key, first).into_iter().collect();
        let differs =
            |other: &&&Held| matches!((&first.data, &other.data), (Ok(a), Ok(b)) if a != b);
        if let Some(other) = all
            .iter()
            .skip(1)
            .find(differs)
            .filter(|_| !first.overrides)
        {
            findings.push(
                Finding::new(
                    Code::NetworkDataDiffers,
                    format!(
                        "host {} has network data in {} and other in {}",
                        host.key, first.holder, other.holder
                    ),
                )
                .at(first.place.clone())
                .see(other.place.clone(), "the other one")
                .help("remove one of them, or make them say the same"),
            );
        }
        let network = match &first.data {
            Ok(data) => Network::Known(data.clone()),
            Err(Unreadable::Encrypted(_)) => {
                Network::Encrypted(first.holder.clone(), first.place.clone())
            }
            Err(Unreadable::Refused) => Network::Refused(first.holder.clone()),
            Err(unreadable) => Network::Unreadable(first.holder.clone(), unreadable.to_string()),
        };
        (network, findings)
    }
}

/// How long the hash is that kustomize puts behind the names of what it generates.
const HASH: usize = 10;

/// What is wrong with a host's network data itself. Of what is encrypted, others tell.
fn unreadable(host: &HostKey, held: &Held) -> Option<Finding> {
    let error = held.data.as_ref().err()?;
    let help = match error {
        Unreadable::Encrypted(_) | Unreadable::Refused => return None,
        Unreadable::Malformed(Malformed::Address { .. } | Malformed::Unreachable { .. } | Malformed::Decrypted) => {
            let holder = match &held.holder {
                Holder::Secret(_) => "the Secret".to_owned(),
                other => other.to_string(),
            };
            let finding = Finding::new(Code::InvalidAddress, format!("the network data of host {host} {error}"));
            let help =
                format!("correct the address in {holder}; `<no value>` or no ip_address mean that there is none");
            return Some(finding.at(held.place.clone()).help(help));
        }
        Unreadable::Malformed(Malformed::Shape) => {
            "write JSON or YAML with a list of `networks`; each `id` and `ip_address` in it is a text".to_owned()
        }
        Unreadable::NotBase64 if matches!(held.holder, Holder::ConfigMap(_)) => {
            "write the text under `data`, or encode it by `base64`".to_owned()
        }
        Unreadable::NotBase64 => "write the text under `stringData`, or encode it by `base64`".to_owned(),
        Unreadable::NoFile(_) => "add the file, or correct the path, which begins at the kustomization".to_owned(),
    };
    let message = format!(
        "host {host} has network data in {}, which {error}",
        held.holder
    );
    Some(
        Finding::new(Code::UnreadableNetworkData, message)
            .at(held.place.clone())
            .help(help),
    )
}
