//! Whose each host is, where it stands, and why.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::racks::value;
use crate::api::names::{ClusterKey, HostKey};
use crate::inventory::Host;
use crate::plan::explain;
use crate::plan::host_state::{Assignment, HostStanding, HostState};
use crate::plan::{How, Plan};
use crate::site::Site;

/// One host.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostPicture {
    /// Namespace and name.
    #[serde(flatten)]
    pub key: HostKey,
    /// How it stands.
    pub state: HostState,
    /// Whose it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assigned: Option<Assignment>,
    /// The cluster that gives it back, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given_back_by: Option<ClusterKey>,
    /// Whether this run is what gives it to a cluster, or takes it from one.
    #[serde(skip_serializing_if = "is_false")]
    pub changes: bool,
    /// Whether it is in an error, whoever has it.
    #[serde(skip_serializing_if = "is_false")]
    pub failed: bool,
    /// Whether it is being deleted, whoever has it.
    #[serde(skip_serializing_if = "is_false")]
    pub deleting: bool,
    /// Why no cluster can have it, completing the sentence "the host …".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_not_free: Option<String>,
    /// Who consumes it, as `Kind namespace/name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consumer: Option<String>,
    /// Its rack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rack: Option<String>,
    /// Its values of the topology keys that the site's node sets use.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub topology: BTreeMap<String, String>,
    /// What is true of it, each completing the sentence "the host …".
    pub facts: Vec<String>,
    /// Where it is described: the file, and the line where that begins.
    pub place: String,
}

impl HostPicture {
    /// The cluster that has it.
    pub fn cluster(&self) -> Option<&ClusterKey> {
        self.assigned.as_ref().map(|assigned| &assigned.cluster)
    }

    /// Whether this run is what gives it to its cluster.
    pub fn is_new(&self) -> bool {
        self.assigned
            .as_ref()
            .is_some_and(|assigned| is_new(assigned.how))
    }
}

/// A picture of every host, in the inventory's order.
pub(super) fn pictures(
    site: &Site,
    plan: &Plan,
    standings: &[HostStanding],
    rack_by: Option<&str>,
) -> Vec<HostPicture> {
    let node_sets = site
        .clusters
        .values()
        .flat_map(|request| &request.cluster)
        .flat_map(|c| c.node_sets.values());
    let keys: BTreeSet<&str> = node_sets
        .flat_map(|set| &set.topology_keys)
        .map(String::as_str)
        .collect();
    let picture = |(host, standing): (&Host, &HostStanding)| {
        let assigned = standing.assigned.clone();
        let changes = standing.given_back_now
            || assigned
                .as_ref()
                .is_some_and(|assigned| is_new(assigned.how));
        HostPicture {
            key: host.key.clone(),
            state: standing.state,
            assigned,
            given_back_by: standing.given_back_by.clone(),
            changes,
            failed: host.error.is_some(),
            deleting: host.deleting,
            why_not_free: standing.why_not_free.clone(),
            consumer: host.user(),
            rack: rack_by
                .and_then(|label| value(host, label))
                .map(str::to_owned),
            topology: keys
                .iter()
                .filter_map(|key| Some(((*key).to_owned(), value(host, key)?.to_owned())))
                .collect(),
            facts: explain::facts(host, plan),
            place: host.origin.shown(),
        }
    };
    site.inventory
        .hosts
        .iter()
        .zip(standings)
        .map(picture)
        .collect()
}

/// Whether a host was not yet its cluster's before this run.
fn is_new(how: Option<How>) -> bool {
    matches!(how, Some(How::Added | How::Adopted))
}

// By reference, as serde asks.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_false(value: &bool) -> bool {
    !value
}
