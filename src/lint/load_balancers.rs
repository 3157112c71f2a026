//! A load balancer before hosts of a role that its cluster does not have.

use crate::api::names::Role;
use crate::finding::{Code, Finding};
use crate::request::{Cluster, ServiceKind};

/// The load balancers whose cluster has no node set of the role that they serve. One that wants no host yet is enough:
/// a load balancer without servers is what a cluster that is being born has.
pub(super) fn without_node_set(clusters: &[&Cluster]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for cluster in clusters {
        for service in &cluster.services {
            let role = match service.kind() {
                ServiceKind::ControlPlaneLoadBalancer => Role::ControlPlane,
                ServiceKind::WorkerLoadBalancer => Role::Worker,
                ServiceKind::JumpHost | ServiceKind::Auth => continue,
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
