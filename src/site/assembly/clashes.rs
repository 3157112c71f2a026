//! Conflicts between services over exclusive resources.
//!
//! A NodePort is open on every node of the base cluster, so two Services cannot use the same one,
//! and none can take one that another Service still has. Dex stores its state in its namespace, so
//! two instances in one namespace share it.

use std::collections::BTreeMap;

use super::Site;
use crate::base::api::names::{Namespace, NodePort};
use crate::base::finding::{Code, Finding};
use crate::base::grouping::grouped;
use crate::site::request::{Cluster, ClusterService};

/// A service with its cluster.
type User<'a> = (&'a Cluster, &'a ClusterService);

fn services(site: &Site) -> impl Iterator<Item = User<'_>> {
    site.valid_clusters()
        .flat_map(|cluster| cluster.services.iter().map(move |service| (cluster, service)))
}

/// Reports resources that two services claim, or that would move from one service to another.
pub(super) fn service_clashes(site: &Site) -> Vec<Finding> {
    let mut findings = dex_storage(site);
    let contested = node_ports(site);
    // A contested NodePort moves in any case, so reporting the move would add nothing.
    findings.extend(if contested.is_empty() { moved_node_ports(site) } else { contested });
    findings
}

/// Reports NodePorts that several services claim, one finding for each pair of services.
fn node_ports(site: &Site) -> Vec<Finding> {
    let users: Vec<User<'_>> = services(site).collect();
    let mut first_user: BTreeMap<NodePort, usize> = BTreeMap::new();
    let mut shared: BTreeMap<(usize, usize), Vec<NodePort>> = BTreeMap::new();
    for (user, (_, service)) in users.iter().enumerate() {
        for port in &service.node_ports {
            // Compared with the first user only, so n users give n - 1 findings.
            let first = *first_user.entry(*port).or_insert(user);
            if first != user {
                shared.entry((first, user)).or_default().push(*port);
            }
        }
    }
    let describe = |((first, second), ports): ((usize, usize), Vec<NodePort>)| {
        let ((one, one_service), (two, two_service)) = (users[first], users[second]);
        let place = |(cluster, service): User<'_>| cluster.origin.at(service.port_route(&ports));
        let finding = Finding::new(
            Code::NodePortTaken,
            format!(
                "{} of {} asks for {}, which {} of {} uses",
                two_service.object_name(&two.key),
                two.key,
                describe_ports(&ports),
                one_service.object_name(&one.key),
                one.key,
            ),
        )
        .at(place(users[second]))
        .see(place(users[first]), "asked for here first")
        .help("NodePorts are unique in the base cluster: choose another one")
        .for_cluster(&two.key);
        if one.key == two.key { finding } else { finding.for_cluster(&one.key) }
    };
    shared.into_iter().map(describe).collect()
}

/// Reports NodePorts that move from one service to another, one warning for each pair of services.
///
/// Services of a kind are identified by their index in the list, so removing or moving an entry
/// changes the owner of other entries' NodePorts.
fn moved_node_ports(site: &Site) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (cluster, service) in services(site) {
        let directory = service.path(&cluster.key);
        let moved = grouped(service.node_ports.iter().filter_map(|port| {
            let holder = site.state.node_ports.get(port).filter(|holder| **holder != directory)?;
            Some((holder, *port))
        }));
        findings.extend(moved.into_iter().map(|(holder, ports)| {
            let name = service.object_name(&cluster.key);
            Finding::new(
                Code::NodePortMoves,
                format!("{} would move from {holder} to {name}", describe_ports(&ports)),
            )
            .at(cluster.origin.at(service.port_route(&ports)))
            .help(
                "the API server refuses that while the other Service exists, and agents delete last: choose \
                     other NodePorts, or remove the other Service first, in a separate commit. Append new entries \
                     of a kind at the end of the list",
            )
            .for_cluster(&cluster.key)
        }));
    }
    findings
}

/// Reports namespaces with several instances of Dex. They would share signing keys, clients and
/// refresh tokens: one tenant's Dex could authenticate another tenant's users.
fn dex_storage(site: &Site) -> Vec<Finding> {
    let instances = services(site).filter(|(_, service)| service.kind.shares_storage);
    let by_namespace = grouped(instances.map(|user| (&user.0.key.namespace, user)));
    let shared = by_namespace.into_iter().filter(|(_, users)| users.len() > 1);
    let describe = |(namespace, users): (&Namespace, Vec<User<'_>>)| {
        let finding = Finding::new(
            Code::SharedDexStorage,
            format!("{} instances of Dex would share their storage in {namespace}", users.len()),
        )
        .help(
            "use one namespace per tenant with auth: the instances share signing keys and tokens",
        );
        let mut places = users.iter().map(|(cluster, service)| cluster.origin.at(service.route()));
        let finding =
            finding.at_each(places.next()).see_each(places.map(|place| (place, "another one")));
        finding.for_clusters(users.iter().map(|(cluster, _)| &cluster.key))
    };
    shared.map(describe).collect()
}

/// Formats `NodePort 30443`, `NodePorts 30080-30082`, or the number of ports if they are not
/// consecutive.
pub(crate) fn describe_ports(ports: &[NodePort]) -> String {
    match ports {
        [port] => format!("NodePort {port}"),
        [first, .., last] if usize::from(last.number() - first.number()) + 1 == ports.len() => {
            format!("NodePorts {first}-{last}")
        }
        [first, ..] => format!("NodePort {first} and {} others", ports.len() - 1),
        [] => "no NodePort".to_owned(),
    }
}
