//! Validated services of a cluster.
//!
//! A [`ServiceKind`] describes each kind. Jump hosts (SSH servers with access to the cluster's hosts)
//! and Dex (OpenID Connect login) have settings of their own, which no schema can check.

use std::net::IpAddr;

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;

use super::object_name::{object_name, shortened};
use crate::base::api::JsonObject;
use crate::base::api::address::bracketed;
use crate::base::api::auth::{Connector, Expiry, StaticClient};
use crate::base::api::issuer::IssuerUrl;
use crate::base::api::names::{
    ClusterKey, LabelMap, NodePort, ObjectName, Role, SecretKey, StorageSize,
};
use crate::base::api::service_kind::{EndpointKind, ServiceKind};
use crate::base::finding::RouteStep;
use crate::base::layout;

/// Returns the route to a service in its SIPCluster. `index` counts services of its kind.
pub(super) fn service_route(kind: &ServiceKind, index: usize) -> Vec<RouteStep> {
    vec!["spec".into(), "services".into(), kind.field.as_str().into(), index.into()]
}

/// Address of a tenant's API.
#[derive(Serialize, JsonSchema)]
pub struct EndpointAddress {
    /// IPv6 without brackets.
    pub host: IpAddr,
    /// NodePort.
    pub port: NodePort,
}

/// A service of a cluster.
#[derive(Debug, Clone)]
pub struct ClusterService {
    /// Its kind.
    pub kind: &'static ServiceKind,
    /// Index among the services of its kind, from 1. The first has a name without number.
    pub ordinal: usize,
    /// Container image.
    pub image: String,
    /// Labels of the nodes that run its pods; empty for the default of its kind.
    pub node_labels: LabelMap,
    /// Network whose addresses it uses; `None` if its kind uses none.
    pub interface: Option<String>,
    /// Address under which the base cluster's NodePorts are reached.
    pub cluster_ip: Option<IpAddr>,
    /// Its ports on the base cluster's nodes, in ascending order.
    pub node_ports: Vec<NodePort>,
    /// Settings specific to its kind.
    pub settings: KindSettings,
}

/// Settings specific to a kind of service.
#[derive(Debug, Clone)]
pub enum KindSettings {
    /// Fields that its descriptor describes, with their defaults.
    Described(JsonObject),
    /// An SSH server with access to the cluster's hosts.
    JumpHost(JumpHostSettings),
    /// Dex.
    Auth(Box<DexSettings>),
}

impl ClusterService {
    /// Returns the name of its directory, such as `jumphost`, or `jumphost2` for the second one.
    ///
    /// There is no dash before the number, because `jumphost-2` is the jump host of a cluster named
    /// `2`.
    pub fn directory(&self) -> String {
        self.numbered(&self.kind.component, "")
    }

