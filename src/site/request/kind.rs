//! Kinds of requests.

use derive_more::Display;
use schemars::JsonSchema;
use serde::Serialize;

/// Kind of an object that requests a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema, Display)]
#[display("{}", self.as_str())]
pub enum ClusterKind {
    /// Requests hosts by role, and services.
    #[serde(rename = "SIPCluster")]
    SipCluster,
    /// Requests machines by name, and the installation of Kubernetes on them.
    Provisioning,
    /// Requests a Machine per replica, with the objects of Cluster API beside it.
    #[serde(rename = "Cluster")]
    ClusterApi,
}
