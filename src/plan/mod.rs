//! Assigns hosts to clusters.
//!
//! Planning has these steps:
//!
//! 1. `assignments` derives current assignments from the previous output (`changed_hosts`) and from
//!    labels (`host_labels`, `claims`). It decides which hosts each cluster retains. Machines that were
//!    renamed retain theirs (`renaming`). `violations` finds retained hosts that would not be chosen
//!    again.
//! 2. `eligibility` lists the rules by which a host may be taken.
//! 3. `demand` computes the hosts that each node set lacks.
//! 4. `choose` serves all demands. `equivalence` and `host_classes` reduce hosts to classes,
//!    `matching` solves the `flow_network`, and `crossing` serves demands whose topology keys cross each
//!    other, or that a quota or a required skew (`skew`) limits. Both return a `search_result`.
//! 5. `shortage` turns the proof for an unserved demand into a finding. `shortage_causes` finds
//!    the constraints without which fewer hosts would be lacking.
//! 6. `release` decides what is written for released hosts.
//!
//! `machine_users` finds the Machines that use hosts, and `host_labels` lets labels follow them.
//!
//! For reports, `explain` gives the reasons, `host_state` the state of each host, and `machines`
//! the requests of Provisionings. `ask` answers questions about a plan, and `purchase` finds hosts
//! that are missing. `encrypted` reports network data that is encrypted. `topology` has shared lookups.
//!
//! A plan is a function of the site alone: no files, no clock, no randomness.

pub mod ask;
mod assignments;
mod changed_hosts;
mod choose;
mod claims;
mod crossing;
mod demand;
pub(crate) mod eligibility;
mod encrypted;
pub(crate) mod equivalence;
pub mod explain;
mod flow_network;
mod host_classes;
mod host_labels;
pub mod host_state;
pub(crate) mod machine_users;
pub mod machines;
mod matching;
mod preference;
pub mod purchase;
pub mod quotas;
mod release;
mod renaming;
mod search_result;
mod shortage;
mod shortage_causes;
pub(crate) mod skew;
pub(crate) mod topology;
mod violation_findings;
mod violations;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::iter;

use rayon::prelude::*;
use serde::Serialize;

use crate::base::api::names::{ClusterKey, HostKey, Part};
use crate::base::finding::{Finding, Origin};
use crate::base::grouping::grouped;
use crate::site::Site;
use crate::site::previous::PendingRelease;
use crate::site::request::Cluster;

use assignments::{Assignments, current_assignments};
use choose::{ChosenHosts, choose};
use demand::{NodeSetDemand, by_priority};
use eligibility::Availability;
use host_classes::HostSupply;
use machine_users::{MachineUser, MachineUsers};
use quotas::QuotaUses;
use skew::MatchingDomains;
use violations::{Violation, in_use_as};

pub use assignments::HostReplacement;
pub use shortage::{
    CompetingNodeSet, HostsRefusedByRule, MatchedTopology, NodeSetConflict, Shortage,
    ShortageReason,
};
pub use skew::DomainProof;

/// The planned hosts of every cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Hosts of every planned cluster.
    pub clusters: BTreeMap<ClusterKey, Placement>,
    /// Node sets that cannot be filled.
    pub shortages: BTreeMap<(ClusterKey, Part), Shortage>,
    /// Clusters whose files stay unchanged.
    pub frozen: BTreeSet<ClusterKey>,
    /// Observed hosts that are being released, including those of earlier runs.
    pub released: BTreeMap<HostKey, PendingRelease>,
    /// Declared hosts without a cluster whose manifests have assignment labels, which a patch
    /// removes.
    pub unlabelled: BTreeSet<HostKey>,
    /// Hosts that this plan releases, including those of deleted clusters.
    pub given_back: BTreeMap<ClusterKey, Vec<HostKey>>,
}

impl Plan {
    /// Returns every assigned host with its cluster, those of frozen clusters first.
    fn assigned<'a>(&'a self, site: &'a Site) -> impl Iterator<Item = (usize, &'a ClusterKey)> {
        let planned = self.clusters.iter().flat_map(|(cluster, placement)| {
            let hosts = placement.values().flatten();
            hosts.map(move |assigned| (assigned.host, cluster))
        });
        self.frozen_hosts(site).chain(planned)
    }

    /// Returns the hosts that the previous output assigns to frozen clusters, with their clusters.
    fn frozen_hosts<'a>(&'a self, site: &'a Site) -> impl Iterator<Item = (usize, &'a ClusterKey)> {
        site.state.held.iter().flat_map(move |(host, held)| {
            let frozen = held.iter().filter(|held| self.frozen.contains(&held.cluster));
            frozen.filter_map(move |held| Some((site.inventory.index(host)?, &held.cluster)))
        })
    }
}

