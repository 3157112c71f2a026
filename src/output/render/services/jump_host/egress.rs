//! Addresses that a jump host may connect to.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use schemars::JsonSchema;
use serde::Serialize;

use super::ReachableHost;
use crate::base::api::bmc::BmcAddress;
use crate::base::api::network::IpNetwork;
use crate::output::render::renderer::Renderer;

/// Egress of a jump host besides DNS.
#[derive(Serialize, JsonSchema)]
pub(super) struct EgressValues {
    /// Networks of hosts, of the cluster's services and of the settings, for all ports.
    networks: BTreeSet<String>,
    /// BMCs by their ports.
    bmcs: Vec<BmcEgress>,
}

#[derive(Serialize, JsonSchema)]
struct BmcEgress {
    /// Port of the BMCs.
    port: u16,
    /// Networks of one address each.
    networks: BTreeSet<String>,
}

/// Returns the values; `None` if the settings do not restrict egress.
pub(super) fn egress(renderer: &Renderer<'_>, hosts: &[ReachableHost<'_>]) -> Option<EgressValues> {
    let settings = &renderer.site.settings.services;
    let listed = settings.jump_host_egress.as_ref().filter(|_| settings.network_policies)?;
    let services = renderer.cluster.services.iter().filter_map(|service| service.cluster_ip);
    let addresses = hosts.iter().map(|host| host.address).chain(services).map(IpNetwork::from);
    let mut bmcs: BTreeMap<u16, BTreeSet<String>> = BTreeMap::new();
    for host in renderer.hosts() {
        let address = host.bmc().and_then(|bmc| BmcAddress::parse(&bmc.address).ok());
        // Jump hosts use only Redfish. The addresses of names are unknown.
        if let Some(bmc) = address.filter(BmcAddress::is_redfish)
            && let Ok(address) = bmc.host.parse::<IpAddr>()
        {
            let default = if bmc.transport() == "http" { 80 } else { 443 };
            let port = bmc.port.parse().unwrap_or(default);
            bmcs.entry(port).or_default().insert(IpNetwork::from(address).to_string());
        }
    }
    Some(EgressValues {
        networks: addresses.chain(listed.iter().copied()).map(|it| it.to_string()).collect(),
        bmcs: bmcs.into_iter().map(|(port, networks)| BmcEgress { port, networks }).collect(),
    })
}
