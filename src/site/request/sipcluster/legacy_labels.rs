//! Resolves labels of older generations, which name a cluster but not its namespace.

use std::collections::BTreeMap;

use crate::base::api::assignment::{Claim, LegacyClaim};
use crate::base::api::names::{ClusterKey, HostKey};
use crate::base::finding::{Code, Finding, Origin};
use crate::site::inventory::Inventory;
use crate::site::request::Request;

/// Converts claims by older labels to current ones. A host with an ambiguous claim counts as owned
/// by another tool or repo.
pub(crate) fn resolve(
    mut inventory: Inventory,
    clusters: &BTreeMap<ClusterKey, Request>,
) -> (Inventory, Vec<Finding>) {
    let mut findings = Vec::new();
    for host in &mut inventory.hosts {
        let is_plain =
            host.assignment.claims.iter().any(|(claim, _)| matches!(claim, Claim::Cluster(..)));
        for (claim, origin) in &mut host.assignment.claims {
            let Claim::Older(older) = claim else { continue };
            let understood = match intended(older, &host.key, clusters) {
                Ok(cluster) => match older.role {
                    Some(role) => {
                        host.assignment.legacy_key = (!is_plain).then_some(older.label);
                        Claim::Cluster(cluster.clone(), role.into())
                    }
                    None => {
                        let why = "but no label says in which role";
                        findings.push(unclear(&host.key, older, origin, why).for_cluster(cluster));
                        Claim::Unclear(older.labels.clone())
                    }
                },
                Err(why) => {
                    findings.push(unclear(&host.key, older, origin, &why));
                    Claim::Unclear(older.labels.clone())
                }
            };
            *claim = understood;
        }
    }
    (inventory, findings)
}

/// Returns the cluster with the claimed name: in the claimed namespace, or else in the host's, or
/// else the only one.
fn intended<'a>(
    claim: &LegacyClaim,
    host: &HostKey,
    clusters: &'a BTreeMap<ClusterKey, Request>,
) -> Result<&'a ClusterKey, String> {
    if let Some(labels) = &claim.contradiction {
        return Err(format!("but {labels} contradict each other"));
    }
    let is_called = |(key, request): &(&ClusterKey, &Request)| {
        key.name.as_str() == claim.name
            || request.former_name.as_deref() == Some(claim.name.as_str())
    };
    let named: Vec<&ClusterKey> = clusters.iter().filter(is_called).map(|(key, _)| key).collect();
    if let Some(namespace) = &claim.namespace {
        let there = named.into_iter().find(|cluster| cluster.namespace.as_str() == namespace);
        return there.ok_or_else(|| "but the repo has no such SIPCluster".to_owned());
    }
    let mut beside = named.iter().filter(|cluster| cluster.namespace == host.namespace);
    match (named.as_slice(), beside.next(), beside.next()) {
        ([], ..) => Err("but the repo has no such SIPCluster".to_owned()),
        (_, Some(cluster), None) | ([cluster], None, _) => Ok(cluster),
        (several, ..) => {
            let several: Vec<String> = several.iter().map(ToString::to_string).collect();
            Err(format!("which may be {}", several.join(" or ")))
        }
    }
}

fn unclear(host: &HostKey, claim: &LegacyClaim, origin: &Origin, why: &str) -> Finding {
    let LegacyClaim { label, namespace, name, .. } = claim;
    let cluster =
        namespace.as_ref().map_or(name.clone(), |namespace| format!("{namespace}/{name}"));
    let message = format!(
        "older labels assign host {host} to {cluster}, {why}: the host is treated as belonging to another owner"
    );
    Finding::new(Code::UnclearOlderLabels, message).at(origin.at(["metadata", "labels", label])).help(
        "use the current labels sip.airshipit.org/cluster-namespace, cluster-name and node-type; or remove the older labels if the host is unassigned",
    )
}
