//! A labelSelector that matches no host: fleets of different years label their hosts under different prefixes, and
//! nothing else says so as long as nobody waits for the hosts.

use super::node_sets::{NodeSets, Wanting};
use crate::finding::{Code, Finding};
use crate::site::mismatch::mismatch;

/// The node sets whose labelSelector matches no host at all, but for those of which an error says it. Even where none is
/// wanted as yet, one will be.
pub(super) fn unmatched(node_sets: &NodeSets<'_>) -> Vec<Finding> {
    let unmatched = node_sets.all.iter().filter(|set| !set.is_short && node_sets.pool(set).is_empty());
    unmatched.filter_map(|set| describe(set, node_sets)).collect()
}

fn describe(set: &Wanting<'_>, node_sets: &NodeSets<'_>) -> Option<Finding> {
    let mismatch = mismatch(&node_sets.site.inventory.hosts, &set.node_set.selector)?;
    let (role, cluster) = (set.role, &set.cluster.key);
    let finding = Finding::new(
        Code::UnmatchedSelector,
        format!("the labelSelector of {role} of {cluster} matches no host: {}", mismatch.what()),
    );
    let finding = mismatch.point(finding, &set.cluster.origin, &set.route(["labelSelector".into()]));
    let hints: Vec<&str> = mismatch.hints().collect();
    let help = if hints.is_empty() {
        "label the hosts, or select them by labels that they have".to_owned()
    } else {
        hints.join("\n")
    };
    Some(finding.help(help).of(cluster))
}
