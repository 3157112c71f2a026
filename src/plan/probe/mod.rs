//! Questions on top of a plan: whether other hosts could be assigned as well, or if hosts were gone.
//!
//! Assigned hosts stay, so an answer is that of the next plan once this one is written.
//!
//! * `free_hosts`: the free hosts by requirement and topology domain.
//! * `shortcut`: answers without a search through all free hosts.

mod free_hosts;
mod shortcut;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;

use super::Plan;
use super::choose::{choose, is_flow, unserved};
use super::demand::{Demand, by_priority};
use super::eligibility::{Availability, Needs};
use super::placement::Assigned;
use super::quotas::{self, QuotaUse};
use super::search_result::Why;
use super::shortage::Shortage;
use super::supply::{Supply, open};
use crate::api::names::{ClusterKey, Part};
use crate::inventory::Host;
use crate::request::{Cluster, NodeSet};
use crate::site::Site;

use free_hosts::FreeHosts;
use shortcut::Shortcuts;

/// A plan with the facts that every question needs.
pub struct Probe<'a> {
    site: &'a Site,
    plan: &'a Plan,
    /// Hosts of the site, then those that could be bought.
    hosts: Cow<'a, [Host]>,
    /// Planned clusters in serving order.
    clusters: Vec<&'a Cluster>,
    /// Assigned hosts with their clusters.
    owners: BTreeMap<usize, &'a ClusterKey>,
    availability: Vec<Availability>,
    /// Hosts that some cluster may take.
    candidates: Vec<usize>,
    /// Those of the site by requirement, for many questions.
    free: Option<FreeHosts<'a>>,
    shortcuts: Option<Shortcuts<'a>>,
}

/// A question on top of a plan.
#[derive(Default)]
pub struct Question<'q> {
    /// More clusters, which are served last.
    pub more: &'q [Cluster],
    /// A node set that is another.
    pub replaced: Option<(&'q ClusterKey, &'q Part, &'q NodeSet)>,
    /// Hosts that are gone.
    pub gone: BTreeSet<usize>,
}

/// Upper bounds of the hosts that a node set could get.
#[derive(Debug, Clone, Copy)]
pub struct Bound {
    /// Number of hosts that it could have.
    pub hosts: usize,
    /// Number of those that it could have at once.
    pub apart: usize,
}

/// A node set that lacks hosts, with the reason.
pub type Lacking = (ClusterKey, Part, Box<Shortage>);

/// The result of serving demands.
pub(super) enum Outcome {
    Served,
    /// Some demands, by their index, cannot be served beside the others.
    Unserved(Vec<usize>),
    /// The search ended at its limit of steps.
    Undecided,
}

