//! The pod network of a Provisioning's cluster.

use std::net::IpAddr;

use super::{Machines, ProvisioningValidation};
use crate::base::api::provisioning::ProvisioningSpec;
use crate::base::finding::{Code, Finding};
use crate::site::inventory::hosts_by_mac::HostsByMac;

impl ProvisioningValidation<'_> {
    /// Returns the network as written.
    ///
    /// It must not contain the address of a machine, because traffic to that address would stay
    /// among the pods. Its address family must be one that the machines have.
    pub(super) fn pod_subnet(
        &mut self,
        spec: &ProvisioningSpec,
        machines: &Machines,
        macs: &HostsByMac<'_>,
    ) -> Option<String> {
        let text = spec.pod_subnet.as_deref().filter(|text| !text.is_empty())?;
        let place = self.origin.at(["spec", "PodSubnet"]);
        let network = text.split_once('/').and_then(|(address, prefix)| {
            let address: IpAddr = address.parse().ok()?;
            let longest = if address.is_ipv4() { 32 } else { 128 };
            let digits = prefix.bytes().all(|byte| byte.is_ascii_digit());
            Some((
                address,
                prefix.parse::<u32>().ok().filter(|prefix| digits && *prefix <= longest)?,
            ))
        });
        let Some((address, prefix)) = network else {
            let message = format!("`PodSubnet: {text}` is not a network");
            let help = "write an address and a prefix length, such as `10.244.64.0/18`";
            self.report(Code::InvalidInstallerField, place, message, help);
            return None;
        };
        let first = first_address(address, prefix);
        if first != address {
            self.report(
                Code::DoubtfulPodSubnet,
                place,
                format!("`PodSubnet: {text}` is an address in the network `{first}/{prefix}`, not the network"),
                format!(
                    "write `PodSubnet: {first}/{prefix}`: programs differ in how they read an address"
                ),
            );
        }
        self.hold_against_machines(text, first, prefix, machines, macs);
        Some(text.to_owned())
    }

    /// Reports a network that conflicts with addresses of named machines.
    fn hold_against_machines(
        &mut self,
        text: &str,
        first: IpAddr,
        prefix: u32,
        machines: &Machines,
        macs: &HostsByMac<'_>,
    ) {
        let place = self.origin.at(["spec", "PodSubnet"]);
        let named = machines.node_sets.iter().filter_map(|(part, node_set)| {
            let (mac, host) = node_set.machine.as_ref()?.named?;
            let host = macs.host(host);
            Some((part.node.as_ref()?, host, host.machine.address(Some(mac))?, &node_set.at.route))
        });
        let named: Vec<_> = named.collect();
        let inside = |address: IpAddr| {
            address.is_ipv4() == first.is_ipv4() && first_address(address, prefix) == first
        };
        if let Some((name, host, address, route)) =
            named.iter().find(|(_, _, address, _)| inside(*address))
        {
            let message = format!(
                "`PodSubnet: {text}` contains the address {address} of `{name}`, which is host {}",
                host.key
            );
            self.findings.push(
                Finding::new(Code::DoubtfulPodSubnet, message)
                    .at(place)
                    .see(self.origin.key((*route).clone()), format!("{name}, {address}"))
                    .help(
                        "choose an unused network: packets for the machine would be sent to a pod",
                    )
                    .for_cluster(self.key),
            );
        } else if named.len() == machines.node_sets.len()
            && !named.is_empty()
            && named.iter().all(|(_, _, address, _)| address.is_ipv4() != first.is_ipv4())
        {
            let (own, other) = if first.is_ipv4() { ("IPv4", "IPv6") } else { ("IPv6", "IPv4") };
            let message =
                format!("`PodSubnet: {text}` is {own}, but all machines have {other} addresses");
            let help =
                format!("write an {other} network: the nodes could not reach each other's pods");
            self.report(Code::DoubtfulPodSubnet, place, message, help);
        }
    }
}

/// Returns the first address of the network that contains an address.
fn first_address(address: IpAddr, prefix: u32) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32 - prefix).unwrap_or(0);
            IpAddr::V4((u32::from(v4) & mask).into())
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128 - prefix).unwrap_or(0);
            IpAddr::V6((u128::from(v6) & mask).into())
        }
    }
}
