//! The network data of hosts: Secrets, and which host refers to which.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::builds::Builds;
use super::host::live_field;
use crate::api::host;
use crate::api::names::{HostKey, SecretKey};
use crate::api::network_data::{Malformed, NetworkData, NetworkDataSecret, SECRET_KEYS};
use crate::finding::{Code, Finding};
use crate::source::{Origin, Place, Step};

/// A host's network data, or why there is none.
#[derive(Debug, Clone)]
pub enum Network {
    /// It is there.
    Known(Arc<NetworkData>),
    /// The host refers to none.
    Absent,
    /// The Secret that it refers to is not in the repo.
    Missing(SecretKey),
    /// The Secret is there, but what is in it cannot be read.
    Unreadable(SecretKey, String),
}

/// Why a host has no address on an interface. The display names the Secret that is to blame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unaddressed {
    /// The host refers to no network data.
    #[error("has no network data")]
    NoNetworkData,
    /// The Secret that it refers to is not in the repo.
    #[error("has network data in the Secret {0}, which is not in the repo")]
    NoSecret(SecretKey),
    /// What the Secret holds cannot be read.
    #[error("has network data in the Secret {0}, which {1}")]
    Unreadable(SecretKey, String),
    /// Its network data has no network of this id.
    #[error("has no network `{0}` in its network data")]
    NoNetwork(String),
    /// The network has no static address, as with DHCP.
    #[error("has no address in its network `{0}`")]
    NoAddress(String),
}

/// A Secret with network data.
#[derive(Debug)]
pub(super) struct NetworkSecret {
    pub(super) key: SecretKey,
    pub(super) origin: Origin,
    route: [Step; 2],
    data: Result<Arc<NetworkData>, Unreadable>,
    /// Whether it is a live object's copy. A snapshot of a base cluster has many that are of no use here.
    live: bool,
    /// Whether a host names it.
    named: bool,
}

/// A Secret with network data that no host names.
#[derive(Debug, Clone)]
pub struct Unnamed {
    /// Namespace and name.
    pub key: SecretKey,
    /// Where it stands.
    pub origin: Origin,
}

#[derive(Debug, Clone)]
enum Unreadable {
    Malformed(Malformed),
    Encrypted,
    NotBase64,
}

impl NetworkSecret {
    /// Takes the network data out of a Secret; `None` when it holds none. Nothing else of it is kept.
    pub(super) fn new(key: SecretKey, origin: Origin, secret: NetworkDataSecret) -> Option<Self> {
        let live = live_field(&secret.metadata).is_some();
        // As in the API server, a plain value wins over an encoded one.
        for (field, values, encoded) in [("stringData", secret.string_data, false), ("data", secret.data, true)] {
            let Some(values) = values else { continue };
            for (name, value) in SECRET_KEYS.into_iter().zip([values.network_data, values.value]) {
                if let Some(value) = value {
                    let data = read_network_data(&value, encoded).map(Arc::new);
                    return Some(Self { key, origin, route: [field.into(), name.into()], data, live, named: false });
                }
            }
        }
        None
    }

    /// Where its network data stands.
    fn place(&self) -> Place {
        self.origin.at(self.route.clone())
    }
}

fn read_network_data(value: &str, encoded: bool) -> Result<NetworkData, Unreadable> {
    if value.starts_with("ENC[") {
        return Err(Unreadable::Encrypted);
    }
    if !encoded {
        return NetworkData::parse(value).map_err(Unreadable::Malformed);
    }
    let compact: String = value.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let bytes = BASE64_STANDARD.decode(compact).map_err(|_| Unreadable::NotBase64)?;
    let text = String::from_utf8(bytes).map_err(|_| Unreadable::NotBase64)?;
    NetworkData::parse(&text).map_err(Unreadable::Malformed)
}

/// The field of a host that names its network data, or would.
pub(super) fn field(spec: Option<&host::Spec>) -> &'static [&'static str] {
    let named = |reference: &host::Reference| reference.name.as_deref().is_some_and(|name| !name.is_empty());
    match spec {
        Some(spec)
            if !spec.network_data.as_ref().is_some_and(named) && spec.preprovisioning_network_data_name.is_some() =>
        {
            &["spec", "preprovisioningNetworkDataName"]
        }
        _ => &["spec", "networkData", "name"],
    }
}

/// All network data of a repo, by the Secret that holds it.
pub(super) struct Networks(HashMap<SecretKey, NetworkSecret>);

