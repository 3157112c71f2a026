//! SIPCluster (`airship.airshipit.org/v1`): a tenant cluster's request, in its current generation.
//!
//! The fields are as lenient as YAML's types allow: what must hold beyond them is checked in
//! [`crate::site`], where a mistake is reported at its place instead of ending the parse.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::auth::Auth;

/// The API group of SIPClusters.
pub const GROUP: &str = "airship.airshipit.org";
/// Their kind.
pub const KIND: &str = "SIPCluster";

/// What a tenant cluster asks for: hosts, and the services beside them.
#[derive(CustomResource, Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "airship.airshipit.org",
    version = "v1",
    kind = "SIPCluster",
    plural = "sipclusters",
    namespaced,
    status = "SIPClusterStatus",
    derive = "Default"
)]
#[serde(rename_all = "camelCase")]
pub struct SIPClusterSpec {
    /// The node sets by role: `ControlPlane` and `Worker`.
    #[serde(default)]
    pub nodes: Option<BTreeMap<String, NodeSet>>,
    /// The services that the cluster gets beside its hosts.
    #[serde(default)]
    pub services: Services,
}

/// The hosts that a cluster asks for one role.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeSet {
    /// Which hosts may be taken; absent or empty selects every host.
    #[serde(default)]
    pub label_selector: Option<LabelSelector>,
    /// The label whose value is a host's topology domain: at most one host of a domain is taken.
    #[serde(default)]
    pub topology_key: Option<String>,
    /// More such labels: at most one host of any domain of each of them is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology_keys: Option<Vec<String>>,
    /// How many hosts are wanted.
    #[serde(default)]
    pub count: Option<Count>,
}

/// Kubernetes' label selector. Fields that it does not have are kept, so that a flat selector
/// (`labelSelector: {flavor: worker}`), which would select every host, is seen and refused.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LabelSelector {
    /// Labels that a host must have with exactly these values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_labels: Option<BTreeMap<String, String>>,
    /// Requirements that a host's labels must meet, all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_expressions: Option<Vec<Requirement>>,
    /// Whatever else was written there.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: BTreeMap<String, serde_json::Value>,
}

/// One requirement of a label selector.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Requirement {
    /// The label's key.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// The values for `In` and `NotIn`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<String>>,
}

/// How many hosts a node set wants. All are labelled alike.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Count {
    /// Hosts that the cluster runs on.
    #[serde(default)]
    pub active: Option<i64>,
    /// Hosts kept as slack for upgrades.
    #[serde(default)]
    pub standby: Option<i64>,
}

/// The services of a cluster; each kind may be there several times.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Services {
    /// Load balancers before the tenant's API servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_balancer_control_plane: Option<Vec<LoadBalancerControlPlane>>,
    /// Load balancers before the tenant's workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_balancer_worker: Option<Vec<LoadBalancerWorker>>,
    /// Hosts to log in to, with access to nodes and their power.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jump_host: Option<Vec<JumpHost>>,
    /// OpenID Connect login by Dex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<Vec<Auth>>,
}

impl Services {
    /// Whether there is one that needs addresses of hosts.
    pub fn reach_hosts(&self) -> bool {
        self.load_balancer_control_plane.is_some() || self.load_balancer_worker.is_some() || self.jump_host.is_some()
    }
}

/// What every service has.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Service {
    /// The container image.
    #[serde(default)]
    pub image: Option<String>,
    /// Labels of the base cluster's nodes on which the service's pods run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_labels: Option<BTreeMap<String, String>>,
    /// The id of the network, in a host's network data, whose address the service uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_interface_id: Option<String>,
    /// The base cluster's address under which its NodePorts are reached. Not `Service.spec.clusterIP`.
    #[serde(rename = "clusterIP", default, skip_serializing_if = "Option::is_none")]
    pub cluster_ip: Option<String>,
}

/// A load balancer before the tenant's API servers.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoadBalancerControlPlane {
    /// What every service has.
    #[serde(flatten)]
    pub service: Service,
    /// The NodePort of the tenant's API.
    #[serde(default)]
    pub node_port: Option<i64>,
    /// How many pods of HAProxy there are; 2 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i64>,
}

/// A load balancer before the tenant's workers.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoadBalancerWorker {
    /// What every service has.
    #[serde(flatten)]
    pub service: Service,
    /// The NodePorts that are forwarded to the workers, each to the same port.
    #[serde(default)]
    pub node_port_range: Option<PortRange>,
    /// How many pods of HAProxy there are; 2 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i64>,
    /// Without effect; written beside the range in resources of 2021.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_port: Option<i64>,
}

/// A range of ports, both ends included.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct PortRange {
    /// The first port.
    pub start: i64,
    /// The last port.
    pub end: i64,
}

/// A jump host.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JumpHost {
    /// What every service has.
    #[serde(flatten)]
    pub service: Service,
    /// The NodePort of its SSH server.
    #[serde(default)]
    pub node_port: Option<i64>,
    /// How it reaches the hosts' BMCs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bmc: Option<BmcAccess>,
    /// OpenSSH public keys of those who may log in.
    #[serde(rename = "sshAuthorizedKeys", default, skip_serializing_if = "Option::is_none")]
    pub ssh_authorized_keys: Option<Vec<String>>,
    /// The Secret with the private keys for the cluster's nodes.
    #[serde(rename = "nodeSSHPrivateKeys", default, skip_serializing_if = "Option::is_none")]
    pub node_ssh_private_keys: Option<String>,
    /// Where its SSH server has its host keys from: one of the ways. Without any they are kept in a volume of the
    /// default storage class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_keys: Option<HostKeys>,
}

/// Where the host keys of an SSH server come from.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostKeys {
    /// The Secret with the host keys, in entries such as `ssh_host_ed25519_key`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_name: Option<String>,
    /// A volume in which they are made once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_claim: Option<VolumeClaim>,
    /// Whether every pod makes its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ephemeral: Option<bool>,
}

/// The volume that a service asks for.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VolumeClaim {
    /// The storage class of the base cluster; its default one where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_class_name: Option<String>,
}

/// How a jump host reaches BMCs.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct BmcAccess {
    /// Whether through the proxy of the environment; without, `NO_PROXY=*` is set.
    #[serde(default)]
    pub proxy: bool,
}

/// What the SIP operator reported; read by nobody here.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct SIPClusterStatus {
    /// Conditions, of type `Ready`.
    #[serde(default)]
    pub conditions: Vec<BTreeMap<String, serde_json::Value>>,
}
