//! Kubernetes' Service, as far as it takes NodePorts.

use serde::Deserialize;

use super::host::Metadata;

/// Its kind.
pub const KIND: &str = "Service";
/// The field that asks for a NodePort.
pub const NODE_PORT: &str = "nodePort";

/// A Service.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Service {
    /// `v1`, or it is another kind of that name.
    #[serde(default)]
    pub api_version: String,
    /// Name and namespace.
    #[serde(default)]
    pub metadata: Metadata,
    /// What is wanted of it.
    #[serde(default)]
    pub spec: Option<Spec>,
}

/// A Service's spec.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Spec {
    /// Its ports.
    #[serde(default)]
    pub ports: Option<Vec<Port>>,
}

/// A port of a Service.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Port {
    /// The port on every node.
    #[serde(default)]
    pub node_port: Option<i64>,
}
