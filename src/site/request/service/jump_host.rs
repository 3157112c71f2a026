//! Jump hosts: SSH servers with access to the cluster's hosts.

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::api::names::{ObjectName, StorageSize};

/// Settings of a jump host, as its templates get them.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct JumpHostSettings {
    /// True if BMCs are reached through the environment's proxy.
    pub bmc_proxy: bool,
    /// Lines of `authorized_keys`.
    pub authorized_keys: Vec<String>,
    /// Secret with private keys that the nodes accept.
    pub node_private_keys: Option<ObjectName>,
    /// Storage of the SSH server's host keys: a Secret or a volume. Without either, every pod
    /// generates its own.
    pub host_keys: HostKeyStorage,
    /// Volume of the operators' home directories.
    #[serde(skip)]
    pub homes: Option<VolumeClaim>,
}

/// Storage of SSH host keys.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct HostKeyStorage {
    /// Secret with the host keys.
    pub secret_name: Option<ObjectName>,
    /// Volume in which the host keys are generated once.
    pub volume_claim: Option<VolumeClaim>,
}

/// A PersistentVolumeClaim.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct VolumeClaim {
    /// Storage class; absent for the base cluster's default class.
    pub storage_class_name: Option<ObjectName>,
    /// Requested size.
    pub storage: Option<StorageSize>,
}
