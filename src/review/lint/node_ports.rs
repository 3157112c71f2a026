//! Rule: a Service of the repo conflicts with a NodePort of a cluster. The API server rejects the
//! later one.

use std::collections::{BTreeMap, HashMap};

use super::services;
use crate::base::api::names::NodePort;
use crate::base::finding::{Code, Finding, RouteStep};
use crate::site::assembly::clashes::describe_ports;
use crate::site::assembly::{ServiceWithPorts, Site};
use crate::site::request::{Cluster, ClusterService};

/// Finds conflicts of NodePorts, one finding per pair of Services. They are warnings, because the
/// repo may hold Services of other base clusters.
pub(super) fn repo_node_ports(site: &Site, clusters: &[&Cluster]) -> Vec<Finding> {
    let mut taken: HashMap<NodePort, Vec<(usize, usize)>> = HashMap::new();
    for (index, service) in site.services.iter().enumerate() {
        for (at, port) in &service.node_ports {
            taken.entry(*port).or_default().push((index, *at));
        }
    }
    let mut findings = Vec::new();
    for (cluster, service) in services(clusters) {
        let mut shared: BTreeMap<usize, (Vec<NodePort>, usize)> = BTreeMap::new();
        for port in &service.node_ports {
            for (index, at) in taken.get(port).into_iter().flatten() {
                shared.entry(*index).or_insert_with(|| (Vec::new(), *at)).0.push(*port);
            }
        }
        for (index, (ports, at)) in shared {
            let other = &site.services[index];
            // A live copy of ours, or one that the SIP operator created under the same name.
            let is_same = other.name == service.object_name(&cluster.key)
                && other.namespaces.iter().any(|it| it == cluster.key.namespace.as_str());
            if !is_same {
                findings.push(describe(cluster, service, other, &ports, at));
            }
        }
    }
    findings
}

fn describe(
    cluster: &Cluster,
    service: &ClusterService,
    other: &ServiceWithPorts,
    ports: &[NodePort],
    at: usize,
) -> Finding {
    let namespace = other.namespaces.first().map_or("", String::as_str);
    let route: [RouteStep; 4] = ["spec".into(), "ports".into(), at.into(), "nodePort".into()];
    let (key, user) = (&cluster.key, format!("{namespace}/{}", other.name));
    let (name, ports_in_words) = (service.object_name(key), describe_ports(ports));
    let message = format!(
        "{name} of `{key}` requests {ports_in_words}, which Service `{user}` of this repo uses"
    );
    Finding::new(Code::NodePortOfRepo, message)
        .at(cluster.origin.at(service.port_route(ports)))
        .see(other.origin.at(route), format!("used by {user}"))
        .help("choose another NodePort, unless that Service belongs to another base cluster")
        .for_cluster(key)
}
