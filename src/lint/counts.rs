//! A node set that wants more hosts than there can ever be for it. When it is planned, that is an error; this rule says
//! it also where another mistake keeps the cluster from being planned, so that both can be mended at once.

use std::collections::BTreeSet;

use super::node_sets::{NodeSets, Wanting};
use crate::finding::{Code, Finding};
use crate::plan::topology::domain;
use crate::text::counted;

/// The node sets that want more hosts than match, or than there are domains among those.
pub(super) fn beyond_reach(node_sets: &NodeSets<'_>) -> Vec<Finding> {
    let open = node_sets
        .wanting()
        .filter(|set| !set.is_short && !node_sets.pool(set).is_empty());
    open.filter_map(|set| too_few_hosts(set, node_sets).or_else(|| too_few_domains(set, node_sets)))
        .collect()
}

/// Whether a node set alone wants more hosts than match.
pub(super) fn exceeds(set: &Wanting<'_>, node_sets: &NodeSets<'_>) -> bool {
    set.node_set.wanted() > node_sets.count(set)
}

fn too_few_hosts(set: &Wanting<'_>, node_sets: &NodeSets<'_>) -> Option<Finding> {
    if !exceeds(set, node_sets) {
        return None;
    }
    let (matching, all) = (node_sets.count(set), node_sets.site.inventory.hosts.len());
    let why = if matching == all {
        format!("the site has {matching}")
    } else {
        let verb = if matching == 1 { "matches" } else { "match" };
        format!(
            "{matching} of the site's {} {verb} its labelSelector",
            counted(all, "host")
        )
    };
    Some(describe(set, matching, &why))
}

fn too_few_domains(set: &Wanting<'_>, node_sets: &NodeSets<'_>) -> Option<Finding> {
    let wanted = set.node_set.wanted();
    set.node_set.topology_keys.iter().find_map(|key| {
        // A host without the label shares its domain with nobody, as far as one knows.
        let (mut domains, mut unknown) = (BTreeSet::new(), 0);
        for host in node_sets.hosts(set) {
            match domain(host, key) {
                Some(domain) => {
                    domains.insert(domain);
                }
                None => unknown += 1,
            }
            if domains.len() + unknown >= wanted {
                return None;
            }
        }
        let why = format!(
            "those that its labelSelector matches are in {} of {key}",
            counted(domains.len(), "domain")
        );
        Some(describe(set, domains.len() + unknown, &why))
    })
}

fn describe(set: &Wanting<'_>, reach: usize, why: &str) -> Finding {
    let (role, cluster, wanted) = (set.role, &set.cluster.key, set.node_set.wanted());
    Finding::new(
        Code::BeyondReach,
        format!(
            "{role} of {cluster} wants {}, and can never have more than {reach}: {why}",
            counted(wanted, "host")
        ),
    )
    .at(set.count_beyond(reach))
    .help("want fewer, or add and label hosts; it cannot be filled when its turn comes")
    .of(cluster)
}
