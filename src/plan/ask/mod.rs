//! Questions about a plan: which node sets would lack hosts under a hypothesis.
//!
//! The planner answers. Assigned hosts stay, so an answer is that of the next plan once this one is
//! written, and a question costs what the hypothesis changes: the demands of the clusters that it
//! affects. Hosts are grouped once for all questions.
//!
//! A cluster that cannot be served takes no host, so it changes nothing for others. A hypothesis about
//! more demand cannot serve it either, so it takes part only in those about hosts that are gone.

mod demands;
mod occupied;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;
use std::sync::OnceLock;

use super::Plan;
use super::choose::{ChosenHosts, choose, unserved};
use super::demand::{NodeSetDemand, by_priority};
use super::eligibility::{Availability, Needs};
use super::host_classes::{HostClasses, HostSupply};
use super::quotas::{self, QuotaUse, QuotaUses};
use super::shortage::{Shortage, ShortageExplanation, ShortageReason, UnservedDemand};
use super::shortage_causes::{MatchingHosts, ShortageCauses};
use super::skew::MatchingDomains;
use crate::base::api::names::{ClusterKey, Part};
use crate::input::settings::quotas::Quota;
use crate::site::Site;
use crate::site::inventory::Host;
use crate::site::request::{Cluster, NodeSet};

pub(super) use demands::QuestionScope;
pub(crate) use occupied::OccupiedSet;

/// A plan, prepared for questions.
pub struct PlannedSite<'a> {
    pub(crate) site: &'a Site,
    pub(super) plan: &'a Plan,
    /// Hosts of the site, then those that could be bought.
    hosts: &'a [Host],
    /// Planned clusters in serving order.
    clusters: Vec<&'a Cluster>,
    /// Set if assigned hosts may move.
    may_move: bool,
    /// Hosts that stay, with their clusters.
    pub(crate) owners: BTreeMap<usize, &'a ClusterKey>,
    availability: Vec<Availability>,
    classes: HostClasses<'a>,
    quotas: QuotaUses<'a>,
    /// Matching hosts of each pool.
    matching: Vec<OnceLock<MatchingHosts<'a>>>,
    /// Domains of the hosts that match a node set.
    matching_domains: MatchingDomains<'a>,
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
    /// Set if gone hosts are drained: their topology domains stay, and node sets request as many
    /// hosts as they have.
    pub is_drain: bool,
}

/// Hosts that node sets get under a hypothesis.
pub(crate) type Replacements = BTreeMap<(ClusterKey, Part), Vec<usize>>;

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
    /// Returns the number of hosts that it lacks because of the hypothesis.
    pub fn more(&self) -> usize {
        self.shortage.short_of().saturating_sub(self.today)
    }
}

impl<'a> PlannedSite<'a> {
    /// Prepares questions about a plan of the site, also about `more` clusters like these.
    pub fn new(site: &'a Site, plan: &'a Plan, more: &'a [Cluster]) -> Self {
        let owners = plan.assigned(site).collect();
        Self::with_owners(site, plan, &site.inventory.hosts, more, owners)
    }

    /// Prepares questions about the plan if its assigned hosts may move, unless a machine names them.
    /// [`Self::released_hosts`] returns `hosts`.
    pub(crate) fn with_moves<'h>(&'h self, hosts: &'h [Host]) -> PlannedSite<'h> {
        let (site, plan) = (self.site, self.plan);
        let mut owners: BTreeMap<usize, &ClusterKey> = plan.frozen_hosts(site).collect();
        for set in self.occupied_sets().iter().filter(|set| set.node_set.is_named()) {
            owners.extend(set.hosts.iter().map(|host| (*host, &set.cluster.key)));
        }
        let mut planned = PlannedSite::with_owners(site, plan, hosts, &[], owners);
        planned.may_move = true;
        planned
    }

    /// Prepares questions about hosts of the site and more, which are free. The owners keep their hosts.
    pub(super) fn with_owners(
        site: &'a Site,
        plan: &'a Plan,
        hosts: &'a [Host],
        more: &'a [Cluster],
        owners: BTreeMap<usize, &'a ClusterKey>,
    ) -> Self {
        let mut availability = Availability::all(site, &owners, &plan.released, &BTreeSet::new());
        availability.resize(hosts.len(), Availability::Free);
        // The labels of a cluster are removed with the release.
        for (host, _) in plan.assigned(site).filter(|(host, _)| !owners.contains_key(host)) {
            availability[host] = Availability::Free;
        }
        let clusters = by_priority(site, &plan.frozen);
        let all = clusters.iter().copied().chain(more);
        let node_sets = all.flat_map(|cluster| cluster.parts());
        let needs = node_sets.map(|(cluster, part, node_set)| Needs::new(cluster, part, node_set));
        let quota_labels = site.settings.quotas.iter().map(|quota| &quota.labels);
        let supply = HostSupply { hosts, availability: &availability, gone: &BTreeSet::new() };
        let classes = HostClasses::for_needs(supply, needs, quota_labels);
        let matching = classes.pools.iter().map(|_| OnceLock::new()).collect();
        Self {
            quotas: QuotaUses::new(site, owners.iter().map(|(host, key)| (*host, *key))),
            site,
            plan,
            hosts,
            clusters,
            may_move: false,
            owners,
            classes,
            availability,
            matching,
            matching_domains: MatchingDomains::default(),
        }
    }

