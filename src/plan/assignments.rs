//! Current assignments, the planner's starting point.
//!
//! The previous output decides. Labels in the inventory are used only where it is silent:
//!
//! | the output has | the labels name | the host |
//! | --- | --- | --- |
//! | cluster A | nothing, or A | is retained by A |
//! | nothing | A, and A is in this repo | is adopted by A |
//! | nothing | A, by labels of 2020 or early 2021, without namespace | is adopted with a warning |
//! | nothing | A, and A is not in this repo | belongs to another owner |
//! | A | B | conflict |
//! | released | A | is still being released |
//! | nothing | nothing, but a Machine of A uses it | is adopted by A |
//! | A, or released by A | anything, and a Machine of B uses it | is adopted by B: the labels follow the Machine |
//!
//! A snapshot may be older than the output, so a missing label proves nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::machine_users::MachineUser;
use super::violations::{Violation, by_retention};
use super::{AssignmentMethod, CurrentAssignment, PlacedHost, Placement, renaming};
use crate::base::api::cluster_api::DELETE_MACHINE;
use crate::base::api::host::NODE_REUSE;
use crate::base::api::names::{ClusterKey, HostKey, NodeName, Part};
use crate::base::finding::{Code, Finding, Origin, Place};
use crate::base::grouping::grouped;
use crate::base::text::in_shell;
use crate::site::Site;
use crate::site::inventory::Host;
use crate::site::inventory::usage::HostUsage;
use crate::site::previous::RecordedAssignment;
use crate::site::request::{Cluster, NodeSet};

/// Host assignments before planning, and planning's decisions about them.
pub(super) struct Assignments<'a> {
    pub(super) site: &'a Site,
    /// Clusters that keep their files and hosts.
    pub(super) frozen: &'a BTreeSet<ClusterKey>,
    /// Assigned hosts of every requested cluster, in inventory order, until
    /// [`Assignments::retain`]. Hosts are many: to hash is cheaper than to compare.
    pub(super) by_cluster: HashMap<&'a ClusterKey, Vec<CurrentAssignment<'a>>>,
    /// Owners of every retained host; more than one is an error.
    pub(super) retained: BTreeMap<usize, Vec<(&'a ClusterKey, &'a Part, &'a Origin)>>,
    /// Reasons why a retained host would not be chosen again.
    pub(super) violations: BTreeMap<usize, Violation>,
    /// Hosts that their cluster releases, with how they were assigned.
    pub(super) released: Vec<(&'a ClusterKey, usize, AssignmentMethod)>,
    /// True if a machine retains a host under another name.
    pub(super) renamed: bool,
    /// The Machines that use each host.
    pub(super) users: &'a [Option<MachineUser<'a>>],
    /// Hosts that stay with their node set although a Machine of another one uses them.
    pub(super) unfollowed: BTreeSet<usize>,
    /// Hosts that move to the node set of the Machine that uses them, with the node set that had them.
    pub(super) followed: BTreeMap<usize, (&'a ClusterKey, &'a Part)>,
    /// Findings about the assignments before planning.
    pub(super) findings: Vec<Finding>,
}

/// The replacement of a host of a node set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostReplacement {
    /// The cluster.
    pub cluster: ClusterKey,
    /// The part of the cluster.
    pub part: Part,
    /// The host that leaves.
    pub from: HostKey,
    /// The host that takes its place.
    pub to: HostKey,
}