/// A host that is assigned before planning.
#[derive(Clone, Copy)]
struct CurrentAssignment<'a> {
    /// Index into the inventory's hosts.
    host: usize,
    part: &'a Part,
    how: AssignmentMethod,
    /// The file or object that assigns it.
    origin: &'a Origin,
}

/// Planned hosts of one cluster by part, in inventory order.
pub type Placement = BTreeMap<Part, Vec<PlacedHost>>;

/// Returns the hosts of a node set.
fn placed_hosts<'p>(
    placements: &'p BTreeMap<ClusterKey, Placement>,
    cluster: &ClusterKey,
    part: &Part,
) -> impl Iterator<Item = usize> + use<'p> {
    let hosts = placements.get(cluster).and_then(|placement| placement.get(part));
    hosts.into_iter().flatten().map(|assigned| assigned.host)
}

/// A planned host of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlacedHost {
    /// Index into the inventory's hosts.
    pub host: usize,
    /// How the host was assigned.
    pub how: AssignmentMethod,
}

/// How a host was assigned to its cluster. Earlier variants are retained first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum AssignmentMethod {
    /// The previous output assigns it.
    Stays,
    /// Labels in the inventory assign it, the previous output does not.
    Adopted,
    /// This plan chose it.
    Added,
}

/// Changes of assignments that a run is asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlanChanges<'m> {
    /// Replace retained hosts with a violation if possible.
    pub rebalance: bool,
    /// Moves to make.
    pub moves: &'m [HostReplacement],
}

/// Plans every valid cluster of the site that is not `frozen`.
///
/// A frozen cluster keeps the hosts that the previous output assigns to it. `left_out` are frozen
/// clusters that this run excludes on purpose: hosts that they name by MAC address stay reserved.
///
/// A cluster that cannot be planned has an error among the findings. Then the plan serves for
/// reports only. For writing, plan again with that cluster frozen.
pub fn plan(
    site: &Site,
    frozen: &BTreeSet<ClusterKey>,
    left_out: &BTreeSet<ClusterKey>,
    changes: PlanChanges<'_>,
) -> (Plan, Vec<Finding>) {
    let users = MachineUsers::new(site).by_host();
    let plan =
        |attempt: &PlanAttempt| with_choices(site, &users, frozen, left_out, changes, attempt);
    let mut attempt = PlanAttempt { inherits: true, unfollowed: BTreeSet::new() };
    let mut planned = plan(&attempt);
    // Hosts that their node sets do not need without the Machines that use others.
    let mut unneeded: BTreeSet<usize> = BTreeSet::new();
    let mut most_followed = None;
    loop {
        let released: BTreeSet<usize> =
            attempt.unfollowed.intersection(&planned.released).copied().collect();
        if released.is_empty() {
            let unfollowed = planned.followed_in_vain(&unneeded);
            if unfollowed.is_empty() {
                break;
            }
            attempt.unfollowed.extend(unfollowed);
        }
        attempt.unfollowed.retain(|host| !released.contains(host));
        unneeded.extend(released);
        let next = plan(&attempt);
        most_followed.get_or_insert(std::mem::replace(&mut planned, next));
    }
    // Without a placement either way, the labels follow.
    if let Some(first) = most_followed
        && first.plan.shortages.len() <= planned.plan.shortages.len()
    {
        attempt.unfollowed.clear();
        planned = first;
    }
    if planned.renamed && !planned.plan.shortages.is_empty() {
        // Another machine may need a host that a renamed machine retains.
        attempt.inherits = false;
        let other = plan(&attempt);
        if other.plan.shortages.len() < planned.plan.shortages.len() {
            planned = other;
        }
    }
    (planned.plan, planned.findings)
}

/// Choices that planning takes back if a node set is short for them.
struct PlanAttempt {
    /// Set if renamed machines retain their hosts.
    inherits: bool,
    /// Hosts that stay with their node set although a Machine of another one uses them.
    unfollowed: BTreeSet<usize>,
}

/// The result of a [`PlanAttempt`].
struct AttemptedPlan<'a> {
    plan: Plan,
    findings: Vec<Finding>,
    /// Set if a renamed machine retains its host.
    renamed: bool,
    /// Hosts that move to the node sets of their Machines, with those that had them.
    followed: BTreeMap<usize, (&'a ClusterKey, &'a Part)>,
    /// Hosts that no cluster has any more.
    released: BTreeSet<usize>,
}

