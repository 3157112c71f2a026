//! Hosts with their owner, location and reasons.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::base::api::names::{ClusterKey, HostKey};
use crate::generate::GeneratedSite;
use crate::plan::AssignmentMethod;
use crate::plan::explain;
use crate::plan::host_state::{HostOwner, HostStanding, HostState, host_standings};
use crate::site::inventory::Host;

/// A host.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostOverview {
    /// Namespace and name.
    #[serde(flatten)]
    pub key: HostKey,
    /// State of the host.
    pub state: HostState,
    /// Its assignment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assigned: Option<HostOwner>,
    /// Cluster that releases it, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given_back_by: Option<ClusterKey>,
    /// True if this run assigns or releases it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub changes: bool,
    /// True if it has an error, assigned or not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// True if it is being deleted, assigned or not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub deleting: bool,
    /// Reason why no cluster can claim it, completing the sentence "the host …".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_not_free: Option<String>,
    /// Consumer, as `Kind namespace/name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consumer: Option<String>,
    /// Its rack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rack: Option<String>,
    /// Kind of its hardware, if that was read: `32c-128g-x86_64-2nvme`, or `unknown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardware: Option<String>,
    /// Values of the topology keys that the site's node sets use.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub topology: BTreeMap<String, String>,
    /// Facts about it, each completing the sentence "the host …".
    pub facts: Vec<String>,
    /// File and line of its manifest.
    pub place: String,
}

impl HostOverview {
    /// Returns the cluster to which it is assigned.
    pub fn cluster(&self) -> Option<&ClusterKey> {
        self.assigned.as_ref().map(|assigned| &assigned.cluster)
    }

    /// Returns whether this run assigns it.
    pub fn is_new(&self) -> bool {
        let how = self.assigned.as_ref().and_then(|assigned| assigned.how);
        matches!(how, Some(AssignmentMethod::Added | AssignmentMethod::Adopted))
    }
}

/// Returns all hosts in inventory order.
pub(super) fn overviews(generated: &GeneratedSite, by: Option<&str>) -> Vec<HostOverview> {
    let GeneratedSite { site, plan, .. } = generated;
    let node_sets = site.valid_clusters().flat_map(|cluster| cluster.node_sets.values());
    let keys: BTreeSet<&str> =
        node_sets.flat_map(|set| &set.topology_keys).map(String::as_str).collect();
    let overview = |(host, standing): (&Host, HostStanding)| {
        let mut overview = HostOverview {
            key: host.key.clone(),
            state: standing.state,
            assigned: standing.assigned,
            given_back_by: standing.given_back_by,
            changes: standing.given_back_now,
            failed: host.live.error.is_some(),
            deleting: host.live.deleting,
            why_not_free: standing.why_not_free,
            consumer: host.user(),
            rack: by.and_then(|label| host.domain(label)).map(str::to_owned),
            hardware: None,
            topology: keys
                .iter()
                .filter_map(|key| Some(((*key).to_owned(), host.domain(key)?.to_owned())))
                .collect(),
            facts: explain::facts(site, host, plan),
            place: host.origin.shown(),
        };
        overview.changes |= overview.is_new();
        overview
    };
    site.inventory.hosts.iter().zip(host_standings(site, plan)).map(overview).collect()
}
