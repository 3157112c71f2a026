//! A cluster's request, checked: what a SIPCluster or a Provisioning asks for, in types that cannot be wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use camino::Utf8PathBuf;
use kube::core::Selector;
use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::auth::Auth;
use crate::api::names::{
    ClusterKey, NodeName, NodePort, ObjectName, Part, Role, SecretKey, StorageSize,
};
use crate::api::{provisioning, sipcluster};
use crate::finding::{Origin, Step};
use crate::inventory::machine::AskedMachine;
use crate::layout;

/// The kinds of objects that ask for clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub enum ClusterKind {
    /// One that wants hosts by roles, and services.
    #[serde(rename = "SIPCluster")]
    SipCluster,
    /// One that wants machines by names, and has Kubernetes installed on them.
    Provisioning,
}

impl ClusterKind {
    /// The kind as it stands in objects.
    pub fn as_str(self) -> &'static str {
        match self {
            ClusterKind::SipCluster => sipcluster::KIND,
            ClusterKind::Provisioning => provisioning::KIND,
        }
    }
}

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

/// One service beside a cluster's hosts.
#[derive(Debug, Clone)]
pub struct Service {
    /// Which of the services of its kind, from 1; the first has the plain name.
    pub ordinal: usize,
    /// The container image.
    pub image: String,
    /// Labels of the nodes that its pods run on; empty for the base cluster's control-plane nodes.
    pub node_labels: BTreeMap<String, String>,
    /// The network whose addresses it uses. Auth has no use for one.
    pub interface: Option<String>,
    /// The address under which the base cluster's NodePorts are reached.
    pub cluster_ip: Option<IpAddr>,
    /// What only its kind has.
    pub detail: Detail,
}

/// What only one kind of service has.
#[derive(Debug, Clone)]
pub enum Detail {
    /// HAProxy before the tenant's API servers.
    ControlPlaneLoadBalancer {
        /// The port of the tenant's API on the base cluster's nodes.
        node_port: NodePort,
        /// How many pods of HAProxy there are, at least one.
        replicas: u16,
    },
    /// HAProxy before the tenant's workers.
    WorkerLoadBalancer {
        /// The forwarded ports, in ascending order.
        node_ports: Vec<NodePort>,
        /// How many pods of HAProxy there are, at least one.
        replicas: u16,
    },
    /// An SSH server with access to the cluster's hosts.
    JumpHost(JumpHost),
    /// Dex.
    Auth(Box<Auth>),
}

/// What only jump hosts have.
#[derive(Debug, Clone)]
pub struct JumpHost {
    /// The port of the SSH server on the base cluster's nodes.
    pub node_port: NodePort,
    /// Whether BMCs are reached through the environment's proxy.
    pub bmc_proxy: bool,
    /// OpenSSH public keys.
    pub authorized_keys: Vec<String>,
    /// The Secret with the nodes' private keys, in the cluster's namespace.
    pub node_private_keys: Option<ObjectName>,
    /// Where the SSH server has its host keys from.
    pub host_keys: HostKeys,
    /// The volume of the operators' homes.
    pub homes: Option<VolumeClaim>,
}

/// A volume that a service asks for.
#[derive(Debug, Clone, Default)]
pub struct VolumeClaim {
    /// Its storage class; the default one where absent.
    pub storage_class: Option<ObjectName>,
    /// Its size; absent where the template knows what is enough.
    pub storage: Option<StorageSize>,
}

/// Where host keys come from.
#[derive(Debug, Clone)]
pub enum HostKeys {
    /// A Secret in the cluster's namespace.
    Secret(ObjectName),
    /// A volume in which they are made once.
    Volume(VolumeClaim),
    /// Every pod makes its own.
    Ephemeral,
}

/// An address as it stands before a port.
pub fn bracketed(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

/// The kinds of services.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum ServiceKind {
    /// `loadBalancerControlPlane`
    ControlPlaneLoadBalancer,
    /// `loadBalancerWorker`
    WorkerLoadBalancer,
    /// `jumpHost`
    JumpHost,
    /// `auth`
    Auth,
}

impl ServiceKind {
    /// The name in labels, and the first part of its objects' names, which is part of the interface.
    pub fn component(self) -> &'static str {
        match self {
            ServiceKind::ControlPlaneLoadBalancer => "loadbalancer-controlplane",
            ServiceKind::WorkerLoadBalancer => "loadbalancer-worker",
            ServiceKind::JumpHost => "jumphost",
            ServiceKind::Auth => "auth",
        }
    }

    /// The key under `spec.services`.
    pub(super) fn field(self) -> &'static str {
        match self {
            ServiceKind::ControlPlaneLoadBalancer => "loadBalancerControlPlane",
            ServiceKind::WorkerLoadBalancer => "loadBalancerWorker",
            ServiceKind::JumpHost => "jumpHost",
            ServiceKind::Auth => "auth",
        }
    }
}

impl Service {
    /// Its kind.
    pub fn kind(&self) -> ServiceKind {
        match self.detail {
            Detail::ControlPlaneLoadBalancer { .. } => ServiceKind::ControlPlaneLoadBalancer,
            Detail::WorkerLoadBalancer { .. } => ServiceKind::WorkerLoadBalancer,
            Detail::JumpHost(_) => ServiceKind::JumpHost,
            Detail::Auth(_) => ServiceKind::Auth,
        }
    }

