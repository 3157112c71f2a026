//! Fields that all services of a SIPCluster have.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::names::{LABEL_KEY_PATTERN, LABEL_VALUE_PATTERN};
use super::unique;

/// What every service has.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = ["image"]))]
pub struct Service {
    /// The container image.
    #[serde(default)]
    #[schemars(required, regex(pattern = r"^\S+$"), example = &"registry.example.com/haproxy:3.0")]
    pub image: Option<String>,
    /// Labels of the base cluster's nodes on which the service's pods run.
    #[serde(
        default,
        deserialize_with = "unique::optional",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("x-editor" = {
        "propertyNames": {"maxLength": 317, "pattern": LABEL_KEY_PATTERN},
        "additionalProperties": {"type": "string", "maxLength": 63, "pattern": LABEL_VALUE_PATTERN}
    }))]
    #[schemars(example = json!({"kubernetes.io/os": "linux"}))]
    pub node_labels: Option<BTreeMap<String, String>>,
    /// The id of the network, in a host's network data, whose address the service uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"oam-ipv4")]
    pub node_interface_id: Option<String>,
    /// The base cluster's address under which its NodePorts are reached. Not
    /// `Service.spec.clusterIP`.
    #[serde(rename = "clusterIP", default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"192.0.2.10", extend("x-editor" = {
        "anyOf": [{"maxLength": 0}, {"format": "ipv4"}, {"format": "ipv6"}]
    }))]
    pub cluster_ip: Option<String>,
}
