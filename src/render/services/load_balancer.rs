//! What the templates of load balancers are given.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Renderer, name_in};
use crate::api::names::NodePort;
use crate::site::Service;
use crate::site::cluster::bracketed;

#[derive(Serialize, JsonSchema)]
pub(super) struct Values {
    ports: Vec<Port>,
    check: Check,
    servers: Vec<Server>,
}

#[derive(Serialize, JsonSchema)]
struct Port {
    name: String,
    /// Of the Service, of HAProxy and of the servers.
    port: u16,
    node_port: NodePort,
}

/// How HAProxy sees that a server is well.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Check {
    KubeApiserver,
    Tcp,
}

#[derive(Serialize, JsonSchema)]
struct Server {
    name: String,
    /// IPv6 in brackets.
    address: String,
}

/// Of a load balancer before the tenant's API servers.
pub(super) fn before_control_plane(
    renderer: &mut Renderer<'_>,
    service: &Service,
    node_port: NodePort,
) -> Option<Values> {
    let ports = vec![Port { name: "kube-apiserver".to_owned(), port: 6443, node_port }];
    Some(Values { ports, check: Check::KubeApiserver, servers: servers(renderer, service)? })
}

/// Of a load balancer before the tenant's workers.
pub(super) fn before_workers(
    renderer: &mut Renderer<'_>,
    service: &Service,
    node_ports: &[NodePort],
) -> Option<Values> {
    let port = |node_port: &NodePort| Port {
        name: format!("port-{node_port}"),
        port: node_port.number(),
        node_port: *node_port,
    };
    let ports = node_ports.iter().map(port).collect();
    Some(Values { ports, check: Check::Tcp, servers: servers(renderer, service)? })
}

fn servers(renderer: &mut Renderer<'_>, service: &Service) -> Option<Vec<Server>> {
    let cluster = renderer.cluster;
    let addressed = renderer.addressed(service)?.into_iter();
    let server =
        addressed.map(|(host, _, address)| Server { name: name_in(cluster, host, ':'), address: bracketed(address) });
    Some(server.collect())
}
