//! Questions about a plan: which node sets would lack hosts under a hypothesis.
//!
//! The planner answers. Assigned hosts stay, so an answer is that of the next plan once this one is
//! written, and a question costs what the hypothesis changes: the demands of the clusters that it
//! affects. Hosts are grouped once for all questions.
//!
//! A cluster that cannot be served takes no host, so it changes nothing for others. A hypothesis about
//! more demand cannot serve it either, so it takes part only in those about hosts that are gone.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;
use std::sync::OnceLock;

use super::Plan;
use super::choose::{UnservedDemand, unserved};
use super::demand::{NodeSetDemand, by_priority, serving_order};
use super::eligibility::{Availability, Needs};
use super::host_classes::HostClasses;
use super::placement::PlacedHost;
use super::quotas::QuotaUses;
use super::shortage::{Shortage, ShortageExplanation, ShortageReason};
use super::shortage_causes::{MatchingHosts, ShortageCauses};
use crate::api::names::{ClusterKey, Namespace, Part};
use crate::inventory::Host;
use crate::request::{Cluster, NodeSet};
use crate::site::Site;

/// A plan, prepared for questions.
pub struct PlannedSite<'a> {
    site: &'a Site,
    plan: &'a Plan,
    /// Hosts of the site, then those that could be bought.
    hosts: &'a [Host],
    /// Planned clusters in serving order.
    clusters: Vec<&'a Cluster>,
    /// Assigned hosts with their clusters.
    owners: BTreeMap<usize, &'a ClusterKey>,
    availability: Vec<Availability>,
    classes: HostClasses<'a>,
    /// Clusters that alone may take some hosts.
    reserving: BTreeSet<ClusterKey>,
    quotas: QuotaUses<'a>,
    /// Numbers of hosts that node sets lack without a hypothesis.
    today: OnceLock<BTreeMap<(ClusterKey, Part), usize>>,
    /// Matching hosts of each pool.
    matching: Vec<OnceLock<MatchingHosts<'a>>>,
}

/// Changes of a planned site.
#[derive(Default, Clone)]
pub struct PlanHypothesis<'q> {
    /// More clusters.
    pub more: &'q [Cluster],
    /// A node set that is another.
    pub resized: Option<(&'q ClusterKey, &'q Part, &'q NodeSet)>,
    /// Hosts that are gone.
    pub gone: BTreeSet<usize>,
}

/// The answer to the question if a hypothesis is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HypothesisVerdict {
    /// Every cluster that has enough hosts without the hypothesis has enough with it, and so have the
    /// clusters that it adds.
    Served,
    /// Some of them cannot be served.
    Unserved,
    /// The search ended at its limit of steps.
    Undecided,
}

/// A node set that lacks hosts under a hypothesis.
#[derive(Debug, Clone)]
pub struct NodeSetLack {
    /// The cluster.
    pub cluster: ClusterKey,
    /// The part of the cluster.
    pub part: Part,
    /// Number of hosts that it lacks without the hypothesis.
    pub today: usize,
    /// The proof, without lists of hosts.
    pub shortage: Shortage,
}

impl NodeSetLack {
    /// Returns whether no proof was found within the limit of steps.
    pub fn is_undecided(&self) -> bool {
        self.shortage.reason == ShortageReason::Undecided
    }

    /// Returns the number of hosts that it lacks because of the hypothesis.
    pub fn more(&self) -> usize {
        self.shortage.short_of().saturating_sub(self.today)
    }
}

/// Demands that take part in a question.
#[derive(Clone, Copy, PartialEq, Eq)]
enum QuestionScope {
    /// Demands of clusters that the hypothesis affects.
    Affected,
    /// Also demands of clusters that lack hosts in any case.
    WithShort,
}

impl<'a> PlannedSite<'a> {
    /// Prepares questions about a plan of the site, also about `more` clusters like these.
    pub fn new(site: &'a Site, plan: &'a Plan, more: &'a [Cluster]) -> Self {
        Self::with_hosts(site, plan, &site.inventory.hosts, more)
    }

