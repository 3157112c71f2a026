//! Reduction of Machines and Metal3Machines to what shows the node set of a host's user.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Snapshot, keep, text_at};
use crate::base::api::cluster_api::{
    CLUSTER_NAME, CONTROL_PLANE_LABEL, DEPLOYMENT_NAME, MACHINE, METAL3_MACHINE,
    TOPOLOGY_DEPLOYMENT_NAME,
};
use crate::base::api::names::HostKey;

/// The live objects: kind, plural, and versions, the newest first.
pub(super) const LIVE: [(&str, &str, &[&str]); 2] = [
    (MACHINE, "machines", &["cluster.x-k8s.io/v1beta2", "cluster.x-k8s.io/v1beta1"]),
    (
        METAL3_MACHINE,
        "metal3machines",
        &["infrastructure.cluster.x-k8s.io/v1beta2", "infrastructure.cluster.x-k8s.io/v1beta1"],
    ),
];

/// Labels that are kept.
const LABELS: [&str; 4] =
    [CLUSTER_NAME, CONTROL_PLANE_LABEL, DEPLOYMENT_NAME, TOPOLOGY_DEPLOYMENT_NAME];

/// Keeps the labels, owners, Cluster, host and failure domain of a Machine or Metal3Machine.
pub(super) fn keep_machine(kept: &mut Value, live: &Value) {
    kept["spec"] = json!({});
    keep::keep_texts(kept, live, &["/spec/clusterName", "/spec/failureDomain", "/spec/providerID"]);
    let mut labels = keep::labels(live.pointer("/metadata/labels"));
    labels.retain(|key, _| LABELS.contains(&key.as_str()));
    keep::set_unless_empty(kept, "/metadata/labels", labels);
    let owners = live.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    let owner = |owner: &Value| {
        let [api_version, kind, name] =
            ["/apiVersion", "/kind", "/name"].map(|field| text_at(owner, field));
        Some(json!({"apiVersion": api_version?, "kind": kind?, "name": name?}))
    };
    let owners: Vec<Value> = owners.into_iter().flatten().filter_map(owner).collect();
    keep::set_unless_empty(kept, "/metadata/ownerReferences", owners);
    let reference = ["/spec/infrastructureRef/kind", "/spec/infrastructureRef/name"];
    if reference.iter().all(|pointer| text_at(live, pointer).is_some()) {
        keep::keep_texts(kept, live, &reference);
    }
}

/// Drops Metal3Machines that use no host of the snapshot, and their Machines.
pub(super) fn keep_users(snapshot: &mut Snapshot) {
    let consumer = |(key, host): (&HostKey, &Value)| {
        let text = |field: &str| text_at(host, &format!("/spec/consumerRef/{field}"));
        let is_machine = text("kind") == Some(METAL3_MACHINE);
        let name = text("name").filter(|_| is_machine)?;
        let namespace = text("namespace").unwrap_or(key.namespace.as_str());
        Some((namespace.to_owned(), name.to_owned()))
    };
    let users: BTreeSet<(String, String)> = snapshot.hosts.iter().filter_map(consumer).collect();
    snapshot.objects.retain(|(namespace, _, kind, name), object| {
        let metal3_machine = match kind.as_str() {
            METAL3_MACHINE => name.as_str(),
            MACHINE => text_at(object, "/spec/infrastructureRef/name").unwrap_or_default(),
            _ => return true,
        };
        users.contains(&(namespace.to_string(), metal3_machine.to_owned()))
    });
}
