//! Moves that a run makes on request: a step of a drain.

use std::collections::BTreeMap;

use super::assignments::{Assignments, held_by_machine, is_consumed};
use super::placement::{AssignmentMethod, PlacedHost, Placement};
use crate::base::api::names::{ClusterKey, HostKey, Part};
use crate::base::finding::Finding;
use crate::site::Site;

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

/// Makes moves, and reports hosts that keep their labels until a snapshot shows them unused. Moves of
/// hosts that the node set does not have are skipped.
pub(super) fn make<'a>(
    moves: &[HostReplacement],
    site: &'a Site,
    placements: &mut BTreeMap<ClusterKey, Placement>,
    assignments: &mut Assignments<'a>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for HostReplacement { cluster, part, from, to } in moves {
        let cluster = site.valid_cluster(cluster);
        let node_set = cluster.and_then(|it| Some((it, it.node_sets.get_key_value(part)?.0)));
        let hosts = site.inventory.index(from).zip(site.inventory.index(to));
        let (Some((cluster, part)), Some((from, to))) = (node_set, hosts) else {
            continue;
        };
        let placement = placements.get_mut(&cluster.key);
        let Some(placement) = placement.and_then(|placement| placement.get_mut(part)) else {
            continue;
        };
        let Some(at) = placement.iter().position(|assigned| assigned.host == from) else {
            continue;
        };
        let host = &site.inventory.hosts[from];
        if is_consumed(host) {
            findings.push(held_by_machine(host, part, cluster));
        } else {
            let left = placement.remove(at);
            assignments.release(&cluster.key, left.host, left.how);
        }
        placement.push(PlacedHost { host: to, how: AssignmentMethod::Added });
        placement.sort();
        let owner = (&cluster.key, part, &cluster.origin);
        assignments.retained.entry(to).or_default().push(owner);
    }
    findings
}
