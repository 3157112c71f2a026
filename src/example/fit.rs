//! The part of a site that an example asks for.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::api::names::{Namespace, is_label};
use crate::generate::GeneratedSite;
use crate::inventory::Host;
use crate::inventory::networks::Network;
use crate::plan::host_state::{self, HostStanding, HostState};

/// Words in the label keys of failure domains, the preferred one first.
const DOMAINS: [&str; 4] = ["rack", "failure-domain", "zone", "room"];
/// Words in the label values of hosts for control planes.
const CONTROL_PLANE: [&str; 3] = ["control", "master", "controller"];
/// Words in the label values of hosts for workloads.
const WORKER: [&str; 2] = ["worker", "compute"];
/// Hosts of a control plane that survives the loss of one.
const QUORUM: usize = 3;
/// Most workers of an example.
const WORKERS: usize = 2;
/// Most machines of an example.
const MACHINES: usize = 3;
const NAME: &str = "edge";
const NAMESPACE: &str = "tenant-a";
const INTERFACE: &str = "oam-ipv4";

/// Hosts and numbers that an example asks for.
#[derive(Debug, Clone, Serialize)]
pub struct Fit {
    /// Set if the site has free hosts. Otherwise the other values are placeholders.
    found: bool,
    /// Number of free hosts in the namespace.
    free: usize,
    name: String,
    namespace: String,
    /// Label of failure domains.
    topology_key: Option<String>,
    control_plane: FittingNodeSet,
    workers: FittingNodeSet,
    /// A network that hosts have.
    interface: String,
    /// MAC addresses of free machines with an operating system.
    machines: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
struct FittingNodeSet {
    label: Option<SelectorLabel>,
    count: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct SelectorLabel {
    key: String,
    value: String,
}

impl SelectorLabel {
    fn new(key: &str, value: &str) -> Self {
        Self {
            key: key.to_owned(),
            value: value.to_owned(),
        }
    }

