//! Moves that a run makes on request: a step of a drain.

use std::collections::BTreeMap;

use super::assignments::{Assignments, held_by_machine, is_consumed};
use super::placement::{AssignmentMethod, PlacedHost, Placement};
use crate::base::api::names::{ClusterKey, HostKey, Part};
use crate::base::finding::Finding;

/// The replacement of a host of a node set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostReplacement {
    /// The cluster.
    pub cluster: ClusterKey,
    /// The part of the cluster.
    pub part: Part,
    /// The host that leaves.
    pub from: HostKey,
    /// The host that takes its place.
    pub to: HostKey,
}

/// Makes a move, and reports a host that keeps its labels until a snapshot shows it unused. A move of a
/// host that the node set does not have is skipped.
pub(super) fn make<'a>(
    HostReplacement { cluster, part, from, to }: &HostReplacement,
    placements: &mut BTreeMap<ClusterKey, Placement>,
    assignments: &mut Assignments<'a>,
) -> Option<Finding> {
    let site = assignments.site;
    let cluster = site.valid_cluster(cluster)?;
    let (part, _) = cluster.node_sets.get_key_value(part)?;
    let (from, to) = (site.inventory.index(from)?, site.inventory.index(to)?);
    let placement = placements.get_mut(&cluster.key)?.get_mut(part)?;
    let at = placement.iter().position(|assigned| assigned.host == from)?;
    let host = &site.inventory.hosts[from];
    let is_held = is_consumed(host);
    if !is_held {
        let left = placement.remove(at);
        assignments.release(&cluster.key, left.host, left.how);
    }
    placement.push(PlacedHost { host: to, how: AssignmentMethod::Added });
    placement.sort();
    let owner = (&cluster.key, part, &cluster.origin);
    assignments.retained.entry(to).or_default().push(owner);
    is_held.then(|| held_by_machine(host, part, cluster))
}
