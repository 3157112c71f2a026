//! Rule: a clusterIP is the base cluster's address. If a tenant host has it, that host receives all
//! traffic of the tenant.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use super::{at_all, service_field, services};
use crate::base::api::names::ClusterKey;
use crate::base::finding::{Code, Finding};
use crate::plan::eligibility::{RequiredSystem, unusable};
use crate::site::Site;
use crate::site::inventory::Host;
use crate::site::request::Cluster;

/// Finds clusterIPs that belong to an assigned host or to one that tenants can claim. Other hosts
/// in use may be nodes of the base cluster.
pub(super) fn host_addresses(site: &Site, clusters: &[&Cluster]) -> Vec<Finding> {
    let mut hosts: HashMap<IpAddr, Option<&Host>> = HashMap::new();
    let mut asked: BTreeMap<(&ClusterKey, IpAddr), Vec<_>> = BTreeMap::new();
    for (cluster, service) in services(clusters) {
        if let Some(address) = service.cluster_ip {
            hosts.entry(address).or_default();
            asked.entry((&cluster.key, address)).or_default().push((cluster, service));
        }
    }
    for host in &site.inventory.hosts {
        for address in host.addresses() {
            if let Some(found @ None) = hosts.get_mut(&address)
                && (unusable(host, RequiredSystem::NoSystem).is_none()
                    || site.state.held.contains_key(&host.key))
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
        let message =
            format!("clusterIP `{address}` of `{key}` is the address of host `{}`", host.key);
        let places = services.into_iter();
        let places = places.map(|(cluster, service)| service_field(cluster, service, "clusterIP"));
        let finding = at_all(Finding::new(Code::SharedAddress, message), places)
            .help("set the address at which the base cluster's NodePorts are reachable")
            .for_cluster(key);
        let has_data = host.network.data.is_ok();
        let place = if has_data { host.network_place() } else { host.origin.name() };
        findings.push(finding.see(place, format!("host {}", host.key)));
    }
    findings
}
