//! Rule: a labelSelector matches no host. Fleets of different years use different label prefixes,
//! and no error occurs until hosts are requested.

use std::collections::HashMap;

use super::node_sets::{NodeSets, RequestedNodeSet};
use crate::base::finding::{Code, Finding};
use crate::site::inventory::mismatch::{Mismatch, mismatch};

/// Finds node sets whose labelSelector matches no host and that no error reports. Empty node sets
/// are included, because they will grow.
pub(super) fn unmatched(node_sets: &NodeSets<'_>) -> Vec<Finding> {
    let unmatched =
        node_sets.all.iter().filter(|set| !set.is_short && node_sets.pool(set).is_empty());
    let mut known: HashMap<usize, Option<Mismatch>> = HashMap::new();
    let mut findings = Vec::new();
    for set in unmatched {
        let all = &node_sets.site.inventory.hosts;
        let mismatch =
            known.entry(set.pool).or_insert_with(|| mismatch(all, &set.node_set.own_selector()));
        findings.extend(mismatch.as_ref().map(|mismatch| describe(set, mismatch)));
    }
    findings
}

fn describe(set: &RequestedNodeSet<'_>, mismatch: &Mismatch) -> Finding {
    let (role, cluster) = (set.role, &set.cluster.key);
    let finding = Finding::new(
        Code::UnmatchedSelector,
        format!("labelSelector of {role} of `{cluster}` matches no host: {}", mismatch.what()),
    );
    let finding = mismatch.point(finding, &set.node_set.selector_at);
    let hints: Vec<&str> = mismatch.hints().collect();
    let help = if hints.is_empty() {
        "label the hosts, or select them by existing labels".to_owned()
    } else {
        hints.join("\n")
    };
    finding.help(help).for_cluster(cluster)
}