fn named((demand, shortage): (&Demand<'_>, Box<Shortage>)) -> Lacking {
    (demand.cluster.key.clone(), demand.part.clone(), shortage)
}

impl<'a> Probe<'a> {
    /// Prepares questions about a plan of the site.
    pub fn new(site: &'a Site, plan: &'a Plan) -> Self {
        let owners: BTreeMap<usize, &ClusterKey> = plan.assigned(site).collect();
        let availability = Availability::of_all(site, &owners, &plan.released, &BTreeSet::new());
        Self {
            site,
            plan,
            hosts: Cow::Borrowed(&site.inventory.hosts),
            clusters: by_priority(site, &plan.frozen),
            owners,
            candidates: open(&availability).collect(),
            availability,
            free: None,
            shortcuts: None,
        }
    }

    /// Prepares many questions, about clusters of the site and about `more`.
    pub fn for_many(mut self, more: &'a [Cluster]) -> Self {
        let clusters = self.clusters.iter().copied().chain(more);
        let needs = clusters.flat_map(|cluster| {
            let node_sets = cluster.node_sets.iter();
            node_sets.map(move |(part, node_set)| Needs::new(cluster, part, node_set))
        });
        let hosts = self.site_hosts();
        let free = FreeHosts::new(hosts, &self.availability, &self.candidates, needs);
        self.free = Some(free);
        self.shortcuts = Shortcuts::new(&self);
        self
    }

    /// Returns the same with more hosts, which are free.
    pub(super) fn with_hosts(&self, more: Vec<Host>) -> Self {
        let mut hosts = self.hosts.to_vec();
        let mut availability = self.availability.clone();
        availability.extend(more.iter().map(|_| Availability::Free));
        hosts.extend(more);
        Self {
            site: self.site,
            plan: self.plan,
            hosts: Cow::Owned(hosts),
            candidates: open(&availability).collect(),
            availability,
            clusters: self.clusters.clone(),
            owners: self.owners.clone(),
            free: None,
            shortcuts: None,
        }
    }

    /// Returns the hosts of the site.
    pub(super) fn site_hosts(&self) -> &'a [Host] {
        &self.site.inventory.hosts
    }

    /// Returns the number of hosts.
    pub(super) fn count(&self) -> usize {
        self.hosts.len()
    }

    /// Returns whether every node set that has enough hosts now has enough then, and so have the
    /// clusters of the question.
    pub fn is_served(&self, question: &Question<'_>) -> bool {
        if let Some(is_served) = self.is_quickly_served(question) {
            return is_served;
        }
        let demands = self.demands(question);
        let quotas = self.quotas(&demands, &question.gone);
        let unserved = unserved(self.supply(&question.gone), &demands, &quotas);
        let mut unserved = unserved.iter().map(|unserved| &demands[unserved.index]);
        unserved.all(|demand| self.is_short(demand))
    }

    /// Returns how the demands of a question are served if these hosts are gone.
    pub(super) fn outcome(&self, demands: &[Demand<'_>], gone: &BTreeSet<usize>) -> Outcome {
        let quotas = self.quotas(demands, gone);
        let unserved = unserved(self.supply(gone), demands, &quotas);
        let is_undecided = |why: &Why| matches!(why, Why::Undecided);
        match unserved.iter().any(|unserved| is_undecided(&unserved.why)) {
            true => Outcome::Undecided,
            false if unserved.is_empty() => Outcome::Served,
            false => Outcome::Unserved(unserved.iter().map(|unserved| unserved.index).collect()),
        }
    }

    /// Returns whether a flow decides about the demands.
    pub(super) fn is_flow(&self, demands: &[Demand<'_>], gone: &BTreeSet<usize>) -> bool {
        is_flow(self.supply(gone), demands, &self.quotas(demands, gone))
    }

    fn quotas(&self, demands: &[Demand<'_>], gone: &BTreeSet<usize>) -> Vec<QuotaUse> {
        quotas::binding(self.site, demands, &self.owners, gone)
    }

    /// Returns the node sets that lack hosts then and do not now. Of their shortages, only the
    /// numbers and the constraint are complete.
    pub fn lacking(&self, question: &Question<'_>) -> Vec<Lacking> {
        if let Some(lacking) = self.quickly_lacking(question) {
            return lacking;
        }
        let demands = self.demands(question);
        let lacking = self.shortages(&demands, &question.gone);
        let lacking = lacking.filter(|(demand, _)| !self.is_short(demand));
        lacking.map(named).collect()
    }

    /// Returns the node sets that lack hosts then, whether or not they do now.
    pub fn all_lacking(&self, question: &Question<'_>) -> Vec<Lacking> {
        let demands = self.demands(question);
        let lacking = self.shortages(&demands, &question.gone);
        lacking.map(named).collect()
    }

    fn shortages<'q>(
        &self,
        demands: &'q [Demand<'q>],
        gone: &BTreeSet<usize>,
    ) -> impl Iterator<Item = (&'q Demand<'q>, Box<Shortage>)> {
        let quotas = self.quotas(demands, gone);
        let chosen = choose(self.site, self.supply(gone), demands, &quotas);
        let results = demands.iter().zip(chosen);
        results.filter_map(|(demand, chosen)| Some((demand, chosen.err()?)))
    }

    /// Returns what a cluster requests; equal requests are served equally well.
    pub(crate) fn request<'q>(&self, cluster: &'q Cluster) -> impl Eq + Hash + use<'q> {
        let node_sets = cluster.node_sets.iter().map(|(part, node_set)| {
            let needs = Needs::new(cluster, part, node_set);
            (part, node_set.wanted(), needs.key())
        });
        (&cluster.key.namespace, node_sets.collect::<Vec<_>>())
    }

    /// Returns bounds of what a node set could get if it were the only one to get any.
    pub fn bound(&self, cluster: &Cluster, part: &Part, node_set: &NodeSet) -> Bound {
        let none = BTreeSet::new();
        let demand = self.demand(cluster, part, node_set, &none);
        let room = |free: &FreeHosts<'_>| {
            let pool = free.pool(&demand.needs)?;
            Some(free.room(pool, &demand, &none))
        };
        let known = self.free.as_ref().and_then(room);
        let only = || {
            let needs = std::iter::once(demand.needs.clone());
            room(&FreeHosts::new(
                &self.hosts,
                &self.availability,
                &self.candidates,
                needs,
            ))
        };
        let room = known.or_else(only).unwrap_or_default();
        Bound {
            apart: room.apart,
            hosts: room.hosts,
        }
    }

    /// Returns why node sets lack hosts then that do not now, as clauses.
    pub fn constraints(&self, question: &Question<'_>) -> Vec<(ClusterKey, Part, String)> {
        let lacking = self.lacking(question).into_iter();
        let constraint = |shortage: &Shortage| shortage.constraint(self.hosts.len());
        lacking
            .map(|(cluster, part, shortage)| (cluster, part, constraint(&shortage)))
            .collect()
    }

    fn supply<'q>(&'q self, gone: &'q BTreeSet<usize>) -> Supply<'q> {
        Supply {
            hosts: &self.hosts,
            availability: &self.availability,
            gone,
            choice: Some(&self.candidates),
        }
    }

    /// Returns whether a node set lacks hosts in any case.
    fn is_short(&self, demand: &Demand<'_>) -> bool {
        let node_set = (demand.cluster.key.clone(), demand.part.clone());
        self.plan.shortages.contains_key(&node_set)
    }

    /// Returns the demands of the node sets that the question affects, and of those that lack hosts
    /// in any case: what is freed may be theirs.
    pub(super) fn demands<'q>(&'q self, question: &'q Question<'_>) -> Vec<Demand<'q>> {
        let short = self.plan.shortages.keys().map(|(cluster, _)| cluster);
        let bereft = question
            .gone
            .iter()
            .filter_map(|host| self.owners.get(host));
        let replaced = question.replaced.iter().map(|(cluster, ..)| *cluster);
        let affected: BTreeSet<&ClusterKey> =
            short.chain(bereft.copied()).chain(replaced).collect();
        let of_site = self.clusters.iter().copied();
        let of_site = of_site.filter(|cluster| affected.contains(&cluster.key));
        self.open_demands(of_site, question)
    }

    /// Returns the open demands of clusters of the site and of those of the question.
    fn open_demands<'q>(
        &'q self,
        of_site: impl Iterator<Item = &'q Cluster>,
        question: &'q Question<'_>,
    ) -> Vec<Demand<'q>> {
        let node_sets = of_site.chain(question.more).flat_map(|cluster| {
            let node_sets = cluster.node_sets.iter();
            node_sets.map(move |(part, node_set)| (cluster, part, node_set))
        });
        let demands = node_sets.map(|(cluster, part, node_set)| {
            let other = question
                .replaced
                .filter(|(key, other, _)| **key == cluster.key && *other == part);
            let node_set = other.map_or(&**node_set, |(.., other)| other);
            self.demand(cluster, part, node_set, &question.gone)
        });
        demands.filter(Demand::is_open).collect()
    }

    fn demand<'q>(
        &self,
        cluster: &'q Cluster,
        part: &'q Part,
        node_set: &'q NodeSet,
        gone: &BTreeSet<usize>,
    ) -> Demand<'q>
    where
        'a: 'q,
    {
        let placement = self.plan.clusters.get(&cluster.key);
        let assigned = placement.and_then(|placement| placement.get(part));
        let stays = assigned.into_iter().flatten();
        let stays: Vec<Assigned> = stays
            .filter(|assigned| !gone.contains(&assigned.host))
            .copied()
            .collect();
        Demand::new(self.site, cluster, part, node_set, &stays, |_| false)
    }
}

/// Returns the smallest number up to `most` that fits. Whatever is above a number that fits, fits,
/// and `most` does.
pub(super) fn smallest(most: usize, fits: impl Fn(usize) -> bool) -> usize {
    most - largest(most, most, |less| fits(most - less))
}

/// Returns the largest number up to `most` that fits, which is probably the guess. Whatever is below
/// a number that fits, fits.
pub fn largest(most: usize, guess: usize, fits: impl Fn(usize) -> bool) -> usize {
    // `low` fits, `high` does not.
    let (mut low, mut high) = (0, most + 1);
    for tried in [guess.min(most), guess.min(most) + 1] {
        if tried <= low || tried >= high {
            continue;
        }
        if fits(tried) {
            low = tried;
        } else {
            high = tried;
        }
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}