/// Derives current assignments from the previous output and the inventory's labels.
///
/// Clusters that are no longer requested release all hosts, except frozen ones. Hosts that are
/// `unfollowed` stay with their node set, whichever Machine uses them.
pub(super) fn current_assignments<'a>(
    site: &'a Site,
    users: &'a [Option<MachineUser<'a>>],
    frozen: &'a BTreeSet<ClusterKey>,
    unfollowed: &BTreeSet<usize>,
) -> Assignments<'a> {
    let mut findings = Vec::new();
    let mut assignments = Assignments {
        site,
        frozen,
        by_cluster: site.clusters.keys().map(|key| (key, Vec::new())).collect(),
        retained: BTreeMap::new(),
        violations: BTreeMap::new(),
        released: Vec::new(),
        renamed: false,
        users,
        unfollowed: unfollowed.clone(),
        followed: BTreeMap::new(),
        findings: Vec::new(),
    };
    for (key, entries) in &site.state.held {
        let Some(host) = site.inventory.index(key) else {
            findings.extend(entries.iter().filter_map(|held| assignments.vanished(key, held)));
            continue;
        };
        let (index, host, user) = (host, &site.inventory.hosts[host], users[host].as_ref());
        findings.extend(entries.iter().filter_map(|held| assignments.changed(host, held)));
        // Labels of another node set may be written for it.
        let follows = !unfollowed.contains(&index)
            && host.evidence.is_proof()
            && host.applied_in_full_by.is_none();
        // A killed run may leave equal entries in two files.
        let mut seen = BTreeSet::new();
        let unique = entries.iter().filter(|held| seen.insert((&held.cluster, &held.part)));
        for held in unique {
            findings.extend(assignments.conflict(index, held));
            let RecordedAssignment { cluster, part, origin, .. } = held;
            let how = AssignmentMethod::Stays;
            let assignment = CurrentAssignment { host: index, part, how, origin };
            // A frozen cluster keeps its files and hosts, whatever its request says now.
            if frozen.contains(cluster) {
                findings.extend(assignments.lost_patch(key, held));
                assignments.retained.entry(index).or_default().push((cluster, part, origin));
            } else if let Some(MachineUser::NodeSet { cluster: other, part: other_part }) = user
                && follows
                && (*other, *other_part) != (cluster, part)
                && !frozen.contains(*other)
            {
                assignments.follow(assignment, (cluster, part), (*other, *other_part));
            } else if let Some(current) = assignments.by_cluster.get_mut(cluster) {
                current.push(assignment);
            } else {
                assignments.released.push((cluster, index, how));
            }
        }
    }
    for (index, host) in site.inventory.hosts.iter().enumerate() {
        findings.extend(assignments.no_longer_patched(host));
        findings.extend(assignments.applied_during_release(host));
        let user = users[index].as_ref();
        // The output outranks labels, but not a Machine.
        let in_output = site.state.held.contains_key(&host.key)
            || site.state.unlabelled.contains(&host.key)
                && !matches!(user, Some(MachineUser::NodeSet { .. }));
        // Labels in a manifest that nothing applies assign nothing.
        if in_output || !host.evidence.is_proof() {
            continue;
        }
        match assignments.adopter(index) {
            Ok(Some((cluster, part, origin))) if !frozen.contains(cluster) => {
                findings.extend(Assignments::applied_in_full(host, cluster, origin));
                // Without such a node set, the host is released, and its labels are removed.
                let wants = site.valid_cluster(cluster);
                if wants.is_none_or(|wants| wants.node_sets.contains_key(part)) {
                    findings
                        .extend(Assignments::adopted_by_legacy_labels(host, cluster, part, origin));
                }
                let assignment =
                    CurrentAssignment { host: index, part, how: AssignmentMethod::Adopted, origin };
                assignments.by_cluster.entry(cluster).or_default().push(assignment);
            }
            // A frozen cluster adopts nothing, because its files stay unchanged.
            Ok(_) => {}
            Err(finding) if assignments.concerns_planned(&finding) => findings.push(*finding),
            Err(_) => {}
        }
    }
    Assignments { findings, ..assignments }
}

impl<'a> Assignments<'a> {
    /// Retains as many hosts of a cluster as it wants, and releases the others. Returns the former.
    ///
    /// Hosts in maintenance are released first, and hosts in use last. Of the others, those with the worst [`Violation`] go first,
    /// then those that only labels assign, then the last by name.
    ///
    /// With `inherits`, renamed machines retain their hosts.
    pub(super) fn retain(&mut self, cluster: &'a Cluster, inherits: bool) -> Placement {
        let site = self.site;
        let mut placement = Placement::new();
        let current = self.by_cluster.remove(&cluster.key).unwrap_or_default();
        let mut by_part = by_part(current, cluster, &self.followed);
        self.renamed |= inherits && renaming::inherit(&mut by_part, cluster, site);
        for (part, current) in by_part {
            let node_set = cluster.node_set(part);
            // In the place of the others, its machine names another host.
            let named = node_set.and_then(|node_set| node_set.machine.as_ref()?.named);
            let names_another =
                |own: &CurrentAssignment<'_>| named.is_some_and(|(_, named)| named != own.host);
            let (others, own): (Vec<_>, Vec<_>) = current.into_iter().partition(names_another);
            // The hosts to keep come first.
            let mut own = by_retention(own, node_set, site, |host| {
                self.is_used_by_another(host, &cluster.key, part)
            });
            let wanted = node_set.map_or(0, NodeSet::wanted);
            let wanted = wanted.saturating_sub(self.machines_elsewhere(&cluster.key, part).count());
            let mut released = Vec::new();
            for (violation, assignment) in own.split_off(wanted.min(own.len())) {
                let host = &site.inventory.hosts[assignment.host];
                // Without its labels, the Machine could claim another host. A host that is drained or being
                // deleted is held for any kind of cluster, because its Machine is deleted later.
                let is_held = cluster.kind.descriptor().makes_machines
                    || host.maintenance.is_some()
                    || host.live.deleting;
                if is_held && is_consumed(host) && violation != Some(Violation::UsedByAnother) {
                    self.findings.push(held_by_machine(host, part, cluster));
                    // This finding has reported the mark's effect.
                    let other = violation.filter(|other| *other != Violation::InMaintenance);
                    own.push((other, assignment));
                } else {
                    released.push(assignment);
                }
            }
            for (violation, CurrentAssignment { host, how, origin, .. }) in own {
                placement.entry(part.clone()).or_default().push(PlacedHost { host, how });
                self.retained.entry(host).or_default().push((&cluster.key, part, origin));
                self.violations.extend(violation.map(|violation| (host, violation)));
            }
            for CurrentAssignment { host, how, .. } in released.into_iter().chain(others) {
                self.released.push((&cluster.key, host, how));
                if !self.is_used_by_another(host, &cluster.key, part) {
                    let host = &site.inventory.hosts[host];
                    self.findings.extend(released_in_use(host, part, cluster));
                }
            }
        }
        placement.values_mut().for_each(|assigned| assigned.sort());
        placement
    }

