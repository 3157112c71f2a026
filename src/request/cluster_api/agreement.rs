//! A SIPCluster beside the objects of Cluster API: the SIPCluster decides, and the objects must be
//! content with its hosts.

use crate::api::names::Role;
use crate::finding::{Code, Finding};
use crate::request::Cluster;

/// Reports where the objects of Cluster API need more hosts than the SIPCluster requests.
pub(crate) fn disagreements(sip_cluster: &Cluster, objects: &Cluster) -> Vec<Finding> {
    let of_role = |role: Role| {
        let (_, node_set) = sip_cluster
            .node_sets
            .iter()
            .find(|(part, _)| part.role == role)?;
        let sets = objects
            .node_sets
            .iter()
            .filter(|(part, _)| part.role == role);
        let (replicas, machines) = sets.clone().fold((0, 0), |(replicas, machines), (_, set)| {
            (replicas + set.active, machines + set.wanted())
        });
        let (_, first) = sets.clone().next()?;
        let wanted = node_set.wanted();
        if machines <= wanted {
            return None;
        }
        let message = if replicas > wanted {
            format!(
                "Cluster API's objects ask for {replicas} {role} hosts of {}, and the SIPCluster requests {wanted}",
                sip_cluster.key
            )
        } else {
            format!(
                "a rollout needs {machines} {role} hosts of {}, and the SIPCluster requests {wanted}",
                sip_cluster.key
            )
        };
        Some(
            Finding::new(Code::Disagreement, message)
                .at(first.active_at.place())
                .see(node_set.active_at.place(), "requested here")
                .help("raise `count` in the SIPCluster, or lower `replicas` or `maxSurge`; a Machine without a host waits")
                .of(&sip_cluster.key),
        )
    };
    Role::ALL.into_iter().filter_map(of_role).collect()
}
