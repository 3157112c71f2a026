//! SIPCluster (`airship.airshipit.org/v1`): a tenant cluster's request, in its current generation.
//!
//! The fields are as lenient as YAML's types allow: what must hold beyond them is checked in
//! [`crate::site`], where a mistake is reported at its place instead of ending the parse. What of that a schema can say
//! is said here, too, for [`crate::schema`]: plain keywords hold for editors and API servers,
//! `x-kubernetes-validations` for API servers alone, and what stands under `x-editor` for editors alone.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::auth::Auth;
use super::names::{
    LABEL_KEY_PATTERN, LABEL_VALUE_PATTERN, NodePort, OBJECT_NAME_PATTERN, StorageSize,
};
use super::object_kind::ObjectKind;
use super::service_fields::Service;
use super::unique;

/// The API group of SIPClusters.
pub const GROUP: &str = "airship.airshipit.org";
/// Their kind.
pub const KIND: &str = "SIPCluster";
/// Identity of the kind.
pub static OBJECT: ObjectKind = ObjectKind {
    kind: KIND,
    group: GROUP,
    api_version: "airship.airshipit.org/v1",
    domain: "airshipit.org",
    distinctive_fields: &[],
    cluster_label: None,
};
/// The name of their definition.
pub const DEFINITION: &str = "sipclusters.airship.airshipit.org";

/// The largest number of hosts that a request may ask for: more than any site has.
pub(crate) const MOST_HOSTS: usize = 1_000_000;

/// A public key with its type, at the start of a line or behind options.
const AUTHORIZED_KEY_PATTERN: &str = concat!(
    r"(^|[ \t])(ssh-(ed25519|rsa|dss)|ecdsa-sha2-nistp(256|384|521)|sk-(ssh-ed25519|ecdsa-sha2-nistp256)@openssh\.com)",
    r"[ \t]+AAAA[0-9A-Za-z+/]{16,}={0,3}([ \t]|\r?\n?$)"
);

/// What a tenant cluster asks for: hosts, and the services beside them.
#[derive(CustomResource, Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "airship.airshipit.org",
    version = "v1",
    kind = "SIPCluster",
    plural = "sipclusters",
    namespaced,
    status = "SIPClusterStatus",
    derive = "Default",
    doc = "A tenant cluster's request for hosts and for the services beside them.",
    shortname = "sipc",
    category = "airship",
    printcolumn = r#"{"name": "Control-Plane", "type": "integer",
        "jsonPath": ".spec.nodes.ControlPlane.count.active",
        "description": "Control-plane hosts that are wanted to run on."}"#,
    printcolumn = r#"{"name": "Workers", "type": "integer", "jsonPath": ".spec.nodes.Worker.count.active",
        "description": "Worker hosts that are wanted to run on."}"#,
    printcolumn = r#"{"name": "Standby-Control-Plane", "type": "integer", "priority": 1,
        "jsonPath": ".spec.nodes.ControlPlane.count.standby",
        "description": "Control-plane hosts that are wanted as slack for upgrades."}"#,
    printcolumn = r#"{"name": "Standby-Workers", "type": "integer", "priority": 1,
        "jsonPath": ".spec.nodes.Worker.count.standby",
        "description": "Worker hosts that are wanted as slack for upgrades."}"#,
    printcolumn = r#"{"name": "Ready", "type": "string",
        "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status",
        "description": "Whether the SIP operator has served the request, where it still runs."}"#,
    printcolumn = r#"{"name": "Reason", "type": "string", "priority": 1,
        "jsonPath": ".status.conditions[?(@.type==\"Ready\")].reason", "description": "Why it has, or has not."}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-editor" = {"required": ["nodes"]}))]
pub struct SIPClusterSpec {
    /// The node sets by role: `ControlPlane` and `Worker`.
    #[serde(default, deserialize_with = "unique::optional")]
    #[schemars(extend("x-editor" = {
        "propertyNames": {"enum": ["ControlPlane", "Worker"]},
        "type": "object",
        "defaultSnippets": [{
            "label": "ControlPlane and Worker",
            "description": "Both node sets",
            "body": {
                "ControlPlane": {
                    "labelSelector": {"matchLabels": {"$1": "$2"}},
                    "topologyKey": "$3",
                    "count": {"active": 3, "standby": 1}
                },
                "Worker": {
                    "labelSelector": {"matchLabels": {"$1": "$4"}},
                    "count": {"active": 2, "standby": 1}
                }
            }
        }]
    }))]
    pub nodes: Option<BTreeMap<String, NodeSet>>,
    /// The services that the cluster gets beside its hosts.
    #[serde(default)]
    pub services: Services,
}

