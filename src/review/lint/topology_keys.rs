//! Rule: no host has the label of a topologyKey, so nothing separates hosts and a whole control
//! plane may share a rack.

use std::collections::HashMap;

use super::node_sets::{NodeSets, RequestedNodeSet};
use crate::base::finding::{Code, DocumentField, Finding};
use crate::plan::topology::domain;
use crate::site::inventory::mismatch::similar_key;

/// Maximum number of hosts to search for a similar label.
const MAX_HOSTS: usize = 100;

/// Finds topology keys that no matching host has as a label.
pub(super) fn without_label(node_sets: &NodeSets<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut known: HashMap<(usize, &str), bool> = HashMap::new();
    for set in node_sets.wanting().filter(|set| !node_sets.pool(set).is_empty()) {
        for (key, at) in set.node_set.topology_keys.iter().zip(&set.node_set.topology_at) {
            let is_present = known
                .entry((set.pool, key))
                .or_insert_with(|| node_sets.hosts(set).any(|host| domain(host, key).is_some()));
            if !*is_present {
                findings.push(describe(set, key, at, node_sets));
            }
        }
    }
    findings
}

fn describe(
    set: &RequestedNodeSet<'_>,
    key: &str,
    at: &DocumentField,
    node_sets: &NodeSets<'_>,
) -> Finding {
    let (role, cluster) = (set.role, &set.cluster.key);
    let help = match similar_key(key, node_sets.hosts(set).take(MAX_HOSTS)) {
        Some(other) if other != key => format!("did you mean the label `{other}`?"),
        _ => "label the hosts with their rack or server, or remove the key".to_owned(),
    };
    Finding::new(
        Code::UnmatchedSelector,
        format!("no host available to {role} of `{cluster}` has a value for `{key}`, so nothing separates its hosts"),
    )
    .at(at.place())
    .help(help)
    .for_cluster(cluster)
}