    /// Releases a retained host that another host replaces.
    pub(super) fn release(&mut self, cluster: &'a ClusterKey, host: usize, how: AssignmentMethod) {
        self.retained.remove(&host);
        self.violations.remove(&host);
        self.released.push((cluster, host, how));
    }

    /// Makes a move, and reports a host that keeps its labels until a snapshot shows it unused. A move of a
    /// host that the node set does not have is skipped.
    pub(super) fn replace_host(
        &mut self,
        HostReplacement { cluster, part, from, to }: &HostReplacement,
        placements: &mut BTreeMap<ClusterKey, Placement>,
    ) -> Option<Finding> {
        let site = self.site;
        let cluster = site.valid_cluster(cluster)?;
        let (part, _) = cluster.node_sets.get_key_value(part)?;
        let (from, to) = (site.inventory.index(from)?, site.inventory.index(to)?);
        let placement = placements.get_mut(&cluster.key)?.get_mut(part)?;
        let at = placement.iter().position(|assigned| assigned.host == from)?;
        let host = &site.inventory.hosts[from];
        let is_held = is_consumed(host);
        if !is_held {
            let left = placement.remove(at);
            self.release(&cluster.key, left.host, left.how);
        }
        placement.push(PlacedHost { host: to, how: AssignmentMethod::Added });
        placement.sort();
        let owner = (&cluster.key, part, &cluster.origin);
        self.retained.entry(to).or_default().push(owner);
        is_held.then(|| held_by_machine(host, part, cluster))
    }

    /// Returns the owner of every retained host; the first if there are several.
    pub(super) fn owners(&self) -> BTreeMap<usize, &'a ClusterKey> {
        let first = |(host, owners): (&usize, &Vec<(&'a ClusterKey, &Part, &Origin)>)| {
            Some((*host, owners.first()?.0))
        };
        self.retained.iter().filter_map(first).collect()
    }

    /// Reports hosts that several node sets retain.
    ///
    /// A run that was killed between two files leaves such hosts, but then all owners except one
    /// release them.
    pub(super) fn contested(&self) -> Vec<Finding> {
        let contested = self.retained.iter().filter(|(_, owners)| owners.len() > 1);
        let describe = |(host, owners): (&usize, &Vec<(&ClusterKey, &Part, &Origin)>)| {
            let key = &self.site.inventory.hosts[*host].key;
            let files: BTreeSet<&str> =
                owners.iter().map(|(.., origin)| origin.file.as_str()).collect();
            let files: Vec<_> = files.into_iter().map(in_shell).collect();
            let message = format!(
                "host {key} is assigned {} times: generated files were merged or edited",
                owners.len()
            );
            let finding = Finding::new(Code::AssignedTwice, message).help(format!(
                "restore the files as the main branch has them, such as by `git checkout origin/main -- {}`, and run \
                 `sipgen generate`",
                files.join(" ")
            ));
            owners.iter().fold(finding, |finding, (cluster, part, origin)| {
                finding.see(origin.name(), format!("as {part} of {cluster}")).for_cluster(cluster)
            })
        };
        contested.map(describe).collect()
    }
}

