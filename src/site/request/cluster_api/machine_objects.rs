//! Machines and Metal3Machines of the inputs: which Cluster and which node set a Machine belongs to.

use std::collections::BTreeMap;

use crate::base::api::cluster_api::{
    CLUSTER_NAME, CONTROL_PLANE, CONTROL_PLANE_LABEL, DEPLOYMENT_NAME, MACHINE, MACHINE_DEPLOYMENT,
    MACHINE_SET, METAL3_MACHINE, TOPOLOGY_DEPLOYMENT_NAME,
};
use crate::base::api::host::Metadata;
use crate::base::api::machine_names::MachineNames;
use crate::base::api::names::{ClusterKey, Namespace, Role};
use crate::site::request::cluster_parts::{ClusterParts, PartDocument, PartSpec};

/// Facts about a Machine, from its objects.
#[derive(Debug, Clone, Default)]
pub(crate) struct MachineFacts {
    /// Name of its Cluster.
    pub cluster: Option<String>,
    /// Set if it is of a control plane.
    pub is_control_plane: bool,
    /// Name of its MachineDeployment.
    pub deployment: Option<String>,
    /// Name of its MachineDeployment in the topology of its Cluster.
    pub topology_deployment: Option<String>,
    /// Name of its MachineSet.
    pub machine_set: Option<String>,
}

/// An object that makes Machines, or is one.
#[derive(Debug, Clone)]
pub(crate) struct MachineMaker {
    /// Namespace of the Machines.
    pub namespace: Namespace,
    /// Kind and name.
    pub title: String,
    /// Its Cluster, if it names one.
    pub cluster: Option<ClusterKey>,
    /// Name of the object.
    pub name: String,
    /// Role of its Machines, if sipgen can request hosts for them.
    pub role: Option<Role>,
    /// Names of the Machines.
    pub machine_names: MachineNames,
}

/// Objects of the inputs that are or make Machines.
#[derive(Debug, Default)]
pub(crate) struct MachineObjects {
    by_metal3_machine: BTreeMap<(Namespace, String), MachineFacts>,
    /// Control planes, MachineDeployments, MachineSets and Machines.
    pub makers: Vec<MachineMaker>,
}

impl MachineObjects {
    pub(crate) fn new(parts: &ClusterParts) -> Self {
        let mut objects = Self::default();
        for (namespace, name, document) in parts.all() {
            objects.makers.extend(MachineMaker::new(namespace, name, document));
            let Some(metal3_machine) = metal3_machine_name(name, document) else { continue };
            let mut facts = MachineFacts::from_object(document);
            if document.kind == METAL3_MACHINE
                && let Some(machine) = owner(&document.metadata, |kind| kind == MACHINE)
                && let Some(machine) = parts.named(MACHINE, namespace, machine)
            {
                facts.complete(MachineFacts::from_object(machine));
            }
            if let Some(set) = facts.machine_set.as_deref()
                && let Some(set) = parts.named(MACHINE_SET, namespace, set)
            {
                facts.complete(MachineFacts::from_object(set));
            }
            let key = (namespace.clone(), metal3_machine.to_owned());
            objects.by_metal3_machine.entry(key).or_default().complete(facts);
        }
        objects
    }

    /// Returns what is known about the Machine of a Metal3Machine.
    pub(crate) fn facts(&self, namespace: &Namespace, name: &str) -> Option<&MachineFacts> {
        self.by_metal3_machine.get(&(namespace.clone(), name.to_owned()))
    }
}

/// Returns the name of the Metal3Machine that an object is or uses.
fn metal3_machine_name<'a>(name: &'a str, document: &'a PartDocument) -> Option<&'a str> {
    match &document.spec {
        _ if document.kind == METAL3_MACHINE => Some(name),
        Ok(PartSpec::Machine(spec)) => {
            let reference = spec.infrastructure_ref.as_ref();
            let reference = reference.filter(|reference| reference.kind == METAL3_MACHINE);
            reference.map(|reference| reference.name.as_str())
        }
        _ => None,
    }
}

fn owner(metadata: &Metadata, is_kind: impl Fn(&str) -> bool) -> Option<&str> {
    let mut owners = metadata.owner_references.iter().flatten();
    let owner = owners.find(|owner| is_kind(&owner.kind))?;
    Some(&owner.name)
}

impl MachineFacts {
    fn from_object(document: &PartDocument) -> Self {
        let metadata = &document.metadata;
        let label =
            |key: &str| metadata.label(key).filter(|value| !value.is_empty()).map(str::to_owned);
        let has_label = |key: &str| metadata.label(key).is_some();
        let spec = match &document.spec {
            Ok(PartSpec::Machine(spec)) => Some(spec.cluster_name.clone()),
            Ok(PartSpec::MachineSet(spec)) => Some(spec.cluster_name.clone()),
            _ => None,
        };
        let owner = |kind: &str| owner(metadata, |other| other == kind).map(str::to_owned);
        Self {
            cluster: spec.filter(|cluster| !cluster.is_empty()).or_else(|| label(CLUSTER_NAME)),
            is_control_plane: has_label(CONTROL_PLANE_LABEL)
                || self::owner(metadata, |kind| kind.ends_with(CONTROL_PLANE)).is_some(),
            deployment: label(DEPLOYMENT_NAME).or_else(|| owner(MACHINE_DEPLOYMENT)),
            topology_deployment: label(TOPOLOGY_DEPLOYMENT_NAME),
            machine_set: owner(MACHINE_SET),
        }
    }

    /// Takes from another object what this one does not say.
    fn complete(&mut self, other: Self) {
        self.cluster = self.cluster.take().or(other.cluster);
        self.is_control_plane |= other.is_control_plane;
        self.deployment = self.deployment.take().or(other.deployment);
        self.topology_deployment = self.topology_deployment.take().or(other.topology_deployment);
        self.machine_set = self.machine_set.take().or(other.machine_set);
    }
}

impl MachineMaker {
    fn new(namespace: &Namespace, name: &str, document: &PartDocument) -> Option<Self> {
        let (role, cluster, machine_names) = match document.spec.as_ref().ok()? {
            PartSpec::ControlPlane(_) => {
                (Some(Role::ControlPlane), None, MachineNames::control_plane(name))
            }
            PartSpec::MachineDeployment(spec) => {
                (Some(Role::Worker), Some(&spec.cluster_name), MachineNames::deployment(name))
            }
            PartSpec::MachineSet(spec) => {
                (None, Some(&spec.cluster_name), MachineNames::machine_set(name))
            }
            PartSpec::Machine(spec) => {
                let metal3_machine = metal3_machine_name(name, document).unwrap_or(name);
                (None, Some(&spec.cluster_name), MachineNames::machine(metal3_machine))
            }
            _ => return None,
        };
        // Its owner makes the same names.
        if document.metadata.is_owned() {
            return None;
        }
        let cluster = cluster.and_then(|cluster| {
            Some(ClusterKey { namespace: namespace.clone(), name: cluster.parse().ok()? })
        });
        Some(Self {
            namespace: namespace.clone(),
            title: format!("the {} {namespace}/{name}", document.kind),
            cluster,
            name: name.to_owned(),
            role,
            machine_names,
        })
    }
}
