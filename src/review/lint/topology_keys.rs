//! Rule: no host has the label of a topologyKey, so nothing separates hosts and a whole control
//! plane may share a rack. It is an error, because assigned hosts stay where they are after the key
//! is corrected.

use std::collections::BTreeMap;

use kube::core::SelectorExt;

use crate::base::finding::{Code, Finding};
use crate::site::assembly::Site;
use crate::site::inventory::Host;
use crate::site::inventory::mismatch::similar_key;
use crate::site::request::NodeSet;

/// Maximum number of hosts to search for a similar label.
const MAX_HOSTS: usize = 100;

/// Finds topology keys that no matching host has as a label. A node set without a matching host is
/// reported as short.
pub(crate) fn without_label(site: &Site) -> Vec<Finding> {
    let mut known: BTreeMap<(String, &str), bool> = BTreeMap::new();
    let mut findings = Vec::new();
    let node_sets = site.valid_clusters().flat_map(|cluster| cluster.parts());
    for (cluster, part, node_set) in node_sets.filter(|(.., set)| set.wanted() > 0) {
        // A required constraint selects hosts with its label.
        let spread = node_set.spread.iter().filter(|spread| !spread.is_required());
        let spread = spread.map(|spread| (&spread.key, &node_set.at));
        for (key, at) in node_set.topology_keys.iter().zip(&node_set.topology_at).chain(spread) {
            let is_missing = *known
                .entry((node_set.selector.to_string(), key))
                .or_insert_with(|| is_missing(key, &site.inventory.hosts, node_set));
            if !is_missing {
                continue;
            }
            let hosts = matching(&site.inventory.hosts, node_set).take(MAX_HOSTS);
            let help = match similar_key(key, hosts) {
                Some(other) if other != key => format!("did you mean the label `{other}`?"),
                _ => "label the hosts with their rack or server, or remove the key".to_owned(),
            };
            let message = format!(
                "no host available to {} of `{}` has a value for `{key}`, so nothing separates its hosts",
                part.role, cluster.key
            );
            let finding = Finding::new(Code::UnknownTopologyKey, message).at(at.place());
            findings.push(finding.help(help).for_cluster(&cluster.key));
        }
    }
    findings
}

fn is_missing(key: &str, hosts: &[Host], node_set: &NodeSet) -> bool {
    matching(hosts, node_set).next().is_some()
        && matching(hosts, node_set).all(|host| host.domain(key).is_none())
}

fn matching<'a>(hosts: &'a [Host], node_set: &NodeSet) -> impl Iterator<Item = &'a Host> {
    hosts.iter().filter(|host| node_set.selector.matches(&host.labels))
}