    /// Prepares questions about more hosts, which are free.
    fn with_hosts(site: &'a Site, plan: &'a Plan, hosts: &'a [Host], more: &'a [Cluster]) -> Self {
        let owners: BTreeMap<usize, &ClusterKey> = plan.assigned(site).collect();
        let none = BTreeSet::new();
        let mut availability = Availability::all(site, &owners, &plan.released, &BTreeSet::new());
        availability.resize(hosts.len(), Availability::Free);
        let clusters = by_priority(site, &plan.frozen);
        let all = clusters.iter().copied().chain(more);
        let needs = all.flat_map(|cluster| {
            let node_sets = cluster.node_sets.iter();
            node_sets.map(move |(part, node_set)| Needs::new(cluster, part, node_set))
        });
        let quota_labels = site.settings.quotas.iter().map(|quota| &quota.labels);
        let classes = HostClasses::for_needs(hosts, &availability, &none, needs, quota_labels);
        let matching = classes.pools.iter().map(|_| OnceLock::new()).collect();
        let reserving = classes.classes.iter();
        let reserving = reserving.filter_map(|class| class.only.clone()).collect();
        Self {
            quotas: QuotaUses::new(site, plan.assigned(site)),
            site,
            plan,
            hosts,
            clusters,
            owners,
            classes,
            reserving,
            availability,
            today: OnceLock::new(),
            matching,
        }
    }

