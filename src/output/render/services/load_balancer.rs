//! Values of the templates of load balancers.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::base::api::address::bracketed;
use crate::base::api::names::{NodePort, ObjectName, Role};
use crate::base::finding::{Code, Finding};
use crate::output::render::renderer::{Renderer, name_in};
use crate::site::request::ClusterService;

#[derive(Serialize, JsonSchema)]
pub(super) struct HaproxyValues {
    /// Number of pods.
    #[schemars(with = "u16")]
    replicas: Value,
    /// PriorityClass of the pods, if the settings name one for tenants' APIs.
    priority_class_name: Option<ObjectName>,
    /// True if HAProxy listens on IPv6 addresses, too.
    ipv6: bool,
    /// Port for probes and Prometheus, not for clients.
    metrics_port: u16,
    /// Ports for clients.
    ports: Vec<HaproxyPort>,
    /// Range that has the ports for clients, of every load balancer of the kind.
    port_range: HaproxyPortRange,
    /// Health check of the servers.
    check: HealthCheck,
    /// Hosts behind the load balancer.
    servers: Vec<HaproxyServer>,
}

#[derive(Serialize, JsonSchema)]
struct HaproxyPortRange {
    /// First port.
    first: u16,
    /// Last port.
    last: u16,
}

#[derive(Serialize, JsonSchema)]
struct HaproxyPort {
    /// Name in the Service, the pod and HAProxy.
    name: String,
    /// Port of the Service, of HAProxy and of the servers.
    port: u16,
    /// Port on the base cluster's nodes.
    node_port: NodePort,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum HealthCheck {
    KubeApiserver,
    Tcp,
}

#[derive(Serialize, JsonSchema)]
struct HaproxyServer {
    /// The host's name, with its namespace as prefix if that is not the cluster's.
    name: String,
    /// IPv6 in brackets.
    address: String,
}

const API_SERVER_PORT: u16 = 6443;

/// Port for probes and metrics, or else the next one that no client uses.
const METRICS_PORT: u16 = 8404;

/// Returns the values; `None`, with a finding, if a host has no address.
pub(super) fn values(
    renderer: &mut Renderer<'_>,
    service: &ClusterService,
    fields: &Map<String, Value>,
) -> Option<HaproxyValues> {
    let is_for_api = service.kind.balances == Some(Role::ControlPlane);
    let port = |node_port: &NodePort| {
        let (name, port) = match is_for_api {
            true => ("kube-apiserver".to_owned(), API_SERVER_PORT),
            false => (format!("port-{node_port}"), node_port.number()),
        };
        HaproxyPort { name, port, node_port: *node_port }
    };
    let ports: Vec<HaproxyPort> = service.node_ports.iter().map(port).collect();
    let is_free = |free: &u16| !ports.iter().any(|port| port.port == *free);
    let cluster = renderer.cluster;
    let server = |(host, _, address): (_, _, IpAddr)| HaproxyServer {
        name: name_in(cluster, host, ':'),
        address: bracketed(address.to_canonical()),
    };
    let addressed = renderer.addressed(service)?;
    let settings = &renderer.site.settings.services;
    let is_ipv6 = |(_, _, address): &&(_, _, IpAddr)| address.to_canonical().is_ipv6();
    if let Some((host, _, address)) = addressed.iter().find(is_ipv6).filter(|_| !settings.ipv6) {
        let message = format!(
            "host {} has the IPv6 address {address}, which {} cannot reach, because of `services.ipv6: false`",
            host.key,
            service.object_name(&cluster.key)
        );
        let finding = Finding::new(Code::Unaddressed, message).at(host.network_place());
        let help = "remove `ipv6: false` from `services`, or give the host an IPv4 address";
        renderer.rendered.findings.push(finding.help(help));
        return None;
    }
    let servers = addressed.into_iter().map(server).collect();
    let range = settings.node_port_range;
    Some(HaproxyValues {
        replicas: fields.get("replicas").cloned().unwrap_or_default(),
        priority_class_name: settings.priority_class_name.clone().filter(|_| is_for_api),
        ipv6: settings.ipv6,
        metrics_port: (METRICS_PORT..).find(is_free).unwrap_or(METRICS_PORT),
        port_range: match is_for_api {
            true => HaproxyPortRange { first: API_SERVER_PORT, last: API_SERVER_PORT },
            false => HaproxyPortRange { first: range.first(), last: range.last() },
        },
        check: match fields.get("healthCheck").and_then(Value::as_str) {
            Some("readyz") => HealthCheck::KubeApiserver,
            _ => HealthCheck::Tcp,
        },
        ports,
        servers,
    })
}
