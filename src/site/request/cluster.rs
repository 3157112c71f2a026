//! A validated request for a cluster, of any kind.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use std::sync::Arc;

use kube::core::{Expression, Selector};
use serde::Serialize;

use super::ClusterKind;
use super::object_name::object_name;
use super::service::ClusterService;
use crate::base::api::machine_names::MachineNames;
use crate::base::api::names::{ClusterKey, LabelMap, Namespace, NodeName, Part, Role};
use crate::base::api::reservation::Tenants;
use crate::base::api::topology_spread::{TopologySpread, spread_requirements};
use crate::base::finding::{DocumentField, Origin};
use crate::input::settings::services::KubernetesVersion;
use crate::site::inventory::Host;
use crate::site::inventory::machine::RequiredMachine;
use crate::site::inventory::requirements::HardwareRequirements;

/// A valid request.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// Kind of its request.
    pub kind: ClusterKind,
    /// Namespace and name.
    pub key: ClusterKey,
    /// Position of the request.
    pub origin: Origin,
    /// Labels of the request.
    pub labels: LabelMap,
    /// Annotations of the request, without kubectl's copy of the object.
    pub annotations: BTreeMap<String, String>,
    /// Clusters with a higher priority are served first.
    pub priority: i64,
    /// Requested hosts for each role or machine. A missing part gets no hosts.
    pub node_sets: PartNodeSets,
    /// Services in the order in which they are rendered and numbered.
    pub services: Vec<ClusterService>,
    /// Installation on its hosts, if a Provisioning requests it.
    pub installation: Option<Installation>,
    /// Metal3MachineTemplates of a request by Cluster API's objects.
    pub machine_templates: Vec<HostTemplate>,
    /// Those of the Cluster beside a SIPCluster that select no assigned hosts by themselves.
    pub templates_beside: Vec<HostTemplate>,
    /// Its Metal3Cluster if that names no failure domains, so that its topology domains become some.
    pub without_failure_domains: Option<NamedMetal3Cluster>,
    /// Version of Kubernetes of its control plane, if Cluster API's objects have it.
    pub kubernetes_version: Option<KubernetesVersion>,
    /// Address of its API, if Cluster API's objects have it.
    pub(crate) endpoint: Option<ApiEndpoint>,
}

/// The address of a Cluster's API.
#[derive(Debug, Clone)]
pub(crate) struct ApiEndpoint {
    pub(crate) address: IpAddr,
    pub(crate) at: DocumentField,
}

/// A Metal3MachineTemplate that must select the hosts of a node set.
#[derive(Debug, Clone)]
pub struct HostTemplate {
    /// Its name; that where the component of its cluster runs, if a build includes the component.
    pub name: String,
    /// Labels of the hosts.
    pub labels: LabelMap,
    /// Set if its host selector has these labels, or gets them from a ClusterClass.
    pub is_pinned: bool,
    /// Labels that its host selector matches, if sipgen adds one of them to hosts of any cluster.
    pub selected: Option<LabelMap>,
    /// Set if it belongs to a ClusterClass, which other Clusters may share.
    pub is_of_class: bool,
    /// Its host selector.
    pub selector_at: DocumentField,
}

/// The Metal3Cluster of a Cluster.
#[derive(Debug, Clone)]
pub struct NamedMetal3Cluster {
    /// Its name; that where the component of its cluster runs, if a build includes the component.
    pub name: String,
    /// Its position.
    pub origin: Origin,
}

/// Installation of Kubernetes on the machines of a Provisioning.
#[derive(Debug, Clone, Default)]
pub struct Installation {
    /// Name of the Provisioning, which differs from the cluster's.
    pub provisioning: String,
    /// Set if the hosts are virtual machines in pods (`cluster-type: virtlet-vm`).
    pub is_virtlet_vm: bool,
    /// Machines of the control plane, in the order of the request; at least one.
    pub masters: Vec<NodeName>,
    /// Machines that run workloads, in the order of the request; some may also be masters.
    pub workers: Vec<NodeName>,
    /// Network for the pods' addresses.
    pub pod_subnet: Option<String>,
    /// Plugins of the installer, in the order of the request.
    pub plugins: Vec<String>,
    /// Packages of the control-plane machines.
    pub master_packages: Vec<InstalledPackage>,
    /// Packages of the machines that run workloads.
    pub worker_packages: Vec<InstalledPackage>,
}

/// A package to install.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InstalledPackage {
    /// Name of the package.
    pub name: String,
    /// Its version; `None` for any version.
    pub version: Option<String>,
}

/// Requested hosts by part. Each is boxed, because most clusters have two, and a node of a map has room
/// for eleven.
pub type PartNodeSets = BTreeMap<Part, Box<NodeSet>>;

