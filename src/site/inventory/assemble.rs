//! The inventory: every host of the site once, joined from manifests and snapshots.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::mem;
use std::net::IpAddr;
use std::sync::Arc;

use camino::Utf8Path;
use rayon::prelude::*;

use super::addresses::ClaimedAddresses;
use super::evidence::Evidence;
use super::hardware::HardwareByHost;
use super::host::Host;
use super::host_document::HostDocument;
use super::join::HostDescriptions;
use super::network_index::Networks;
use super::networks::UnnamedNetworkData;
use super::registration::{self, in_number};
use crate::base::api::names::{ClusterKey, HostKey, Namespace};
use crate::base::api::reservation::Tenants;
use crate::base::finding::{Code, Finding, Place, RouteStep};
use crate::base::grouping::{grouped, occurrences};
use crate::input::kustomize::{BuildRoot, Builds};
use crate::input::settings::gitops::HostsForm;
use crate::input::settings::reservations::Reservation;
use crate::input::settings::{self, Settings};

/// All hosts of a site.
#[derive(Debug, Default)]
pub struct Inventory {
    /// Every host once, in natural order of their names (`r9` before `r10`).
    pub hosts: Vec<Host>,
    /// The outermost kustomizations that render hosts, inputs or not, by the index in
    /// [`Evidence::Applied`].
    pub roots: BTreeMap<usize, BuildRoot>,
    /// Secrets with network data that no host names, in file order.
    pub unnamed_network_data: Vec<UnnamedNetworkData>,
    /// Metal3's IPPools, and the addresses that Machines claimed from them.
    pub(crate) claimed: ClaimedAddresses,
    /// The reservations of all hosts.
    pub reservations: BTreeSet<Arc<Tenants>>,
    by_key: HashMap<HostKey, usize>,
}

impl Inventory {
    /// Removes hosts.
    pub(crate) fn remove(&mut self, hosts: &BTreeSet<HostKey>) {
        self.hosts.retain(|host| !hosts.contains(&host.key));
        self.by_key = indices(&self.hosts);
    }

    /// Returns the index of a host.
    pub fn index(&self, key: &HostKey) -> Option<usize> {
        self.by_key.get(key).copied()
    }

    /// Returns whether a namespace has hosts.
    pub(crate) fn has_namespace(&self, namespace: &Namespace) -> bool {
        self.hosts.iter().any(|host| host.key.namespace == *namespace)
    }

    /// Returns the reservations that include a cluster.
    pub(crate) fn reservations_for(&self, cluster: &ClusterKey) -> BTreeSet<Arc<Tenants>> {
        self.reservations.iter().filter(|tenants| tenants.include(cluster)).cloned().collect()
    }

    /// Returns the host with a key.
    pub fn host(&self, key: &HostKey) -> Option<&Host> {
        self.index(key).map(|index| &self.hosts[index])
    }
}

/// Joins the documents of each host, with its hardware if that was read.
pub(crate) fn assemble(
    documents: Vec<HostDocument>,
    mut networks: Networks,
    builds: &Builds,
    settings: &Settings,
    hardware: Option<&HardwareByHost>,
) -> (Inventory, Vec<Finding>) {
    let output = &settings.output;
    let mut findings = Vec::new();
    let join = |(key, mut documents): (HostKey, Vec<HostDocument>)| {
        documents.sort_by_key(rank);
        let (mut descriptions, mut findings) = (HostDescriptions::default(), Vec::new());
        for document in documents {
            descriptions.add(Box::new(document), builds, settings, &mut findings);
        }
        let host = descriptions.join(key, settings, &networks, hardware, &mut findings);
        (host, findings)
    };
    let documents = grouped(documents.into_iter().map(|it| (it.key.clone(), it)));
    let joined: Vec<(Option<Host>, Vec<Finding>)> = documents.into_par_iter().map(join).collect();
    let take = |(host, found): (Option<Host>, Vec<Finding>)| {
        findings.extend(found);
        host
    };
    let mut inventory = Inventory {
        // In place: hosts are large.
        hosts: joined.into_iter().filter_map(take).collect(),
        ..Inventory::default()
    };
    for root in inventory.hosts.iter().filter_map(Host::applied_root) {
        inventory.roots.entry(root).or_insert_with(|| builds.root(root).clone());
    }
    inventory.unnamed_network_data = networks.unnamed.clone();
    inventory.claimed = mem::take(&mut networks.claimed);
    // Freed beside what follows.
    rayon::spawn(|| drop(networks));
    // A component only has patches. Without a base there can be no cycle.
    let is_overlay = settings.hosts.form == HostsForm::Overlay;
    for root in inventory.roots.values().filter(|_| is_overlay) {
        if output.starts_with(&root.directory) {
            findings.push(output_inside(root, output, builds));
        }
        if root.directory.iter().any(|name| name.contains("..")) {
            findings.push(unbuildable(root));
        }
    }
    findings.extend(large_builds(&inventory, builds));
    // In place: hosts are large, and no two are equal.
    inventory.hosts.sort_unstable_by(|a, b| {
        natural(a.key.name.as_str(), b.key.name.as_str())
            .then_with(|| a.key.namespace.cmp(&b.key.namespace))
    });
    inventory.by_key = indices(&inventory.hosts);
    let reservations = inventory.hosts.iter().flat_map(|host| &host.reservations);
    inventory.reservations = reservations.cloned().collect();
    findings.extend(inventory_findings(&inventory, settings));
    (inventory, findings)
}