impl Networks {
    /// Indexes the Secrets. A manifest wins over a snapshot of it; two that differ are a finding.
    pub(super) fn new(secrets: Vec<NetworkSecret>, builds: &Builds, findings: &mut Vec<Finding>) -> Self {
        let mut index: HashMap<SecretKey, NetworkSecret> = HashMap::new();
        for secret in secrets {
            let is_declared = |secret: &NetworkSecret| !builds.reach(&secret.origin.file).is_empty();
            let Some(other) = index.get(&secret.key) else {
                index.insert(secret.key.clone(), secret);
                continue;
            };
            let same = matches!((&other.data, &secret.data), (Ok(a), Ok(b)) if a == b);
            match (is_declared(other), is_declared(&secret)) {
                (false, true) => {
                    index.insert(secret.key.clone(), secret);
                }
                (true, false) => {}
                _ if same => {}
                _ => findings.push(
                    Finding::new(
                        Code::DuplicateNetworkData,
                        format!("the Secret {} is there twice, with different network data", secret.key),
                    )
                    .at(secret.place())
                    .see(other.place(), "the other one")
                    .help("sipgen cannot tell which of them the host has: remove the other one"),
                ),
            }
        }
        Self(index)
    }

    /// The network data that a host refers to.
    pub(super) fn of(&mut self, host: &HostKey, spec: Option<&host::Spec>) -> Network {
        let Some(spec) = spec else { return Network::Absent };
        // The network data for inspection is of use even where it gives no addresses.
        if let Some(Ok(name)) = spec.preprovisioning_network_data_name.as_deref().map(str::parse)
            && let Some(secret) = self.0.get_mut(&SecretKey { namespace: host.namespace.clone(), name })
        {
            secret.named = true;
        }
        let reference = spec.network_data.as_ref();
        let name = reference
            .and_then(|reference| reference.name.as_deref())
            .or(spec.preprovisioning_network_data_name.as_deref())
            .filter(|name| !name.is_empty());
        let Some(Ok(name)) = name.map(str::parse) else { return Network::Absent };
        let namespace = reference.and_then(|reference| reference.namespace.as_deref()).map(str::parse);
        let own = SecretKey { namespace: host.namespace.clone(), name };
        let named = match namespace {
            Some(Ok(namespace)) => SecretKey { namespace, ..own.clone() },
            _ => own.clone(),
        };
        // A kustomization moves a Secret to another namespace, but not the reference inside a host.
        let key = if self.0.contains_key(&named) { &named } else { &own };
        let Some(secret) = self.0.get_mut(key) else { return Network::Missing(named) };
        secret.named = true;
        match &secret.data {
            Ok(data) => Network::Known(data.clone()),
            Err(unreadable) => Network::Unreadable(
                secret.key.clone(),
                match unreadable {
                    Unreadable::Malformed(malformed) => malformed.to_string(),
                    Unreadable::Encrypted => "is encrypted".to_owned(),
                    Unreadable::NotBase64 => "is not base64 of a text".to_owned(),
                },
            ),
        }
    }

    /// The Secrets of manifests whose network data no host names, in the order of files. Secrets that merely have a key
    /// of that name are not among them.
    pub(super) fn unnamed(self) -> Vec<Unnamed> {
        let has_networks = |secret: &NetworkSecret| matches!(&secret.data, Ok(data) if data.ids().next().is_some());
        let place = |origin: &Origin| (origin.file.clone(), origin.first_line);
        // One that several builds put into several namespaces is of use if a host of any of them names it.
        let mut seen: HashSet<_> =
            self.0.values().filter(|secret| secret.named).map(|secret| place(&secret.origin)).collect();
        let unnamed = self.0.into_values().filter(|secret| !secret.named && !secret.live && has_networks(secret));
        let mut unnamed: Vec<Unnamed> =
            unnamed.map(|NetworkSecret { key, origin, .. }| Unnamed { key, origin }).collect();
        unnamed.sort_by(|a, b| place(&a.origin).cmp(&place(&b.origin)).then_with(|| a.key.cmp(&b.key)));
        unnamed.retain(|secret| seen.insert(place(&secret.origin)));
        unnamed
    }

    /// What is wrong with the addresses in a host's network data.
    pub(super) fn malformed(&self, host: &HostKey, network: &Network) -> Option<Finding> {
        let Network::Unreadable(secret, _) = network else { return None };
        let secret = self.0.get(secret)?;
        let Err(Unreadable::Malformed(error @ Malformed::Address { .. })) = &secret.data else { return None };
        Some(
            Finding::new(Code::InvalidAddress, format!("the network data of host {host} {error}"))
                .at(secret.place())
                .help("correct the address in the Secret; `<no value>` or no ip_address mean that there is none"),
        )
    }
}