    /// Returns the site.
    pub(super) fn site(&self) -> &'a Site {
        self.site
    }

    /// Prepares questions about bought hosts as well. `hosts` begins with those of the site.
    pub(super) fn with_bought<'h>(&self, hosts: &'h [Host], more: &'h [Cluster]) -> PlannedSite<'h>
    where
        'a: 'h,
    {
        PlannedSite {
            today: self.today().clone().into(),
            ..PlannedSite::with_hosts(self.site, self.plan, hosts, more)
        }
    }

    /// Returns whether a hypothesis is served.
    pub fn is_served(&self, hypothesis: &PlanHypothesis<'_>) -> HypothesisVerdict {
        let participants = if hypothesis.gone.is_empty() {
            QuestionScope::Affected
        } else {
            QuestionScope::WithShort
        };
        let demands = self.demands(hypothesis, participants);
        let unserved = self.unserved(&demands, &hypothesis.gone);
        let is_worse = |unserved: &&UnservedDemand| {
            let demand = &demands[unserved.index];
            demand.missing - unserved.found > self.lacks_today(demand)
        };
        verdict(unserved.iter().filter(is_worse))
    }

    /// Returns whether all clusters that a hypothesis affects, and all that lack hosts in any case, are
    /// served.
    pub(super) fn is_all_served(&self, hypothesis: &PlanHypothesis<'_>) -> HypothesisVerdict {
        let demands = self.demands(hypothesis, QuestionScope::WithShort);
        verdict(self.unserved(&demands, &hypothesis.gone).iter())
    }

    /// Returns the node sets that lack more hosts under a hypothesis than without it.
    pub fn lacking_more(&self, hypothesis: &PlanHypothesis<'_>) -> Vec<NodeSetLack> {
        let mut lacking = self.lacking(hypothesis);
        lacking.retain(|lacking| lacking.more() > 0);
        lacking
    }

    /// Returns the node sets that lack hosts under a hypothesis, also those that lack them without it.
    pub fn lacking(&self, hypothesis: &PlanHypothesis<'_>) -> Vec<NodeSetLack> {
        let demands = self.demands(hypothesis, QuestionScope::WithShort);
        let gone = &hypothesis.gone;
        let unserved = self.unserved(&demands, gone).into_iter();
        let lacking = unserved.map(|unserved| {
            let demand = &demands[unserved.index];
            let other = OnceLock::new();
            let pool = self.classes.pool(demand);
            let matching = pool.map_or(&other, |pool| &self.matching[pool]);
            let matching = matching
                .get_or_init(|| MatchingHosts::new(self.hosts, &self.availability, &demand.needs));
            let causes = ShortageCauses::new(matching, self.hosts, demand, gone, &unserved.limits);
            let explanation = ShortageExplanation::brief(self.hosts, demand, &causes);
            let UnservedDemand { found, reason, .. } = unserved;
            NodeSetLack {
                cluster: demand.cluster.key.clone(),
                part: demand.part.clone(),
                today: self.lacks_today(demand),
                shortage: Shortage::new(self.site, demand, found, &explanation, causes, reason),
            }
        });
        lacking.collect()
    }

    /// Returns the demands that a hypothesis leaves short.
    pub(super) fn short_demands<'q>(
        &'q self,
        hypothesis: &'q PlanHypothesis<'_>,
    ) -> (Vec<NodeSetDemand<'q>>, BTreeSet<usize>) {
        let demands = self.demands(hypothesis, QuestionScope::WithShort);
        let unserved = self.unserved(&demands, &hypothesis.gone);
        let short = unserved.iter().map(|unserved| unserved.index).collect();
        (demands, short)
    }

    /// Returns whether a cluster cannot be served without a hypothesis.
    pub fn is_short(&self, cluster: &ClusterKey) -> bool {
        self.plan
            .shortages
            .keys()
            .any(|(short, _)| short == cluster)
    }

    /// Returns the number of free hosts that a node set may have, whatever their topology domains.
    pub fn spare(&self, cluster: &Cluster, part: &Part, node_set: &NodeSet) -> usize {
        let hypothesis = PlanHypothesis::default();
        let demand = self.demand(cluster, part, node_set, &hypothesis);
        let pool = self.classes.pool(&demand);
        pool.map_or(0, |pool| self.classes.pools[pool].capacity)
    }

    /// Returns what a further cluster like this requests; equal requests are served equally well.
    pub(crate) fn request<'q>(&self, cluster: &'q Cluster) -> impl Eq + Hash + use<'q> {
        let node_sets = cluster.node_sets.iter().map(|(part, node_set)| {
            let needs = Needs::new(cluster, part, node_set);
            (part, node_set.wanted(), needs.key())
        });
        let quotas = self.namespace_with_quotas(cluster);
        (quotas, node_sets.collect::<Vec<_>>())
    }

    /// Returns what decides about more hosts for a node set; equal ones get equally many.
    pub(crate) fn growth_request<'q>(
        &'q self,
        cluster: &'q Cluster,
        part: &'q Part,
        node_set: &'q NodeSet,
    ) -> impl Eq + Hash + use<'q, 'a> {
        let demand = self.demand(cluster, part, node_set, &PlanHypothesis::default());
        // A host that only this cluster may take, and a shortage of its own, are no other's.
        let is_special = self.reserving.contains(&cluster.key) || self.is_short(&cluster.key);
        (
            demand.needs.key(),
            node_set.wanted(),
            demand.domains,
            self.namespace_with_quotas(cluster),
            is_special.then_some((&cluster.key, part)),
        )
    }

    /// Returns the namespace of a cluster if a quota limits it.
    fn namespace_with_quotas<'q>(&self, cluster: &'q Cluster) -> Option<&'q Namespace> {
        let namespace = &cluster.key.namespace;
        let mut quotas = self.site.settings.quotas.iter();
        let is_limited = quotas.any(|quota| quota.namespace == *namespace);
        is_limited.then_some(namespace)
    }

    fn unserved<'q>(
        &'q self,
        demands: &'q [NodeSetDemand<'q>],
        gone: &'q BTreeSet<usize>,
    ) -> Vec<UnservedDemand> {
        let owned = gone
            .iter()
            .filter_map(|host| Some((*host, *self.owners.get(host)?)));
        let quotas = self.quotas.binding(demands, owned);
        if let Some(unserved) = unserved(&self.classes, gone, demands, &quotas) {
            return unserved;
        }
        let needs = demands.iter().map(|demand| demand.needs.clone());
        let labels = quotas.iter().map(|quota| &quota.quota.labels);
        let classes = HostClasses::for_needs(self.hosts, &self.availability, gone, needs, labels);
        let all = BTreeSet::new();
        unserved(&classes, &all, demands, &quotas).unwrap_or_default()
    }

    /// Returns the number of hosts that a node set lacks without a hypothesis.
    fn lacks_today(&self, demand: &NodeSetDemand<'_>) -> usize {
        if self.plan.shortages.is_empty() {
            return 0;
        }
        let node_set = (demand.cluster.key.clone(), demand.part.clone());
        self.today().get(&node_set).copied().unwrap_or_default()
    }

    fn today(&self) -> &BTreeMap<(ClusterKey, Part), usize> {
        self.today.get_or_init(|| {
            let none = PlanHypothesis::default();
            let demands = self.demands(&none, QuestionScope::WithShort);
            let unserved = self.unserved(&demands, &none.gone).into_iter();
            let lacks = unserved.map(|unserved| {
                let demand = &demands[unserved.index];
                let node_set = (demand.cluster.key.clone(), demand.part.clone());
                (node_set, demand.missing - unserved.found)
            });
            lacks.collect()
        })
    }

    /// Returns the open demands that take part in a question, in serving order.
    fn demands<'q>(
        &'q self,
        hypothesis: &'q PlanHypothesis<'_>,
        participants: QuestionScope,
    ) -> Vec<NodeSetDemand<'q>> {
        let gone = hypothesis.gone.iter();
        let bereft = gone.filter_map(|host| self.owners.get(host).copied());
        let resized = hypothesis.resized.iter().map(|(cluster, ..)| *cluster);
        let mut affected: BTreeSet<&ClusterKey> = bereft.chain(resized).collect();
        if participants == QuestionScope::WithShort {
            affected.extend(self.plan.shortages.keys().map(|(cluster, _)| cluster));
        }
        let site_clusters = self.clusters.iter().copied();
        let site_clusters = site_clusters.filter(|cluster| affected.contains(&cluster.key));
        let mut clusters: Vec<&Cluster> = site_clusters.chain(hypothesis.more).collect();
        clusters.sort_by_key(|cluster| serving_order(cluster));
        let node_sets = clusters.into_iter().flat_map(|cluster| {
            let node_sets = cluster.node_sets.iter();
            node_sets.map(move |(part, node_set)| (cluster, part, node_set))
        });
        let demands = node_sets.map(|(cluster, part, node_set)| {
            let other = hypothesis
                .resized
                .filter(|(key, other, _)| **key == cluster.key && *other == part);
            let node_set = other.map_or(&**node_set, |(.., other)| other);
            self.demand(cluster, part, node_set, hypothesis)
        });
        demands.filter(NodeSetDemand::is_open).collect()
    }

    fn demand<'q>(
        &self,
        cluster: &'q Cluster,
        part: &'q Part,
        node_set: &'q NodeSet,
        hypothesis: &PlanHypothesis<'_>,
    ) -> NodeSetDemand<'q>
    where
        'a: 'q,
    {
        let placement = self.plan.clusters.get(&cluster.key);
        let assigned = placement.and_then(|placement| placement.get(part));
        let stays: Vec<PlacedHost> = assigned
            .into_iter()
            .flatten()
            .filter(|assigned| !hypothesis.gone.contains(&assigned.host))
            .copied()
            .collect();
        NodeSetDemand::new(self.site, cluster, part, node_set, &stays, |_| false)
    }
}

fn verdict<'u>(unserved: impl Iterator<Item = &'u UnservedDemand>) -> HypothesisVerdict {
    let mut verdict = HypothesisVerdict::Served;
    for unserved in unserved {
        if unserved.reason == ShortageReason::Undecided {
            return HypothesisVerdict::Undecided;
        }
        verdict = HypothesisVerdict::Unserved;
    }
    verdict
}

/// Returns the smallest number up to `most` that fits. Whatever is above a number that fits, fits,
/// and `most` does.
pub(super) fn smallest(most: usize, mut fits: impl FnMut(usize) -> bool) -> usize {
    most - largest(most, most, |less| fits(most - less))
}

/// Returns the largest number up to `most` that fits, which is probably the guess. Whatever is below
/// a number that fits, fits.
pub fn largest(most: usize, guess: usize, mut fits: impl FnMut(usize) -> bool) -> usize {
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
