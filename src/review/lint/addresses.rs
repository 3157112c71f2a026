//! Rule: a clusterIP is the base cluster's address. If a tenant host has it, that host receives all
//! traffic of the tenant. The endpoint of a Cluster with several control planes is no host's either.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use super::{at_all, service_field, services};
use crate::base::api::names::{ClusterKey, Role};
use crate::base::finding::{Code, Finding, Place};
use crate::plan::eligibility::{RequiredSystem, unusable};
use crate::site::Site;
use crate::site::inventory::Host;
use crate::site::request::Cluster;

/// Finds clusterIPs that belong to an assigned host or to one that tenants can claim. Other hosts
/// in use may be nodes of the base cluster.
pub(super) fn host_addresses(site: &Site, clusters: &[&Cluster]) -> Vec<Finding> {
    let mut hosts: HashMap<IpAddr, Option<&Host>> = HashMap::new();
    type Field = &'static str;
    let mut asked: BTreeMap<(&ClusterKey, Field, IpAddr), Vec<Place>> = BTreeMap::new();
    for (cluster, service) in services(clusters) {
        if let Some(address) = service.cluster_ip {
            hosts.entry(address).or_default();
            let place = service_field(cluster, service, "clusterIP");
            asked.entry((&cluster.key, "clusterIP", address)).or_default().push(place);
        }
    }
    for cluster in clusters {
        let control_planes = cluster.node_sets.iter();
        let mut control_planes = control_planes.filter(|(part, _)| part.role == Role::ControlPlane);
        let endpoint = cluster.endpoint.as_ref();
        // A single one may have the address of the API itself.
        if let Some(endpoint) = endpoint.filter(|_| control_planes.any(|(_, it)| it.active > 1)) {
            hosts.entry(endpoint.address).or_default();
            let key = (&cluster.key, "controlPlaneEndpoint", endpoint.address);
            asked.entry(key).or_default().push(endpoint.at.place());
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
    for ((key, field, address), places) in asked {
        let Some(host) = hosts.get(&address).copied().flatten() else {
            continue;
        };
        let message =
            format!("{field} `{address}` of `{key}` is the address of host `{}`", host.key);
        let help = match field {
            "clusterIP" => "set the address at which the base cluster's NodePorts are reachable",
            _ => "give the host another address: this one moves between the control planes",
        };
        let finding = at_all(Finding::new(Code::SharedAddress, message), places.into_iter())
            .help(help)
            .for_cluster(key);
        let has_data = host.network.data.is_ok();
        let place = if has_data { host.network_place() } else { host.origin.name() };
        findings.push(finding.see(place, format!("host {}", host.key)));
    }
    findings
}
