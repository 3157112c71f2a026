//! A cluster's request, checked: what a SIPCluster or a Provisioning asks for, in types that cannot be wrong.

use std::collections::{BTreeMap, BTreeSet};

use kube::core::Selector;
use serde::Serialize;

use super::kind::ClusterKind;
use super::object_name::object_name;
use super::service::Service;
use crate::api::names::{ClusterKey, NodeName, Part, Role};
use crate::finding::{Origin, Step};
use crate::inventory::machine::AskedMachine;

/// A valid request.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// Namespace and name.
    pub key: ClusterKey,
    /// Where the SIPCluster stands.
    pub origin: Origin,
    /// Clusters with a higher one choose their hosts first.
    pub priority: i64,
    /// What it asks for each role, or of each machine; a part that is not there gets no hosts.
    pub node_sets: BTreeMap<Part, NodeSet>,
    /// Its services, in the order in which they are applied and named.
    pub services: Vec<Service>,
    /// What is installed on its hosts, if it was asked for by a Provisioning.
    pub installation: Option<Installation>,
}

/// What a Provisioning has installed on the machines of its cluster.
#[derive(Debug, Clone, Default)]
pub struct Installation {
    /// The name of the Provisioning itself; the cluster's is another thing.
    pub provisioning: String,
    /// Whether the hosts are virtual machines in pods (`cluster-type: virtlet-vm`).
    pub is_virtlet_vm: bool,
    /// The machines of the control plane, in the order in which they are written; at least one.
    pub masters: Vec<NodeName>,
    /// The machines that run workloads, in the order in which they are written; some may be masters, too.
    pub workers: Vec<NodeName>,
    /// The network that pods get their addresses from.
    pub pod_subnet: Option<String>,
    /// The plugins of the installer, in the order in which they are written.
    pub plugins: Vec<String>,
    /// The packages of the control plane's machines.
    pub master_packages: Vec<InstalledPackage>,
    /// The packages of the machines that run workloads.
    pub worker_packages: Vec<InstalledPackage>,
}

/// A package that is installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InstalledPackage {
    /// Its name.
    pub name: String,
    /// Its version; any where absent.
    pub version: Option<String>,
}

/// The hosts wanted for one part.
#[derive(Debug, Clone)]
pub struct NodeSet {
    /// Which hosts may be taken.
    pub selector: Selector,
    /// The labels whose values are a host's topology domains: no two hosts share a value of any of them.
    pub topology_keys: Vec<String>,
    /// Where each of those labels is named, from the node set.
    pub topology_routes: Vec<Vec<Step>>,
    /// Hosts wanted to run on.
    pub active: usize,
    /// Hosts wanted as slack for upgrades.
    pub standby: usize,
    /// What the one machine has that is wanted, if a Provisioning asks for it.
    pub machine: Option<AskedMachine>,
    /// The route to it in its SIPCluster or Provisioning.
    pub route: Vec<Step>,
}

impl NodeSet {
    /// How many hosts are to be assigned.
    pub fn wanted(&self) -> usize {
        self.active + self.standby
    }
}

impl Cluster {
    /// Whether a part is a machine of the control plane that runs workloads, too.
    pub fn is_worker_too(&self, part: &Part) -> bool {
        let machine = self.installation.as_ref().zip(part.node.as_ref());
        machine.is_some_and(|(installation, node)| installation.has_both_roles(node))
    }
}

impl Installation {
    /// How many digits the hash has at the end of the Job's name.
    pub const HASH_LENGTH: usize = 10;

    /// Whether a machine of the control plane runs workloads, too: one that is a worker as well, or any where there are no
    /// workers.
    pub fn has_both_roles(&self, node: &NodeName) -> bool {
        self.masters.contains(node) && (self.workers.is_empty() || self.workers.contains(node))
    }

    /// The name of the installer's objects in the cluster's namespace. With a hash behind it, it is still short enough
    /// for the label that a Job's pods have of its name.
    pub fn object_name(&self, cluster: &ClusterKey) -> String {
        const LONGEST: usize = 63 - 1 - Installation::HASH_LENGTH;
        object_name("kud", cluster, LONGEST)
    }
}

impl Cluster {
    /// The kind of the object that asks for it.
    pub fn kind(&self) -> ClusterKind {
        if self.installation.is_some() {
            ClusterKind::Provisioning
        } else {
            ClusterKind::SipCluster
        }
    }

    /// The interfaces on which a host needs an address to serve in a role.
    pub fn interfaces(&self, role: Role) -> BTreeSet<&str> {
        self.services
            .iter()
            .filter(|service| service.uses(role))
            .filter_map(|service| service.interface.as_deref())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jobs_name_with_its_hash_fits_into_a_label_and_no_two_clusters_have_one() {
        let name = |cluster: &str| {
            Installation::default().object_name(&format!("lab/{cluster}").parse().unwrap())
        };
        let long = "e".repeat(62);
        let names = [
            name("edge"),
            name("edge.lab"),
            name("edge-lab"),
            name(&format!("{long}a")),
            name(&format!("{long}b")),
        ];

        assert_eq!(names[0], "kud-edge");
        for name in &names {
            assert!(
                name.len() + 1 + Installation::HASH_LENGTH <= 63 && !name.contains('.'),
                "{name}"
            );
        }
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    }
}
