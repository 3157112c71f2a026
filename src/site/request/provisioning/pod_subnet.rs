//! The pod network of a Provisioning's cluster.

use super::{Machines, ProvisioningValidation};
use crate::base::api::network::IpNetwork;
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
        let Some(network) = IpNetwork::parse(text) else {
            let message = format!("`PodSubnet: {text}` is not a network");
            let help = "write an address and a prefix length, such as `10.244.64.0/18`";
            self.report(Code::InvalidInstallerField, place, message, help);
            return None;
        };
        let first = network.canonical();
        if first != network {
            self.report(
                Code::DoubtfulInstallerField,
                place,
                format!(
                    "`PodSubnet: {text}` is an address in the network `{first}`, not the network"
                ),
                format!("write `PodSubnet: {first}`: programs differ in how they read an address"),
            );
        }
        self.hold_against_machines(text, network, machines, macs);
        Some(text.to_owned())
    }

    /// Reports a network that conflicts with addresses of named machines.
    fn hold_against_machines(
        &mut self,
        text: &str,
        network: IpNetwork,
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
        if let Some((name, host, address, route)) =
            named.iter().find(|(_, _, address, _)| network.contains(*address))
        {
            let message = format!(
                "`PodSubnet: {text}` contains the address {address} of `{name}`, which is host {}",
                host.key
            );
            let help = "choose an unused network: packets for the machine would be sent to a pod";
            let finding = Finding::new(Code::DoubtfulInstallerField, message)
                .at(place)
                .see(self.origin.key((*route).clone()), format!("{name}, {address}"));
            self.add(finding.help(help));
        } else if named.len() == machines.node_sets.len()
            && !named.is_empty()
            && named.iter().all(|(_, _, address, _)| address.is_ipv4() != network.is_ipv4())
        {
            let (own, other) = if network.is_ipv4() { ("IPv4", "IPv6") } else { ("IPv6", "IPv4") };
            let message =
                format!("`PodSubnet: {text}` is {own}, but all machines have {other} addresses");
            let help =
                format!("write an {other} network: the nodes could not reach each other's pods");
            self.report(Code::DoubtfulInstallerField, place, message, help);
        }
    }
}
