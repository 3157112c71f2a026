//! Kubernetes Services, limited to their NodePorts.

use serde::Deserialize;

use super::host::Metadata;

/// The kind.
pub const KIND: &str = "Service";
/// The field that requests a NodePort.
pub const NODE_PORT: &str = "nodePort";

/// A Service.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Service {
    /// `v1`; otherwise it is another kind of the same name.
    #[serde(default)]
    pub api_version: String,
    /// Name and namespace.
    #[serde(default)]
    pub metadata: Metadata,
    /// The desired state.
    #[serde(default)]
    pub spec: Option<ServiceSpec>,
}

/// The spec of a Service.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ServiceSpec {
    /// The ports.
    #[serde(default)]
    pub ports: Option<Vec<ServicePort>>,
}

/// A port of a Service.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServicePort {
    /// The port on every node.
    #[serde(default)]
    pub node_port: Option<i64>,
}
