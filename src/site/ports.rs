//! NodePorts are opened on every node of the base cluster, so no two Services of a repo may ask for one.

use std::collections::BTreeMap;

use super::cluster::{Cluster, Service};
use crate::api::names::NodePort;
use crate::finding::Finding;

/// The NodePorts that more than one service asks for, as a finding for each pair of services.
pub(super) fn clashes<'a>(clusters: impl Iterator<Item = &'a Cluster>) -> Vec<Finding> {
    type User<'a> = (&'a Cluster, &'a Service);
    let mut users: Vec<User<'_>> = Vec::new();
    let mut first_user: BTreeMap<NodePort, usize> = BTreeMap::new();
    let mut shared: BTreeMap<(usize, usize), Vec<NodePort>> = BTreeMap::new();
    for cluster in clusters {
        for service in &cluster.services {
            let user = users.len();
            users.push((cluster, service));
            for port in service.node_ports() {
                let first = *first_user.entry(*port).or_insert(user);
                if first != user {
                    shared.entry((first, user)).or_default().push(*port);
                }
            }
        }
    }
    let describe = |((first, second), ports): ((usize, usize), Vec<NodePort>)| {
        let ((one, one_service), (two, two_service)) = (users[first], users[second]);
        let place = |(cluster, service): User<'_>| {
            let field = if service.node_ports().len() > 1 { "nodePortRange" } else { "nodePort" };
            cluster.origin.at(service.route().into_iter().chain([field.into()]))
        };
        let finding = Finding::error(format!(
            "{} of {} asks for {}, which {} of {} has",
            two_service.object_name(&two.key),
            two.key,
            describe_ports(&ports),
            one_service.object_name(&one.key),
            one.key,
        ))
        .at(place(users[second]))
        .see(place(users[first]), "asked for here first")
        .help("NodePorts are unique in the base cluster: choose another one")
        .of(&two.key);
        if one.key == two.key { finding } else { finding.of(&one.key) }
    };
    shared.into_iter().map(describe).collect()
}

/// `NodePort 30443`, or `NodePorts 30080-30082`, or how many when they are not in one run.
fn describe_ports(ports: &[NodePort]) -> String {
    match ports {
        [port] => format!("NodePort {port}"),
        [first, .., last] if usize::from(last.number() - first.number()) + 1 == ports.len() => {
            format!("NodePorts {first}-{last}")
        }
        [first, ..] => format!("NodePort {first} and {} others", ports.len() - 1),
        [] => "no NodePort".to_owned(),
    }
}
