//! Decides what is written for released hosts.
//!
//! A declared host loses its patch, and with it its labels. Its manifest is still applied in full.
//! Labels in the manifest itself are patched away for as long as they are there.
//!
//! An observed host is written once more without labels, because agents do not prune it. It stays
//! *released* until a snapshot proves that its labels are gone. A snapshot without labels proves
//! nothing by itself, because it may be older than the labels. Proof is a snapshot without labels
//! after one with labels, or a snapshot with sipgen's annotation.

use std::collections::{BTreeMap, BTreeSet};

use super::AssignmentMethod;
use super::assignments::Assignments;
use super::claims::{has_agent_labels, label_place, removal_command};
use crate::base::api::assignment::ReleaseProgress;
use crate::base::api::names::{ClusterKey, HostKey};
use crate::base::finding::{Code, Finding, Place};
use crate::base::grouping::grouped;
use crate::site::Site;
use crate::site::inventory::{Evidence, Host};
use crate::site::previous::PendingRelease;

/// Returns the hosts that an earlier run released and that the snapshot does not yet show free.
pub(super) fn still_released(site: &Site) -> BTreeMap<HostKey, PendingRelease> {
    let released = site.state.released.iter().filter_map(|(key, release)| {
        let host = site.inventory.host(key)?;
        // If an agent applies the host in full, writing it once more would erase its spec.
        let is_ours = host.evidence == Evidence::Live && host.applied_in_full_by.is_none();
        let labelled = !host.assignment.claims.is_empty();
        let was_seen = release.given_back.labels_seen || annotation_seen(host, release);
        let mut release = release.clone();
        release.given_back.labels_seen |= labelled;
        (is_ours && (labelled || !was_seen)).then(|| (key.clone(), release))
    });
    released.collect()
}

/// Returns the observed hosts that this plan releases.
pub(super) fn newly_released(assignments: &Assignments<'_>) -> BTreeMap<HostKey, PendingRelease> {
    let released = assignments.released.iter().filter_map(|(cluster, index, _)| {
        let host = &assignments.site.inventory.hosts[*index];
        let is_left = !assignments.retained.contains_key(index);
        // The round distinguishes the annotation of this release from that of an earlier one.
        let round = host.assignment.released.map_or(0, |seen| seen.round).saturating_add(1);
        let given_back = ReleaseProgress { labels_seen: !host.assignment.claims.is_empty(), round };
        let release = PendingRelease { given_back, by: Some((*cluster).clone()) };
        (host.evidence == Evidence::Live && is_left).then(|| (host.key.clone(), release))
    });
    released.collect()
}

/// Returns whether the snapshot shows that the release has been applied.
fn annotation_seen(host: &Host, release: &PendingRelease) -> bool {
    host.assignment.released.is_some_and(|seen| seen.round == release.given_back.round)
}

/// Reports released hosts that keep their labels although the release was applied. Another field
/// manager set them, and server-side apply removes only fields of its own manager.
pub(super) fn stuck(site: &Site, released: &BTreeMap<HostKey, PendingRelease>) -> Vec<Finding> {
    let stuck = released.iter().filter_map(|(key, release)| {
        let host = site.inventory.host(key)?;
        if host.assignment.claims.is_empty() || !annotation_seen(host, release) {
            return None;
        }
        let message =
            format!("host {} was released, but labels of another owner stay on it", host.key);
        let finding = Finding::new(Code::LabelsStay, message).at(last_label_place(site, host));
        Some(finding.help(label_removal(site, host)))
    });
    stuck.collect()
}

/// Reports surplus declared hosts: labels on the live object assign them to a cluster that needs no
/// more hosts. No file of this repo can remove those labels, because they are not in the manifest
/// and another field manager owns them.
pub(super) fn surplus(assignments: &Assignments<'_>) -> Vec<Finding> {
    let site = assignments.site;
    let surplus = assignments.released.iter().filter_map(|(cluster, index, how)| {
        let host = &site.inventory.hosts[*index];
        if can_remove_labels(host, *how) || has_agent_labels(site, host) {
            return None;
        }
        let message =
            format!("host {} has the labels of {cluster}, which needs no more hosts", host.key);
        let help = format!(
            "if the snapshot is older than the last release, take a new one; otherwise {}",
            label_removal(site, host)
        );
        let finding = Finding::new(Code::Surplus, message).at(last_label_place(site, host));
        Some(finding.help(help).for_cluster(cluster))
    });
    surplus.collect()
}

/// Returns the place of the labels of a host that count.
fn last_label_place(site: &Site, host: &Host) -> Place {
    let last = host.assignment.claims.last();
    label_place(site, last.map_or(&host.origin, |(_, origin)| origin))
}

/// Returns whether a file of this repo can remove the labels of a host.
fn can_remove_labels(host: &Host, how: AssignmentMethod) -> bool {
    how == AssignmentMethod::Stays
        || host.evidence == Evidence::Live
        || !host.assignment.in_manifest.is_empty()
}

/// Describes the removal of labels that no file of this repo can remove. An agent that was replaced
/// by another still owns the labels that it applied.
fn label_removal(site: &Site, host: &Host) -> String {
    let mut owners = host.assignment.owners.iter();
    let former = owners.find(|owner| site.settings.gitops.is_some_and(|used| used != **owner));
    let owner = former.map_or("another tool set them".to_owned(), |owner| {
        format!(
            "{owner} applied them before, and its manager `{}` still owns them",
            owner.manager()
        )
    });
    let command = removal_command(host, &host.assignment.in_snapshot);
    format!("{owner}: remove them, then take a new snapshot\n{command}")
}

/// Returns the declared hosts without a cluster whose manifests have assignment labels. Hosts of
/// earlier runs stay in the list for as long as their manifests have the labels.
pub(super) fn unlabelled(
    assignments: &Assignments<'_>,
    assigned: &BTreeMap<usize, &ClusterKey>,
) -> BTreeSet<HostKey> {
    let site = assignments.site;
    let given_back = assignments.released.iter().map(|(_, index, _)| *index);
    let before = site.state.unlabelled.iter().filter_map(|key| site.inventory.index(key));
    before
        .chain(given_back)
        .filter(|index| !assigned.contains_key(index))
        .map(|index| &site.inventory.hosts[index])
        .filter(|host| host.is_declared() && !host.assignment.in_manifest.is_empty())
        .map(|host| host.key.clone())
        .collect()
}

/// Returns the hosts that each cluster loses. A declared host that only live labels assign does not
/// count, because no file of this repo can release it.
pub(super) fn by_cluster(
    assignments: &Assignments<'_>,
    assigned: &BTreeMap<usize, &ClusterKey>,
) -> BTreeMap<ClusterKey, Vec<HostKey>> {
    grouped(assignments.released.iter().filter_map(|(cluster, index, how)| {
        let host = &assignments.site.inventory.hosts[*index];
        let is_given_back = can_remove_labels(host, *how) && assigned.get(index) != Some(cluster);
        is_given_back.then(|| ((*cluster).clone(), host.key.clone()))
    }))
}
