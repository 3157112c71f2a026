//! Fields common to all services of a SIPCluster.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::names::{LABEL_KEY_PATTERN, LABEL_VALUE_PATTERN, LabelMap};
use super::unique;

/// Fields common to all services.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = ["image"]))]
#[schemars(rename = "Service")]
pub struct ServiceFields {
    /// The container image, such as `registry.example.com/haproxy:3.0`.
    // Optional in Rust, so that a missing image is reported with its position.
    #[schemars(required, regex(pattern = r"^\S+$"), example = &"registry.example.com/haproxy:3.0")]
    pub image: Option<String>,
    /// Labels of the base cluster's nodes that may run the service's pods, such as
    /// `kubernetes.io/os: linux`. Default: the control-plane nodes for load balancers, any node for
    /// other services.
    #[serde(default, deserialize_with = "unique::optional")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-editor" = {
        "propertyNames": {"maxLength": 317, "pattern": LABEL_KEY_PATTERN},
        "additionalProperties": {"type": "string", "maxLength": 63, "pattern": LABEL_VALUE_PATTERN}
    }))]
    #[schemars(example = json!({"kubernetes.io/os": "linux"}))]
    pub node_labels: Option<LabelMap>,
    /// The id of a network in the hosts' network data. The service connects to each host at its
    /// address in this network.
    #[schemars(example = &"oam-ipv4")]
    pub node_interface_id: Option<String>,
    /// The base cluster's IP address at which clients reach the service's NodePorts. It is not
    /// `spec.clusterIP` of a Service.
    #[serde(rename = "clusterIP")]
    #[schemars(example = &"192.0.2.10", extend("x-editor" = {
        "anyOf": [{"maxLength": 0}, {"format": "ipv4"}, {"format": "ipv6"}]
    }))]
    pub cluster_ip: Option<String>,
}
