//! Resolves labels of older generations, which name a cluster but not its namespace.

use std::collections::BTreeMap;

use crate::base::api::assignment::{Claim, LegacyClaim};
use crate::base::api::names::{ClusterKey, HostKey};
use crate::base::finding::{Code, Finding, Origin};
use crate::base::text::joined;
use crate::site::request::Request;

/// Converts a claim by older labels to a current one.
///
/// # Errors
///
/// Returns a finding if the claim is ambiguous. The host then counts as owned by another tool or
/// repo.
pub(crate) fn resolved(
    claim: &LegacyClaim,
    host: &HostKey,
    origin: &Origin,
    clusters: &BTreeMap<ClusterKey, Request>,
) -> Result<Claim, Finding> {
    let LegacyClaim { label, namespace, name, .. } = claim;
    let unclear = |why: &str| {
        let cluster =
            namespace.as_ref().map_or(name.clone(), |namespace| format!("{namespace}/{name}"));
        let message = format!(
            "older labels assign host {host} to {cluster}, {why}: the host is treated as belonging to another owner"
        );
        let help = "use the current labels sip.airshipit.org/cluster-namespace, cluster-name and node-type; or remove the older labels if the host is unassigned";
        let place = origin.at(["metadata", "labels", label]);
        Finding::new(Code::UnclearLabels, message).at(place).help(help)
    };
    let cluster = intended(claim, host, clusters).map_err(|why| unclear(&why))?;
    match claim.role {
        Some(role) => Ok(Claim::Cluster(cluster.clone(), role.into())),
        None => Err(unclear("but no label says in which role").for_cluster(cluster)),
    }
}

/// Returns the cluster with the claimed name: in the claimed namespace, or else the nearest.
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
    let is_there = |cluster: &&ClusterKey| {
        claim.namespace.as_ref().is_none_or(|namespace| cluster.namespace.as_str() == namespace)
    };
    let named = clusters.iter().filter(is_called).map(|(key, _)| key).filter(is_there);
    match named.collect::<Vec<_>>().as_slice() {
        [] => Err("but the repo has no such SIPCluster".to_owned()),
        [cluster, ..] if claim.namespace.is_some() => Ok(cluster),
        several => nearest(several, host)
            .ok_or_else(|| format!("which may be {}", joined(several, " or "))),
    }
}

/// Returns the cluster in the host's namespace, or else the only one.
pub(crate) fn nearest<'a>(clusters: &[&'a ClusterKey], host: &HostKey) -> Option<&'a ClusterKey> {
    let beside = clusters.iter().copied().filter(|cluster| cluster.namespace == host.namespace);
    match (beside.collect::<Vec<_>>().as_slice(), clusters) {
        ([cluster], _) | ([], [cluster]) => Some(cluster),
        _ => None,
    }
}
