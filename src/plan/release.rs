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

use super::assignments::Assignments;
use super::claims::{has_agent_labels, label_place, removal_command};
use super::placement::AssignmentMethod;
use crate::base::api::assignment::ReleaseProgress;
use crate::base::api::names::{ClusterKey, HostKey};
use crate::base::finding::{Code, Finding, Place};
use crate::base::grouping::grouped;
use crate::site::Site;
use crate::site::inventory::{Evidence, Host};
use crate::site::previous::PendingRelease;

/// Returns the hosts that an earlier run released and that the snapshot does not yet show free.
pub(super) fn still_released(site: &Site) -> BTreeMap<HostKey, PendingRelease> {
    let mut released = BTreeMap::new();
    for (key, release) in &site.state.released {
        // If an agent applies the host in full, writing it once more would erase its spec.
        let is_ours =
            |host: &&Host| host.evidence == Evidence::Live && host.applied_in_full_by.is_none();
        let Some(host) = site.inventory.host(key).filter(is_ours) else {
            continue;
        };
        let labelled = !host.assignment.claims.is_empty();
        let proven =
            !labelled && (release.given_back.labels_seen || annotation_seen(host, release));
        if !proven {
            let mut release = release.clone();
            release.given_back.labels_seen |= labelled;
            released.insert(key.clone(), release);
        }
    }
    released
}

/// Returns the observed hosts that this plan releases.
pub(super) fn newly_released(
    site: &Site,
    assignments: &Assignments<'_>,
) -> BTreeMap<HostKey, PendingRelease> {
    let mut released = BTreeMap::new();
    for (cluster, index, _) in &assignments.released {
        let host = &site.inventory.hosts[*index];
        if host.evidence == Evidence::Live && !assignments.retained.contains_key(index) {
            // The round distinguishes the annotation of this release from that of an earlier one.
            let round =
                host.assignment.released.map_or(0, |given_back| given_back.round).saturating_add(1);
            let given_back =
                ReleaseProgress { labels_seen: !host.assignment.claims.is_empty(), round };
            released.insert(
                host.key.clone(),
                PendingRelease { given_back, by: Some((*cluster).clone()) },
            );
        }
    }
    released
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
        (!host.assignment.claims.is_empty() && annotation_seen(host, release)).then_some(host)
    });
    let describe = |host: &Host| {
        Finding::new(
            Code::LabelsStay,
            format!("host {} was released, but labels of another owner stay on it", host.key),
        )
        .at(last_label_place(site, host))
        .help(format!(
            "{}: remove them, then take a new snapshot\n{}",
            label_owner(site, host),
            removal_command(host)
        ))
    };
    stuck.map(describe).collect()
}

/// Reports surplus declared hosts: labels on the live object assign them to a cluster that needs no
/// more hosts. No file of this repo can remove those labels, because they are not in the manifest
/// and another field manager owns them.
pub(super) fn surplus(site: &Site, assignments: &Assignments<'_>) -> Vec<Finding> {
    let stays = |(_, index, how): &&(&ClusterKey, usize, AssignmentMethod)| {
        let host = &site.inventory.hosts[*index];
        !can_remove_labels(host, *how) && !has_agent_labels(site, host)
    };
    let surplus = assignments.released.iter().filter(stays);
    let describe = |(cluster, index, _): &(&ClusterKey, usize, AssignmentMethod)| {
        let host = &site.inventory.hosts[*index];
        Finding::new(
            Code::Surplus,
            format!("host {} has the labels of {cluster}, which needs no more hosts", host.key),
        )
        .at(last_label_place(site, host))
        .help(format!(
            "if the snapshot is older than the last release, take a new one; otherwise {}: remove them, then take a new \
             snapshot\n{}",
            label_owner(site, host),
            removal_command(host)
        ))
        .for_cluster(cluster)
    };
    surplus.map(describe).collect()
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

/// Describes the owner of labels that no file of this repo can remove. An agent that was replaced
/// by another still owns the labels that it applied.
fn label_owner(site: &Site, host: &Host) -> String {
    let mut owners = host
        .assignment
        .owners
        .iter()
        .filter(|owner| site.settings.gitops.is_some_and(|used| used != **owner));
    owners.next().map_or("another tool set them".to_owned(), |owner| {
        format!(
            "{owner} applied them before, and its manager `{}` still owns them",
            owner.manager()
        )
    })
}

/// Returns the declared hosts without a cluster whose manifests have assignment labels. Hosts of
/// earlier runs stay in the list for as long as their manifests have the labels.
pub(super) fn unlabelled(
    site: &Site,
    assignments: &Assignments<'_>,
    assigned: &BTreeMap<usize, &ClusterKey>,
) -> BTreeSet<HostKey> {
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
    site: &Site,
    assignments: &Assignments<'_>,
    assigned: &BTreeMap<usize, &ClusterKey>,
) -> BTreeMap<ClusterKey, Vec<HostKey>> {
    grouped(assignments.released.iter().filter_map(|(cluster, index, how)| {
        let host = &site.inventory.hosts[*index];
        let is_given_back = can_remove_labels(host, *how) && assigned.get(index) != Some(cluster);
        is_given_back.then(|| ((*cluster).clone(), host.key.clone()))
    }))
}
