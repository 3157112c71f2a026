//! Objects whose Machines claim hosts, although no request of sipgen asks for these.
//!
//! CAPM3 takes a random host of the Machine's namespace that matches the `hostSelector` of its
//! Metal3Machine; without a selector, any. OpenShift does the same for its own Machines. Labels of
//! other clusters do not keep them from that.

use std::collections::{BTreeSet, HashSet};

use kube::core::{Selector, SelectorExt};

use super::scaled::machines_of;
use super::{host_selector, missing_part};
use crate::base::api::cluster_api::{
    CLUSTER_NAME, CONTROL_PLANE_LABEL, ClusterApiReference, DEPLOYMENT_NAME, HostSelector, MACHINE,
    MACHINE_DEPLOYMENT, MACHINE_TEMPLATE, METAL3_MACHINE, MachineSpec, OPENSHIFT_PROVIDER,
    TOPOLOGY_DEPLOYMENT_NAME,
};
use crate::base::api::host::Metadata;
use crate::base::api::label_query::required_label;
use crate::base::api::names::{ClusterKey, LabelMap, Namespace};
use crate::base::finding::{Code, Finding, Origin};
use crate::site::inventory::usage::HostUsage;
use crate::site::inventory::{Host, Inventory};
use crate::site::request::cluster::Cluster;
use crate::site::request::cluster_parts::{ClusterParts, PartDocument, PartSpec, belongs_to};

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
    pub(crate) assigned_labels: Option<LabelMap>,
    /// Set if hosts in use may be those of its Machines.
    makes_machines: bool,
    /// The Cluster, if it becomes a request by opting in.
    pub(crate) may_opt_in: Option<ClusterKey>,
}

/// Returns MachineDeployments and control planes of other Clusters and MachineSets that claim hosts,
/// and Machines without one; a finding for each whose hosts are unknown.
pub(crate) fn claimed_by_machines(
    parts: &ClusterParts,
    inventory: &Inventory,
    clusters: &BTreeSet<ClusterKey>,
) -> Vec<Result<Claimant, Finding>> {
    let users: HashSet<(&str, &str)> =
        inventory.hosts.iter().filter_map(|host| host.live.usage.as_ref()?.machine()).collect();
    // A Machine of OpenShift is the consumer itself.
    let has_host = |namespace: &Namespace, name: &str, spec: &MachineSpec| {
        let machine =
            spec.infrastructure_ref.as_ref().map_or(name, |machine| machine.name.as_str());
        users.contains(&(namespace.as_str(), machine))
    };
    // An owner makes the claims of what it owns, if it is in the inputs or its Cluster's class makes it.
    let has_known_owner = |namespace: &Namespace, document: &PartDocument| {
        let metadata = &document.metadata;
        let mut labels = [CONTROL_PLANE_LABEL, TOPOLOGY_DEPLOYMENT_NAME].into_iter();
        let is_of_class = labels.any(|label| metadata.label(label).is_some())
            && metadata
                .label(CLUSTER_NAME)
                .is_some_and(|cluster| belongs_to(cluster, namespace, clusters));
        let owners = metadata.owner_references.iter().flatten();
        let owners = owners.map(|owner| (owner.kind.as_str(), owner.name.as_str()));
        // MachineSets, which own Machines, are in few snapshots. A MachineDeployment may have the label
        // with its own name.
        let deployment = metadata.label(DEPLOYMENT_NAME).map(|name| (MACHINE_DEPLOYMENT, name));
        let deployment = deployment.filter(|_| document.kind != MACHINE_DEPLOYMENT);
        let mut owners = owners.chain(deployment);
        owners.any(|(kind, name)| is_of_class || parts.named(kind, namespace, name).is_some())
    };
    // The Cluster of a control plane names it, but only one in the cluster labels it.
    let namespaces: BTreeSet<&Namespace> = clusters.iter().map(|key| &key.namespace).collect();
    let may_be_known =
        |namespace: &Namespace, metadata: &Metadata| match metadata.label(CLUSTER_NAME) {
            Some(cluster) => belongs_to(cluster, namespace, clusters),
            None => namespaces.contains(namespace),
        };
    let claimants = parts.all().filter_map(|(namespace, name, document)| {
        if has_known_owner(namespace, document) {
            return None;
        }
        let replicas = |replicas: Option<i64>| usize::try_from(replicas.unwrap_or(1)).ok();
        let selector = |spec| selector_of(parts, spec, namespace);
        let (machines, selector) = match document.spec.as_ref().ok()? {
            PartSpec::MachineDeployment(set)
                if belongs_to(&set.cluster_name, namespace, clusters) =>
            {
                return None;
            }
            PartSpec::MachineDeployment(set) | PartSpec::MachineSet(set) => {
                (replicas(set.replicas)?, selector(&set.template.spec)?)
            }
            PartSpec::ControlPlane(plane) if !may_be_known(namespace, &document.metadata) => {
                let selector = selector_of_template(parts, machines_of(plane)?, namespace)?;
                (replicas(plane.replicas)?, selector)
            }
            PartSpec::Machine(spec) if !has_host(namespace, name, spec) => (1, selector(spec)?),
            _ => return None,
        };
        let kind = &document.kind;
        let title = format!("the {kind} {namespace}/{name}");
        let selector = match selector {
            Ok(selector) => selector,
            Err(reason) => {
                let message = unknown_claims(&title, &reason);
                let finding = Finding::new(Code::ForeignClaimant, message)
                    .at(document.origin.name())
                    .help("add its manifest to the inputs, as it is in the cluster");
                return inventory.has_namespace(namespace).then_some(Err(finding));
            }
        };
        Some(Ok(Claimant {
            title,
            namespace: namespace.clone(),
            origin: document.origin.clone(),
            machines,
            selector: host_selector::requirements(selector, &LabelMap::new()).ok()?,
            has_selector: !selector.match_labels.is_empty()
                || !selector.match_expressions.is_empty(),
            assigned_labels: host_selector::assigned_labels(selector, &LabelMap::new()),
            makes_machines: kind != MACHINE,
            may_opt_in: None,
        }))
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
                has_selector: assigned_labels.is_some() || !node_set.selector.selects_all(),
                assigned_labels,
                makes_machines: true,
                may_opt_in: (!is_opted_out).then(|| cluster.key.clone()),
            }),
        }
    }
    claimants
}