/// Requested hosts for one part.
#[derive(Debug, Clone)]
pub struct NodeSet {
    /// Selects eligible hosts.
    pub selector: Selector,
    /// Namespace of its hosts; `None` for any.
    pub namespace: Option<Namespace>,
    /// The reservations of hosts that include its cluster.
    pub reservations: BTreeSet<Arc<Tenants>>,
    /// Labels whose values are topology domains.
    pub topology_keys: Vec<String>,
    /// Maximum number of hosts in a domain of each of those labels.
    pub max_per_domain: usize,
    /// Place of each of those labels.
    pub topology_at: Vec<DocumentField>,
    /// Its constraints on topology domains, or else those of the site.
    pub spread: Vec<TopologySpread>,
    /// Number of hosts to run on.
    pub active: usize,
    /// Additional hosts for upgrades.
    pub standby: StandbyHosts,
    /// Requirements on the hardware of each host.
    pub hardware: HardwareRequirements,
    /// The required host of the machine, if a Provisioning requests it.
    pub machine: Option<RequiredMachine>,
    /// Names of the Machines that Cluster API makes for it.
    pub machine_names: MachineNames,
    /// Place of the node set.
    pub at: DocumentField,
    /// Place of the selector.
    pub selector_at: DocumentField,
    /// Place of the number of hosts.
    pub count_at: DocumentField,
    /// Place of the number of hosts to run on.
    pub active_at: DocumentField,
    /// Place of the annotation that sets the number of additional hosts.
    pub spare_at: Option<DocumentField>,
}

/// The number of hosts that a node set has beside those to run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StandbyHosts {
    /// As the request says.
    Number(usize),
    /// Those that a rollout starts beside any hosts.
    Surge(usize),
    /// One, whatever the request says.
    OneMore,
    /// One, unless the rollout deletes first because it can spare a host.
    OneOfFew,
    /// Those of a rollout that starts a percentage.
    SurgePercent(usize),
}

impl StandbyHosts {
    /// Returns the number beside `active` hosts.
    pub fn count(self, active: usize) -> usize {
        /// With fewer replicas, k0smotron makes the new Machine first.
        const SPARABLE: usize = 3;
        match self {
            Self::Number(number) => number,
            _ if active == 0 => 0,
            Self::OneOfFew if active >= SPARABLE => 0,
            Self::OneMore | Self::OneOfFew => 1,
            Self::Surge(surge) => surge,
            // Cluster API rounds up.
            Self::SurgePercent(percent) => active.saturating_mul(percent).div_ceil(100),
        }
    }
}

impl NodeSet {
    /// Returns the number of hosts to assign.
    pub fn wanted(&self) -> usize {
        self.active.saturating_add(self.standby())
    }

    /// Returns the number of additional hosts for upgrades.
    pub fn standby(&self) -> usize {
        self.standby.count(self.active)
    }

    /// Returns its selector without the labels that its constraints on topology domains require.
    pub fn own_selector(&self) -> Selector {
        let is_own = |expression: &Expression| {
            spread_requirements(&self.spread).all(|required| required != *expression)
        };
        self.selector.clone().into_iter().filter(is_own).collect()
    }

    /// Returns the address at which an installer reaches a host of it.
    pub fn installer_address(&self, host: &Host) -> Option<IpAddr> {
        let named = self.machine.as_ref().and_then(|machine| machine.named);
        host.machine.address(named.map(|(mac, _)| mac))
    }

    /// Returns whether it is a machine that a MAC address names.
    pub fn is_named(&self) -> bool {
        let machine = self.machine.as_ref();
        machine.is_some_and(|machine| machine.named.is_some())
    }
}

impl Cluster {
    /// Returns the requested hosts of a role or machine, if it requests any.
    pub fn node_set(&self, part: &Part) -> Option<&NodeSet> {
        self.node_sets.get(part).map(Box::as_ref)
    }

    /// Returns the requested hosts of each part, with the cluster.
    pub fn parts(&self) -> impl Iterator<Item = (&Cluster, &Part, &NodeSet)> {
        self.node_sets.iter().map(move |(part, node_set)| (self, part, &**node_set))
    }

    /// Returns whether a part is a control-plane machine that also runs workloads.
    pub fn is_worker_too(&self, part: &Part) -> bool {
        let machine = self.installation.as_ref().zip(part.node.as_ref());
        machine.is_some_and(|(installation, node)| installation.has_both_roles(node))
    }

    /// Returns the interfaces on which a host of a role requires an address.
    pub fn interfaces(&self, role: Role) -> BTreeSet<&str> {
        let services = self.services.iter().filter(|service| service.uses(role));
        services.filter_map(|service| service.interface.as_deref()).collect()
    }
}

impl Installation {
    /// Number of hexadecimal digits of the hash in the Job's name.
    pub const HASH_LENGTH: usize = 10;

    /// Returns whether a control-plane machine also runs workloads: it is also listed as a worker,
    /// or there are no workers.
    pub fn has_both_roles(&self, node: &NodeName) -> bool {
        self.masters.contains(node) && (self.workers.is_empty() || self.workers.contains(node))
    }

    /// Returns the name of the installer's objects in the cluster's namespace.
    ///
    /// With the hash, it fits into the label by which a Job's pods are found: 63 characters. `prefix`
    /// has three characters.
    pub fn object_name(&self, cluster: &ClusterKey, prefix: &str) -> String {
        // One character is the dash before the hash.
        const LONGEST: usize = 63 - 1 - Installation::HASH_LENGTH;
        object_name(prefix, cluster, LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jobs_name_with_its_hash_fits_into_a_label_and_no_two_clusters_have_one() {
        let name = |cluster: &str| {
            Installation::default().object_name(&format!("lab/{cluster}").parse().unwrap(), "kud")
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
