//! The pod network of a Provisioning's cluster.

use std::collections::BTreeMap;

use serde_json::Value;

use super::ProvisioningValidation;
use crate::base::api::names::Part;
use crate::base::api::network::IpNetwork;
use crate::base::api::provisioning::ProvisioningSpec;
use crate::base::finding::{Code, Finding};
use crate::base::text::non_empty;
use crate::input::settings::provisioning::{Installer, ProvisioningSettings};
use crate::site::inventory::hosts_by_mac::HostsByMac;
use crate::site::request::cluster::NodeSet;

/// Route of the field.
const ROUTE: [&str; 2] = ["spec", "PodSubnet"];

/// A network with a description.
type TitledNetwork = (String, IpNetwork);

impl ProvisioningValidation<'_> {
    /// Returns the network as written.
    ///
    /// Neither it nor the network of services may contain the address of a machine, because traffic to
    /// that address would stay among the pods. kubespray refuses most networks that overlap. The address
    /// family must be one that the machines have.
    pub(super) fn pod_subnet(
        &mut self,
        spec: &ProvisioningSpec,
        node_sets: &BTreeMap<Part, Box<NodeSet>>,
        macs: &HostsByMac<'_>,
        settings: &ProvisioningSettings,
    ) -> Option<String> {
        let text = non_empty(&spec.pod_subnet);
        let parse = |text| {
            let network = IpNetwork::parse(text);
            network.ok_or_else(|| format!("`PodSubnet: {text}` is not a network"))
        };
        let network = text.map(parse).transpose();
        let help = "write an address and a prefix length, such as `10.244.64.0/18`";
        let network = self.found.accept(network, Code::InvalidInstallerField, ROUTE, help)?;
        let written = text.zip(network);
        if let Some((text, network)) = written
            && let first = network.canonical()
            && first != network
        {
            self.found.report(
                Code::DoubtfulInstallerField,
                ROUTE,
                format!(
                    "`PodSubnet: {text}` is an address in the network `{first}`, not the network"
                ),
                format!("write `PodSubnet: {first}`: programs differ in how they read an address"),
            );
        }
        // The defaults are those of kubespray.
        let other = |title: &str, variable: &str, default: &str| {
            let value = settings.variables.get(variable).and_then(Value::as_str);
            let value = value.unwrap_or(default);
            let network = IpNetwork::parse(value)?;
            (settings.installer() == Installer::Kubespray)
                .then(|| (format!("the {title} network `{value}`"), network))
        };
        let pods = written.map(|(text, network)| (format!("`PodSubnet: {text}`"), network));
        let pods = pods.or_else(|| other("pod", "kube_pods_subnet", "10.233.64.0/18"));
        let services = other("service", "kube_service_addresses", "10.233.0.0/18");
        if let (Some((pods, network)), Some((services, other))) = (&pods, &services)
            && network.overlaps(*other)
        {
            let message = format!("{pods} overlaps {services}");
            let help = "choose another `PodSubnet`, or set `kube_service_addresses` in `provisioning.variables` of \
                        sipgen.yaml: kubespray refuses such networks, or Services hide pods";
            self.found.report(Code::DoubtfulInstallerField, ROUTE, message, help);
        }
        for (network, is_written) in [(pods, written.is_some()), (services, false)] {
            if let Some(network) = network {
                self.hold_against_machines(&network, is_written, node_sets, macs);
            }
        }
        text.map(str::to_owned)
    }

    /// Reports a network that conflicts with addresses of named machines.
    fn hold_against_machines(
        &mut self,
        (title, network): &TitledNetwork,
        is_written: bool,
        node_sets: &BTreeMap<Part, Box<NodeSet>>,
        macs: &HostsByMac<'_>,
    ) {
        let named = node_sets.iter().filter_map(|(part, node_set)| {
            let (mac, host) = node_set.machine.as_ref()?.named?;
            let host = macs.host(host);
            Some((part.node.as_ref()?, host, host.machine.address(Some(mac))?, &node_set.at.route))
        });
        let named: Vec<_> = named.collect();
        if let Some((name, host, address, route)) =
            named.iter().find(|(_, _, address, _)| network.contains(*address))
        {
            let message = format!(
                "{title} contains the address {address} of `{name}`, which is host {}",
                host.key
            );
            let help = "choose an unused network: packets for the machine would be sent to a pod";
            let finding = Finding::new(Code::DoubtfulInstallerField, message)
                .at(self.found.origin.at(ROUTE))
                .see(self.found.origin.key((*route).clone()), format!("{name}, {address}"));
            self.found.all.push(finding.help(help));
        } else if is_written
            && named.len() == node_sets.len()
            && !named.is_empty()
            && named.iter().all(|(_, _, address, _)| address.is_ipv4() != network.is_ipv4())
        {
            let (own, other) = if network.is_ipv4() { ("IPv4", "IPv6") } else { ("IPv6", "IPv4") };
            let message = format!("{title} is {own}, but all machines have {other} addresses");
            let help =
                format!("write an {other} network: the nodes could not reach each other's pods");
            self.found.report(Code::DoubtfulInstallerField, ROUTE, message, help);
        }
    }
}
