//! SIPCluster (`airship.airshipit.org/v1`), a tenant cluster's request, in its current generation.
//!
//! Deserializing checks YAML types only. `request` checks the rest, so that an invalid value is
//! reported at its position instead of failing the parse.
//!
//! For [`crate::setup::schema`], attributes repeat the checks that a schema can express: plain keywords
//! apply to editors and API servers, `x-kubernetes-validations` only to API servers, and `x-editor`
//! only to editors.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::auth::Auth;
use super::described_service::DescribedServices;
use super::hardware_requirements::HardwareRequest;
use super::names::{
    LABEL_KEY_PATTERN, LABEL_VALUE_PATTERN, LabelMap, NodePort, OBJECT_NAME_PATTERN, StorageSize,
};
use super::object_kind::ObjectKind;
use super::service_fields::ServiceFields;
use super::service_kind::ServiceKind;
use super::topology_spread::{SameDomain, TopologySpreadConstraint};
use super::unique;

/// The API group of SIPCluster.
pub const GROUP: &str = "airship.airshipit.org";
/// The kind.
pub const KIND: &str = "SIPCluster";
/// The identity of SIPCluster.
pub static OBJECT: ObjectKind = ObjectKind {
    kind: KIND,
    group: GROUP,
    api_version: "airship.airshipit.org/v1",
    domain: "airshipit.org",
    distinctive_fields: &[],
    cluster_label: None,
};
/// The name of its CustomResourceDefinition.
pub const DEFINITION: &str = "sipclusters.airship.airshipit.org";

/// A public key with its type, at the start of a line or after options.
const AUTHORIZED_KEY_PATTERN: &str = concat!(
    r"(^|[ \t])(ssh-(ed25519|rsa|dss)|ecdsa-sha2-nistp(256|384|521)|sk-(ssh-ed25519|ecdsa-sha2-nistp256)@openssh\.com)",
    // Every key starts with the length of its type, a 32-bit number with three zero bytes: `AAAA`
    // in base64.
    r"[ \t]+AAAA[0-9A-Za-z+/]{16,}={0,3}([ \t]|\r?\n?$)"
);

/// The hosts and services that a tenant cluster requests.
#[derive(CustomResource, Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "airship.airshipit.org",
    version = "v1",
    kind = "SIPCluster",
    plural = "sipclusters",
    namespaced,
    status = "SIPClusterStatus",
    derive = "Default",
    doc = "A request for a tenant cluster: its hosts and services.",
    shortname = "sipc",
    category = "airship",
    printcolumn = r#"{"name": "Control-Plane", "type": "integer",
        "jsonPath": ".spec.nodes.ControlPlane.count.active",
        "description": "Control-plane hosts in use."}"#,
    printcolumn = r#"{"name": "Workers", "type": "integer", "jsonPath": ".spec.nodes.Worker.count.active",
        "description": "Worker hosts in use."}"#,
    printcolumn = r#"{"name": "Standby-Control-Plane", "type": "integer", "priority": 1,
        "jsonPath": ".spec.nodes.ControlPlane.count.standby",
        "description": "Control-plane hosts for upgrades."}"#,
    printcolumn = r#"{"name": "Standby-Workers", "type": "integer", "priority": 1,
        "jsonPath": ".spec.nodes.Worker.count.standby",
        "description": "Worker hosts for upgrades."}"#,
    printcolumn = r#"{"name": "Ready", "type": "string",
        "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status",
        "description": "Status reported by the SIP operator, where it still runs."}"#,
    printcolumn = r#"{"name": "Reason", "type": "string", "priority": 1,
        "jsonPath": ".status.conditions[?(@.type==\"Ready\")].reason", "description": "Reason for the status."}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-editor" = {"required": ["nodes"]}))]
pub struct SIPClusterSpec {
    /// Node sets by role: `ControlPlane` and `Worker`.
    #[serde(deserialize_with = "unique::optional")]
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
    pub nodes: Option<BTreeMap<String, NodeSetFields>>,
    /// The services of the cluster, such as load balancers and jump hosts.
    pub services: ServiceLists,
}