    fn matches(&self, host: &Host) -> bool {
        host.labels.get(&self.key) == Some(&self.value)
    }
}

impl Default for Fit {
    /// Returns placeholders, for a repo without free hosts.
    fn default() -> Self {
        let flavor = |value| Some(SelectorLabel::new("hardware.example.com/flavor", value));
        Self {
            found: false,
            free: 0,
            name: NAME.to_owned(),
            namespace: NAMESPACE.to_owned(),
            topology_key: Some("topology.example.com/rack".to_owned()),
            control_plane: FittingNodeSet {
                label: flavor("control-plane"),
                count: QUORUM,
            },
            workers: FittingNodeSet {
                label: flavor("worker"),
                count: WORKERS,
            },
            interface: INTERFACE.to_owned(),
            machines: Vec::new(),
        }
    }
}

impl Fit {
    /// Chooses hosts of a site: those of the namespace with the most free ones.
    pub fn new(generated: &GeneratedSite) -> Self {
        let site = &generated.site;
        let standings = host_state::of_all(site, &generated.plan);
        let all = site.inventory.hosts.iter().zip(&standings);
        let unassigned = all.filter(|(host, standing)| {
            let is_assigned = matches!(standing.state, HostState::Assigned | HostState::GivenBack);
            !is_assigned && host.reservations.is_empty()
        });
        let is_free = |(_, standing): &(_, &HostStanding)| standing.state == HostState::Free;
        let hosts = |(host, _)| host;
        let free = largest_namespace(unassigned.clone().filter(is_free).map(hosts).collect());
        let is_machine = |host: &&Host| host_state::is_free_machine(site, host);
        let installed = largest_namespace(unassigned.map(hosts).filter(is_machine).collect());
        let machines: Vec<String> = installed
            .iter()
            .filter_map(|host| host.network.boot_mac.map(|mac| mac.to_string()))
            .take(MACHINES)
            .collect();
        let namespace = free
            .first()
            .or(installed.first())
            .map_or(NAMESPACE, |host| host.key.namespace.as_str())
            .to_owned();
        let placeholders = Self {
            name: unused_name(generated, &namespace),
            namespace,
            machines,
            ..Self::default()
        };
        if free.is_empty() {
            return placeholders;
        }
        let topology_key = topology_key(&free);
        let [control_plane, workers] = node_sets(&free, topology_key.as_deref());
        Self {
            found: true,
            free: free.len(),
            interface: interface(&free).unwrap_or_else(|| INTERFACE.to_owned()),
            topology_key,
            control_plane,
            workers,
            ..placeholders
        }
    }
}

/// Returns the hosts of the namespace with the most hosts.
fn largest_namespace(hosts: Vec<&Host>) -> Vec<&Host> {
    let mut by_namespace: BTreeMap<&Namespace, Vec<&Host>> = BTreeMap::new();
    for host in hosts {
        by_namespace
            .entry(&host.key.namespace)
            .or_default()
            .push(host);
    }
    // The first of several.
    let largest = by_namespace.into_values().rev();
    largest.max_by_key(Vec::len).unwrap_or_default()
}

/// Returns the key that most hosts have among those that look like failure domains.
fn topology_key(hosts: &[&Host]) -> Option<String> {
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    for (key, value) in hosts.iter().flat_map(|host| &host.labels) {
        if is_label(key, value) && !value.is_empty() {
            *uses.entry(key).or_default() += 1;
        }
    }
    DOMAINS.into_iter().find_map(|word| {
        let named = uses.iter().rev().filter(|(key, _)| key.contains(word));
        let (key, _) = named.max_by_key(|(_, uses)| **uses)?;
        Some((*key).to_owned())
    })
}

/// Returns the node sets of control plane and workers, which the hosts suffice for.
fn node_sets(hosts: &[&Host], topology_key: Option<&str>) -> [FittingNodeSet; 2] {
    let [for_control_plane, for_workers] =
        [&CONTROL_PLANE[..], &WORKER].map(|words| label_with(hosts, words));
    let matching = |label: &Option<SelectorLabel>| -> Vec<&Host> {
        let matches = |host: &&Host| label.as_ref().is_none_or(|label| label.matches(host));
        hosts.iter().copied().filter(matches).collect()
    };
    let control_plane = matching(&for_control_plane);
    let domains = match topology_key {
        Some(key) => {
            let values = control_plane.iter().filter_map(|host| host.labels.get(key));
            values.collect::<BTreeSet<_>>().len()
        }
        None => control_plane.len(),
    };
    let count = if domains < QUORUM { 1 } else { QUORUM };
    let workers = matching(&for_workers);
    let is_shared = |host: &&Host| control_plane.iter().any(|other| other.key == host.key);
    let lost = workers.iter().filter(|host| is_shared(host)).count();
    let left = workers.len() - lost.min(count);
    [
        FittingNodeSet {
            label: for_control_plane,
            count,
        },
        FittingNodeSet {
            label: for_workers,
            count: left.min(WORKERS),
        },
    ]
}

/// Returns the label of most hosts whose value has one of these words.
fn label_with(hosts: &[&Host], words: &[&str]) -> Option<SelectorLabel> {
    let mut uses: BTreeMap<SelectorLabel, usize> = BTreeMap::new();
    for (key, value) in hosts.iter().flat_map(|host| &host.labels) {
        if is_label(key, value) && words.iter().any(|word| value.contains(word)) {
            *uses.entry(SelectorLabel::new(key, value)).or_default() += 1;
        }
    }
    let most = uses.into_iter().rev().max_by_key(|(_, uses)| *uses);
    most.map(|(label, _)| label)
}

/// Returns the network in which most hosts have an address.
fn interface(hosts: &[&Host]) -> Option<String> {
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    for host in hosts {
        if let Network::Known(data) = &host.network.data {
            // An unusual id would need quoting, and an example of that helps nobody.
            let is_usual = |id: &&str| is_label("id", id) && data.address(id).is_ok();
            for id in data.shown_ids().filter(is_usual) {
                *uses.entry(id).or_default() += 1;
            }
        }
    }
    let most = uses.into_iter().rev().max_by_key(|(_, uses)| *uses);
    most.map(|(id, _)| id.to_owned())
}

/// Returns a name that no cluster of the namespace has.
fn unused_name(generated: &GeneratedSite, namespace: &str) -> String {
    let requested = generated.site.clusters.keys();
    let used: BTreeSet<String> = requested
        .chain(&generated.site.state.clusters)
        .map(ToString::to_string)
        .collect();
    let mut name = NAME.to_owned();
    let mut number = 1;
    while used.contains(&format!("{namespace}/{name}")) {
        number += 1;
        name = format!("{NAME}-{number}");
    }
    name
}
