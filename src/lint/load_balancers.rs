//! Load balancers without backends.

use crate::finding::{Code, Finding};
use crate::request::Cluster;

/// Returns a finding for each load balancer whose cluster has no node set of the role that it serves.
///
/// A node set that wants no host yet is enough: a new cluster has a load balancer without servers.
pub(super) fn without_node_set(clusters: &[&Cluster]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for cluster in clusters {
        for service in &cluster.services {
            let Some(role) = service.descriptor().balances else {
                continue;
            };
            if !cluster.node_sets.contains_key(&role.into()) {
                findings.push(
                    Finding::new(
                        Code::NothingBehind,
                        format!(
                            "{} of {} has nothing behind it: the cluster has no node set {role}",
                            service.object_name(&cluster.key),
                            cluster.key
                        ),
                    )
                    .at(cluster.origin.at(service.route()))
                    .help(format!(
                        "add `{role}` to `spec.nodes`, with `count: {{active: 0}}` for none as yet, or remove the load \
                         balancer"
                    ))
                    .of(&cluster.key),
                );
            }
        }
    }
    findings
}
