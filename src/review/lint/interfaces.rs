//! Rule: services use a network that no host of a node set has.

use std::collections::BTreeSet;

use super::node_sets::{NodeSets, RequestedNodeSet};
use super::service_field;
use crate::base::api::names::Role;
use crate::base::finding::{Code, Finding};
use crate::base::grouping::grouped;
use crate::base::text::suggest::alike;
use crate::base::text::{abbreviated, joined};
use crate::site::inventory::{Host, natural};
use crate::site::request::ClusterService;

/// Maximum numbers of hosts to search for networks, and of networks to name in the help.
const MAX_HOSTS: usize = 100;
const NETWORKS_SHOWN: usize = 8;

/// Finds networks that no host of a node set has.
pub(super) fn unknown(node_sets: &NodeSets<'_>) -> Vec<Finding> {
    let nowhere = node_sets.all.iter().flat_map(|set| {
        let interfaces = set.cluster.interfaces(set.role).into_iter();
        let nowhere = interfaces.filter(|interface| is_nowhere(set, interface, node_sets));
        nowhere.map(move |interface| ((&set.cluster.key, interface), set))
    });
    let findings = grouped(nowhere).into_iter();
    findings.map(|((_, interface), sets)| on_no_host(interface, &sets, node_sets)).collect()
}

/// Reports whether a node set's hosts have network data, but none has an address in this network.
fn is_nowhere(set: &RequestedNodeSet<'_>, interface: &str, node_sets: &NodeSets<'_>) -> bool {
    // The hosts of a kind either all have an address there or none has.
    let mut first_hosts = node_sets.kinds_of(set).filter_map(|kind| kind.first());
    let has_networks =
        |host: &Host| host.network.data.is_ok() || !host.network.addresses.is_empty();
    !first_hosts.any(|host| host.address(interface).is_ok())
        && node_sets.hosts(set).any(has_networks)
}

fn on_no_host(network: &str, sets: &[&RequestedNodeSet<'_>], node_sets: &NodeSets<'_>) -> Finding {
    let cluster = sets[0].cluster;
    let roles: Vec<Role> = sets.iter().map(|set| set.role).collect();
    let hosts = sets.iter().flat_map(|set| node_sets.hosts(set)).take(MAX_HOSTS);
    let known: Vec<_> = hosts.filter_map(|host| host.network.data.as_ref().ok()).collect();
    let (what, help) = if known.iter().any(|data| data.ids().any(|id| id == network)) {
        let help = "a service requires a static `ip_address`, which DHCP networks lack: add one to the network \
                    data, or choose another network";
        ("has an address in the network", help.to_owned())
    } else {
        let shown = known.iter().flat_map(|data| data.shown_ids()).collect();
        ("has the network", networks(network, shown))
    };
    let (key, names) = (&cluster.key, joined(&roles, " or "));
    let message = format!("no host available to {names} of `{key}` {what} `{network}`");
    let finding = Finding::new(Code::UnknownInterface, message).help(help).for_cluster(key);
    // Where services that use the roles name the network.
    let uses = |service: &&ClusterService| {
        service.interface.as_deref() == Some(network)
            && roles.iter().any(|role| service.uses(*role))
    };
    let users = cluster.services.iter().filter(uses);
    finding.at_each(users.map(|service| service_field(cluster, service, "nodeInterfaceId")))
}

/// Suggests a network that hosts have, among those that may be shown.
fn networks(interface: &str, networks: BTreeSet<&str>) -> String {
    let mut networks: Vec<&str> = networks.into_iter().collect();
    networks.sort_by(|a, b| natural(a, b));
    if networks.is_empty() {
        return "set the id of a network with an address in their network data, or add one"
            .to_owned();
    }
    let meant = match alike(interface, networks.iter().copied()) {
        Some(id) => format!(": did you mean `{id}`?"),
        None => ": set one of these ids".to_owned(),
    };
    let shown = abbreviated(networks.iter().map(|id| format!("`{id}`")), NETWORKS_SHOWN);
    format!("they have {shown}{meant}")
}
