//! Kubernetes Services, limited to their NodePorts.

use serde::Deserialize;

use super::ipam::SpecObject;

/// The kind.
pub const KIND: &str = "Service";
/// The field that requests a NodePort.
pub const NODE_PORT: &str = "nodePort";

/// A Service. If its `apiVersion` is not `v1`, it is another kind of the same name.
pub type Service = SpecObject<Option<ServiceSpec>>;

/// The spec of a Service.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ServiceSpec {
    /// The ports.
    pub ports: Option<Vec<ServicePort>>,
}

/// A port of a Service.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServicePort {
    /// The port on every node.
    pub node_port: Option<i64>,
}
