//! Rule: a node set requests more hosts than it can ever get.
//!
//! If it is planned, that is an error. This rule also warns when another mistake blocks the
//! cluster, so that both can be fixed at once.

use std::collections::BTreeMap;

use super::node_sets::{NodeSets, RequestedNodeSet};
use crate::base::finding::{Code, Finding};
use crate::base::text::counted;

/// Finds node sets that request more hosts than match, or more than those hosts have domains.
pub(super) fn beyond_reach(node_sets: &NodeSets<'_>) -> Vec<Finding> {
    let open = node_sets.wanting().filter(|set| !set.is_short && !node_sets.pool(set).is_empty());
    open.filter_map(|set| too_few_hosts(set, node_sets).or_else(|| too_few_domains(set, node_sets)))
        .collect()
}

/// Reports whether a node set alone requests more hosts than match.
pub(super) fn exceeds(set: &RequestedNodeSet<'_>, node_sets: &NodeSets<'_>) -> bool {
    set.node_set.wanted() > node_sets.count(set)
}

fn too_few_hosts(set: &RequestedNodeSet<'_>, node_sets: &NodeSets<'_>) -> Option<Finding> {
    if !exceeds(set, node_sets) {
        return None;
    }
    let (matching, all) = (node_sets.count(set), node_sets.site.inventory.hosts.len());
    let why = if matching == all {
        format!("the site has {matching}")
    } else {
        let verb = if matching == 1 { "matches" } else { "match" };
        format!("{matching} of the site's {} {verb} its selector", counted(all, "host"))
    };
    Some(describe(set, matching, &why))
}

fn too_few_domains(set: &RequestedNodeSet<'_>, node_sets: &NodeSets<'_>) -> Option<Finding> {
    let wanted = set.node_set.wanted();
    set.node_set.topology_keys.iter().find_map(|key| {
        // A host without the label may be a domain of its own.
        let (mut domains, mut reach) = (BTreeMap::new(), 0);
        for host in node_sets.hosts(set) {
            let hosts = host.domain(key).map(|domain| domains.entry(domain).or_insert(0));
            let counts = hosts.is_none_or(|hosts| {
                *hosts += 1;
                *hosts <= set.node_set.max_per_domain
            });
            reach += usize::from(counts);
            if reach >= wanted {
                return None;
            }
        }
        let why =
            format!("the matching hosts are in {} of `{key}`", counted(domains.len(), "domain"));
        Some(describe(set, reach, &why))
    })
}

fn describe(set: &RequestedNodeSet<'_>, reach: usize, why: &str) -> Finding {
    let (role, cluster, wanted) = (set.role, &set.cluster.key, set.node_set.wanted());
    Finding::new(
        Code::BeyondReach,
        format!(
            "{role} of `{cluster}` requests {}, but can get {reach} at most: {why}",
            counted(wanted, "host")
        ),
    )
    .at(set.count_beyond(reach))
    .help("request fewer hosts, or add and label hosts")
    .for_cluster(cluster)
}
