//! Templates of a kind of service, and their common values.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema};
use serde::Serialize;

use crate::base::api::names::ClusterKey;
use crate::output::render::renderer::TemplateSet;

/// Templates of a kind of service.
pub(super) struct ServiceTemplates {
    /// The templates.
    pub(super) set: TemplateSet,
    /// Returns the schema of their values.
    pub(super) schema: fn() -> Schema,
    /// Help for a ConfigMap that is too large.
    pub(super) too_large: &'static str,
    /// Field of the SIPCluster that makes the ConfigMap too large, if it is one field.
    pub(super) too_large_field: Option<&'static str>,
}

/// Files that clusters share.
#[derive(Serialize, JsonSchema)]
pub(super) struct SharedTemplates {
    /// Name of their objects.
    pub(super) name: &'static str,
    /// Path of their directory, relative to that of the service.
    pub(super) path: String,
}

/// Values of every template of a service.
#[derive(Serialize, JsonSchema)]
pub(in crate::output::render) struct ServiceContext<'a, T> {
    /// The cluster.
    pub(super) cluster: &'a ClusterKey,
    /// Name of the service's objects; in `shared/`, the name that each service replaces by its own.
    pub(super) name: String,
    /// The files from the templates in `shared/`; none in these templates.
    pub(super) shared: Option<SharedTemplates>,
    /// Kind of service in names and labels: `loadbalancer-worker`, `jumphost`.
    pub(super) component: &'static str,
    /// Container image.
    pub(super) image: &'a str,
    /// Labels of the nodes that the pods run on; empty for the default of the kind.
    pub(super) node_labels: &'a BTreeMap<String, String>,
    /// True if the pods run on the base cluster's control-plane nodes by default.
    pub(super) on_control_plane: bool,
    /// True if the settings ask for NetworkPolicies.
    pub(super) network_policies: bool,
    /// Values for the templates of its kind only.
    #[serde(flatten)]
    pub(super) own: T,
}
