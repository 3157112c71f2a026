//! Objects whose Machines claim hosts, although no request of sipgen asks for these.
//!
//! CAPM3 takes a random host of the Machine's namespace that matches the `hostSelector` of its
//! Metal3Machine; without a selector, any. Labels of other clusters do not keep it from that.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use kube::core::{Selector, SelectorExt};

use super::host_selector;
use crate::base::api::cluster_api::{
    CLUSTER_NAME, CONTROL_PLANE_LABEL, ClusterApiReference, HostSelector, MACHINE, METAL3_MACHINE,
    MachineSpec, TOPOLOGY_DEPLOYMENT_NAME,
};
use crate::base::api::host::Metadata;
use crate::base::api::label_query::required_label;
use crate::base::api::names::{ClusterKey, Namespace};
use crate::base::finding::Origin;
use crate::site::inventory::usage::HostUsage;
use crate::site::inventory::{Host, Inventory};
use crate::site::request::cluster::Cluster;
use crate::site::request::cluster_parts::{ClusterParts, PartSpec, belongs_to};

/// Machines of one object that is no request.
#[derive(Debug)]
pub(crate) struct Claimant {
    /// Kind and name.
    pub(crate) title: String,
    namespace: Namespace,
    pub(crate) origin: Origin,
    pub(crate) machines: usize,
    selector: Selector,
    pub(crate) has_selector: bool,
    /// Labels that it selects, if sipgen adds one of them.
    pub(crate) assigned_labels: Option<BTreeMap<String, String>>,
    /// Set if hosts in use may be those of its Machines.
    makes_machines: bool,
    /// The Cluster, if it becomes a request by opting in.
    pub(crate) may_opt_in: Option<ClusterKey>,
}

/// Returns MachineDeployments of other Clusters and MachineSets that claim hosts, and Machines without
/// one.
pub(crate) fn claimed_by_machines(
    parts: &ClusterParts,
    inventory: &Inventory,
    clusters: &BTreeSet<ClusterKey>,
) -> Vec<Claimant> {
    let users = inventory.hosts.iter();
    let users: HashSet<(&str, &str)> =
        users.filter_map(|host| host.live.usage.as_ref()?.metal3_machine()).collect();
    let has_host = |namespace: &Namespace, spec: &MachineSpec| {
        let machine = spec.infrastructure_ref.as_ref();
        machine.is_some_and(|machine| users.contains(&(namespace.as_str(), &machine.name)))
    };
    // An owner makes the claims of what it owns, if it is in the inputs or its Cluster's class makes it.
    let has_known_owner = |namespace: &Namespace, metadata: &Metadata| {
        let mut labels = [CONTROL_PLANE_LABEL, TOPOLOGY_DEPLOYMENT_NAME].into_iter();
        let is_of_class = labels.any(|label| metadata.label(label).is_some())
            && metadata
                .label(CLUSTER_NAME)
                .is_some_and(|cluster| belongs_to(cluster, namespace, clusters));
        let mut owners = metadata.owner_references.iter().flatten();
        owners.any(|it| is_of_class || parts.named(&it.kind, namespace, &it.name).is_some())
    };
    let claimants = parts.all().filter_map(|(namespace, name, document)| {
        if has_known_owner(namespace, &document.metadata) {
            return None;
        }
        let (machines, spec) = match document.spec.as_ref().ok()? {
            PartSpec::MachineDeployment(set)
                if belongs_to(&set.cluster_name, namespace, clusters) =>
            {
                return None;
            }
            PartSpec::MachineDeployment(set) | PartSpec::MachineSet(set) => {
                let replicas = usize::try_from(set.replicas.unwrap_or(1)).ok()?;
                (replicas, &set.template.spec)
            }
            PartSpec::Machine(spec) if !has_host(namespace, spec) => (1, spec),
            _ => return None,
        };
        let kind = &document.kind;
        let selector = selector_of(parts, spec, namespace)?;
        Some(Claimant {
            title: format!("the {kind} {namespace}/{name}"),
            namespace: namespace.clone(),
            origin: document.origin.clone(),
            machines,
            selector: host_selector::requirements(selector, &BTreeMap::new()).ok()?,
            has_selector: has_requirements(selector),
            assigned_labels: host_selector::assigned_labels(selector, &BTreeMap::new()),
            makes_machines: kind != MACHINE,
            may_opt_in: None,
        })
    });
    claimants.collect()
}

/// Returns the claims of a Cluster that is no request, by selector. Without one, its Machines claim
/// any host of its namespace.
pub(crate) fn claimed_by_cluster(cluster: &Cluster, is_opted_out: bool) -> Vec<Claimant> {
    let mut claimants: Vec<Claimant> = Vec::new();
    for node_set in cluster.node_sets.values() {
        let template =
            cluster.machine_templates.iter().find(|it| it.selector_at == node_set.selector_at);
        let assigned_labels = template.and_then(|template| template.selected.clone());
        match claimants.iter_mut().find(|claimant| {
            claimant.selector == node_set.selector && claimant.assigned_labels == assigned_labels
        }) {
            Some(claimant) => claimant.machines += node_set.active,
            None => claimants.push(Claimant {
                title: format!("the Cluster {}", cluster.key),
                namespace: cluster.key.namespace.clone(),
                origin: cluster.origin.clone(),
                machines: node_set.active,
                selector: node_set.selector.clone(),
                has_selector: assigned_labels.is_some()
                    || node_set.selector.clone().into_iter().next().is_some(),
                assigned_labels,
                makes_machines: true,
                may_opt_in: (!is_opted_out).then(|| cluster.key.clone()),
            }),
        }
    }
    claimants
}

/// Returns the selector of the Metal3Machines of a Machine; `None` for those of other providers.
fn selector_of<'a>(
    parts: &'a ClusterParts,
    spec: &MachineSpec,
    namespace: &Namespace,
) -> Option<&'a HostSelector> {
    let reference: &ClusterApiReference = spec.infrastructure_ref.as_ref()?;
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

impl Claimant {
    /// Returns whether its Machines may take a host, or use it already.
    pub(crate) fn matches(&self, host: &Host) -> bool {
        host.key.namespace == self.namespace && self.selector.matches(&host.labels)
    }

    /// Returns whether it selects hosts by a label.
    pub(crate) fn selects_by(&self, label: &str) -> bool {
        self.selector.clone().into_iter().any(|it| required_label(&it) == label)
    }

    /// Returns whether one of its Machines may be the user of a host that it matches.
    pub(crate) fn may_use(&self, host: &Host) -> bool {
        let usage = host.live.usage.as_ref();
        self.makes_machines && usage.and_then(HostUsage::metal3_machine).is_some()
    }
}