impl AttemptedPlan<'_> {
    /// Returns hosts that leave node sets for the Machines that use them, where a node set is short of
    /// hosts: those of this node set, or else of its cluster, or else all. Hosts that are `unneeded`
    /// help nobody.
    fn followed_in_vain(&self, unneeded: &BTreeSet<usize>) -> Vec<usize> {
        let shortages = &self.plan.shortages;
        let followed = self.followed.iter().rev().filter(|_| !shortages.is_empty());
        let left = followed.filter(|(host, _)| !unneeded.contains(host));
        let from_node_sets = shortages.iter().flat_map(|((cluster, part), shortage)| {
            let own = left.clone().filter(move |(_, had)| **had == (cluster, part));
            own.take(shortage.short_of().max(1))
        });
        let is_short = |cluster: &ClusterKey| shortages.keys().any(|(short, _)| short == cluster);
        let from_clusters = left.clone().filter(|(_, (cluster, _))| is_short(cluster));
        let from_any: Vec<_> = left.clone().collect();
        let candidates = [from_node_sets.collect(), from_clusters.collect(), from_any];
        let first = candidates.into_iter().find(|hosts| !hosts.is_empty());
        first.into_iter().flatten().map(|(host, _)| *host).collect()
    }
}

/// Plans once.
fn with_choices<'a>(
    site: &'a Site,
    users: &'a [Option<MachineUser<'a>>],
    frozen: &'a BTreeSet<ClusterKey>,
    left_out: &BTreeSet<ClusterKey>,
    PlanChanges { rebalance, moves }: PlanChanges<'_>,
    attempt: &PlanAttempt,
) -> AttemptedPlan<'a> {
    let clusters = by_priority(site, frozen);
    let mut assignments = current_assignments(site, users, frozen, &attempt.unfollowed);
    assignments.findings.extend(encrypted::needed(site, &clusters));
    let mut placements: BTreeMap<ClusterKey, Placement> = BTreeMap::new();
    for cluster in &clusters {
        placements.insert(cluster.key.clone(), assignments.retain(cluster, attempt.inherits));
    }
    let mut findings = std::mem::take(&mut assignments.findings);
    findings.extend(assignments.contested());
    findings
        .extend(moves.iter().filter_map(|step| assignments.replace_host(step, &mut placements)));

    // Before the choice, because an observed host that is released stays unavailable to others
    // until a snapshot shows it free.
    let mut released = release::still_released(site);
    released.extend(release::newly_released(&assignments));
    let owners = assignments.owners();
    let availability = Availability::all(site, &owners, &released, left_out);
    let demands = demands(&clusters, &placements, &assignments, rebalance);
    let none = BTreeSet::new();
    let owned = owners.iter().map(|(host, cluster)| (*host, *cluster));
    let quotas = QuotaUses::new(site, owned).binding(&demands, iter::empty());
    let mut shortages = BTreeMap::new();
    let supply =
        HostSupply { hosts: &site.inventory.hosts, availability: &availability, gone: &none };
    let all_chosen = choose(site, supply, &demands, &quotas);
    for (demand, chosen) in demands.iter().zip(all_chosen) {
        let key = &demand.cluster.key;
        match chosen {
            Ok(chosen) => {
                findings.extend(demand.unlabelled(site, &chosen.added));
                let placement = placements.entry(key.clone()).or_default();
                let placement = placement.entry(demand.part.clone()).or_default();
                replace(placement, &chosen, key, &mut assignments);
            }
            Err(shortage) => {
                findings.extend(
                    (!shortage.is_of_any_host(demand)).then(|| shortage.finding(site, demand)),
                );
                shortages.insert((key.clone(), demand.part.clone()), *shortage);
            }
        }
    }
    let unnamed_demands = demands.iter().filter_map(|demand| {
        let shortage = shortages.get(&(demand.cluster.key.clone(), demand.part.clone()))?;
        shortage.is_of_any_host(demand).then_some((demand, shortage))
    });
    findings.extend(shortage::machine_shortages(site, unnamed_demands));
    findings.extend(assignments.machine_findings());
    findings.extend(assignments.violation_findings(rebalance));
    findings.extend(assignments.maintenance_findings());

    let planned = placements.iter().flat_map(|(cluster, placement)| {
        placement.values().flatten().map(move |assigned| (assigned.host, cluster))
    });
    let assigned: BTreeMap<usize, &ClusterKey> =
        assignments.owners().into_iter().chain(planned).collect();
    // Replacements have released more hosts.
    released.extend(release::newly_released(&assignments));
    released.retain(|host, _| {
        site.inventory.index(host).is_some_and(|index| !assigned.contains_key(&index))
    });
    findings.extend(release::stuck(site, &released));
    findings.extend(release::surplus(&assignments));
    let given_up = assignments.released.iter().map(|(_, host, _)| *host);
    let given_up: BTreeSet<usize> = given_up.filter(|host| !assigned.contains_key(host)).collect();
    let unlabelled = release::unlabelled(&assignments, &assigned);
    let given_back = release::by_cluster(&assignments, &assigned);
    placements
        .values_mut()
        .for_each(|placement| placement.retain(|_, assigned| !assigned.is_empty()));
    let plan = Plan {
        clusters: placements,
        shortages,
        frozen: frozen.clone(),
        released,
        unlabelled,
        given_back,
    };
    findings.extend(quotas::exceeded(site, &plan));
    AttemptedPlan {
        plan,
        findings,
        renamed: assignments.renamed,
        released: given_up,
        followed: assignments.followed,
    }
}

