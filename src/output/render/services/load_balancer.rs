//! Values of the templates of load balancers.

use schemars::JsonSchema;
use serde::Serialize;

use super::service_templates::{ServiceContext, ServiceTemplates};
use crate::base::api::names::{NodePort, ObjectName};
use crate::output::render::renderer::{Renderer, TemplateSet, name_in};
use crate::output::render::value_schema::schema_of;
use crate::site::request::ClusterService;
use crate::site::request::service::{
    ApiServerCheck, ControlPlaneLoadBalancer, WorkerLoadBalancer, bracketed,
};

const SET: TemplateSet = TemplateSet { directory: "loadbalancer", configuration: &[] };

pub(super) const CONTROL_PLANE: ServiceTemplates = ServiceTemplates {
    set: SET,
    schema: schema_of::<ServiceContext<'_, HaproxyValues>>,
    too_large: "divide the cluster if it has very many hosts, or let templates of the repo write less",
    too_large_field: None,
};

pub(super) const WORKER: ServiceTemplates = ServiceTemplates {
    set: SET,
    schema: schema_of::<ServiceContext<'_, HaproxyValues>>,
    too_large: "each port takes a line for each host: ask for fewer ports, or divide them among several load balancers",
    too_large_field: Some("nodePortRange"),
};

#[derive(Serialize, JsonSchema)]
pub(super) struct HaproxyValues {
    /// Number of pods.
    replicas: u16,
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

/// Returns the values of a load balancer for the tenant's API servers.
pub(super) fn before_control_plane(
    renderer: &mut Renderer<'_>,
    service: &ClusterService,
    balancer: &ControlPlaneLoadBalancer,
) -> Option<HaproxyValues> {
    let ports = vec![HaproxyPort {
        name: "kube-apiserver".to_owned(),
        port: API_SERVER_PORT,
        node_port: balancer.node_port,
    }];
    let servers = servers(renderer, service)?;
    Some(HaproxyValues {
        replicas: balancer.replicas,
        priority_class_name: renderer.site.settings.services.priority_class_name.clone(),
        ipv6: renderer.site.settings.services.ipv6,
        metrics_port: METRICS_PORT,
        ports,
        port_range: HaproxyPortRange { first: API_SERVER_PORT, last: API_SERVER_PORT },
        check: match balancer.health_check {
            ApiServerCheck::Readyz => HealthCheck::KubeApiserver,
            ApiServerCheck::Tcp => HealthCheck::Tcp,
        },
        servers,
    })
}

/// Returns the values of a load balancer for the tenant's workers.
pub(super) fn before_workers(
    renderer: &mut Renderer<'_>,
    service: &ClusterService,
    balancer: &WorkerLoadBalancer,
) -> Option<HaproxyValues> {
    let port = |node_port: &NodePort| HaproxyPort {
        name: format!("port-{node_port}"),
        port: node_port.number(),
        node_port: *node_port,
    };
    let ports: Vec<HaproxyPort> = balancer.node_ports.iter().map(port).collect();
    let is_free = |free: &u16| !ports.iter().any(|port| port.port == *free);
    let metrics_port = (METRICS_PORT..).find(is_free).unwrap_or(METRICS_PORT);
    let node_ports = renderer.site.settings.services.node_port_range;
    let servers = servers(renderer, service)?;
    Some(HaproxyValues {
        replicas: balancer.replicas,
        priority_class_name: None,
        ipv6: renderer.site.settings.services.ipv6,
        metrics_port,
        ports,
        port_range: HaproxyPortRange { first: node_ports.first(), last: node_ports.last() },
        check: HealthCheck::Tcp,
        servers,
    })
}

fn servers(renderer: &mut Renderer<'_>, service: &ClusterService) -> Option<Vec<HaproxyServer>> {
    let cluster = renderer.cluster;
    let addressed = renderer.addressed(service)?.into_iter();
    let server = addressed.map(|(host, _, address)| HaproxyServer {
        name: name_in(cluster, host, ':'),
        address: bracketed(address),
    });
    Some(server.collect())
}
