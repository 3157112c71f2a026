//! Rule: a load balancer has no node set.

use crate::base::finding::{Code, Finding};
use crate::site::request::Cluster;

/// Finds load balancers without a node set of their role. An empty node set is enough, as in a new
/// cluster.
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
                            "{} of `{}` has no backends: the cluster has no node set {role}",
                            service.object_name(&cluster.key),
                            cluster.key
                        ),
                    )
                    .at(cluster.origin.at(service.route()))
                    .help(format!(
                        "add `{role}` to `spec.nodes`, if need be with `count: {{active: 0}}`, or remove the load \
                         balancer"
                    ))
                    .for_cluster(&cluster.key),
                );
            }
        }
    }
    findings
}