/// The hosts that a cluster requests for one role.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-editor" = {"required": ["count"]}))]
#[schemars(rename = "NodeSet")]
pub struct NodeSetFields {
    /// Selects the hosts that may be assigned. Absent or empty: every host.
    pub label_selector: Option<LabelSelector>,
    /// The label whose value is a host's failure domain, such as `topology.example.com/rack`. At
    /// most `maxPerDomain` hosts per domain are assigned, 1 by default.
    #[schemars(regex(pattern = format!("^$|{LABEL_KEY_PATTERN}")), length(max = 317))]
    #[schemars(example = &"topology.example.com/rack")]
    pub topology_key: Option<String>,
    /// Further topology labels, each with the same limit.
    #[schemars(inner(regex(pattern = format!("^$|{LABEL_KEY_PATTERN}")), length(max = 317)))]
    #[schemars(example = ["topology.example.com/rack", "topology.example.com/power-feed"])]
    pub topology_keys: Option<Vec<String>>,
    /// The most hosts in a domain of `topologyKey` and of each of `topologyKeys`. Default: 1.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-editor" = {"default": 1}))]
    pub max_per_domain: Option<i64>,
    /// Evenness over the domains of labels, as in a Pod. Without it, hosts are spread over racks as
    /// evenly as the available hosts allow.
    pub topology_spread_constraints: Option<Vec<TopologySpreadConstraint>>,
    /// Assigns hosts of a single domain, the smallest that has enough of them.
    pub same_domain: Option<SameDomain>,
    /// Requirements on the inspected hardware of each host. Texts are compared as a whole, in any
    /// case; `*` stands for any text.
    pub hardware: Option<HardwareRequest>,
    /// The number of hosts.
    #[schemars(extend("x-editor" = {"type": "object"}))]
    pub count: Option<HostCount>,
}

/// A Kubernetes label selector. A flat one such as `labelSelector: {flavor: worker}` is rejected.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LabelSelector {
    /// Labels with exactly these values.
    #[serde(default, deserialize_with = "unique::optional")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "additionalProperties" = {"type": "string", "maxLength": 63, "pattern": LABEL_VALUE_PATTERN},
        "x-editor" = {"propertyNames": {"maxLength": 317, "pattern": LABEL_KEY_PATTERN}}
    ))]
    pub match_labels: Option<LabelMap>,
    /// Requirements that labels must all meet.
    pub match_expressions: Option<Vec<Requirement>>,
    /// Unknown fields. They are kept for an error: ignoring them would turn a flat selector into
    /// one that selects every host.
    #[serde(flatten, deserialize_with = "unique::map")]
    #[schemars(skip)]
    pub unknown: BTreeMap<String, serde_json::Value>,
}

/// One requirement on labels.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    #[schemars(inner(regex(pattern = LABEL_VALUE_PATTERN), length(max = 63)))]
    pub values: Option<Vec<String>>,
}

/// The number of hosts in a node set. Active and standby hosts get the same labels.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-editor" = {"required": ["active"]}))]
#[schemars(rename = "Count")]
pub struct HostCount {
    /// Hosts that the cluster runs on.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-editor" = {"type": "integer"}))]
    pub active: Option<i64>,
    /// Additional hosts, kept as slack for upgrades. Default: 0.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-editor" = {"default": 0}))]
    pub standby: Option<i64>,
}

/// The services of a cluster. Each list may have several entries.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Services")]
pub struct ServiceLists {
    /// SSH jump hosts with access to the cluster's nodes and their power control.
    pub jump_host: Option<Vec<JumpHostFields>>,
    /// OpenID Connect login by Dex.
    pub auth: Option<Vec<Auth>>,
    /// Services that only the descriptor of their kind describes.
    #[serde(flatten)]
    pub described: DescribedServices,
}

impl ServiceLists {
    /// Returns whether a service uses addresses of hosts.
    pub fn reach_hosts(&self) -> bool {
        // Dex never connects to hosts.
        let Self { jump_host, auth: _, described: DescribedServices(described) } = self;
        let mut kinds = ServiceKind::all().iter().filter(|kind| !kind.roles.is_empty());
        jump_host.is_some() || kinds.any(|kind| matches!(described.get(&kind.field), Some(Some(_))))
    }
}

