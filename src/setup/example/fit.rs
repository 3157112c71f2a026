//! The part of a site that an example asks for.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use serde::Serialize;

use crate::base::api::names::{NodePortRange, is_label};
use crate::base::grouping::{grouped, occurrences};
use crate::generate::GeneratedSite;
use crate::plan::host_state::{self, HostStanding, HostState};
use crate::plan::quotas::{self, QuotaUse};
use crate::site::Site;
use crate::site::inventory::Host;
use crate::site::inventory::hardware::HardwareByHost;
use crate::site::inventory::machine::MachineProperties;

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
/// The preferred NodePort of the API servers.
const API_PORT: u16 = 30443;
/// The preferred NodePorts of workers.
const WORKER_PORTS: RangeInclusive<u16> = 30080..=30089;

/// Hosts and numbers that an example asks for.
#[derive(Debug, Clone, Serialize)]
pub struct Fit {
    /// Set if the site has free hosts. Otherwise the other values are placeholders.
    found: bool,
    /// Number of free hosts in the namespace; without `found`, of those that quotas leave unused.
    free: usize,
    name: String,
    namespace: String,
    /// The files that the site reads, if its settings name them.
    sources: Option<String>,
    /// SelectorLabel of failure domains.
    topology_key: Option<String>,
    control_plane: FittingNodeSet,
    workers: FittingNodeSet,
    /// MAC addresses of free machines with an operating system and an address.
    machines: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
struct FittingNodeSet {
    label: Option<SelectorLabel>,
    count: usize,
    /// A network in which each matching host has an address.
    interface: Option<String>,
    /// NodePorts of its load balancer.
    ports: Option<RangeInclusive<u16>>,
}

#[derive(Debug, Clone, Serialize)]
struct SelectorLabel {
    key: String,
    value: String,
}

impl Default for Fit {
    /// Returns placeholders, for a repo without free hosts.
    fn default() -> Self {
        let [api_port, worker_ports] = free_ports(NodePortRange::default(), BTreeSet::new());
        let node_set = |value: &str, count, ports| {
            let key = "hardware.example.com/flavor".to_owned();
            let label = Some(SelectorLabel { key, value: value.to_owned() });
            FittingNodeSet { label, count, interface: Some("oam-ipv4".to_owned()), ports }
        };
        Self {
            found: false,
            free: 0,
            name: NAME.to_owned(),
            namespace: NAMESPACE.to_owned(),
            sources: None,
            topology_key: Some("topology.example.com/rack".to_owned()),
            control_plane: node_set("control-plane", QUORUM, api_port),
            workers: node_set("worker", WORKERS, worker_ports),
            machines: Vec::new(),
        }
    }
}

impl Fit {
    /// Chooses hosts of a site: those of the namespace with the most free ones. Without a Provisioning,
    /// the site does not have its `hardware`.
    pub fn new(generated: &GeneratedSite, hardware: &HardwareByHost) -> Self {
        let site = &generated.site;
        let standings = host_state::host_standings(site, &generated.plan);
        let all = site.inventory.hosts.iter().zip(&standings);
        let unassigned = all.filter(|(host, standing)| {
            let is_assigned = matches!(standing.state, HostState::Assigned | HostState::GivenBack);
            !is_assigned && host.reservations.is_empty()
        });
        let is_free = |(_, standing): &(_, &HostStanding)| standing.state == HostState::Free;
        let hosts = |(host, _)| host;
        let all_free: Vec<&Host> = unassigned.clone().filter(is_free).map(hosts).collect();
        let free = largest_namespace(within_quotas(generated, &all_free));
        let is_machine = |host: &&Host| {
            let devices = &site.settings.provisioning.devices;
            let found = hardware.get(&host.key).map(|found| &found.hardware);
            let (network, labels) = (&host.network, &host.labels);
            let machine =
                || MachineProperties::new(found, &network.data, network.boot_mac, labels, devices);
            host_state::is_free_machine(site, host) && machine().address(network.boot_mac).is_some()
        };
        let installed: Vec<&Host> = unassigned.map(hosts).filter(is_machine).collect();
        let installed = largest_namespace(within_quotas(generated, &installed));
        let machines = installed.iter().filter_map(|host| host.network.boot_mac).take(MACHINES);
        let first = free.first().or(installed.first());
        let namespace = first.map_or(NAMESPACE, |host| host.key.namespace.as_str()).to_owned();
        let placeholders = Self {
            name: unused_name(generated, &namespace),
            sources: sources(site),
            namespace,
            machines: machines.map(|mac| mac.to_string()).collect(),
            free: all_free.len(),
            ..Self::default()
        };
        if free.is_empty() {
            return placeholders;
        }
        let [control_plane_label, worker_label] =
            [&CONTROL_PLANE[..], &WORKER].map(|words| label_with(&free, words));
        let for_control_plane = matching(&free, control_plane_label.as_ref());
        let for_workers = matching(&free, worker_label.as_ref());
        let topology_key = topology_key(&for_control_plane);
        let domain = |host: &&Host| match &topology_key {
            Some(key) => host.labels.get(key).cloned(),
            None => Some(host.key.to_string()),
        };
        let domains: BTreeSet<String> = for_control_plane.iter().filter_map(domain).collect();
        let count = if domains.len() < QUORUM { 1 } else { QUORUM };
        let is_shared = |host: &&&Host| for_control_plane.iter().any(|other| other.key == host.key);
        let lost = for_workers.iter().filter(is_shared).count().min(count);
        let worker_count = WORKERS.min(for_workers.len() - lost);
        let range = site.settings.services.node_port_range;
        let [api_port, worker_ports] = free_ports(range, used_ports(site));
        let node_set = |label, count, hosts: &[&Host], ports| {
            let interface = interface(hosts);
            FittingNodeSet { label, count, interface, ports }
        };
        let control_plane = node_set(control_plane_label, count, &for_control_plane, api_port);
        let workers = node_set(worker_label, worker_count, &for_workers, worker_ports);
        let is_beside = |host: &&&Host| host.key.namespace.as_str() == placeholders.namespace;
        let free = all_free.iter().filter(is_beside).count();
        Self { found: true, free, topology_key, control_plane, workers, ..placeholders }
    }

