//! Rule: services use a network that hosts lack or spell differently.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::node_sets::{NodeSets, RequestedNodeSet};
use super::{at_all, service_field};
use crate::base::api::names::Role;
use crate::base::finding::{Code, Finding, Place};
use crate::base::text::counted;
use crate::base::text::suggest::{alike, is_spelled_like, letters};
use crate::site::inventory::{Host, natural};
use crate::site::request::{Cluster, ClusterService};

/// Maximum numbers of hosts to search for networks, and of networks to name in the help.
const MAX_HOSTS: usize = 100;
const NETWORKS_SHOWN: usize = 8;

/// A network that services of a cluster use.
type ServiceNetwork<'a> = (&'a Cluster, &'a str);

/// Finds networks that no host of a node set has, and networks that some hosts spell differently.
pub(super) fn unknown(node_sets: &NodeSets<'_>) -> Vec<Finding> {
    let misspelt = MisspeltNetworks::new(node_sets);
    let mut nowhere: Vec<(ServiceNetwork<'_>, Vec<&RequestedNodeSet<'_>>)> = Vec::new();
    let mut elsewhere: BTreeMap<&str, (Vec<&Cluster>, BTreeSet<usize>)> = BTreeMap::new();
    for set in &node_sets.all {
        for interface in set.cluster.interfaces(set.role) {
            if is_nowhere(set, interface, node_sets) {
                match nowhere.last_mut() {
                    Some(((cluster, other), sets))
                        if *other == interface && cluster.key == set.cluster.key =>
                    {
                        sets.push(set);
                    }
                    _ => nowhere.push(((set.cluster, interface), vec![set])),
                }
                continue;
            }
            let hosts = misspelt.hosts(set, interface, node_sets);
            if !hosts.is_empty() {
                let (clusters, all) = elsewhere.entry(interface).or_default();
                if clusters.last().is_none_or(|cluster| cluster.key != set.cluster.key) {
                    clusters.push(set.cluster);
                }
                all.extend(hosts);
            }
        }
    }
    let mut findings: Vec<Finding> = nowhere
        .into_iter()
        .map(|((cluster, interface), sets)| on_no_host(cluster, interface, &sets, node_sets))
        .collect();
    for (interface, (clusters, hosts)) in elsewhere {
        let hosts: Vec<&Host> =
            hosts.into_iter().map(|host| &node_sets.site.inventory.hosts[host]).collect();
        findings.extend(spelled_otherwise(interface, &clusters, &hosts));
    }
    findings
}

fn has_networks(host: &Host) -> bool {
    host.network.data.is_ok() || !host.network.addresses.is_empty()
}

/// Reports whether a node set's hosts have network data, but none has an address in this network.
fn is_nowhere(set: &RequestedNodeSet<'_>, interface: &str, node_sets: &NodeSets<'_>) -> bool {
    // The hosts of a kind either all have an address there or none has.
    !node_sets
        .kinds_of(set)
        .any(|kind| kind.first().is_some_and(|host| host.address(interface).is_ok()))
        && node_sets.hosts(set).any(has_networks)
}

/// Lists the positions in a cluster where services that use a role name a network.
fn places(cluster: &Cluster, interface: &str, roles: &[Role]) -> Vec<Place> {
    let uses = |service: &&ClusterService| {
        service.interface.as_deref() == Some(interface)
            && roles.iter().any(|role| service.uses(*role))
    };
    let users = cluster.services.iter().filter(uses);
    users.map(|service| service_field(cluster, service, "nodeInterfaceId")).collect()
}

