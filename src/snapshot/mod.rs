//! Snapshots of live hosts, as files of the repo that planning reads.
//!
//! * `keep`: reduces a live object to the fields that planning, validation and the safety rules read.
//! * `files`: writes a snapshot as files, and reads it back.
//! * `events`: names what differs between two snapshots.
//! * `losses`: finds snapshots that lose so many hosts that an error is likelier.
//! * `access`: the rights that reading takes, as RBAC objects.
//! * `client`: reads a cluster. All other modules are pure.

mod access;
pub mod client;
mod events;
mod files;
mod keep;
mod losses;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::api::names::{HostKey, Namespace, ObjectName, SecretKey};

pub use access::{Access, rbac};
pub use events::{Event, events};
pub use files::{changes, read_back};
pub use losses::lost;

/// The hosts of a cluster at one time, with what belongs to them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    /// Each BareMetalHost, reduced.
    pub hosts: BTreeMap<HostKey, Value>,
    /// The HardwareData of these hosts, reduced.
    pub hardware: BTreeMap<HostKey, Value>,
    /// The Secrets that these hosts name and that exist.
    pub secrets: BTreeMap<SecretKey, Secret>,
}

/// A Secret that a host names.
#[derive(Debug, Clone, PartialEq)]
pub enum Secret {
    /// Its value was not read.
    Exists,
    /// Its network data, reduced.
    NetworkData(Value),
}

/// The Secrets that a reduced host names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedSecrets {
    /// The Secrets with network data, which are read.
    pub network_data: BTreeSet<SecretKey>,
    /// The Secret with the BMC's credentials; only its existence is checked.
    pub credentials: Option<SecretKey>,
}

impl Snapshot {
    /// Adds a live Secret with network data. Returns why it has none that can be read.
    pub fn add_network_data(&mut self, key: SecretKey, live: &Value) -> Option<String> {
        let (secret, problem) = match keep::network_data(live) {
            Ok(data) => (Secret::NetworkData(data), None),
            Err(problem) => (Secret::Exists, Some(problem)),
        };
        self.secrets.insert(key, secret);
        problem
    }

    /// Notes that a Secret exists, unless its network data is known.
    pub fn add_credentials(&mut self, key: SecretKey) {
        self.secrets.entry(key).or_insert(Secret::Exists);
    }

    /// Drops what belongs to no host, and hardware that stands in two places.
    pub fn finish(&mut self) {
        self.hardware.retain(|key, _| self.hosts.contains_key(key));
        for (key, host) in &mut self.hosts {
            if self.hardware.contains_key(key)
                && let Some(status) = host.get_mut("status").and_then(Value::as_object_mut)
            {
                status.remove("hardware");
            }
        }
    }
}

/// Returns the text at a JSON pointer, unless it is empty.
fn text_at<'a>(object: &'a Value, pointer: &str) -> Option<&'a str> {
    object
        .pointer(pointer)?
        .as_str()
        .filter(|text| !text.is_empty())
}

/// Returns the namespace and the name of an object, if both are valid.
fn key_of(object: &Value) -> Option<(Namespace, ObjectName)> {
    let text = |field: &str| text_at(object, &format!("/metadata/{field}"));
    Some((
        text("namespace")?.parse().ok()?,
        text("name")?.parse().ok()?,
    ))
}

/// Returns the Secrets that a reduced host names, in the namespaces in which planning looks for them.
pub fn secrets_of(key: &HostKey, host: &Value) -> NamedSecrets {
    let text = |pointer: &str| text_at(host, pointer);
    let own = |name: &str| {
        Some(SecretKey {
            namespace: key.namespace.clone(),
            name: name.parse().ok()?,
        })
    };
    let mut named = NamedSecrets::default();
    if let Some(name) = text("/spec/networkData/name") {
        named.network_data.extend(own(name));
        let other =
            text("/spec/networkData/namespace").and_then(|namespace| namespace.parse().ok());
        named.network_data.extend(other.and_then(|namespace| {
            Some(SecretKey {
                namespace,
                name: name.parse().ok()?,
            })
        }));
    }
    named
        .network_data
        .extend(text("/spec/preprovisioningNetworkDataName").and_then(own));
    named.credentials = text("/spec/bmc/credentialsName").and_then(own);
    named
}
