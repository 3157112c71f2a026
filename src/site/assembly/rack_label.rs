//! The label with the rack of hosts.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::Request;
use crate::base::api::names::ClusterKey;
use crate::base::grouping::occurrences;
use crate::input::settings::TopologySettings;
use crate::site::inventory::Host;
use crate::site::inventory::topology_labels::{TopologyDomain, TopologyLabels};

/// Returns the label that the settings name, or else a well-known label of the hosts, or else the most
/// used topology key. `None` if no host has it.
pub(super) fn rack_label(
    settings: &TopologySettings,
    hosts: &[Host],
    clusters: &BTreeMap<ClusterKey, Request>,
) -> Option<String> {
    let labels = TopologyLabels::new(settings, hosts);
    let label = labels.value(TopologyDomain::Rack).ok();
    let is_used = |label: &String| hosts.iter().any(|host| host.domain(label).is_some());
    label.filter(is_used).or_else(|| commonest_key(hosts, clusters))
}

/// Returns the most used topology key.
///
/// A key with a distinct value for every host counts only if there is no other. Ties are resolved
/// by the smallest number of domains, because racks hold more hosts than chassis.
fn commonest_key(hosts: &[Host], clusters: &BTreeMap<ClusterKey, Request>) -> Option<String> {
    let clusters = clusters.values().filter_map(|request| request.cluster.as_ref());
    let node_sets = clusters.flat_map(|cluster| cluster.node_sets.values());
    let mut uses = occurrences(node_sets.flat_map(|node_set| {
        let spread = node_set.spread.iter().map(|spread| spread.key.as_str());
        node_set.topology_keys.iter().map(String::as_str).chain(spread)
    }));
    uses.retain(|key, _| hosts.iter().any(|host| host.domain(key).is_some()));
    let worth = |(key, uses): &(&str, usize)| {
        let values: Vec<&str> = hosts.iter().filter_map(|host| host.domain(key)).collect();
        let domains = values.iter().collect::<BTreeSet<_>>().len();
        (domains < values.len(), *uses, Reverse(domains), Reverse((*key).to_owned()))
    };
    uses.into_iter().max_by_key(worth).map(|(key, _)| key.to_owned())
}
