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

use serde_json::{Value, json};

use crate::base::api::cluster_api::{GROUP, INFRASTRUCTURE_GROUP, MACHINE, METAL3_MACHINE};
use crate::base::api::firmware::SETTINGS;
use crate::base::api::names::{HostKey, Namespace, ObjectName, SecretKey};
use crate::base::api::{group, host, ipam};

pub use access::rbac;
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
    /// Network data of the Secrets that these hosts name for it, reduced; `None` if it is invalid.
    pub secrets: BTreeMap<SecretKey, Option<Value>>,
    /// IPAddresses, Metal3Data, Machines, Metal3Machines, HostFirmwareSettings and FirmwareSchemas in
    /// the namespaces of these hosts, reduced.
    pub objects: BTreeMap<ObjectKey, Value>,
}

/// Namespace, group, kind and name of an object.
pub type ObjectKey = (Namespace, String, String, ObjectName);

impl Snapshot {
    /// Adds a live Secret with network data. Returns the problem if its network data cannot be
    /// read.
    pub fn add_network_data(&mut self, key: SecretKey, live: &Value) -> Option<String> {
        let data = keep::network_data(live);
        self.secrets.insert(key, data.as_ref().ok().cloned());
        data.err()
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

/// Reduces an object of `Snapshot::objects`. Returns `None` for one of another kind, or with an invalid
/// name or namespace.
fn reduced(live: &Value) -> Option<(ObjectKey, Value)> {
    let (api_version, kind) = (text_at(live, "/apiVersion")?, text_at(live, "/kind")?);
    let identity = json!({"apiVersion": api_version, "kind": kind});
    let (key, mut kept) = keep::object(identity, live, &[])?;
    let group = group(api_version);
    match (kind, group) {
        (MACHINE, GROUP) | (METAL3_MACHINE, INFRASTRUCTURE_GROUP) => {
            machines::keep_machine(&mut kept, live);
        }
        _ if ipam::is_address_object(kind, api_version) => keep::keep_address(&mut kept, live),
        _ if api_version == host::API_VERSION => firmware::keep_firmware(&mut kept, live)?,
        _ => return None,
    }
    Some(((key.namespace, group.to_owned(), kind.to_owned(), key.name), kept))
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
