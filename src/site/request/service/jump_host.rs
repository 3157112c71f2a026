//! Jump hosts: SSH servers with access to the cluster's hosts.

use super::descriptor::{EndpointDescriptor, EndpointKind, ImageAdvice, ServiceDescriptor};
use crate::base::api::names::{NodePort, ObjectName, Role, StorageSize};

pub(super) const DESCRIPTOR: ServiceDescriptor = ServiceDescriptor {
    component: "jumphost",
    field: "jumpHost",
    roles: &Role::ALL,
    balances: None,
    endpoint: Some(EndpointDescriptor {
        kind: EndpointKind::JumpHost,
        prefix: "jump-host",
        suffix: "-endpoint",
    }),
    definitions: None,
    shares_storage: false,
    on_control_plane: false,
    image: ImageAdvice {
        example: "registry.example.com/sipgen/jump-host:1",
        name: None,
        oldest: (0, 0),
    },
};

/// Settings of a jump host.
#[derive(Debug, Clone)]
pub struct JumpHostSettings {
    /// Port of the SSH server on the base cluster's nodes.
    pub node_port: NodePort,
    /// Set if BMCs are reached through the environment's proxy.
    pub bmc_proxy: bool,
    /// OpenSSH public keys.
    pub authorized_keys: Vec<String>,
    /// Secret with the nodes' private keys, in the cluster's namespace.
    pub node_private_keys: Option<ObjectName>,
    /// Source of the SSH server's host keys.
    pub host_keys: HostKeySource,
    /// The volume of operators' home directories.
    pub homes: Option<VolumeClaim>,
}

/// A PersistentVolumeClaim.
#[derive(Debug, Clone, Default)]
pub struct VolumeClaim {
    /// StorageClass; the default class if absent.
    pub storage_class: Option<ObjectName>,
    /// Size; the template's default if absent.
    pub storage: Option<StorageSize>,
}

/// Source of SSH host keys.
#[derive(Debug, Clone)]
pub enum HostKeySource {
    /// A Secret in the cluster's namespace.
    Secret(ObjectName),
    /// A volume in which the keys are generated once.
    Volume(VolumeClaim),
    /// Every pod generates its own.
    Ephemeral,
}
