//! The kustomization of a cluster's directory.

use minijinja::Value;
use minijinja::value::Serde;
use schemars::JsonSchema;
use serde::Serialize;

use crate::base::api::names::ClusterKey;
use crate::site::request::Cluster;

/// Name of the template.
pub(super) const TEMPLATE: &str = "cluster/kustomization.yaml";

/// Values of the template.
#[derive(Serialize, JsonSchema)]
pub(super) struct ClusterKustomizationValues<'a> {
    /// The cluster.
    cluster: &'a ClusterKey,
    /// Directories of its services, of its installer, and of its outputs.
    services: Vec<String>,
}

/// Returns the values of a kustomization that lists `services`.
pub(super) fn context(cluster: &Cluster, services: Vec<String>) -> Value {
    Value::from(Serde(ClusterKustomizationValues { cluster: &cluster.key, services }))
}
