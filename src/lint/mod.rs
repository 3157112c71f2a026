//! What is no mistake by itself, but surely not meant: a selector that matches no host, a network that no host has.
//!
//! One file a rule. Each is a function of what was read, and gives warnings that point at the exact node to look at:
//!
//! * `selectors`: a labelSelector matches no host.
//! * `topology_keys`: no host bears the label that is to keep hosts apart.
//! * `counts`: a node set wants more hosts than there can be for it.
//! * `machines`: more is asked of a machine than any host has.
//! * `contention`: node sets together want more of the same hosts than there are.
//! * `interfaces`: a service uses a network that no host has, or that some hosts spell in another way.
//! * `installers`: an installer is told what it cannot do.
//! * `load_balancers`: a load balancer has no node set behind it.
//! * `addresses`: a clusterIP is the address of a host.
//! * `network_data`: Secrets that no host names, and hosts that name a Secret that is not there.
//! * `node_ports`: a Service of the repo has the NodePort of one of ours.
//! * `definitions`: an agent applies requests together with hosts, and nothing defines their kind.
//! * `templates`: the directory of templates has none.
//!
//! `node_sets` finds the hosts of each node set, for all rules at once. No rule looks at every host for every cluster.
//! What an error says already is not said again.

mod addresses;
mod contention;
mod counts;
mod definitions;
mod installers;
mod interfaces;
mod load_balancers;
mod machines;
mod network_data;
mod node_ports;
mod node_sets;
mod selectors;
mod templates;
mod topology_keys;

use std::collections::BTreeSet;

use crate::api::names::{ClusterKey, Part};
use crate::finding::Finding;
use crate::site::Site;

use node_sets::NodeSets;

pub(crate) use templates::no_templates;

/// What to leave out, because it was not asked for or was said already.
#[derive(Debug, Default)]
pub struct Except {
    /// The clusters that are not looked at.
    pub clusters: BTreeSet<ClusterKey>,
    /// The node sets that an error says cannot be filled.
    pub short: BTreeSet<(ClusterKey, Part)>,
}

/// All that is surely not meant, in the order of the rules, and of clusters, roles and services within each.
pub fn lint(site: &Site, except: &Except) -> Vec<Finding> {
    let node_sets = NodeSets::new(site, except);
    let mut findings = selectors::unmatched(&node_sets);
    findings.extend(topology_keys::unborne(&node_sets));
    findings.extend(counts::beyond_reach(&node_sets));
    findings.extend(machines::beyond_reach(site, &node_sets.clusters, except));
    findings.extend(contention::contended(&node_sets));
    findings.extend(interfaces::unknown(&node_sets));
    findings.extend(load_balancers::without_node_set(&node_sets.clusters));
    findings.extend(installers::doubtful(site, &node_sets.clusters));
    findings.extend(addresses::of_hosts(site, &node_sets.clusters));
    findings.extend(network_data::unnamed(site));
    findings.extend(network_data::missing(&node_sets));
    findings.extend(node_ports::of_the_repo(site, &node_sets.clusters));
    findings.extend(definitions::missing(site));
    findings
}
