//! Validates a Provisioning and its Softwares and creates a [`Cluster`].
//!
//! * `documents`: their clusters and specs, before validation.
//! * `machines`: the requested machines and the hosts that their MAC addresses name.
//! * `software`: packages.

mod documents;
mod machines;
mod software;

use serde_json::Value;

use super::cluster::{Cluster, Installation, PartNodeSets};
use super::cluster_parts::ClusterParts;
use super::descriptor::RequestDescriptor;
use super::documents::{
    ClusterDocument, RequestContext, RequestSpec, RequestValidation, ValidatedRequest,
};
use crate::base::api::names::Role;
use crate::base::api::network::IpNetwork;
use crate::base::api::provisioning::{self, CLUSTER_TYPE, PLUGINS, ProvisioningSpec, VIRTLET_VM};
use crate::base::finding::{Code, Finding, RouteStep};
use crate::base::text::non_empty;
use crate::base::text::suggest::alike;
use crate::input::settings::provisioning::Installer;

pub(crate) use documents::{cluster_of, decode_software, unquoted_label};
pub(crate) use software::without_cluster;

pub(super) static DESCRIPTOR: RequestDescriptor = RequestDescriptor {
    object: &provisioning::OBJECT,
    definition: provisioning::DEFINITION,
    schema_argument: Some("provisioning"),
    uses_cluster_api: false,
    makes_machines: false,
    request_annotation: None,
    is_request: |_, _| true,
    route_of_role: |role| match role {
        Role::ControlPlane => &["spec", "masters"],
        Role::Worker => &["spec", "workers"],
    },
    is_named_in_lists: true,
    decode_spec: documents::decode_spec,
};

impl RequestSpec for ProvisioningSpec {
    fn check(&self, document: &ClusterDocument, context: &RequestContext<'_>) -> ValidatedRequest {
        let mut check = RequestValidation::new(document, context);
        let priority = check.priority();
        let is_virtlet_vm = check.is_virtlet_vm();
        let (node_sets, installation) = check.machines(self);
        let pod_subnet = check.pod_subnet(self, &node_sets);
        let plugins = check.plugins(self);
        let has_both_roles =
            installation.masters.iter().any(|master| installation.has_both_roles(master));
        let [master_packages, worker_packages] = check.packages(has_both_roles);
        let installation = Some(Installation {
            provisioning: document.name.to_string(),
            is_virtlet_vm,
            pod_subnet,
            plugins,
            master_packages,
            worker_packages,
            ..installation
        });
        let cluster = Cluster { installation, ..document.cluster(priority, node_sets) };
        check.validated(cluster)
    }

    fn uses_hardware(&self, _: &ClusterParts, _: bool) -> bool {
        true
    }
}

/// Route of the pods' network.
const POD_SUBNET: [&str; 2] = ["spec", "PodSubnet"];

/// A network with a description.
type TitledNetwork = (String, IpNetwork);

impl RequestValidation<'_, '_> {
    /// Returns whether the hosts are virtual machines in pods.
    fn is_virtlet_vm(&mut self) -> bool {
        let cluster_type = self.document.metadata.label(CLUSTER_TYPE).unwrap_or_default();
        if !matches!(cluster_type, "" | VIRTLET_VM) {
            let message = format!("unknown cluster-type `{cluster_type}`: the hosts are machines");
            let help =
                format!("the only cluster-type is `{VIRTLET_VM}`; remove the label for machines");
            let route = ["metadata", "labels", CLUSTER_TYPE];
            self.report(Code::DoubtfulInstallerField, route, message, help);
        }
        cluster_type == VIRTLET_VM
    }

