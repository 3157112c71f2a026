//! A clusterIP is the address of the base cluster. One that a tenant's host has leads all of the tenant's traffic to
//! that host.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use crate::api::names::ClusterKey;
use crate::finding::{Code, Finding};
use crate::inventory::Host;
use crate::inventory::networks::Network;
use crate::plan::eligibility::unusable;
use crate::request::Cluster;
use crate::site::Site;

/// The clusterIPs that are the address of a host that is free for tenants, or that one has. A host that is in use by
/// somebody else may well be a node of the base cluster.
pub(super) fn of_hosts(site: &Site, clusters: &[&Cluster]) -> Vec<Finding> {
    let services = clusters.iter().flat_map(|cluster| {
        cluster
            .services
            .iter()
            .map(move |service| (*cluster, service))
    });
    let mut hosts: HashMap<IpAddr, Option<&Host>> = HashMap::new();
    let mut asked: BTreeMap<(&ClusterKey, IpAddr), Vec<_>> = BTreeMap::new();
    for (cluster, service) in services {
        if let Some(address) = service.cluster_ip {
            hosts.entry(address).or_default();
            asked
                .entry((&cluster.key, address))
                .or_default()
                .push((cluster, service));
        }
    }
    for host in &site.inventory.hosts {
        let Network::Known(data) = &host.network else {
            continue;
        };
        for address in data.addresses() {
            if let Some(found @ None) = hosts.get_mut(&address)
                && (unusable(host).is_none() || site.state.held.contains_key(&host.key))
            {
                *found = Some(host);
            }
        }
    }
    let mut findings = Vec::new();
    for ((key, address), services) in asked {
        let Some(host) = hosts.get(&address).copied().flatten() else {
            continue;
        };
        let mut finding = Finding::new(
            Code::ClusterIpOfHost,
            format!(
                "the clusterIP {address} of {key} is the address of host {}",
                host.key
            ),
        )
        .help("write the address under which the base cluster's NodePorts are reached")
        .of(key);
        for (index, (cluster, service)) in services.into_iter().enumerate() {
            let place = cluster
                .origin
                .at(service.route().into_iter().chain(["clusterIP".into()]));
            finding = if index == 0 {
                finding.at(place)
            } else {
                finding.see(place, "the same")
            };
        }
        findings.push(finding.see(
            host.origin.at(host.network_field.iter().copied()),
            format!("host {}", host.key),
        ));
    }
    findings
}