    /// Returns whether the site has free hosts or machines.
    pub fn is_found(&self) -> bool {
        self.found || !self.machines.is_empty()
    }
}

/// Returns the hosts that quotas leave to the clusters of their namespaces.
fn within_quotas<'h>(generated: &GeneratedSite, hosts: &[&'h Host]) -> Vec<&'h Host> {
    let quotas = quotas::all(&generated.site, &generated.plan);
    let mut left: Vec<usize> = quotas.iter().map(QuotaUse::left).collect();
    let is_within = |host: &&Host| {
        let counting = quotas.iter().enumerate().filter(|(_, QuotaUse { quota, .. })| {
            quota.namespace == host.key.namespace && quota.counts(&host.labels)
        });
        let counting: Vec<usize> = counting.map(|(index, _)| index).collect();
        let has_room = counting.iter().all(|index| left[*index] > 0);
        counting.iter().filter(|_| has_room).for_each(|index| left[*index] -= 1);
        has_room
    };
    hosts.iter().copied().filter(is_within).collect()
}

/// Returns the sources of a site, as text for a comment.
fn sources(site: &Site) -> Option<String> {
    let sources = site.settings.sources.iter();
    let paths = sources.flat_map(|source| {
        let paths = source.paths.iter().flatten().map(String::as_str);
        paths.chain(source.kustomization.iter().map(|directory| directory.as_str()))
    });
    let paths: Vec<&str> = paths.collect();
    (!paths.is_empty()).then(|| paths.join(", ").escape_debug().to_string())
}

/// Returns the NodePorts of the site's Services.
fn used_ports(site: &Site) -> BTreeSet<u16> {
    let requested = site.valid_clusters().flat_map(|cluster| &cluster.services);
    let in_repo = site.services.iter().flat_map(|service| &service.node_ports);
    let all = requested
        .flat_map(|service| &service.node_ports)
        .chain(in_repo.map(|(_, port)| port))
        .chain(site.state.node_ports.keys());
    all.map(|port| port.number()).collect()
}

