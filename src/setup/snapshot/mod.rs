//! Snapshots of live hosts, as files of the repo that planning reads.
//!
//! - `keep`: reduces a live object to the fields that planning, validation and the safety rules
//!   read
//! - `machines`: reduces Machines; `firmware`: reduces the schemas of firmware settings
//! - `files`: writes a snapshot as files, and reads it back
//! - `losses`: snapshots that lose suspiciously many hosts
//! - `access`: RBAC objects with the permissions for taking a snapshot
//! - `client`: reads a cluster; all other modules are pure

mod access;
pub mod client;
mod files;
mod firmware;
#[cfg_attr(
    not(feature = "client"),
    expect(dead_code, reason = "only the client reads live objects")
)]
mod keep;
mod losses;
mod machines;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::base::api::firmware::SETTINGS;
use crate::base::api::names::{HostKey, Namespace, ObjectName, SecretKey};

pub use access::{Access, SecretAccess, rbac};
pub use files::{changes, read_back};
pub use firmware::renders_firmware;
pub use losses::lost;

/// The hosts of a cluster at one time, with their hardware and Secrets.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    /// BareMetalHosts, reduced.
    pub hosts: BTreeMap<HostKey, Value>,
    /// HardwareData of these hosts, reduced.
    pub hardware: BTreeMap<HostKey, Value>,
    /// Secrets with network data that these hosts name.
    pub secrets: BTreeMap<SecretKey, SnapshotSecret>,
    /// IPAddresses, Metal3Data, Machines, Metal3Machines, HostFirmwareSettings and FirmwareSchemas in
    /// the namespaces of these hosts, reduced.
    pub objects: BTreeMap<ObjectKey, Value>,
}

/// Namespace, group, kind and name of an object.
pub type ObjectKey = (Namespace, String, String, ObjectName);

/// A Secret that a host names for network data.
#[derive(Debug, Clone, PartialEq)]
pub enum SnapshotSecret {
    /// A Secret without valid network data.
    Invalid,
    /// A Secret with network data, reduced.
    NetworkData(Value),
}

impl Snapshot {
    /// Adds a live Secret with network data. Returns the problem if its network data cannot be
    /// read.
    pub fn add_network_data(&mut self, key: SecretKey, live: &Value) -> Option<String> {
        let (secret, problem) = match keep::network_data(live) {
            Ok(data) => (SnapshotSecret::NetworkData(data), None),
            Err(problem) => (SnapshotSecret::Invalid, Some(problem)),
        };
        self.secrets.insert(key, secret);
        problem
    }

    /// Drops hardware, addresses, Machines and firmware without a host, and the status hardware of hosts with HardwareData.
    pub fn finish(&mut self) {
        self.hardware.retain(|key, _| self.hosts.contains_key(key));
        let namespaces: BTreeSet<&Namespace> =
            self.hosts.keys().map(|key| &key.namespace).collect();
        self.objects.retain(|(namespace, _, kind, name), _| {
            let host = HostKey { namespace: namespace.clone(), name: name.clone() };
            namespaces.contains(namespace) && (kind != SETTINGS || self.hosts.contains_key(&host))
        });
        machines::keep_users(self);
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
    object.pointer(pointer)?.as_str().filter(|text| !text.is_empty())
}

/// Returns the namespace and name of an object, if both are valid.
fn key_of(object: &Value) -> Option<(Namespace, ObjectName)> {
    let text = |field: &str| text_at(object, &format!("/metadata/{field}"));
    Some((text("namespace")?.parse().ok()?, text("name")?.parse().ok()?))
}

/// Returns the Secrets that a reduced host names for network data, in the namespaces where planning
/// looks for them.
pub fn network_data_secrets(key: &HostKey, host: &Value) -> BTreeSet<SecretKey> {
    let text = |pointer: &str| text_at(host, pointer);
    let secret =
        |namespace: Namespace, name: &str| Some(SecretKey { namespace, name: name.parse().ok()? });
    let own = |name: &str| secret(key.namespace.clone(), name);
    let mut named = BTreeSet::new();
    if let Some(name) = text("/spec/networkData/name") {
        named.extend(own(name));
        let other =
            text("/spec/networkData/namespace").and_then(|namespace| namespace.parse().ok());
        named.extend(other.and_then(|namespace| secret(namespace, name)));
    }
    named.extend(text("/spec/preprovisioningNetworkDataName").and_then(own));
    named
}
