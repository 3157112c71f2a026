//! Kinds of requests.

use schemars::JsonSchema;
use serde::Serialize;

/// The kinds of objects that ask for clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub enum ClusterKind {
    /// One that wants hosts by roles, and services.
    #[serde(rename = "SIPCluster")]
    SipCluster,
    /// One that wants machines by names, and has Kubernetes installed on them.
    Provisioning,
}
