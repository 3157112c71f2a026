//! What the templates of load balancers are given.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Renderer, name_in};
use crate::api::names::NodePort;
use crate::request::Service;
use crate::request::cluster::bracketed;

#[derive(Serialize, JsonSchema)]
pub(super) struct Values {
    /// How many pods there are.
    replicas: u16,
    /// For probes and Prometheus; no client's.
    metrics_port: u16,
    /// The ports for clients.
    ports: Vec<Port>,
    /// How HAProxy sees that a server is well.
    check: Check,
    /// The hosts behind the load balancer.
    servers: Vec<Server>,
}

#[derive(Serialize, JsonSchema)]
struct Port {
    /// Its name in the Service, the pod and HAProxy.
    name: String,
    /// Of the Service, of HAProxy and of the servers.
    port: u16,
    /// On the base cluster's nodes.
    node_port: NodePort,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Check {
    KubeApiserver,
    Tcp,
}

#[derive(Serialize, JsonSchema)]
struct Server {
    /// The host's name, with its namespace before it if that is not the cluster's.
    name: String,
    /// IPv6 in brackets.
    address: String,
}

/// Neither the API servers' port nor a NodePort, which are the other ports that HAProxy listens on.
const METRICS_PORT: u16 = 8404;

/// Of a load balancer before the tenant's API servers.
pub(super) fn before_control_plane(
    renderer: &mut Renderer<'_>,
    service: &Service,
    node_port: NodePort,
    replicas: u16,
) -> Option<Values> {
    let ports = vec![Port {
        name: "kube-apiserver".to_owned(),
        port: 6443,
        node_port,
    }];
    let servers = servers(renderer, service)?;
    Some(Values {
        replicas,
        metrics_port: METRICS_PORT,
        ports,
        check: Check::KubeApiserver,
        servers,
    })
}

/// Of a load balancer before the tenant's workers.
pub(super) fn before_workers(
    renderer: &mut Renderer<'_>,
    service: &Service,
    node_ports: &[NodePort],
    replicas: u16,
) -> Option<Values> {
    let port = |node_port: &NodePort| Port {
        name: format!("port-{node_port}"),
        port: node_port.number(),
        node_port: *node_port,
    };
    let ports = node_ports.iter().map(port).collect();
    let servers = servers(renderer, service)?;
    Some(Values {
        replicas,
        metrics_port: METRICS_PORT,
        ports,
        check: Check::Tcp,
        servers,
    })
}

fn servers(renderer: &mut Renderer<'_>, service: &Service) -> Option<Vec<Server>> {
    let cluster = renderer.cluster;
    let addressed = renderer.addressed(service)?.into_iter();
    let server = addressed.map(|(host, _, address)| Server {
        name: name_in(cluster, host, ':'),
        address: bracketed(address),
    });
    Some(server.collect())
}