/// The hosts that a cluster asks for one role.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-editor" = {"required": ["count"]}))]
pub struct NodeSet {
    /// Which hosts may be taken; absent or empty selects every host.
    #[serde(default)]
    pub label_selector: Option<LabelSelector>,
    /// The label whose value is a host's topology domain: at most one host of a domain is taken.
    #[serde(default)]
    #[schemars(
        regex(pattern = format!("^$|{LABEL_KEY_PATTERN}")),
        length(max = 317),
        example = &"topology.example.com/rack"
    )]
    pub topology_key: Option<String>,
    /// More such labels: at most one host of any domain of each of them is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(inner(regex(pattern = format!("^$|{LABEL_KEY_PATTERN}")), length(max = 317)))]
    #[schemars(example = ["topology.example.com/rack", "topology.example.com/power-feed"])]
    pub topology_keys: Option<Vec<String>>,
    /// How many hosts are wanted.
    #[serde(default)]
    #[schemars(extend("x-editor" = {"type": "object"}))]
    pub count: Option<Count>,
}

/// Kubernetes' label selector. Fields that it does not have are kept, so that a flat selector
/// (`labelSelector: {flavor: worker}`), which would select every host, is seen and refused.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LabelSelector {
    /// Labels that a host must have with exactly these values.
    #[serde(
        default,
        deserialize_with = "unique::optional",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend(
        "additionalProperties" = {"type": "string", "maxLength": 63, "pattern": LABEL_VALUE_PATTERN},
        "x-editor" = {"propertyNames": {"maxLength": 317, "pattern": LABEL_KEY_PATTERN}}
    ))]
    pub match_labels: Option<BTreeMap<String, String>>,
    /// Requirements that a host's labels must meet, all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_expressions: Option<Vec<Requirement>>,
    /// Whatever else was written there.
    #[serde(flatten, deserialize_with = "unique::map")]
    #[schemars(skip)]
    pub unknown: BTreeMap<String, serde_json::Value>,
}

/// One requirement of a label selector.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend(
    "x-kubernetes-validations" = [{
        "rule": "self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 \
                 : !has(self.values) || size(self.values) == 0",
        "message": "In and NotIn need values; Exists and DoesNotExist take none"
    }],
    "x-editor" = {
        "if": {"properties": {"operator": {"enum": ["In", "NotIn"]}}, "required": ["operator"]},
        "then": {"required": ["values"], "properties": {"values": {"type": "array", "minItems": 1}}},
        "else": {"properties": {"values": {"maxItems": 0}}}
    }
))]
pub struct Requirement {
    /// The label's key.
    #[schemars(regex(pattern = LABEL_KEY_PATTERN), length(max = 317))]
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    #[schemars(extend("enum" = ["In", "NotIn", "Exists", "DoesNotExist"]))]
    pub operator: String,
    /// The values for `In` and `NotIn`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(inner(regex(pattern = LABEL_VALUE_PATTERN), length(max = 63)))]
    pub values: Option<Vec<String>>,
}

/// How many hosts a node set wants. All are labelled alike.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-editor" = {"required": ["active"]}))]
pub struct Count {
    /// Hosts that the cluster runs on.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000), extend("x-editor" = {"type": "integer"}))]
    pub active: Option<i64>,
    /// Hosts kept as slack for upgrades.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000), extend("x-editor" = {"default": 0}))]
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
    /// Returns whether one of the services uses addresses of hosts.
    pub fn reach_hosts(&self) -> bool {
        let Self {
            load_balancer_control_plane,
            load_balancer_worker,
            jump_host,
            // Dex never connects to hosts.
            auth: _,
        } = self;
        load_balancer_control_plane.is_some()
            || load_balancer_worker.is_some()
            || jump_host.is_some()
    }
}

/// A load balancer before the tenant's API servers.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = ["image", "nodePort"], "x-editor" = {
    "required": ["nodeInterfaceId"],
    "properties": {"nodeInterfaceId": {"type": "string", "minLength": 1}}
}))]
pub struct LoadBalancerControlPlane {
    /// What every service has.
    #[serde(flatten)]
    pub service: Service,
    /// The NodePort of the tenant's API.
    #[serde(default)]
    #[schemars(required, extend("x-kubernetes-validations" = [NodePort::rule()], "x-editor" = NodePort::range()))]
    pub node_port: Option<i64>,
    /// How many pods of HAProxy there are; 2 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100), extend("x-editor" = {"default": 2}))]
    pub replicas: Option<i64>,
}

/// A load balancer before the tenant's workers.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-editor" = {
    "required": ["nodeInterfaceId", "nodePortRange"],
    "properties": {"nodeInterfaceId": {"type": "string", "minLength": 1}}
}))]
pub struct LoadBalancerWorker {
    /// What every service has.
    #[serde(flatten)]
    pub service: Service,
    /// The NodePorts that are forwarded to the workers, each to the same port.
    #[serde(default)]
    #[schemars(extend("x-editor" = {"type": "object"}))]
    pub node_port_range: Option<PortRange>,
    /// How many pods of HAProxy there are; 2 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100), extend("x-editor" = {"default": 2}))]
    pub replicas: Option<i64>,
    /// Without effect; written beside the range in resources of 2021.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-editor" = {
        "deprecated": true,
        "deprecationMessage": "nodePort has no effect here; the ports are those of nodePortRange",
        "doNotSuggest": true
    }))]
    pub node_port: Option<i64>,
}

