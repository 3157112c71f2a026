//! Claims: assignment labels on hosts, and their precedence.
//!
//! A host gets labels from its manifest, from the agent that applies sipgen's patch, or from
//! another tool. The previous output outranks them, because a snapshot may be older.

use crate::base::api::assignment::{self, Claim};
use crate::base::api::names::{ClusterKey, HostKey};
use crate::base::finding::{Origin, Place};
use crate::site::Site;
use crate::site::inventory::Host;

/// Returns whether the agent set the assignment labels that the snapshot shows. The agent removes
/// those of a declared host with the next sync, or has already done so.
pub(super) fn has_agent_labels(site: &Site, host: &Host) -> bool {
    host.is_declared()
        && host
            .assignment
            .owners
            .iter()
            .any(|owner| site.settings.gitops.is_none_or(|used| used == *owner))
}

/// Returns the claims on a host, except those that this repo made on a declared host.
///
/// A run overwrites or removes its own labels in the same build, whatever an older snapshot shows.
/// They are detected by the agent that set them, or by the previous output: it assigned the host
/// to a cluster that still exists.
pub(super) fn foreign_claims<'a>(
    site: &'a Site,
    host: &'a Host,
) -> impl Iterator<Item = &'a Claim> {
    let held = site.state.held.get(&host.key).filter(|_| host.is_declared());
    let is_of_agent = has_agent_labels(site, host);
    let is_own = move |claim: &Claim, origin: &Origin| {
        let was_held = |cluster: &ClusterKey| {
            held.is_some_and(|held| held.iter().any(|held| held.cluster == *cluster))
        };
        // Labels without a namespace may be those of a removed cluster.
        let is_of_earlier_run = matches!(
            claim,
            Claim::Cluster(cluster, _) if site.clusters.contains_key(cluster) && was_held(cluster)
        );
        // Labels in the manifest were written by its author. Only those in the snapshot may be a
        // run's.
        origin != &host.origin && (is_of_agent || is_of_earlier_run)
    };
    let claims =
        host.assignment.claims.iter().filter(move |(claim, origin)| !is_own(claim, origin));
    claims.map(|(claim, _)| claim)
}

/// Returns the position of the label that names the cluster.
pub(super) fn label_place(site: &Site, origin: &Origin) -> Place {
    let key = site.settings.assignment.labels.naming_key();
    origin.at(["metadata", "labels", key.unwrap_or(assignment::CLUSTER_NAME)])
}

/// Returns the command that removes labels of a host.
pub(super) fn removal_command<'a>(
    host: &Host,
    labels: impl IntoIterator<Item = &'a String>,
) -> String {
    let labels: Vec<String> = labels.into_iter().map(|label| format!("{label}-")).collect();
    let HostKey { namespace, name } = &host.key;
    format!("kubectl label baremetalhost -n {namespace} {name} {}", labels.join(" "))
}
