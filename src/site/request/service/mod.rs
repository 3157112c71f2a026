//! Validated services of a cluster.
//!
//! Each kind of service has a module with its settings and its [`ServiceDescriptor`], a variant of
//! [`ServiceKind`] and one of [`Detail`]. All differences between kinds are in the descriptor,
//! except templates.

pub mod auth;
mod descriptor;
pub mod jump_host;
pub mod load_balancer;

use std::collections::BTreeMap;
use std::net::IpAddr;

use camino::Utf8PathBuf;
use serde::Serialize;

pub use auth::DexSettings;
pub use descriptor::{EndpointDescriptor, EndpointKind, ImageAdvice, ServiceDescriptor};
pub use jump_host::JumpHostSettings;
pub use load_balancer::{ApiServerCheck, ControlPlaneLoadBalancer, WorkerLoadBalancer};

use super::object_name::{object_name, shortened};
use crate::base::api::names::{ClusterKey, NodePort, Role, SecretKey};
use crate::base::finding::RouteStep;
use crate::base::layout;

/// Kinds of services, in the order of rendering.
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
    /// Every kind.
    pub const ALL: [ServiceKind; 4] = [
        ServiceKind::ControlPlaneLoadBalancer,
        ServiceKind::WorkerLoadBalancer,
        ServiceKind::JumpHost,
        ServiceKind::Auth,
    ];

    /// Returns the properties of the kind.
    pub fn descriptor(self) -> &'static ServiceDescriptor {
        match self {
            ServiceKind::ControlPlaneLoadBalancer => &load_balancer::CONTROL_PLANE,
            ServiceKind::WorkerLoadBalancer => &load_balancer::WORKER,
            ServiceKind::JumpHost => &jump_host::DESCRIPTOR,
            ServiceKind::Auth => &auth::DESCRIPTOR,
        }
    }

    /// Returns the route to a service in its SIPCluster. `index` counts services of this kind.
    pub fn route(self, index: usize) -> Vec<RouteStep> {
        let field = self.descriptor().field;
        vec!["spec".into(), "services".into(), field.into(), index.into()]
    }
}

/// A service of a cluster.
#[derive(Debug, Clone)]
pub struct ClusterService {
    /// Index among the services of its kind, from 1. The first has a name without number.
    pub ordinal: usize,
    /// Container image.
    pub image: String,
    /// Labels of the nodes that run its pods; empty for the default of its kind.
    pub node_labels: BTreeMap<String, String>,
    /// Network whose addresses it uses; `None` if its kind uses none.
    pub interface: Option<String>,
    /// Address under which the base cluster's NodePorts are reached.
    pub cluster_ip: Option<IpAddr>,
    /// Settings specific to its kind.
    pub detail: Detail,
}

/// Settings specific to a kind of service.
#[derive(Debug, Clone)]
pub enum Detail {
    /// HAProxy for the tenant's API servers.
    ControlPlaneLoadBalancer(ControlPlaneLoadBalancer),
    /// HAProxy for the tenant's workers.
    WorkerLoadBalancer(WorkerLoadBalancer),
    /// An SSH server with access to the cluster's hosts.
    JumpHost(JumpHostSettings),
    /// Dex.
    Auth(Box<DexSettings>),
}