    /// The name of its directory: `jumphost`, and `jumphost2` for a second one. Without a dash before the
    /// number, because `jumphost-2` is what the jump host of a cluster called `2` has.
    pub fn directory(&self) -> String {
        let component = self.kind().component();
        if self.ordinal == 1 {
            component.to_owned()
        } else {
            format!("{component}{}", self.ordinal)
        }
    }

    /// Where its files lie, relative to the output directory.
    pub fn path(&self, cluster: &ClusterKey) -> Utf8PathBuf {
        layout::cluster_directory(cluster).join(self.directory())
    }

    /// The name of its objects in the cluster's namespace.
    ///
    /// A Service's name is a DNS label: no dots, 63 characters at most. A cluster's name that does not fit is
    /// shortened and gets a hash of the whole, so that two long names never become one.
    pub fn object_name(&self, cluster: &ClusterKey) -> String {
        const LONGEST: usize = 63;
        object_name(&self.directory(), cluster, LONGEST)
    }

    /// The name of the copy that a jump host gets of a Secret in another namespace. With dots between its parts,
    /// because only the last may have some: with dashes, `a-b` and `c` would be `a` and `b-c`.
    pub fn copy_name(&self, cluster: &ClusterKey, secret: &SecretKey) -> String {
        const LONGEST: usize = 253;
        let SecretKey { namespace, name } = secret;
        let plain = format!("{}.bmc.{namespace}.{name}", self.object_name(cluster));
        if plain.len() <= LONGEST {
            plain
        } else {
            shortened(&plain, &plain, LONGEST)
        }
    }

    /// Whether it uses the addresses of the hosts of a role.
    pub fn uses(&self, role: Role) -> bool {
        match self.kind() {
            ServiceKind::ControlPlaneLoadBalancer => role == Role::ControlPlane,
            ServiceKind::WorkerLoadBalancer => role == Role::Worker,
            ServiceKind::JumpHost => true,
            ServiceKind::Auth => false,
        }
    }

    /// The NodePorts that it takes.
    pub fn node_ports(&self) -> &[NodePort] {
        match &self.detail {
            Detail::WorkerLoadBalancer { node_ports, .. } => node_ports,
            Detail::ControlPlaneLoadBalancer { node_port, .. }
            | Detail::JumpHost(JumpHost { node_port, .. }) => std::slice::from_ref(node_port),
            Detail::Auth(auth) => std::slice::from_ref(&auth.node_port),
        }
    }

    /// The route to the field in its SIPCluster that asks for some of its NodePorts.
    pub fn port_route(&self, ports: &[NodePort]) -> Vec<Step> {
        let mut route = self.route();
        let Detail::WorkerLoadBalancer { node_ports, .. } = &self.detail else {
            route.push("nodePort".into());
            return route;
        };
        route.push("nodePortRange".into());
        match ports {
            [port] if node_ports.first() == Some(port) => route.push("start".into()),
            [port] if node_ports.last() == Some(port) => route.push("end".into()),
            _ => {}
        }
        route
    }

    /// The route to the service in its SIPCluster.
    pub fn route(&self) -> Vec<Step> {
        vec![
            "spec".into(),
            "services".into(),
            self.kind().field().into(),
            (self.ordinal - 1).into(),
        ]
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

/// A name without dots for the objects of a cluster. The cluster's name is shortened where it does not fit, and gets a
/// hash of the whole, so that two long names never become one.
fn object_name(prefix: &str, cluster: &ClusterKey, longest: usize) -> String {
    let name = cluster.name.as_str();
    let plain = format!("{prefix}-{name}");
    if plain.len() <= longest && !name.contains('.') {
        return plain;
    }
    shortened(
        &format!("{prefix}-{}", name.replace('.', "-")),
        name,
        longest,
    )
}

/// A text cut so that it fits together with a hash of a whole, by which it stays the only one of its name.
fn shortened(text: &str, whole: &str, longest: usize) -> String {
    let digest = Sha256::digest(whole.as_bytes());
    let hash: String = digest
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let short: String = text.chars().take(longest - hash.len() - 1).collect();
    format!("{}-{hash}", short.trim_end_matches(['-', '.']))
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

    fn jump_host() -> Service {
        let detail = Detail::JumpHost(JumpHost {
            node_port: NodePort::try_from(30022).unwrap(),
            bmc_proxy: false,
            authorized_keys: Vec::new(),
            node_private_keys: None,
            host_keys: HostKeys::Ephemeral,
            homes: None,
        });
        let (image, node_labels) = (String::new(), BTreeMap::new());
        Service {
            ordinal: 1,
            image,
            node_labels,
            interface: None,
            cluster_ip: None,
            detail,
        }
    }

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

    #[test]
    fn two_secrets_never_have_copies_of_one_name() {
        let cluster: ClusterKey = "tenant/edge".parse().unwrap();
        let copy = |secret: &str| jump_host().copy_name(&cluster, &secret.parse().unwrap());
        let long = vec!["x".repeat(60); 4].join(".");

        assert_ne!(copy("a-b/c"), copy("a/b-c"));
        assert_ne!(copy(&format!("a/{long}y")), copy(&format!("a/{long}z")));
        assert!(copy(&format!("a/{long}")).parse::<ObjectName>().is_ok());
    }
}
