//! Settings under `requests`: further objects that request hosts.

use schemars::JsonSchema;
use serde::Deserialize;

/// Settings for requests.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "Requests")]
pub struct RequestSettings {
    /// Clusters of Cluster API as requests.
    #[serde(rename = "clusterAPI")]
    pub cluster_api: ClusterApi,
}

/// Settings for Clusters of Cluster API.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ClusterApi {
    /// The Clusters whose hosts sipgen assigns.
    pub clusters: ClusterSelection,
    /// The label of which no two control-plane hosts of a Cluster share a value, such as that with
    /// the rack. The annotation `sip.airshipit.org/topology-key` of a control plane takes precedence.
    pub control_plane_topology_key: Option<String>,
}

/// A selection of Clusters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Clusters")]
pub enum ClusterSelection {
    /// Clusters with the annotation `sip.airshipit.org/assign-hosts: "true"`.
    #[default]
    Annotated,
    /// Clusters with a Metal3MachineTemplate, except those with the annotation
    /// `sip.airshipit.org/assign-hosts: "false"`.
    All,
}
