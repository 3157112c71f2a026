//! Kinds of requests.

use schemars::JsonSchema;
use serde::Serialize;

/// The kind of a request for a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub enum ClusterKind {
    /// Requests hosts by role, and services.
    #[serde(rename = "SIPCluster")]
    SipCluster,
    /// Requests machines by name, and installs Kubernetes on them.
    Provisioning,
}