/// Formats an address for use before a port: IPv6 in brackets.
pub fn bracketed(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

impl ClusterService {
    /// Returns the kind.
    pub fn kind(&self) -> ServiceKind {
        match self.detail {
            Detail::ControlPlaneLoadBalancer(_) => ServiceKind::ControlPlaneLoadBalancer,
            Detail::WorkerLoadBalancer(_) => ServiceKind::WorkerLoadBalancer,
            Detail::JumpHost(_) => ServiceKind::JumpHost,
            Detail::Auth(_) => ServiceKind::Auth,
        }
    }

    /// Returns the properties of its kind.
    pub fn descriptor(&self) -> &'static ServiceDescriptor {
        self.kind().descriptor()
    }

    /// Returns the name of its directory, such as `jumphost`, or `jumphost2` for the second one.
    ///
    /// There is no dash before the number, because `jumphost-2` is the jump host of a cluster named
    /// `2`.
    pub fn directory(&self) -> String {
        let component = self.descriptor().component;
        if self.ordinal == 1 {
            component.to_owned()
        } else {
            format!("{component}{}", self.ordinal)
        }
    }

    /// Returns the directory of its files, relative to the output directory.
    pub fn path(&self, cluster: &ClusterKey) -> Utf8PathBuf {
        layout::cluster_directory(cluster).join(self.directory())
    }

    /// Returns the name of its objects in the cluster's namespace.
    ///
    /// A Service's name is a DNS label: without dots, at most 63 characters.
    pub fn object_name(&self, cluster: &ClusterKey) -> String {
        const LONGEST: usize = 63;
        object_name(&self.directory(), cluster, LONGEST)
    }

    /// Returns the name of a jump host's copy of a Secret in another namespace.
    ///
    /// The separator is a dot, because only the last part may have dots. With dashes, `a-b` and `c`
    /// would equal `a` and `b-c`.
    pub fn copy_name(&self, cluster: &ClusterKey, secret: &SecretKey) -> String {
        const LONGEST: usize = 253;
        let SecretKey { namespace, name } = secret;
        let plain = format!("{}.bmc.{namespace}.{name}", self.object_name(cluster));
        if plain.len() <= LONGEST { plain } else { shortened(&plain, &plain, LONGEST) }
    }

    /// Returns whether it uses the addresses of hosts with a role.
    pub fn uses(&self, role: Role) -> bool {
        self.descriptor().roles.contains(&role)
    }

    /// Returns whether it is an auth service without connectors to identity providers.
    pub fn lacks_connectors(&self) -> bool {
        matches!(&self.detail, Detail::Auth(auth) if auth.connectors.is_empty())
    }

    /// Returns whether it logs in to BMCs, unless the settings keep their credentials from it.
    pub fn logs_in_to_bmcs(&self) -> bool {
        matches!(self.detail, Detail::JumpHost(_))
    }

    /// Returns its NodePorts.
    pub fn node_ports(&self) -> &[NodePort] {
        match &self.detail {
            Detail::ControlPlaneLoadBalancer(balancer) => std::slice::from_ref(&balancer.node_port),
            Detail::WorkerLoadBalancer(balancer) => &balancer.node_ports,
            Detail::JumpHost(jump_host) => std::slice::from_ref(&jump_host.node_port),
            Detail::Auth(auth) => std::slice::from_ref(&auth.node_port),
        }
    }

    /// Returns the route to the field in its SIPCluster with some of its NodePorts.
    pub fn port_route(&self, ports: &[NodePort]) -> Vec<RouteStep> {
        let below = match &self.detail {
            Detail::WorkerLoadBalancer(balancer) => balancer.port_route(ports),
            Detail::ControlPlaneLoadBalancer(_) | Detail::JumpHost(_) | Detail::Auth(_) => {
                vec!["nodePort".into()]
            }
        };
        self.route().into_iter().chain(below).collect()
    }

    /// Returns its entries in the endpoints ConfigMap.
    pub fn endpoints(&self) -> Vec<(String, String)> {
        let Some(endpoint) = &self.descriptor().endpoint else {
            return Vec::new();
        };
        let key = self.endpoint_key(endpoint.prefix, endpoint.suffix);
        match &self.detail {
            Detail::ControlPlaneLoadBalancer(ControlPlaneLoadBalancer { node_port, .. })
            | Detail::JumpHost(JumpHostSettings { node_port, .. }) => {
                self.address_entries(&key, *node_port)
            }
            Detail::Auth(auth) => {
                let client = self.endpoint_key(endpoint.prefix, "-client-id");
                vec![(key, auth.issuer()), (client, DexSettings::CLIENT_ID.to_owned())]
            }
            Detail::WorkerLoadBalancer(_) => Vec::new(),
        }
    }

    /// Returns the key of an entry, with a number for all but the first service of a kind.
    fn endpoint_key(&self, prefix: &str, suffix: &str) -> String {
        match self.ordinal {
            1 => format!("{prefix}{suffix}"),
            number => format!("{prefix}{number}{suffix}"),
        }
    }

    /// Returns the entries of a NodePort: the port, and the address if the SIPCluster has one.
    fn address_entries(&self, key: &str, port: NodePort) -> Vec<(String, String)> {
        let address = self.cluster_ip.into_iter().flat_map(|address| {
            [
                (format!("{key}-host"), address.to_string()),
                (key.to_owned(), format!("{}:{port}", bracketed(address))),
            ]
        });
        address.chain([(format!("{key}-port"), port.to_string())]).collect()
    }

    /// Returns the route to the service in its SIPCluster.
    pub fn route(&self) -> Vec<RouteStep> {
        self.kind().route(self.ordinal - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::jump_host::HostKeySource;
    use super::*;
    use crate::base::api::names::ObjectName;

    fn jump_host() -> ClusterService {
        let detail = Detail::JumpHost(JumpHostSettings {
            node_port: NodePort::try_from(30022).unwrap(),
            bmc_proxy: false,
            authorized_keys: Vec::new(),
            node_private_keys: None,
            host_keys: HostKeySource::Ephemeral,
            homes: None,
        });
        let (image, node_labels) = (String::new(), BTreeMap::new());
        ClusterService { ordinal: 1, image, node_labels, interface: None, cluster_ip: None, detail }
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
