//! The label with the rack of hosts.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::Site;
use crate::base::grouping::occurrences;
use crate::site::inventory::topology_labels::{TopologyDomain, TopologyLabels};
use crate::site::request::Cluster;

impl Site {
    /// Finds the rack label, anew after changes of hosts or requests.
    pub(crate) fn find_rack_label(&mut self) {
        self.rack_label = self.known_rack_label().or_else(|| self.commonest_key());
    }

    /// Returns the label that the settings name, or else a well-known label of the hosts; `None` if no
    /// host has it.
    fn known_rack_label(&self) -> Option<String> {
        let hosts = &self.inventory.hosts;
        let labels = TopologyLabels::new(&self.settings.topology, hosts);
        let label = labels.value(TopologyDomain::Rack).ok()?;
        hosts.iter().any(|host| host.domain(&label).is_some()).then_some(label)
    }

    /// Returns the most used topology key.
    ///
    /// A key with a distinct value for every host counts only if there is no other. Ties are resolved
    /// by the smallest number of domains, because racks hold more hosts than chassis.
    fn commonest_key(&self) -> Option<String> {
        let hosts = &self.inventory.hosts;
        let node_sets = self.valid_clusters().flat_map(Cluster::parts);
        let mut uses = occurrences(node_sets.flat_map(|(.., node_set)| {
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
}
