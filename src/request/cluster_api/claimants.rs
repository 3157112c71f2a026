//! Objects whose Machines claim hosts, although no request of sipgen asks for these.
//!
//! CAPM3 takes a random host of the Machine's namespace that matches the `hostSelector` of its
//! Metal3Machine; without a selector, any. Labels of other clusters do not keep it from that.

use std::collections::{BTreeMap, HashSet};

use kube::core::{Selector, SelectorExt};

use super::host_selector;
use crate::api::cluster_api::{
    HostSelector, MACHINE, MACHINE_SET, METAL3_MACHINE, MachineSpec, Reference,
};
use crate::api::names::Namespace;
use crate::finding::{Code, Finding, Origin};
use crate::inventory::{Host, Inventory};
use crate::request::cluster::Cluster;
use crate::request::cluster_parts::{ClusterParts, PartDocument, PartSpec};
use crate::text::counted;

/// Machines of one object that is no request.
struct Claimant<'a> {
    /// Kind and name.
    title: String,
    namespace: &'a Namespace,
    origin: &'a Origin,
    machines: usize,
    selector: Selector,
    has_selector: bool,
}

/// Reports MachineSets and Machines whose hosts are in the inventory.
pub(crate) fn claimed_by_machines(parts: &ClusterParts, inventory: &Inventory) -> Vec<Finding> {
    let users = inventory.hosts.iter();
    let users = users.filter_map(|host| host.live.usage.as_ref()?.metal3_machine());
    let users: HashSet<(&str, &str)> = users.collect();
    let has_host = |namespace: &Namespace, spec: &MachineSpec| {
        let machine = spec.infrastructure_ref.as_ref();
        machine.is_some_and(|machine| users.contains(&(namespace.as_str(), &machine.name)))
    };
    // Those with an owner are the owner's.
    let is_owned = |document: &PartDocument| {
        document
            .metadata
            .owner_references
            .iter()
            .flatten()
            .next()
            .is_some()
    };
    let alone = parts.all().filter(|(.., document)| !is_owned(document));
    let claimants = alone.filter_map(|(namespace, name, document)| {
        let (kind, machines, spec) = match document.spec.as_ref().ok()? {
            PartSpec::MachineSet(set) => {
                let replicas = usize::try_from(set.replicas.unwrap_or(1)).ok()?;
                (MACHINE_SET, replicas, &set.template.spec)
            }
            PartSpec::Machine(spec) if !has_host(namespace, spec) => (MACHINE, 1, spec),
            _ => return None,
        };
        let selector = selector_of(parts, spec, namespace)?;
        Some(Claimant {
            title: format!("the {kind} {namespace}/{name}"),
            namespace,
            origin: &document.origin,
            machines,
            selector: host_selector::requirements(selector, &BTreeMap::new()).ok()?,
            has_selector: has_requirements(selector),
        })
    });
    claimants
        .filter_map(|claimant| claimant.finding(inventory))
        .collect()
}

/// Reports a Cluster that is no request and whose Machines claim any host of its namespace.
pub(crate) fn claimed_by_cluster(cluster: &Cluster, inventory: &Inventory) -> Option<Finding> {
    let node_sets = cluster.node_sets.values();
    let unselective =
        node_sets.filter(|node_set| node_set.selector.clone().into_iter().next().is_none());
    let claimant = Claimant {
        title: format!("the Cluster {}", cluster.key),
        namespace: &cluster.key.namespace,
        origin: &cluster.origin,
        machines: unselective.map(|node_set| node_set.active).sum(),
        selector: Selector::default(),
        has_selector: false,
    };
    claimant.finding(inventory)
}

/// Returns the selector of the Metal3Machines of a Machine; `None` for those of other providers.
fn selector_of<'a>(
    parts: &'a ClusterParts,
    spec: &MachineSpec,
    namespace: &Namespace,
) -> Option<&'a HostSelector> {
    let reference: &Reference = spec.infrastructure_ref.as_ref()?;
    // A template or Metal3Machine outside of the inputs may select any hosts.
    match &parts.referenced(reference, namespace)?.spec {
        Ok(PartSpec::MachineTemplate(template)) => Some(&template.template.spec.host_selector),
        Ok(PartSpec::Metal3Machine(machine)) if reference.kind == METAL3_MACHINE => {
            Some(&machine.host_selector)
        }
        _ => None,
    }
}

fn has_requirements(selector: &HostSelector) -> bool {
    !selector.match_labels.is_empty() || !selector.match_expressions.is_empty()
}

impl Claimant<'_> {
    /// Reports the claim if there is a host that it may take.
    fn finding(&self, inventory: &Inventory) -> Option<Finding> {
        let may_take = |host: &&Host| {
            host.key.namespace == *self.namespace
                && host.live.usage.is_none()
                && self.selector.matches(&host.labels)
        };
        let hosts = inventory.hosts.iter().filter(may_take).count();
        if hosts == 0 || self.machines == 0 {
            return None;
        }
        let which = if self.has_selector {
            "that its `hostSelector` matches"
        } else {
            "of its namespace, because it has no `hostSelector`"
        };
        let message = format!(
            "{} is no request of sipgen, and claims {} of the {} {which}",
            self.title,
            self.machines,
            counted(hosts, "unused host"),
        );
        let finding = Finding::new(Code::ForeignClaimant, message).at(self.origin.name());
        Some(finding.help(
            "its Machines may take hosts that sipgen assigns to others: let its Metal3MachineTemplate select labels \
             that no requested host has, or request its hosts by a control plane or MachineDeployment of a Cluster with \
             `sip.airshipit.org/assign-hosts: \"true\"`",
        ))
    }
}