/// Derives the demand of every node set that lacks hosts or may replace some.
///
/// A spare host replaces a host that has failed or is being deleted, unless it is in use: the Machine
/// of a host without labels may claim another one. With `rebalance`, so is a host with any other
/// violation.
fn demands<'a>(
    clusters: &[&'a Cluster],
    placements: &BTreeMap<ClusterKey, Placement>,
    assignments: &Assignments<'a>,
    rebalance: bool,
) -> Vec<NodeSetDemand<'a>> {
    let site = assignments.site;
    let gives_way = |part: &Part, host: usize| {
        let in_use = in_use_as(&site.inventory.hosts[host], part).is_some();
        match assignments.violations.get(&host) {
            // The Machines of the node set cannot use it.
            Some(Violation::UsedByAnother) => !assignments.unfollowed.contains(&host),
            Some(violation) => !in_use && (rebalance || violation.is_replaced_at_once()),
            None => false,
        }
    };
    let node_sets: Vec<_> = clusters.iter().flat_map(|cluster| cluster.parts()).collect();
    let (domains, none) = (MatchingDomains::default(), BTreeSet::new());
    let demand = |(cluster, part, node_set): (&'a Cluster, &'a Part, &'a _)| {
        let kept = placed_hosts(placements, &cluster.key, part);
        // Machines on hosts of other node sets need no host of their own.
        let elsewhere = assignments.machines_elsewhere(&cluster.key, part);
        let kept = kept.chain(elsewhere).collect();
        let mut demand = NodeSetDemand::new(site, cluster, part, node_set, kept);
        let hosts = demand.kept.iter().copied();
        demand.replaceable = hosts.filter(|host| gives_way(part, *host)).collect();
        let demand = demand.with_domain_limits(&domains, &site.inventory.hosts, &none);
        if rebalance { demand.rebalanced(site) } else { demand }
    };
    node_sets.into_par_iter().map(demand).filter(NodeSetDemand::is_open).collect()
}

/// Adds chosen hosts to a placement and removes the hosts that they replace.
fn replace<'a>(
    placement: &mut Vec<PlacedHost>,
    chosen: &ChosenHosts,
    cluster: &'a ClusterKey,
    assignments: &mut Assignments<'a>,
) {
    for host in &chosen.replaced {
        if let Some(at) = placement.iter().position(|assigned| assigned.host == *host) {
            let assigned = placement.remove(at);
            assignments.release(cluster, assigned.host, assigned.how);
        }
    }
    let site = assignments.site;
    let how = |host: usize| {
        let held = site.state.held.get(&site.inventory.hosts[host].key);
        let is_held = held.is_some_and(|held| held.iter().any(|held| held.cluster == *cluster));
        if is_held { AssignmentMethod::Stays } else { AssignmentMethod::Added }
    };
    placement.extend(chosen.added.iter().map(|host| PlacedHost { host: *host, how: how(*host) }));
    placement.sort();
}

impl<'a> NodeSetDemand<'a> {
    /// Lets spare hosts replace unused hosts of domains with several hosts, those of the fullest domains
    /// first, if that makes the node set more even.
    fn rebalanced(mut self, site: &'a Site) -> Self {
        let Some(key) = site.spread_key(self.node_set) else { return self };
        if self.node_set.topology_keys.iter().any(|other| other != key) {
            // They decide about its domains.
            return self;
        }
        let hosts = &site.inventory.hosts;
        let kept = self.kept.iter();
        let domains = grouped(kept.filter_map(|host| Some((hosts[*host].domain(key)?, *host))));
        let is_replaced = |host: &usize| {
            !self.replaceable.contains(host) && in_use_as(&hosts[*host], self.part).is_none()
        };
        let crowded = domains.into_values().flat_map(|domain| {
            let replaced: Vec<usize> = domain.iter().rev().copied().filter(is_replaced).collect();
            replaced.into_iter().zip((2..=domain.len()).rev())
        });
        let mut crowded: Vec<(usize, usize)> = crowded.collect();
        crowded.sort_by_key(|(_, hosts)| Reverse(*hosts));
        self.replaceable.extend(crowded.iter().map(|(host, _)| *host));
        self.uneven = crowded.into_iter().collect();
        self
    }
}