/// Returns the rank of a document among those of its host, the best evidence first.
fn rank(document: &HostDocument) -> u8 {
    match document.evidence {
        Evidence::Applied { .. } => 0,
        Evidence::Reached { .. } => 1,
        Evidence::Live => 2,
        Evidence::Loose => 3,
    }
}

/// Reports mistakes that only all hosts together show.
fn inventory_findings(inventory: &Inventory, settings: &Settings) -> Vec<Finding> {
    let hosts = inventory.hosts.as_slice();
    let rules: [&(dyn Fn() -> Vec<Finding> + Sync); 5] = [
        &|| idle_reservations(hosts, settings),
        &|| idle_marks(inventory, settings),
        &|| bmc_addresses(hosts),
        &|| registration::mistakes(hosts),
        &|| ambiguous_networks(hosts),
    ];
    rules.par_iter().flat_map_iter(|rule| rule()).collect()
}

fn indices(hosts: &[Host]) -> HashMap<HostKey, usize> {
    let hosts = hosts.iter().enumerate();
    hosts.map(|(index, host)| (host.key.clone(), index)).collect()
}

/// Reports reservations of the settings whose labels no host has.
fn idle_reservations(hosts: &[Host], settings: &Settings) -> Vec<Finding> {
    let reservations = settings.reservations.iter().enumerate();
    let idle = reservations
        .filter(|(_, reservation)| !hosts.iter().any(|host| reservation.matches(&host.labels)));
    let describe = |(index, _): (usize, &Reservation)| {
        Finding::new(Code::IdleMark, format!("no host has the labels of reservation {}", index + 1))
            .at(settings.place(["reservations".into(), index.into(), "labels".into()]))
            .help("correct the labels, or remove the reservation")
    };
    idle.map(describe).collect()
}

/// Reports labels and hosts of marks in the settings that match no host.
fn idle_marks(inventory: &Inventory, settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut report = |index: usize, problem: String, field: &[RouteStep]| {
        let message = format!("maintenance mark {} {problem}", index + 1);
        let route = [&["maintenance".into(), index.into()][..], field].concat();
        let finding = Finding::new(Code::IdleMark, message).at(settings.place(route));
        findings.push(finding.help("fix the labels or hosts, or remove the mark"));
    };
    for (index, mark) in settings.maintenance.iter().enumerate() {
        let is_idle = !inventory.hosts.iter().any(|host| mark.selects(&host.labels));
        if !mark.labels.is_empty() && is_idle {
            report(index, "has labels that no host has".to_owned(), &["labels".into()]);
        }
        let unknown = mark.hosts.iter().enumerate();
        for (at, host) in unknown.filter(|(_, host)| inventory.index(host).is_none()) {
            report(index, format!("names unknown host {host}"), &["hosts".into(), at.into()]);
        }
    }
    findings
}

/// Reports a root directory that no overlay can name: kustomize treats `..` in a name as the parent
/// directory and refuses the path.
fn unbuildable(root: &BuildRoot) -> Finding {
    let directory = &root.directory;
    let message = format!(
        "kustomize cannot be told of {directory}: it refuses `..` in the name of a directory"
    );
    Finding::new(Code::BuildRefused, message)
        .at(Place::File(root.file.clone()))
        .help("rename the directory; or set `hosts: {form: component}`, which names no directory of yours")
}

/// Reports an output directory below a root. An overlay there would be below its own base, which
/// kustomize refuses.
fn output_inside(root: &BuildRoot, output: &Utf8Path, builds: &Builds) -> Finding {
    let BuildRoot { file, directory, .. } = root;
    let message = format!(
        "{file} renders hosts and lies above the output directory {output}: an overlay below its own base is a cycle"
    );
    let help = match directory.as_str() {
        "" => format!("move what it lists into a directory of its own, beside {output}"),
        _ => format!(
            "move {output} out of {directory}: set `output` in {} to another directory",
            settings::FILE
        ),
    };
    Finding::new(Code::OutputInsideRoot, message)
        .at(builds.resources_of(root))
        .help(format!("{help}; or set `hosts: {{form: component}}`, which has no base"))
}

