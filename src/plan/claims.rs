//! Claims: assignment labels on hosts, and their precedence.
//!
//! A host gets labels from its manifest, from the agent that applies sipgen's patch, or from
//! another tool. The previous output outranks them, because a snapshot may be older.

use super::assignments::Assignments;
use super::machine_users::MachineUser;
use crate::base::api::assignment::{self, Claim};
use crate::base::api::names::{ClusterKey, HostKey, Part};
use crate::base::finding::{Code, Finding, Origin, Place};
use crate::site::Site;
use crate::site::inventory::Host;
use crate::site::previous::RecordedAssignment;

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

/// The node set that adopts a host, with the object that says so.
type AdoptingNodeSet<'a> = (&'a ClusterKey, &'a Part, &'a Origin);

impl<'a> Assignments<'a> {
    /// Returns the cluster of this repo whose Machine uses a host, or else the one that its labels name.
    ///
    /// If manifest and snapshot both have labels, the role in the snapshot counts: the host is in use
    /// there.
    ///
    /// # Errors
    ///
    /// Fails if the labels name several clusters.
    pub(super) fn adopter(&self, at: usize) -> Result<Option<AdoptingNodeSet<'a>>, Box<Finding>> {
        let (site, user) = (self.site, self.users[at].as_ref());
        let host = &site.inventory.hosts[at];
        if let Some(MachineUser::NodeSet { cluster, part }) = user {
            let origin = host.live.origin.as_ref().unwrap_or(&host.origin);
            return Ok(Some((cluster, part, origin)));
        }
        let mut named = Vec::new();
        for (claim, origin) in &host.assignment.claims {
            let Claim::Cluster(cluster, part) = claim else {
                // The host has an owner, but the labels do not say which cluster.
                return Ok(None);
            };
            named.push((cluster, part, origin));
        }
        let Some((cluster, part, origin)) = named.pop() else {
            return Ok(None);
        };
        if let Some((other, _, other_origin)) = named.iter().find(|(other, ..)| *other != cluster) {
            let finding = Finding::new(
                Code::LabelsDisagree,
                format!("host {} has the labels of {other} and of {cluster}", host.key),
            )
            .at(label_place(site, other_origin))
            .see(label_place(site, origin), format!("those of {cluster}"))
            .help(format!(
                "remove the labels of {other} or those of {cluster}: a host belongs to one cluster"
            ));
            return Err(Box::new(finding.for_cluster(other).for_cluster(cluster)));
        }
        // An older snapshot still shows the labels of a released host; adopting it would undo the
        // release. A cluster that comes back takes its hosts again.
        let wants = site.valid_cluster(cluster).and_then(|it| it.node_set(part));
        let is_back = !site.state.clusters.contains(cluster)
            && wants.is_some_and(|node_set| node_set.wanted() > 0);
        let release = site.state.released.get(&host.key).filter(|_| !is_back);
        let released_by_it =
            release.is_some_and(|release| release.by.as_ref().is_none_or(|by| by == cluster));
        let is_used_by_another = user.is_some_and(|user| user.excludes(cluster, part, site));
        let is_adopted =
            !released_by_it && !is_used_by_another && site.clusters.contains_key(cluster);
        Ok(is_adopted.then_some((cluster, part, origin)))
    }

    /// Reports a host that the output assigns to one cluster and labels to another.
    ///
    /// Labels of an earlier run on a declared host that is not in use are no conflict: the next sync
    /// overwrites them. They are identified by the agent that set them, or because they name a cluster
    /// of this repo. Nor are those on a host that a Machine of the cluster uses.
    pub(super) fn conflict(&self, at: usize, held: &RecordedAssignment) -> Option<Finding> {
        let (site, user) = (self.site, self.users[at].as_ref());
        let host = &site.inventory.hosts[at];
        let is_user = |cluster: &ClusterKey| matches!(user, Some(MachineUser::NodeSet { cluster: own, .. }) if *own == cluster);
        if is_user(&held.cluster) {
            return None;
        }
        let is_free = host.is_declared() && host.live.usage.is_none();
        let is_of_earlier_run = |cluster: &ClusterKey, origin: &Origin| {
            let is_ours = site.clusters.contains_key(cluster) || has_agent_labels(site, host);
            is_free && is_ours && *origin != host.origin
        };
        let (other, origin) =
            host.assignment.claims.iter().find_map(|(claim, origin)| match claim {
                Claim::Cluster(cluster, _)
                    if *cluster != held.cluster
                        && !is_user(cluster)
                        && !is_of_earlier_run(cluster, origin) =>
                {
                    Some((cluster, origin))
                }
                _ => None,
            })?;
        let finding = Finding::new(
            Code::LabelsDisagree,
            format!("host {} is assigned to {}, but has the labels of {other}", host.key, held.cluster),
        )
        .at(held.origin.name())
        .see(label_place(site, origin), format!("the labels of {other}"))
        .help(format!(
            "if {other} uses it, remove the entry from {}, or with its last entry the file, and commit; otherwise take a new \
             snapshot, or fix the labels",
            held.origin.file
        ))
        .for_cluster(&held.cluster)
        .for_cluster(other);
        self.concerns_planned(&finding).then_some(finding)
    }

    /// Returns whether a finding concerns a planned cluster.
    pub(super) fn concerns_planned(&self, finding: &Finding) -> bool {
        let is_planned =
            |it: &ClusterKey| self.site.clusters.contains_key(it) && !self.frozen.contains(it);
        finding.clusters.iter().any(is_planned)
    }
}

/// Reports a host that is adopted by labels of 2020 or early 2021, which name no namespace.
pub(super) fn adopted_by_legacy_labels(
    host: &Host,
    cluster: &ClusterKey,
    part: &Part,
    origin: &Origin,
) -> Option<Finding> {
    let label = host.assignment.legacy_key?;
    let message =
        format!("{cluster} adopts host {} ({part}) by labels of an older generation", host.key);
    // Labels in a manifest are patched away. Labels on the live object belong to whoever set them.
    let stays = |label: &&String| {
        assignment::LEGACY_LABELS.contains(&label.as_str())
            && !host.assignment.in_manifest.contains(label)
    };
    let staying: Vec<&String> = host.assignment.in_snapshot.iter().filter(stays).collect();
    let help = if staying.is_empty() {
        "today's labels take their place".to_owned()
    } else {
        format!(
            "it gets the current labels beside them; when nothing needs the older ones any more, remove them:\n{}",
            removal_command(host, staying)
        )
    };
    let finding = Finding::new(Code::AdoptedByOlderLabels, message).help(help);
    Some(finding.at(origin.at(["metadata", "labels", label])).for_cluster(cluster))
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
