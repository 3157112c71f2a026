//! What other manifests need of a cluster: its endpoints, and the labels of its hosts.

use std::collections::BTreeMap;
use std::net::IpAddr;

use schemars::JsonSchema;
use serde::Serialize;

use crate::api::assignment;
use crate::api::names::{ClusterKey, NodePort, Role};
use crate::request::auth::Auth;
use crate::request::cluster::{JumpHost, bracketed};
use crate::request::{Cluster, Detail, Service};

/// What the templates in `tenant/` are given.
#[derive(Serialize, JsonSchema)]
pub(super) struct Values<'a> {
    /// The cluster.
    cluster: &'a ClusterKey,
    /// Texts for others to take, by name.
    endpoints: BTreeMap<String, String>,
    /// Where the tenant's API is reached, if the SIPCluster says so.
    control_plane_endpoint: Option<Endpoint>,
    /// The labels that all hosts of the cluster have.
    host_labels: BTreeMap<&'static str, &'a str>,
    /// The label by which the hosts of one role are told from the others.
    role_label: &'static str,
    /// The roles that hosts may have.
    roles: [Role; 2],
}

#[derive(Serialize, JsonSchema)]
struct Endpoint {
    /// IPv6 without brackets.
    host: IpAddr,
    /// The NodePort.
    port: NodePort,
}

pub(super) fn values(cluster: &Cluster) -> Values<'_> {
    let mut endpoints = BTreeMap::from([
        (
            "host-selector-cluster-namespace".to_owned(),
            cluster.key.namespace.to_string(),
        ),
        (
            "host-selector-cluster-name".to_owned(),
            cluster.key.name.to_string(),
        ),
    ]);
    for (role, name) in [
        (Role::ControlPlane, "control-plane"),
        (Role::Worker, "worker"),
    ] {
        endpoints.insert(format!("host-selector-node-type-{name}"), role.to_string());
    }
    for service in &cluster.services {
        endpoints.extend(of_service(service));
    }
    Values {
        cluster: &cluster.key,
        endpoints,
        control_plane_endpoint: cluster.services.iter().find_map(control_plane_endpoint),
        host_labels: BTreeMap::from([
            (
                assignment::CLUSTER_NAMESPACE,
                cluster.key.namespace.as_str(),
            ),
            (assignment::CLUSTER_NAME, cluster.key.name.as_str()),
        ]),
        role_label: assignment::NODE_TYPE,
        roles: Role::ALL,
    }
}

/// The texts of one service. Those of a second one of its kind are told by its number.
fn of_service(service: &Service) -> Vec<(String, String)> {
    let number = if service.ordinal == 1 {
        String::new()
    } else {
        service.ordinal.to_string()
    };
    let reached = |name: &str, port: NodePort| {
        let name = format!("{name}{number}-endpoint");
        let host = service.cluster_ip.into_iter().flat_map(|address| {
            let whole = format!("{}:{port}", bracketed(address));
            [
                (format!("{name}-host"), address.to_string()),
                (name.clone(), whole),
            ]
        });
        host.chain([(format!("{name}-port"), port.to_string())])
            .collect()
    };
    match &service.detail {
        Detail::ControlPlaneLoadBalancer { node_port, .. } => reached("control-plane", *node_port),
        Detail::JumpHost(JumpHost { node_port, .. }) => reached("jump-host", *node_port),
        Detail::Auth(auth) => of_auth(auth, &number),
        Detail::WorkerLoadBalancer { .. } => Vec::new(),
    }
}

fn of_auth(auth: &Auth, number: &str) -> Vec<(String, String)> {
    vec![
        (format!("oidc{number}-issuer-url"), auth.issuer()),
        (
            format!("oidc{number}-client-id"),
            Auth::CLIENT_ID.to_owned(),
        ),
    ]
}

fn control_plane_endpoint(service: &Service) -> Option<Endpoint> {
    match &service.detail {
        Detail::ControlPlaneLoadBalancer { node_port, .. } => Some(Endpoint {
            host: service.cluster_ip?,
            port: *node_port,
        }),
        _ => None,
    }
}