/// A range of ports, both ends included.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "self.start <= self.end",
    "message": "the range ends before it starts: write the lower port as start"
}]))]
pub struct PortRange {
    /// The first port.
    #[schemars(range(min = NodePort::FIRST, max = NodePort::LAST))]
    pub start: i64,
    /// The last port.
    #[schemars(range(min = NodePort::FIRST, max = NodePort::LAST))]
    pub end: i64,
}

/// A jump host.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = ["image", "nodePort"], "x-editor" = {
    "required": ["nodeInterfaceId"],
    "properties": {"nodeInterfaceId": {"type": "string", "minLength": 1}}
}))]
pub struct JumpHost {
    /// What every service has.
    #[serde(flatten)]
    pub service: Service,
    /// The NodePort of its SSH server.
    #[serde(default)]
    #[schemars(required, extend("x-kubernetes-validations" = [NodePort::rule()], "x-editor" = NodePort::range()))]
    pub node_port: Option<i64>,
    /// How it reaches the hosts' BMCs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bmc: Option<BmcAccess>,
    /// OpenSSH public keys of those who may log in.
    #[serde(
        rename = "sshAuthorizedKeys",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("x-editor" = {
        "items": {
            "pattern": AUTHORIZED_KEY_PATTERN,
            "patternErrorMessage": "This is no OpenSSH public key: paste the one line of a .pub file"
        }
    }))]
    #[schemars(example = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFJhq2+LVWtIPGH4FYUBEflTDa8pQuv41+ubKxUhAe1L operator"])]
    pub ssh_authorized_keys: Option<Vec<String>>,
    /// The Secret with the private keys for the cluster's nodes.
    #[serde(
        rename = "nodeSSHPrivateKeys",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(regex(pattern = format!("^$|{OBJECT_NAME_PATTERN}")), length(max = 253))]
    pub node_ssh_private_keys: Option<String>,
    /// Where its SSH server has its host keys from: one of the ways. Without any they are kept in a volume of the
    /// default storage class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_keys: Option<HostKeys>,
    /// Where the homes of its users are kept. Without a volume they are lost with each pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub homes: Option<Homes>,
}

/// Where the homes of a jump host's users are kept.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Homes {
    /// A volume that outlives the pods, and is never deleted with the jump host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_claim: Option<VolumeClaim>,
}

/// Where the host keys of an SSH server come from.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend(
    "x-kubernetes-validations" = [{
        "rule": "(has(self.secretName) ? 1 : 0) + (has(self.volumeClaim) ? 1 : 0) \
                 + (has(self.ephemeral) && self.ephemeral ? 1 : 0) <= 1",
        "message": "choose one of secretName, volumeClaim and `ephemeral: true`"
    }],
    "x-editor" = {
        "allOf": [
            {"if": HostKeys::given("secretName"), "then": {"properties": {
                "volumeClaim": HostKeys::second(), "ephemeral": HostKeys::second()
            }}},
            {"if": HostKeys::given("volumeClaim"), "then": {"properties": {"ephemeral": HostKeys::second()}}}
        ]
    }
))]
pub struct HostKeys {
    /// The Secret with the host keys, in entries such as `ssh_host_ed25519_key`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = OBJECT_NAME_PATTERN), length(max = 253))]
    pub secret_name: Option<String>,
    /// A volume in which they are made once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_claim: Option<VolumeClaim>,
    /// Whether every pod makes its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ephemeral: Option<bool>,
}

impl HostKeys {
    /// What an editor knows a way by that is chosen, and not only written down.
    fn given(way: &str) -> serde_json::Value {
        json!({"required": [way], "properties": {way: {"type": ["object", "string"]}}})
    }

    /// What an editor says of a second way.
    fn second() -> serde_json::Value {
        json!({"enum": [false, null], "errorMessage": "Choose one of secretName, volumeClaim and `ephemeral: true`"})
    }
}

/// The volume that a service asks for.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VolumeClaim {
    /// The storage class of the base cluster; its default one where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = OBJECT_NAME_PATTERN), length(max = 253))]
    pub storage_class_name: Option<String>,
    /// How large it is to be, such as `10Gi`. Kubernetes never makes a volume smaller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<StorageSize>,
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
    #[schemars(with = "Vec<Condition>", extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["type"]
    ))]
    pub conditions: Vec<BTreeMap<String, serde_json::Value>>,
}
