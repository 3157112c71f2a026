//! A SIPCluster beside the objects of Cluster API: the SIPCluster decides, and the objects must be
//! content with its hosts.

use kube::core::SelectorExt;

use crate::base::api::names::Role;
use crate::base::finding::{Code, Finding};
use crate::site::inventory::Host;
use crate::site::request::Cluster;

/// Reports where the objects of Cluster API need more hosts than the SIPCluster requests, or none of
/// those that it selects.
pub(crate) fn disagreements(
    sip_cluster: &Cluster,
    objects: &Cluster,
    hosts: &[Host],
) -> Vec<Finding> {
    let numbers = too_few(sip_cluster, objects);
    numbers.into_iter().chain(unselected(sip_cluster, objects, hosts)).collect()
}

/// Reports control planes and MachineDeployments that select none of the hosts that the SIPCluster
/// selects for their role.
fn unselected(sip_cluster: &Cluster, objects: &Cluster, hosts: &[Host]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (part, set) in &objects.node_sets {
        let Some(own) = sip_cluster.node_set(&part.role.into()) else { continue };
        let mut selected =
            hosts.iter().filter(|host| own.selector.matches(&host.labels)).peekable();
        let takes = |host: &Host| {
            set.selector.matches(&host.labels)
                && set.namespace.as_ref().is_none_or(|namespace| *namespace == host.key.namespace)
        };
        // Without any host, the SIPCluster's own selector is reported.
        if selected.peek().is_none() || selected.any(takes) {
            continue;
        }
        let message = format!(
            "Cluster API's Machines of {}, {part}, can claim none of the hosts that the SIPCluster selects as {}",
            sip_cluster.key, part.role
        );
        findings.push(
            Finding::new(Code::Disagreement, message)
                .at(set.selector_at.place())
                .see(own.selector_at.place(), "selected here")
                .help("select the same hosts, in the namespace of the Cluster: a Machine claims hosts nowhere else")
                .for_cluster(&sip_cluster.key),
        );
    }
    findings
}

fn too_few(sip_cluster: &Cluster, objects: &Cluster) -> Vec<Finding> {
    let role_finding = |role: Role| {
        let (_, node_set) = sip_cluster.node_sets.iter().find(|(part, _)| part.role == role)?;
        let sets = objects.node_sets.iter().filter(|(part, _)| part.role == role);
        let machines: usize = sets.clone().map(|(_, set)| set.wanted()).sum();
        let (_, first) = sets.clone().next()?;
        let wanted = node_set.wanted();
        if machines <= wanted {
            return None;
        }
        let message = format!(
            "Cluster API's objects need {machines} {role} hosts of {}, with those of a rollout, and the SIPCluster \
             requests {wanted}",
            sip_cluster.key
        );
        Some(
            Finding::new(Code::Disagreement, message)
                .at(first.active_at.place())
                .see(node_set.active_at.place(), "requested here")
                .help("raise `count` in the SIPCluster, or lower `replicas` or `maxSurge`; a Machine without a host waits")
                .for_cluster(&sip_cluster.key),
        )
    };
    Role::ALL.into_iter().filter_map(role_finding).collect()
}
