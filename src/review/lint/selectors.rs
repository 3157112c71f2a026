//! Rule: a labelSelector matches no host. Fleets of different years use different label prefixes,
//! and no error occurs until hosts are requested.

use std::collections::HashMap;

use super::node_sets::{NodeSets, RequestedNodeSet};
use crate::base::finding::{Code, Finding};
use crate::base::text::joined;
use crate::site::inventory::mismatch::{Mismatch, mismatch};

/// Finds node sets whose labelSelector matches no host and that no error reports. Empty node sets
/// are included, because they will grow.
pub(super) fn unmatched(node_sets: &NodeSets<'_>) -> Vec<Finding> {
    let is_unmatched =
        |set: &&RequestedNodeSet<'_>| !set.is_short && node_sets.hosts(set).next().is_none();
    let hosts = &node_sets.site.inventory.hosts;
    let mut known: HashMap<usize, Option<Mismatch>> = HashMap::new();
    let finding = |set: &RequestedNodeSet<'_>| {
        let find = || mismatch(hosts, &set.node_set.own_selector());
        let mismatch = known.entry(set.pool).or_insert_with(find);
        Some(describe(set, mismatch.as_ref()?))
    };
    node_sets.all.iter().filter(is_unmatched).filter_map(finding).collect()
}

fn describe(set: &RequestedNodeSet<'_>, mismatch: &Mismatch) -> Finding {
    let (role, cluster) = (set.role, &set.cluster.key);
    let finding = Finding::new(
        Code::UnmatchedSelector,
        format!("labelSelector of {role} of `{cluster}` matches no host: {}", mismatch.what()),
    );
    let finding = mismatch.point(finding, &set.node_set.selector_at);
    let help = match joined(mismatch.hints(), "\n") {
        none if none.is_empty() => "label the hosts, or select them by existing labels".to_owned(),
        hints => hints,
    };
    finding.help(help).for_cluster(cluster)
}
