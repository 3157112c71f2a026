//! Rule: a load balancer has no node set.

use crate::base::finding::{Code, Finding};
use crate::site::request::{Cluster, ClusterService};

/// Finds a load balancer without a node set of its role. An empty node set is enough, as in a new
/// cluster.
pub(super) fn without_node_set(cluster: &Cluster, service: &ClusterService) -> Option<Finding> {
    let key = &cluster.key;
    let role = service.kind.balances?;
    if cluster.node_sets.contains_key(&role.into()) {
        return None;
    }
    let name = service.object_name(key);
    let message = format!("{name} of `{key}` has no backends: the cluster has no node set {role}");
    let help = format!(
        "add `{role}` to `spec.nodes`, if need be with `count: {{active: 0}}`, or remove the load balancer"
    );
    let finding = Finding::new(Code::NothingBehind, message).help(help);
    Some(finding.at(cluster.origin.at(service.route())))
}