/// Returns free NodePorts for control plane and workers: the preferred ones, or the first after
/// them.
fn free_ports(range: NodePortRange, mut used: BTreeSet<u16>) -> [Option<RangeInclusive<u16>>; 2] {
    [API_PORT..=API_PORT, WORKER_PORTS].map(|preferred| {
        let more = preferred.end() - preferred.start();
        let starts = (*preferred.start()..=range.last()).chain(range.first()..=range.last());
        let mut ranges = starts.filter_map(|start| Some(start..=start.checked_add(more)?));
        let free = ranges.find(|ports| {
            range.first() <= *ports.start()
                && *ports.end() <= range.last()
                && used.range(ports.clone()).next().is_none()
        })?;
        used.extend(free.clone());
        Some(free)
    })
}

/// Returns the hosts of the namespace with the most hosts.
fn largest_namespace(hosts: Vec<&Host>) -> Vec<&Host> {
    let by_namespace = grouped(hosts.into_iter().map(|host| (&host.key.namespace, host)));
    // The first of several.
    let largest = by_namespace.into_values().rev();
    largest.max_by_key(Vec::len).unwrap_or_default()
}

/// Returns the key that most hosts have among those that look like failure domains.
fn topology_key(hosts: &[&Host]) -> Option<String> {
    let labels = hosts.iter().flat_map(|host| &host.labels);
    let labels = labels.filter(|(key, value)| is_label(key, value) && !value.is_empty());
    let keys: Vec<&String> = labels.map(|(key, _)| key).collect();
    let named = |word| keys.iter().copied().filter(move |key| key.contains(word));
    DOMAINS.into_iter().find_map(|word| most_frequent(named(word))).cloned()
}

/// Returns the most frequent item; the first of several.
fn most_frequent<T: Ord>(items: impl Iterator<Item = T>) -> Option<T> {
    let most = occurrences(items).into_iter().rev().max_by_key(|(_, uses)| *uses);
    most.map(|(item, _)| item)
}

/// Returns the hosts with a label.
fn matching<'h>(hosts: &[&'h Host], label: Option<&SelectorLabel>) -> Vec<&'h Host> {
    let matches =
        |host: &&Host| label.is_none_or(|label| host.labels.get(&label.key) == Some(&label.value));
    hosts.iter().copied().filter(matches).collect()
}

/// Returns the label of most hosts whose value has one of these words.
fn label_with(hosts: &[&Host], words: &[&str]) -> Option<SelectorLabel> {
    let labels = hosts.iter().flat_map(|host| &host.labels).filter(|(key, value)| {
        is_label(key, value) && words.iter().any(|word| value.contains(word))
    });
    let (key, value) = most_frequent(labels)?;
    Some(SelectorLabel { key: key.clone(), value: value.clone() })
}

/// Returns the first network in which each host has an address.
fn interface(hosts: &[&Host]) -> Option<String> {
    let networks = |host: &&Host| -> BTreeSet<String> {
        let ids = host.network.data.iter().flat_map(|data| {
            // An unusual id would need quoting, and an example of that helps nobody.
            data.shown_ids().filter(|id| is_label("id", id) && data.address(id).is_ok())
        });
        ids.map(str::to_owned).collect()
    };
    let shared = hosts.iter().map(networks).reduce(|one, other| &one & &other);
    shared?.pop_first()
}

/// Returns a name that no cluster of the namespace has.
fn unused_name(generated: &GeneratedSite, namespace: &str) -> String {
    let requested = generated.site.clusters.keys();
    let used: BTreeSet<String> =
        requested.chain(&generated.site.state.clusters).map(ToString::to_string).collect();
    let numbered = (2..).map(|number| format!("{NAME}-{number}"));
    let mut names = std::iter::once(NAME.to_owned()).chain(numbered);
    names.find(|name| !used.contains(&format!("{namespace}/{name}"))).unwrap_or_default()
}
