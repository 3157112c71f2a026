//! Load balancers: HAProxy for the tenant's API servers or workers.

use super::descriptor::{EndpointDescriptor, EndpointKind, ImageAdvice, ServiceDescriptor};
use crate::base::api::names::{NodePort, Role};
use crate::base::finding::RouteStep;

const HAPROXY: ImageAdvice =
    ImageAdvice { example: "docker.io/library/haproxy:3.0", name: Some("haproxy"), oldest: (2, 6) };

pub(super) const CONTROL_PLANE: ServiceDescriptor = ServiceDescriptor {
    component: "loadbalancer-controlplane",
    field: "loadBalancerControlPlane",
    roles: &[Role::ControlPlane],
    balances: Some(Role::ControlPlane),
    endpoint: Some(EndpointDescriptor {
        kind: EndpointKind::ControlPlane,
        prefix: "control-plane",
        suffix: "-endpoint",
    }),
    definitions: None,
    // The address of a cluster's API is that of control-plane nodes.
    shares_storage: false,
    on_control_plane: true,
    image: HAPROXY,
};

pub(super) const WORKER: ServiceDescriptor = ServiceDescriptor {
    component: "loadbalancer-worker",
    field: "loadBalancerWorker",
    roles: &[Role::Worker],
    balances: Some(Role::Worker),
    endpoint: None,
    definitions: None,
    // The address of a cluster's API is that of control-plane nodes.
    shares_storage: false,
    on_control_plane: true,
    image: HAPROXY,
};

/// HAProxy for the tenant's API servers.
#[derive(Debug, Clone)]
pub struct ControlPlaneLoadBalancer {
    /// Port of the tenant's API on the base cluster's nodes.
    pub node_port: NodePort,
    /// Number of HAProxy pods, at least one.
    pub replicas: u16,
    /// Health check of the API servers.
    pub health_check: ApiServerCheck,
}

/// A health check of API servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiServerCheck {
    /// `GET /readyz`.
    Readyz,
    /// A connection.
    Tcp,
}

/// HAProxy for the tenant's workers.
#[derive(Debug, Clone)]
pub struct WorkerLoadBalancer {
    /// Forwarded ports, in ascending order.
    pub node_ports: Vec<NodePort>,
    /// Number of HAProxy pods, at least one.
    pub replicas: u16,
}

impl WorkerLoadBalancer {
    /// Returns the route from the service to the field with some of its NodePorts.
    pub(super) fn port_route(&self, ports: &[NodePort]) -> Vec<RouteStep> {
        let mut route = vec!["nodePortRange".into()];
        match ports {
            [port] if self.node_ports.first() == Some(port) => route.push("start".into()),
            [port] if self.node_ports.last() == Some(port) => route.push("end".into()),
            _ => {}
        }
        route
    }
}