    /// Returns whether the search finds hosts for the clusters that a hypothesis affects.
    pub fn is_served(&self, hypothesis: &PlanHypothesis<'_>) -> bool {
        let (_, unserved) = self.unserved(hypothesis, QuestionScope::Affected);
        unserved.is_empty()
    }

    /// Returns the node sets that lack more hosts under a hypothesis than without it.
    pub fn lacking_more(&self, hypothesis: &PlanHypothesis<'_>) -> Vec<NodeSetLack> {
        // A larger node set that cannot be served takes no host from others.
        let is_larger = hypothesis.resized.is_some();
        let scope = if is_larger { QuestionScope::Affected } else { QuestionScope::WithShort };
        let mut lacking = self.all_short(scope, hypothesis);
        lacking.retain(|lacking| lacking.more() > 0);
        lacking
    }

    /// Returns the node sets that lack hosts under a hypothesis, also those that lack them without it.
    pub fn lacking(&self, hypothesis: &PlanHypothesis<'_>) -> Vec<NodeSetLack> {
        self.all_short(QuestionScope::WithShort, hypothesis)
    }

    fn all_short(&self, scope: QuestionScope, hypothesis: &PlanHypothesis<'_>) -> Vec<NodeSetLack> {
        let (demands, mut unserved) = self.unserved(hypothesis, scope);
        let gone = &hypothesis.gone;
        let mut keys = demands.iter().map(|demand| &demand.node_set.topology_keys);
        // Whether topology keys cross each other depends on the hosts that are left.
        if !unserved.is_empty() && !gone.is_empty() && keys.any(|keys| keys.len() > 1) {
            unserved = self.unserved_anew(&demands, gone);
        }
        let lacking = unserved.into_iter().map(|unserved| {
            let demand = &demands[unserved.index];
            let node_set = (demand.cluster.key.clone(), demand.part.clone());
            let today = self.plan.shortages.get(&node_set).filter(|_| !hypothesis.is_drain);
            let (cluster, part) = node_set;
            NodeSetLack {
                cluster,
                part,
                today: today.map_or(0, Shortage::short_of),
                shortage: self.shortage(demand, gone, unserved),
            }
        });
        lacking.collect()
    }

    fn shortage(
        &self,
        demand: &NodeSetDemand<'_>,
        gone: &BTreeSet<usize>,
        unserved: UnservedDemand,
    ) -> Shortage {
        let other = OnceLock::new();
        let pool = self.classes.pool(demand);
        let matching = pool.map_or(&other, |pool| &self.matching[pool]);
        let supply = self.supply(gone);
        let matching = matching.get_or_init(|| MatchingHosts::new(supply, &demand.needs));
        let causes = ShortageCauses::new(matching, supply, demand, &unserved.limits);
        let explanation = ShortageExplanation::new(self.site, demand, &causes, &[]);
        Shortage::new(self.site, demand, unserved, causes, explanation.into())
    }

    /// Returns the hosts that node sets get under a hypothesis.
    ///
    /// # Errors
    ///
    /// Returns the node sets that lack hosts.
    pub(crate) fn replacements(
        &self,
        hypothesis: &PlanHypothesis<'_>,
    ) -> Result<Replacements, Vec<NodeSetLack>> {
        let demands = self.demands(hypothesis, QuestionScope::Affected);
        let quotas = self.binding_quotas(&demands, &hypothesis.gone);
        let supply = self.supply(&hypothesis.gone);
        let chosen: Result<Vec<ChosenHosts>, _> =
            choose(self.site, supply, &demands, &quotas).into_iter().collect();
        let Ok(chosen) = chosen else { return Err(self.lacking(hypothesis)) };
        let node_sets = demands.iter().zip(chosen).map(|(demand, chosen)| {
            let node_set = (demand.cluster.key.clone(), demand.part.clone());
            (node_set, chosen.added)
        });
        Ok(node_sets.collect())
    }

