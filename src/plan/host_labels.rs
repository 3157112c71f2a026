//! Assignment labels of hosts: those by which a cluster adopts a host, those that contradict the output,
//! and those that follow the Machines that use hosts, or cannot.

use super::assignments::Assignments;
use super::claims::{has_agent_labels, label_place, removal_command};
use super::machine_users::MachineUser;
use super::{AssignmentMethod, CurrentAssignment};
use crate::base::api::assignment::{self, Claim};
use crate::base::api::names::{ClusterKey, Part};
use crate::base::finding::{Code, Finding, Origin};
use crate::site::inventory::Host;
use crate::site::inventory::usage::HostUsage;
use crate::site::previous::RecordedAssignment;

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
        let Some((cluster, part, origin)) = named.pop() else { return Ok(None) };
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

    /// Moves a host to the node set of the Machine that uses it.
    pub(super) fn follow(
        &mut self,
        assignment: CurrentAssignment<'a>,
        from: (&'a ClusterKey, &'a Part),
        (cluster, part): (&'a ClusterKey, &'a Part),
    ) {
        let host = assignment.host;
        let how =
            if from.0 == cluster { AssignmentMethod::Stays } else { AssignmentMethod::Adopted };
        if from.0 != cluster {
            self.released.push((from.0, host, AssignmentMethod::Stays));
        }
        if self.followed.insert(host, from).is_none() {
            let assignment = CurrentAssignment { part, how, ..assignment };
            self.by_cluster.entry(cluster).or_default().push(assignment);
        }
    }

    /// Returns the hosts of Machines of a node set that stay with other node sets.
    pub(super) fn machines_elsewhere<'s>(
        &'s self,
        cluster: &'s ClusterKey,
        part: &'s Part,
    ) -> impl Iterator<Item = usize> + 's {
        let own = MachineUser::NodeSet { cluster, part };
        let unfollowed = self.unfollowed.iter().copied();
        unfollowed.filter(move |host| self.users[*host].as_ref() == Some(&own))
    }

    /// Returns whether a Machine uses a host that is none of the node set's.
    pub(super) fn is_used_by_another(&self, at: usize, cluster: &ClusterKey, part: &Part) -> bool {
        self.users[at].as_ref().is_some_and(|user| user.excludes(cluster, part, self.site))
    }

    /// Reports hosts whose labels and Machines disagree, and Machines of an unknown node set.
    pub(super) fn machine_findings(&self) -> Vec<Finding> {
        let Self { site, frozen, .. } = self;
        let used =
            self.users.iter().enumerate().filter_map(|(host, user)| Some((host, user.as_ref()?)));
        let describe = |(host, user): (usize, &MachineUser<'_>)| {
            let owner = self.retained.get(&host).and_then(|owners| owners.first());
            let host = &site.inventory.hosts[host];
            let machine = host.user().unwrap_or_default();
            let (cluster, message, place, help) = match (owner, user) {
                (Some((cluster, ..)), _) if frozen.contains(*cluster) => return None,
                (Some((cluster, part, origin)), _) if user.excludes(cluster, part, site) => {
                    let owner = match user {
                        MachineUser::Foreign => String::new(),
                        _ => format!(", which belongs to {user}"),
                    };
                    let message = format!(
                        "host {} is assigned to {cluster}, {part}, and used by {machine}{owner}",
                        host.key
                    );
                    let help = match user {
                        MachineUser::NodeSet { .. } => {
                            "add a host, or wait until a snapshot shows the hosts free that others release: then another \
                             host takes its place, and the labels follow the Machine"
                        }
                        _ if matches!(host.live.usage, Some(HostUsage::NodeReuse(_))) => {
                            "add a host, which takes its place; or remove the label"
                        }
                        MachineUser::Foreign => {
                            "add a host, which takes its place; or remove what uses it"
                        }
                        MachineUser::Cluster(_) | MachineUser::Other(_) => {
                            "add a host, which takes its place; or delete the Machine"
                        }
                    };
                    (*cluster, message, origin.name(), help)
                }
                (None, MachineUser::Cluster(cluster)) if !frozen.contains(*cluster) => {
                    let message = format!(
                        "{machine} uses host {}, and nothing shows which node set of {cluster} it belongs to",
                        host.key
                    );
                    let help = "take a snapshot with `sipgen snapshot`, which has the Machines, or label the host once: \
                                docs/reference/cluster-api.md has the labels";
                    (*cluster, message, host.origin.name(), help)
                }
                _ => return None,
            };
            let finding = Finding::new(Code::UsedByAnother, message).at(place);
            let finding = finding.help(help).for_cluster(cluster);
            let usage = host.live.usage.as_ref();
            Some(finding.see_each(usage.map(|it| (host.live_place(it.route()), "in use here"))))
        };
        used.filter_map(describe).collect()
    }
}
