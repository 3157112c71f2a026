//! Rules: no two hosts have one address, and a clusterIP is the base cluster's address. If a tenant
//! host has it, that host receives all traffic of the tenant. The endpoint of a Cluster with several
//! control planes is no host's either, and no pool gives it to a Machine.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::IpAddr;

use super::{service_field, services};
use crate::base::api::ipam::ADDRESSES;
use crate::base::api::names::Role;
use crate::base::finding::{Code, Finding, Place};
use crate::base::grouping::grouped;
use crate::plan::Plan;
use crate::plan::eligibility::{RequiredSystem, unusable};
use crate::site::Site;
use crate::site::inventory::Host;
use crate::site::inventory::addresses::{AddressPool, AddressSource};
use crate::site::request::Cluster;

/// Finds clusterIPs that belong to an assigned host or to one that tenants can claim. Other hosts
/// in use may be nodes of the base cluster.
pub(super) fn host_addresses(site: &Site, clusters: &[&Cluster]) -> Vec<Finding> {
    let cluster_ips = services(clusters).filter_map(|(cluster, service)| {
        let key = (&cluster.key, "clusterIP", service.cluster_ip?.to_canonical());
        Some((key, service_field(cluster, service, "clusterIP")))
    });
    // A single control plane may have the address of the API itself.
    let is_shared = |cluster: &&&Cluster| {
        let mut node_sets = cluster.node_sets.iter();
        node_sets.any(|(part, node_set)| part.role == Role::ControlPlane && node_set.active > 1)
    };
    let endpoints = clusters.iter().filter(is_shared).filter_map(|cluster| {
        let endpoint = cluster.endpoint.as_ref()?;
        let key = (&cluster.key, "controlPlaneEndpoint", endpoint.address.to_canonical());
        Some((key, endpoint.at.place()))
    });
    let asked = grouped(cluster_ips.chain(endpoints));
    let is_asked: HashSet<IpAddr> = asked.keys().map(|(.., address)| *address).collect();
    let mut hosts: HashMap<IpAddr, &Host> = HashMap::new();
    for host in &site.inventory.hosts {
        for address in host.addresses().filter(|address| is_asked.contains(address)) {
            if unusable(host, RequiredSystem::NoSystem).is_none()
                || site.state.held.contains_key(&host.key)
            {
                hosts.entry(address).or_insert(host);
            }
        }
    }
    let mut findings = Vec::new();
    for ((key, field, address), places) in asked {
        let report = |what: String, help: &str| {
            let message = format!("{field} `{address}` of `{key}` is {what}");
            let finding = Finding::new(Code::SharedAddress, message).at_each(places.clone());
            finding.help(help).for_cluster(key)
        };
        let mut pools = site.inventory.claimed.pools(&key.namespace);
        let gives = |pool: &AddressPool| {
            let mut kept = pool.kept();
            pool.spec.includes(address) && !kept.any(|(_, kept)| kept.address == Some(address))
        };
        if let Some((name, pool)) = pools.find(|(_, pool)| gives(pool)) {
            let namespace = &key.namespace;
            let what = format!(
                "in a range of the IPPool `{namespace}/{name}`, which may give it to a Machine"
            );
            let help = "take it out of the range, or reserve it in the pool's `preAllocations`";
            let pool = pool.origin.iter().map(|origin| (origin.name(), "the pool"));
            findings.push(report(what, help).see_each(pool));
        }
        let Some(host) = hosts.get(&address) else { continue };
        let help = match field {
            "clusterIP" => "set the address at which the base cluster's NodePorts are reachable",
            _ => "give the host another address: this one moves between the control planes",
        };
        let finding = report(format!("the address of host `{}`", host.key), help);
        findings.push(finding.see(place_of_address(host, address), format!("host {}", host.key)));
    }
    findings
}

/// Finds hosts that share an address: one that users, Machines or pools gave them, or one by which
/// services or installers reach them.
pub(super) fn shared_addresses(site: &Site, plan: &Plan, clusters: &[&Cluster]) -> Vec<Finding> {
    let hosts = &site.inventory.hosts;
    let interfaces: BTreeSet<&str> =
        services(clusters).filter_map(|(_, service)| service.interface.as_deref()).collect();
    let per_host = hosts.iter().enumerate().flat_map(|(index, host)| {
        // Inspected addresses come and go.
        let given = host.network.addresses.iter();
        let given = given.filter(|(_, known)| known.source != AddressSource::Inspection);
        let given = given.map(|(interface, known)| (interface.as_str(), known.address));
        let reached = interfaces.iter().filter_map(|it| Some((*it, host.address(it).ok()?)));
        let all = given.chain(reached);
        all.map(move |(interface, address)| ((address.to_canonical(), interface), index))
    });
    let machines = clusters.iter().flat_map(|cluster| cluster.parts());
    let machines = machines.filter(|(_, part, _)| part.node.is_some());
    let per_machine = machines.flat_map(|(cluster, part, machine)| {
        let placed = plan.clusters.get(&cluster.key).and_then(|placement| placement.get(part));
        let placed = placed.into_iter().flatten().map(|placed| placed.host);
        placed.filter_map(move |host| {
            let address = machine.installer_address(&hosts[host])?;
            Some(((address.to_canonical(), ""), host))
        })
    });
    let all: BTreeSet<((IpAddr, &str), usize)> = per_host.chain(per_machine).collect();
    let shared = grouped(all).into_iter().filter(|(_, sharing)| sharing.len() > 1);
    let report = |((address, interface), sharing): ((IpAddr, &str), Vec<usize>)| {
        let on = if interface.is_empty() { "" } else { &format!(" on `{interface}`") };
        let message = format!("{} hosts have the address {address}{on}", sharing.len());
        let sharing = sharing.into_iter().map(|host| &hosts[host]);
        Finding::new(Code::DuplicateHostAddress, message)
            .see_each(sharing.map(|host| (place_of_address(host, address), host.key.to_string())))
            .help("give each its own: connections to one of them may reach another")
    };
    shared.map(report).collect()
}

/// Returns the place where a host gets an address.
fn place_of_address(host: &Host, address: IpAddr) -> Place {
    let is_it = |other: IpAddr| other.to_canonical() == address.to_canonical();
    let mut known = host.network.addresses.values();
    if host.network.data.iter().flat_map(|data| data.addresses()).any(is_it) {
        host.network_place()
    } else if known.any(|it| it.source == AddressSource::Annotation && is_it(it.address)) {
        host.origin.at(["metadata", "annotations", ADDRESSES])
    } else {
        host.origin.name()
    }
}