fn on_no_host(
    cluster: &Cluster,
    interface: &str,
    sets: &[&RequestedNodeSet<'_>],
    node_sets: &NodeSets<'_>,
) -> Finding {
    let roles: Vec<Role> = sets.iter().map(|set| set.role).collect();
    let names: Vec<&str> = roles.iter().map(|role| role.as_str()).collect();
    let hosts = sets.iter().flat_map(|set| node_sets.hosts(set)).take(MAX_HOSTS);
    let known: Vec<_> = hosts.filter_map(|host| host.network.data.as_ref().ok()).collect();
    let (what, help) = if known.iter().any(|data| data.ids().any(|id| id == interface)) {
        let help = "a service requires a static `ip_address`, which DHCP networks lack: add one to the network \
                    data, or choose another network";
        ("has an address in the network", help.to_owned())
    } else {
        let has_hidden = known.iter().any(|data| data.ids().count() > data.shown_ids().count());
        let shown = known.iter().flat_map(|data| data.shown_ids()).collect();
        ("has the network", networks(interface, shown, has_hidden))
    };
    let finding = Finding::new(
        Code::UnknownInterface,
        format!(
            "no host available to {} of `{}` {what} `{interface}`",
            names.join(" or "),
            cluster.key
        ),
    );
    at_all(finding, places(cluster, interface, &roles).into_iter())
        .help(help)
        .for_cluster(&cluster.key)
}

/// Suggests a network that hosts have, among those that may be shown.
fn networks(interface: &str, networks: BTreeSet<&str>, has_hidden: bool) -> String {
    let mut networks: Vec<&str> = networks.into_iter().collect();
    networks.sort_by(|a, b| natural(a, b));
    if networks.is_empty() && has_hidden {
        return "set the id of a network in their network data, not shown here because it is encrypted or not a name"
            .to_owned();
    }
    if networks.is_empty() {
        return "add a network with an address to their network data, and set its id".to_owned();
    }
    let shown: Vec<String> =
        networks.iter().take(NETWORKS_SHOWN).map(|id| format!("`{id}`")).collect();
    let more = if networks.len() > NETWORKS_SHOWN { ", …" } else { "" };
    let meant = match alike(interface, networks.iter().copied()) {
        Some(id) => format!(": did you mean `{id}`?"),
        None => ": set one of these ids".to_owned(),
    };
    format!("they have {}{more}{meant}", shown.join(", "))
}

/// Hosts with a network whose spelling differs slightly from a service's. They are rare, so they
/// are searched once for all clusters.
struct MisspeltNetworks<'a>(HashMap<&'a str, Vec<usize>>);

impl<'a> MisspeltNetworks<'a> {
    fn new(node_sets: &NodeSets<'a>) -> Self {
        let mut sought: HashMap<String, BTreeSet<&'a str>> = HashMap::new();
        for set in &node_sets.all {
            for interface in set.cluster.interfaces(set.role) {
                sought.entry(letters(interface).collect()).or_default().insert(interface);
            }
        }
        let mut found: HashMap<&'a str, Vec<usize>> = HashMap::new();
        for (index, host) in node_sets.site.inventory.hosts.iter().enumerate() {
            let Ok(data) = &host.network.data else {
                continue;
            };
            for id in data.ids() {
                // Most networks are spelled as in some service.
                let letters: String = letters(id).collect();
                let others = sought
                    .get(&letters)
                    .into_iter()
                    .flatten()
                    .filter(|interface| **interface != id);
                others.for_each(|interface| found.entry(interface).or_default().push(index));
            }
        }
        Self(found)
    }

    /// Lists those that the node set could claim but for the spelling, by index.
    fn hosts(
        &self,
        set: &RequestedNodeSet<'_>,
        interface: &str,
        node_sets: &NodeSets<'_>,
    ) -> Vec<usize> {
        use kube::core::SelectorExt;
        let Some(hosts) = self.0.get(interface) else {
            return Vec::new();
        };
        let is_lost = |index: &&usize| {
            let host = &node_sets.site.inventory.hosts[**index];
            set.node_set.selector.matches(&host.labels) && host.address(interface).is_err()
        };
        hosts.iter().filter(is_lost).copied().collect()
    }
}

fn spelled_otherwise(interface: &str, clusters: &[&Cluster], hosts: &[&Host]) -> Option<Finding> {
    let first = hosts.first()?;
    let Ok(data) = &first.network.data else {
        return None;
    };
    data.ids().find(|id| is_spelled_like(id, interface))?;
    let id = match data.shown_ids().find(|id| is_spelled_like(id, interface)) {
        Some(id) => format!("a network `{id}`"),
        None => "a differently spelled network".to_owned(),
    };
    let (verb, them) = if hosts.len() == 1 { ("has", "it") } else { ("have", "them") };
    let finding = Finding::new(
        Code::UnknownInterface,
        format!(
            "{} {verb} {id}, but services require `{interface}`, so no cluster can claim {them}",
            counted(hosts.len(), "host")
        ),
    );
    let places = clusters.iter().flat_map(|cluster| places(cluster, interface, &Role::ALL));
    let finding = at_all(finding, places.take(1));
    let finding = hosts.iter().fold(finding, |finding, host| {
        finding.see(host.network_place(), format!("host {}", host.key))
    });
    let finding =
        clusters.iter().fold(finding, |finding, cluster| finding.for_cluster(&cluster.key));
    Some(finding.help(format!(
        "rename the network to `{interface}` in their network data, as on the other hosts"
    )))
}