    /// Returns a name with a number for all but the first service of a kind.
    fn numbered(&self, prefix: &str, suffix: &str) -> String {
        match self.ordinal {
            1 => format!("{prefix}{suffix}"),
            number => format!("{prefix}{number}{suffix}"),
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
        self.kind.roles.contains(&role)
    }

    /// Returns whether it is an auth service without connectors to identity providers.
    pub fn lacks_connectors(&self) -> bool {
        matches!(&self.settings, KindSettings::Auth(auth) if auth.connectors.is_empty())
    }

    /// Returns the route to the field in its SIPCluster with some of its NodePorts.
    pub fn port_route(&self, ports: &[NodePort]) -> Vec<RouteStep> {
        let entry = self.kind.entry.as_ref();
        let has_range = entry.is_some_and(|entry| entry.fields.contains_key("nodePortRange"));
        let below: &[&str] = match ports {
            _ if !has_range => &["nodePort"],
            [port] if self.node_ports.first() == Some(port) => &["nodePortRange", "start"],
            [port] if self.node_ports.last() == Some(port) => &["nodePortRange", "end"],
            _ => &["nodePortRange"],
        };
        self.route().into_iter().chain(below.iter().map(|step| RouteStep::from(*step))).collect()
    }

    /// Returns its entries in the endpoints ConfigMap: the port, and the address if the SIPCluster has one.
    pub fn endpoints(&self) -> Vec<(String, String)> {
        let Some(endpoint) = &self.kind.endpoint else { return Vec::new() };
        let key = self.numbered(&endpoint.prefix, &endpoint.suffix);
        if let KindSettings::Auth(auth) = &self.settings {
            let client = self.numbered(&endpoint.prefix, "-client-id");
            return vec![
                (key, auth.issuer.to_string()),
                (client, DexSettings::CLIENT_ID.to_owned()),
            ];
        }
        let Some(port) = self.node_ports.first() else { return Vec::new() };
        let address = self.cluster_ip.into_iter().flat_map(|address| {
            [
                (format!("{key}-host"), address.to_string()),
                (key.clone(), format!("{}:{port}", bracketed(address))),
            ]
        });
        address.chain([(format!("{key}-port"), port.to_string())]).collect()
    }

    /// Returns the address of the tenant's API, if it leads there and the SIPCluster has it.
    pub fn api_address(&self) -> Option<EndpointAddress> {
        let endpoint = self.kind.endpoint.as_ref()?;
        let is_api = endpoint.kind == EndpointKind::ControlPlane;
        let (host, port) = (self.cluster_ip?, *self.node_ports.first()?);
        is_api.then_some(EndpointAddress { host, port })
    }

    /// Returns the route to the service in its SIPCluster.
    pub fn route(&self) -> Vec<RouteStep> {
        service_route(self.kind, self.ordinal - 1)
    }
}

/// Settings of a jump host, as its templates get them.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct JumpHostSettings {
    /// True if BMCs are reached through the environment's proxy.
    pub bmc_proxy: bool,
    /// Lines of `authorized_keys`.
    pub authorized_keys: Vec<String>,
    /// Secret with private keys that the nodes accept.
    pub node_private_keys: Option<ObjectName>,
    /// Storage of the SSH server's host keys: a Secret or a volume. Without either, every pod
    /// generates its own.
    pub host_keys: HostKeyStorage,
    /// Volume of the operators' home directories.
    #[serde(skip)]
    pub homes: Option<VolumeClaim>,
}

/// Storage of SSH host keys.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct HostKeyStorage {
    /// Secret with the host keys.
    pub secret_name: Option<ObjectName>,
    /// Volume in which the host keys are generated once.
    pub volume_claim: Option<VolumeClaim>,
}

/// A PersistentVolumeClaim.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct VolumeClaim {
    /// Storage class; absent for the base cluster's default class.
    pub storage_class_name: Option<ObjectName>,
    /// Requested size.
    pub storage: Option<StorageSize>,
}

/// Settings of Dex, as its templates get them.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DexSettings {
    /// URL that tokens have as their issuer.
    #[schemars(with = "String")]
    pub issuer: IssuerUrl,
    /// Number of pods.
    pub replicas: u16,
    /// The issuer of its certificate.
    #[serde(skip)]
    pub certificate: Certificate,
    /// True if every machine already trusts the certificate's authority.
    pub publicly_trusted: bool,
    /// Identity providers, each with its name and settings. Only Dex interprets these.
    pub connectors: Vec<Connector>,
    /// Clients that may request tokens, each with its name and lists, and no secret.
    pub clients: Vec<StaticClient>,
    /// Secrets whose entries are Dex's environment.
    pub environment: Vec<ObjectName>,
    /// Lifetimes of tokens and requests.
    pub expiry: Expiry,
}

impl DexSettings {
    /// The id of the client for kubectl, and so the audience of tokens that API servers accept.
    pub const CLIENT_ID: &'static str = "kubernetes";
}

/// The issuer of Dex's certificate.
#[derive(Debug, Clone)]
pub enum Certificate {
    /// A generated cert-manager issuer with the certificate authority in this Secret.
    OfAuthority(ObjectName),
    /// An existing cert-manager issuer.
    OfIssuer {
        /// Name of the issuer.
        name: ObjectName,
        /// `Issuer` or `ClusterIssuer`, or a kind of another group.
        kind: String,
        /// API group of the issuer.
        group: String,
    },
    /// No issuer: the certificate is provided in this Secret by other means.
    InSecret(ObjectName),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jump_host() -> ClusterService {
        ClusterService {
            kind: ServiceKind::with_directory("jumphost").unwrap(),
            ordinal: 1,
            image: String::new(),
            node_labels: LabelMap::new(),
            interface: None,
            cluster_ip: None,
            node_ports: Vec::new(),
            settings: KindSettings::JumpHost(JumpHostSettings::default()),
        }
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
