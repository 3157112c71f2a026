//! A topologyKey that no host bears keeps nothing apart: every host is in a domain that nobody knows, and all of a
//! cluster's control plane may stand in one rack.

use std::collections::HashMap;

use super::node_sets::{NodeSets, Wanting};
use crate::finding::{Code, Finding, Step};
use crate::inventory::mismatch::key_alike;
use crate::plan::topology::domain;

/// How many hosts are asked for the labels that they do have.
const HOSTS_ASKED: usize = 100;

/// The topology keys that none of the hosts bears that the node set's labelSelector matches.
pub(super) fn unborne(node_sets: &NodeSets<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut known: HashMap<(usize, &str), bool> = HashMap::new();
    for set in node_sets
        .wanting()
        .filter(|set| !node_sets.pool(set).is_empty())
    {
        for (key, route) in set
            .node_set
            .topology_keys
            .iter()
            .zip(&set.node_set.topology_routes)
        {
            let is_borne = known
                .entry((set.pool, key))
                .or_insert_with(|| node_sets.hosts(set).any(|host| domain(host, key).is_some()));
            if !*is_borne {
                findings.push(describe(set, key, route, node_sets));
            }
        }
    }
    findings
}

fn describe(set: &Wanting<'_>, key: &str, route: &[Step], node_sets: &NodeSets<'_>) -> Finding {
    let (role, cluster) = (set.role, &set.cluster.key);
    let help = match key_alike(key, node_sets.hosts(set).take(HOSTS_ASKED)) {
        Some(other) if other != key => format!("they have the label `{other}`: did you mean that?"),
        _ => "label the hosts with their rack or server, or remove the key: all hosts may share one now".to_owned(),
    };
    Finding::new(
        Code::UnborneTopologyKey,
        format!("no host that {role} of {cluster} may take has a value of `{key}`, so nothing keeps its hosts apart"),
    )
    .at(set.place(route.iter().cloned()))
    .help(help)
    .of(cluster)
}