/// A jump host.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = ["image", "nodePort"], "x-editor" = {
    "required": ["nodeInterfaceId"],
    "properties": {"nodeInterfaceId": {"type": "string", "minLength": 1}}
}))]
#[schemars(rename = "JumpHost")]
pub struct JumpHostFields {
    /// Fields common to all services.
    #[serde(flatten)]
    pub service: ServiceFields,
    /// The NodePort of the SSH server, in the base cluster's range: 30000 to 32767 by default.
    #[serde(default)]
    #[schemars(required, extend("x-kubernetes-validations" = [NodePort::rule()], "x-editor" = NodePort::range()))]
    pub node_port: Option<i64>,
    /// The connection to the hosts' BMCs.
    pub bmc: Option<BmcAccess>,
    /// OpenSSH public keys of the users who may log in: lines of an `authorized_keys` file.
    #[serde(rename = "sshAuthorizedKeys")]
    #[schemars(extend("x-editor" = {
        "items": {
            "pattern": AUTHORIZED_KEY_PATTERN,
            "patternErrorMessage": "This is no OpenSSH public key: paste the one line of a .pub file"
        }
    }))]
    #[schemars(example = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFJhq2+LVWtIPGH4FYUBEflTDa8pQuv41+ubKxUhAe1L operator"])]
    pub ssh_authorized_keys: Option<Vec<String>>,
    /// The Secret with private keys for SSH to the cluster's nodes.
    #[serde(rename = "nodeSSHPrivateKeys")]
    #[schemars(regex(pattern = format!("^$|{OBJECT_NAME_PATTERN}")), length(max = 253))]
    pub node_ssh_private_keys: Option<String>,
    /// The source of the SSH server's host keys: one of `secretName`, `volumeClaim` and
    /// `ephemeral`. Default: new keys for each pod, with the warning SIP0260.
    pub host_keys: Option<SshHostKeys>,
    /// The storage of home directories. Without a volume they are lost with each pod.
    pub homes: Option<HomeDirectories>,
}

/// The storage of home directories.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Homes")]
pub struct HomeDirectories {
    /// A volume that outlives the pods. It is not deleted with the jump host.
    pub volume_claim: Option<VolumeClaimFields>,
}

/// The source of an SSH server's host keys.
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
            {"if": SshHostKeys::given("secretName"), "then": {"properties": {
                "volumeClaim": SshHostKeys::second(), "ephemeral": SshHostKeys::second()
            }}},
            {"if": SshHostKeys::given("volumeClaim"), "then": {"properties": {"ephemeral": SshHostKeys::second()}}}
        ]
    }
))]
#[schemars(rename = "HostKeys")]
pub struct SshHostKeys {
    /// The Secret with the host keys, in entries such as `ssh_host_ed25519_key`.
    #[schemars(regex(pattern = OBJECT_NAME_PATTERN), length(max = 253))]
    pub secret_name: Option<String>,
    /// A volume in which the host keys are generated once.
    pub volume_claim: Option<VolumeClaimFields>,
    /// `true` if every pod generates new host keys.
    pub ephemeral: Option<bool>,
}

impl SshHostKeys {
    /// Returns the editor's condition that a source is chosen: a field with `null` is not.
    fn given(way: &str) -> serde_json::Value {
        json!({"required": [way], "properties": {way: {"type": ["object", "string"]}}})
    }

    /// Returns the editor's rule that rejects a second source.
    fn second() -> serde_json::Value {
        json!({"enum": [false, null], "errorMessage": "Choose one of secretName, volumeClaim and `ephemeral: true`"})
    }
}

/// A claim for a volume.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "VolumeClaim")]
pub struct VolumeClaimFields {
    /// The storage class in the base cluster. Default: the cluster's default class.
    #[schemars(regex(pattern = OBJECT_NAME_PATTERN), length(max = 253))]
    pub storage_class_name: Option<String>,
    /// The size of the volume, such as `10Gi`. Default: `512Mi` for host keys, `1Gi` for home
    /// directories. Kubernetes never shrinks a volume.
    pub storage: Option<StorageSize>,
}

/// The connection of a jump host to BMCs.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct BmcAccess {
    /// `true` to use the proxy of the pod's environment. Otherwise `NO_PROXY=*` is set.
    #[serde(default)]
    pub proxy: bool,
}

/// The status that the SIP operator reported. sipgen does not read it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct SIPClusterStatus {
    /// Conditions of type `Ready`.
    #[serde(default)]
    pub conditions: Vec<BTreeMap<String, serde_json::Value>>,
}