    /// Returns the demands that take part in a question, and those of them that are not served.
    pub(super) fn unserved<'q>(
        &'q self,
        hypothesis: &'q PlanHypothesis<'_>,
        scope: QuestionScope,
    ) -> (Vec<NodeSetDemand<'q>>, Vec<UnservedDemand>) {
        let demands = self.demands(hypothesis, scope);
        let gone = &hypothesis.gone;
        let quotas = self.binding_quotas(&demands, gone);
        let unserved = unserved(&self.classes, gone, &demands, &quotas)
            .unwrap_or_else(|| self.unserved_anew(&demands, gone));
        (demands, unserved)
    }

    /// Returns whether a cluster cannot be served without a hypothesis.
    pub fn is_short(&self, cluster: &ClusterKey) -> bool {
        self.plan.shortages.keys().any(|(short, _)| short == cluster)
    }

    /// Returns an upper bound of the number of hosts by which a node set can grow.
    pub(crate) fn most_growth(&self, cluster: &Cluster, part: &Part, node_set: &NodeSet) -> usize {
        let surplus = self.hosts_of(cluster, part).count().saturating_sub(node_set.wanted());
        let demand = self.demand(cluster, part, node_set, &PlanHypothesis::default());
        let Some(pool) = self.classes.pool(&demand).map(|pool| &self.classes.pools[pool]) else {
            return surplus;
        };
        let is_known = |(key, value): &&(&str, &str)| {
            pool.key == Some(*key) && pool.domains.contains_key(&Some(*value))
        };
        let free = pool.places - demand.domains.iter().filter(is_known).count();
        surplus + self.quotas.left(&cluster.key.namespace).map_or(free, |left| free.min(left))
    }

    /// Returns what a further cluster like this requests; equal requests are served equally well.
    pub(crate) fn request<'q>(&self, cluster: &'q Cluster) -> impl Clone + Eq + Hash + use<'q> {
        let node_sets = cluster.parts().map(|(cluster, part, node_set)| {
            (part, node_set.wanted(), Needs::new(cluster, part, node_set).pool_key())
        });
        let namespace = &cluster.key.namespace;
        let mut quotas = self.site.settings.quotas.iter();
        let is_limited = quotas.any(|quota| quota.namespace == *namespace);
        (is_limited.then_some(namespace), node_sets.collect::<Vec<_>>())
    }

    /// Groups the hosts that are not gone for these demands alone.
    fn unserved_anew(
        &self,
        demands: &[NodeSetDemand<'_>],
        gone: &BTreeSet<usize>,
    ) -> Vec<UnservedDemand> {
        let quotas = self.binding_quotas(demands, gone);
        let needs = demands.iter().map(|demand| demand.needs.clone());
        let labels = quotas.iter().map(|quota| &quota.quota.labels);
        let classes = HostClasses::for_needs(self.supply(gone), needs, labels);
        unserved(&classes, gone, demands, &quotas).unwrap_or_default()
    }

    /// Returns all hosts except those that are gone.
    fn supply<'q>(&'q self, gone: &'q BTreeSet<usize>) -> HostSupply<'a, 'q> {
        HostSupply { hosts: self.hosts, availability: &self.availability, gone }
    }

    /// Returns the quotas that demands could exceed once hosts are gone. Moves cannot heal a quota that
    /// is exceeded already.
    fn binding_quotas(
        &self,
        demands: &[NodeSetDemand<'_>],
        gone: &BTreeSet<usize>,
    ) -> Vec<QuotaUse> {
        let owned = gone.iter().filter_map(|host| Some((*host, *self.owners.get(host)?)));
        let mut quotas = self.quotas.binding(demands, owned);
        if self.may_move {
            let all = quotas::all(self.site, self.plan).into_iter();
            let exceeded = all.filter(|quota| quota.used() > quota.quota.hosts);
            let exceeded: Vec<Quota> = exceeded.map(|quota| quota.quota).collect();
            quotas.retain(|quota| !exceeded.contains(&quota.quota));
        }
        quotas
    }
}

/// Returns whether node sets that lack hosts prove that a hypothesis is not served.
pub fn is_proven(lacking: &[NodeSetLack]) -> bool {
    let mut reasons = lacking.iter().map(|lacking| &lacking.shortage.reason);
    !lacking.is_empty() && reasons.all(|reason| *reason != ShortageReason::Undecided)
}

/// Returns the smallest number up to `most` that fits. Whatever is above a number that fits, fits,
/// and `most` does.
pub(super) fn smallest(most: usize, mut fits: impl FnMut(usize) -> bool) -> usize {
    most - largest(most, |less| fits(most - less))
}

/// Returns the largest number up to `most` that fits. Whatever is below a number that fits, fits.
/// `most` is tried first.
pub fn largest(most: usize, mut fits: impl FnMut(usize) -> bool) -> usize {
    if most == 0 || fits(most) {
        return most;
    }
    // `low` fits, `high` does not.
    let (mut low, mut high) = (0, most);
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