    /// Returns the plugins without duplicates.
    fn plugins(&mut self, spec: &ProvisioningSpec) -> Vec<String> {
        let doubtful = Code::DoubtfulInstallerField;
        let mut plugins: Vec<String> = Vec::new();
        for (index, plugin) in spec.kud_plugins.iter().flatten().enumerate() {
            let route = ["spec".into(), "KUDPlugins".into(), RouteStep::from(index)];
            if !is_word(plugin, "-_.") {
                let message = format!(
                    "`{plugin}` is not a plugin name: the installer would read an option or several words"
                );
                let help = "write one plugin name per entry: letters, digits, `-`, `_` and `.`, starting with a letter or digit";
                self.report(Code::InvalidInstallerField, route, message, help);
            } else if plugins.contains(plugin) {
                let message = format!("duplicate plugin `{plugin}`");
                self.report(doubtful, route, message, "remove one: it is installed once");
            } else {
                plugins.push(plugin.clone());
                let help = match alike(plugin, PLUGINS) {
                    _ if PLUGINS.contains(&plugin.as_str()) => continue,
                    Some(meant) => {
                        format!("did you mean `{meant}`? The installer fails on unknown plugins")
                    }
                    None => {
                        let known = PLUGINS.join(", ");
                        format!("the installer has {known}, and fails on unknown plugins")
                    }
                };
                self.report(doubtful, route, format!("unknown plugin `{plugin}`"), help);
            }
        }
        plugins
    }

    /// Returns the network as written.
    ///
    /// Neither it nor the network of services may contain the address of a machine, because traffic to
    /// that address would stay among the pods. kubespray refuses most networks that overlap. The address
    /// family must be one that the machines have.
    fn pod_subnet(&mut self, spec: &ProvisioningSpec, node_sets: &PartNodeSets) -> Option<String> {
        let settings = &self.context.settings.provisioning;
        let text = non_empty(&spec.pod_subnet);
        let parse = |text| {
            let network = IpNetwork::parse(text);
            network.ok_or_else(|| format!("`PodSubnet: {text}` is not a network"))
        };
        let network = text.map(parse).transpose();
        let help = "write an address and a prefix length, such as `10.244.64.0/18`";
        let network = self.accept(network, Code::InvalidInstallerField, POD_SUBNET, help)?;
        let written = text.zip(network);
        if let Some((text, network)) = written
            && let first = network.canonical()
            && first != network
        {
            let message = format!(
                "`PodSubnet: {text}` is an address in the network `{first}`, not the network"
            );
            let help =
                format!("write `PodSubnet: {first}`: programs differ in how they read an address");
            self.report(Code::DoubtfulInstallerField, POD_SUBNET, message, help);
        }
        // The defaults are those of kubespray.
        let other = |title: &str, variable: &str, default: &str| {
            let value = settings.variables.get(variable).and_then(Value::as_str).unwrap_or(default);
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
            self.report(Code::DoubtfulInstallerField, POD_SUBNET, message, help);
        }
        for (network, is_written) in [(pods, written.is_some()), (services, false)] {
            if let Some(network) = network {
                self.hold_against_machines(&network, is_written, node_sets);
            }
        }
        text.map(str::to_owned)
    }

    /// Reports a network that conflicts with addresses of named machines.
    fn hold_against_machines(
        &mut self,
        (title, network): &TitledNetwork,
        is_written: bool,
        node_sets: &PartNodeSets,
    ) {
        let macs = self.context.hosts_by_mac();
        let named = node_sets.iter().filter_map(|(part, node_set)| {
            let (mac, host) = node_set.machine.as_ref()?.named?;
            let host = &macs.hosts[host];
            Some((part.node.as_ref()?, &host.key, host.machine.address(Some(mac))?, &node_set.at))
        });
        let named: Vec<_> = named.collect();
        let conflict = named.iter().find(|(_, _, address, _)| network.contains(*address));
        if let Some((name, key, address, at)) = conflict {
            let message =
                format!("{title} contains the address {address} of `{name}`, which is host {key}");
            let help = "choose an unused network: packets for the machine would be sent to a pod";
            let place = self.document.origin.at(POD_SUBNET);
            let finding = Finding::new(Code::DoubtfulInstallerField, message).at(place).help(help);
            self.findings.push(finding.see(at.key(), format!("{name}, {address}")));
        } else if is_written
            && named.len() == node_sets.len()
            && !named.is_empty()
            && named.iter().all(|(_, _, address, _)| address.is_ipv4() != network.is_ipv4())
        {
            let (own, other) = if network.is_ipv4() { ("IPv4", "IPv6") } else { ("IPv6", "IPv4") };
            let message = format!("{title} is {own}, but all machines have {other} addresses");
            let help =
                format!("write an {other} network: the nodes could not reach each other's pods");
            self.report(Code::DoubtfulInstallerField, POD_SUBNET, message, help);
        }
    }
}

/// Returns whether a text is letters, digits and `others`, starting with a letter or digit.
fn is_word(text: &str, others: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
}
