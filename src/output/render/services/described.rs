//! Values of the templates of kinds that only their descriptor describes.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::base::api::names::{NodePort, Role};
use crate::output::render::renderer::{Renderer, name_in};
use crate::site::request::ClusterService;

#[derive(Serialize, JsonSchema)]
pub(super) struct DescribedValues<'a> {
    /// Fields of its kind in the request, with their defaults.
    fields: &'a Map<String, Value>,
    /// Ports on the base cluster's nodes, in ascending order.
    node_ports: &'a [NodePort],
    /// Hosts whose addresses it uses.
    hosts: Vec<DescribedHost>,
}

#[derive(Serialize, JsonSchema)]
struct DescribedHost {
    /// The host's name, with its namespace as prefix if that is not the cluster's.
    name: String,
    /// Role of the host.
    role: Role,
    /// IPv6 without brackets.
    address: IpAddr,
}

/// Returns the values; `None`, with a finding, if a host has no address.
pub(super) fn values<'a>(
    renderer: &mut Renderer<'_>,
    service: &'a ClusterService,
    fields: &'a Map<String, Value>,
) -> Option<DescribedValues<'a>> {
    let cluster = renderer.cluster;
    let host =
        |(host, role, address)| DescribedHost { name: name_in(cluster, host, '.'), role, address };
    let hosts = match service.kind.roles.is_empty() {
        true => Vec::new(),
        false => renderer.addressed(service)?.into_iter().map(host).collect(),
    };
    Some(DescribedValues { fields, node_ports: &service.node_ports, hosts })
}