/// Maximum number of hosts in one build. The time of `kustomize build` is quadratic in the hosts,
/// and Argo CD ends a build after 90 s.
const HOSTS_OF_A_BUILD: usize = 1000;

fn large_builds(inventory: &Inventory, builds: &Builds) -> Vec<Finding> {
    let hosts = occurrences(inventory.hosts.iter().filter_map(Host::applied_root));
    let large = hosts.into_iter().filter(|(_, count)| *count > HOSTS_OF_A_BUILD);
    let describe = |(root, count): (usize, usize)| {
        let root = &inventory.roots[&root];
        let file = &root.file;
        let message =
            format!("{file} renders {count} hosts in one build, more than {HOSTS_OF_A_BUILD}");
        Finding::new(Code::LargeBuild, message).at(builds.resources_of(root)).help(
            "the time of `kustomize build` grows with the square of the hosts, and Argo CD ends a build after 90 \
             seconds: split it, such as by rack, into kustomizations that no other one lists",
        )
    };
    large.map(describe).collect()
}

/// Reports hosts with the address of a BMC.
fn bmc_addresses(hosts: &[Host]) -> Vec<Finding> {
    let bmc_ip = |host| {
        let address: IpAddr = registration::bmc_address(host)?.ok()?.host.parse().ok()?;
        Some(address.to_canonical())
    };
    let bmcs: HashMap<IpAddr, &Host> =
        hosts.iter().filter_map(|host| Some((bmc_ip(host)?, host))).collect();
    let describe = |host: &Host| {
        let mut shared = host.addresses().filter_map(|it| Some((it, *bmcs.get(&it)?)));
        let (address, other) = shared.next()?;
        let message =
            format!("host {} has the address {address} of the BMC of host {}", host.key, other.key);
        let finding = Finding::new(Code::DuplicateHostAddress, message).at(host.origin.name());
        let finding = finding.see(other.origin.at(registration::BMC_ADDRESS), "the BMC");
        Some(finding.help("give the host or the BMC another address"))
    };
    hosts.iter().filter_map(describe).collect()
}

/// Reports duplicate network ids, because services would silently use the first network.
fn ambiguous_networks(hosts: &[Host]) -> Vec<Finding> {
    // An id that is no name is not shown.
    let with_data = hosts.iter().filter_map(|host| Some((host, host.network.data.as_ref().ok()?)));
    let by_id = grouped(with_data.flat_map(|(host, data)| {
        let shown = |id| data.shown_ids().find(|shown| *shown == id);
        data.ambiguous().into_iter().map(move |id| (shown(id), host))
    }));
    let describe = |(id, hosts): (Option<&str>, Vec<&Host>)| {
        let networks =
            id.map_or_else(|| "networks of one id".to_owned(), |id| format!("networks `{id}`"));
        let message =
            format!("{} several {networks}, with different addresses", in_number(&hosts)?);
        let finding = Finding::new(Code::AmbiguousNetwork, message).help(
            "services take the first one's address: give each network of a host an id of its own",
        );
        let places = hosts.iter().map(|host| (host.network_place(), host.key.to_string()));
        Some(finding.see_each(places))
    };
    by_id.into_iter().filter_map(describe).collect()
}

/// Compares names in natural order: runs of digits by value, the rest by character.
pub(crate) fn natural(a: &str, b: &str) -> Ordering {
    let mut orders =
        parts(a).zip(parts(b)).map(|(a, b)| match a[0].is_ascii_digit() && b[0].is_ascii_digit() {
            true => value(a).cmp(&value(b)),
            false => a.cmp(b),
        });
    let first = orders.find(|order| order.is_ne());
    // `r01` and `r1` have equal values but are different names, so the order must not treat them as
    // equal.
    first.unwrap_or_else(|| parts(a).count().cmp(&parts(b).count()).then_with(|| a.cmp(b)))
}

/// Splits a name into runs of digits and of other characters.
fn parts(name: &str) -> impl Iterator<Item = &[u8]> {
    name.as_bytes().chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit())
}

/// Returns digits without leading zeros, after their number, by which they compare first.
fn value(digits: &[u8]) -> (usize, &[u8]) {
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    (digits.len() - zeros, &digits[zeros..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ordered_as_people_count() {
        let mut names = ["r10o1", "r9o2", "r9o10", "r1", "a", "r01", "r1a"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["a", "r01", "r1", "r1a", "r9o2", "r9o10", "r10o1"]);
    }
}