/// Says that an object, which is no request, may claim hosts all the same.
pub(crate) fn unknown_claims(title: &str, reason: &str) -> String {
    format!("{title} is no request, and which hosts it claims is unknown: {reason}")
}

/// Returns the selector of the Metal3Machines of a Machine, or the reason why it is unknown; `None`
/// for those of other providers.
fn selector_of<'a>(
    parts: &'a ClusterParts,
    spec: &'a MachineSpec,
    namespace: &Namespace,
) -> Option<Result<&'a HostSelector, String>> {
    let openshift = spec.provider_spec.values().find(|value| value.kind == OPENSHIFT_PROVIDER);
    if let Some(value) = openshift {
        return Some(Ok(&value.host_selector));
    }
    selector_of_template(parts, spec.infrastructure_ref.as_ref()?, namespace)
}

fn selector_of_template<'a>(
    parts: &'a ClusterParts,
    reference: &ClusterApiReference,
    namespace: &Namespace,
) -> Option<Result<&'a HostSelector, String>> {
    let ClusterApiReference { kind, name, .. } = reference;
    if !matches!(kind.as_str(), MACHINE_TEMPLATE | METAL3_MACHINE) {
        return None;
    }
    match parts.referenced(reference, namespace).map(|document| &document.spec) {
        Some(Ok(PartSpec::MachineTemplate(template))) => {
            Some(Ok(&template.template.spec.host_selector))
        }
        Some(Ok(PartSpec::Metal3Machine(machine))) => Some(Ok(&machine.host_selector)),
        Some(Ok(_)) => None,
        Some(Err(error)) => {
            Some(Err(format!("cannot read the {kind} `{name}`: {}", error.message)))
        }
        None => Some(Err(missing_part(kind, name))),
    }
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
        self.makes_machines && usage.and_then(HostUsage::machine).is_some()
    }
}