/// Groups the hosts of a cluster by part.
///
/// A host that a machine of a Provisioning names belongs to that machine. Any other host belongs to
/// the machine of the same name, whose role may have changed.
fn by_part<'a>(
    assignments: Vec<CurrentAssignment<'a>>,
    cluster: &'a Cluster,
    followed: &BTreeMap<usize, (&ClusterKey, &Part)>,
) -> BTreeMap<&'a Part, Vec<CurrentAssignment<'a>>> {
    // A host that follows its Machine had another part.
    let had = assignments.iter().filter(|assignment| !followed.contains_key(&assignment.host));
    let with_hosts: BTreeSet<&Part> = had.map(|assignment| assignment.part).collect();
    let machine_parts = || cluster.node_sets.iter().filter(|(part, _)| part.node.is_some());
    let named: BTreeMap<usize, &Part> = machine_parts()
        .filter_map(|(part, set)| Some((set.machine.as_ref()?.named?.1, part)))
        .collect();
    let by_name: BTreeMap<&NodeName, &Part> =
        machine_parts().filter_map(|(part, _)| Some((part.node.as_ref()?, part))).collect();
    grouped(assignments.into_iter().map(|assignment| {
        let same_name = assignment.part.node.as_ref().and_then(|node| by_name.get(node));
        let part = named
            .get(&assignment.host)
            .or(same_name)
            .or(successor(assignment.part, cluster, &with_hosts).as_ref())
            .copied()
            .unwrap_or(assignment.part);
        (part, assignment)
    }))
}

/// Returns the only node set of a role, for a part of this role that the cluster does not have: the
/// node set was renamed, or a request of another kind replaced the former one. One that had hosts
/// beside a missing one with a name is not its new name.
fn successor<'a>(
    part: &Part,
    cluster: &'a Cluster,
    with_hosts: &BTreeSet<&Part>,
) -> Option<&'a Part> {
    if part.node.is_some() || cluster.node_sets.contains_key(part) {
        return None;
    }
    let mut role_parts = cluster.node_sets.keys().filter(|other| other.role == part.role);
    let only = role_parts.next().filter(|other| other.node.is_none())?;
    let is_new = part.node_set.is_none() || !with_hosts.contains(only);
    (role_parts.next().is_none() && is_new).then_some(only)
}

/// Reports a released host that is in use.
fn released_in_use(host: &Host, part: &Part, cluster: &Cluster) -> Option<Finding> {
    let usage = host.live.usage.as_ref()?;
    let what = match usage {
        HostUsage::Consumer(consumer) => format!("{consumer} consumes"),
        other => other.to_string(),
    };
    let (machine, help) = match &part.node {
        None => (
            String::new(),
            "scale the tenant's machines down first, or raise the count: no other host can be released",
        ),
        Some(node) => (
            format!(", its machine {node}"),
            "make sure that nothing uses the host before this is applied, or restore the machine",
        ),
    };
    let message = format!("{} releases host {}{machine}, which {what}", cluster.key, host.key);
    let finding = Finding::new(Code::InUseGivenBack, message).at(wanted_at(cluster, part));
    let finding = finding.see(host.live_place(usage.route()), "in use here");
    Some(finding.help(help).for_cluster(&cluster.key))
}

/// Returns whether a Machine consumes a host.
fn is_consumed(host: &Host) -> bool {
    matches!(host.live.usage, Some(HostUsage::Consumer(_)))
}

/// Reports a host that a cluster no longer needs, and that a Machine of Cluster API still uses.
fn held_by_machine(host: &Host, part: &Part, cluster: &Cluster) -> Finding {
    let consumer = host.user().unwrap_or_default();
    let namespace = &cluster.key.namespace;
    let name = &host.key.name;
    let machine = host.live.usage.as_ref().and_then(HostUsage::metal3_machine);
    let command = match machine {
        Some((_, machine)) => format!(
            "; to make Cluster API delete this Machine first:\n\
                 kubectl annotate machine -n {namespace} {machine} {DELETE_MACHINE}="
        ),
        // CAPM3 keeps the host for the next Machine of the node set, and so never frees it.
        None if host.live.node_reuse.is_some() => format!(
            "; no Machine runs on it, and `nodeReuse` keeps it for the next one. After the rollout, free it:\n\
                 kubectl patch baremetalhost -n {namespace} {name} --type merge \
                 -p '{{\"metadata\":{{\"labels\":{{\"{NODE_REUSE}\":null}}}},\"spec\":{{\"consumerRef\":null}}}}'"
        ),
        None => String::new(),
    };
    Finding::new(
        Code::HeldByMachine,
        format!("{} needs fewer {part} hosts, and {consumer} still uses {}", cluster.key, host.key),
    )
    .at(wanted_at(cluster, part))
    .see(host.live_place(["spec", "consumerRef"]), "in use here")
    .help(format!("the host keeps its labels until a snapshot shows it unused{command}"))
    .for_cluster(&cluster.key)
}

/// Returns the place of the number of hosts of a part, or of its machine.
fn wanted_at(cluster: &Cluster, part: &Part) -> Place {
    let origin = &cluster.origin;
    match cluster.node_set(part) {
        Some(set) => set.count_at.place(),
        // A machine that no longer exists has no place of its own, but its list has.
        None => origin.at((cluster.kind.descriptor().route_of_role)(part.role).iter().copied()),
    }
}
