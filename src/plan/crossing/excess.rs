//! Quotas that a cluster would exceed, and constraints on topology domains that it cannot meet, whatever
//! hosts it gets. Both are proven by counting.
//!
//! The integer program finds them, too, but only on sites of moderate size.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::super::matching::FlowDemand;
use super::super::search_result::{ConflictCore, ShortDemand, ShortageProof};
use super::CrossingSearch;
use super::candidates::{Candidate, Limit};

/// A quota that a cluster would exceed.
pub(super) struct QuotaExcess {
    /// The fewest demands that prove it.
    core: ConflictCore,
    /// The demands of the cluster whose hosts all count.
    counting: Vec<usize>,
    /// Number of hosts that accepted clusters leave to these.
    left: usize,
    /// Number of hosts that these lack.
    lacking: usize,
}

impl CrossingSearch<'_> {
    /// Returns the quota that leaves a cluster the most hosts short; of equal ones, the first.
    pub(super) fn quota_excess(&self, cluster: &[usize]) -> Option<QuotaExcess> {
        let demands = &self.instance.problem.demands;
        let quotas: BTreeSet<usize> =
            cluster.iter().flat_map(|demand| &demands[*demand].quotas).copied().collect();
        let excesses = quotas.into_iter().rev().filter_map(|quota| self.excess_of(quota, cluster));
        excesses.max_by_key(|excess| excess.lacking)
    }

    fn excess_of(&self, quota: usize, cluster: &[usize]) -> Option<QuotaExcess> {
        let (problem, candidates) = (&self.instance.problem, self.placing.candidates);
        let counts = |demand: &usize| {
            let of = &problem.demands[*demand];
            let mut classes = candidates.pool(of.pool).iter();
            of.missing > 0
                && of.quotas.contains(&quota)
                && classes.all(|candidate| problem.counts(candidate.class).contains(&quota))
        };
        let missing = |demands: &[usize]| -> usize {
            demands.iter().map(|demand| problem.demands[*demand].missing).sum()
        };
        let limit = problem.quotas[quota];
        let counting: Vec<usize> = cluster.iter().copied().filter(counts).collect();
        let others: Vec<usize> = self.accepted.iter().copied().filter(counts).collect();
        let (own, taken_by_others) = (missing(&counting), missing(&others));
        let left = limit.saturating_sub(taken_by_others);
        if own <= left {
            return None;
        }
        // Demands that are served last are removed first, those of the cluster last.
        let mut demands = [counting.clone(), others].concat();
        let mut sum = own + taken_by_others;
        for at in (0..demands.len()).rev() {
            let without = sum - problem.demands[demands[at]].missing;
            if without > limit {
                demands.remove(at);
                sum = without;
            }
        }
        demands.sort_unstable();
        let quotas = vec![quota];
        let core = ConflictCore { demands, quotas, is_minimal: true, ..ConflictCore::default() };
        Some(QuotaExcess { core, counting, left, lacking: own - left })
    }

    /// Returns what limits a cluster more, a quota or the number of hosts. If both limit it equally, the
    /// quota says so: a change of one of them does not help.
    pub(super) fn tighter(
        &self,
        excess: QuotaExcess,
        by_count: Vec<ShortDemand>,
    ) -> Vec<ShortDemand> {
        let problem = &self.instance.problem;
        let lacking = |short: &ShortDemand| problem.demands[short.index].missing - short.found.most;
        let lacking_hosts: usize = by_count.iter().map(lacking).sum();
        if lacking_hosts > excess.lacking {
            return by_count;
        }
        let mut conflict = self.conflict(excess.core);
        conflict.has_no_more_hosts = lacking_hosts == excess.lacking;
        let mut left = excess.left;
        let unserved = excess.counting.into_iter().filter_map(|index| {
            let missing = problem.demands[index].missing;
            let found = missing.min(left);
            left -= found;
            let why = || ShortageProof::Crossing(conflict.clone());
            (found < missing).then(|| ShortDemand::at_most(index, found, why()))
        });
        unserved.collect()
    }

    /// Returns why a demand for a single domain cannot be served beside accepted ones that are equal: a
    /// domain has room for a number of them. Their number is proven without the integer program, which
    /// takes long for copies.
    pub(super) fn domain_shortage(&self, demand: usize) -> Option<ShortDemand> {
        let problem = &self.instance.problem;
        let candidates = self.placing.candidates;
        let FlowDemand { pool, missing, .. } = problem.demands[demand];
        let is_rival = |other: &usize| {
            let of = &problem.demands[*other];
            let is_equal = of.pool == pool && of.missing == missing && of.quotas.is_empty();
            is_equal && candidates.taken[*other].is_empty()
        };
        let spread = candidates.single(demand)?;
        let is_simple = self.instance.pools[pool].limiting.is_empty() && is_rival(&demand);
        if missing == 0 || !is_simple || candidates.spreads[demand].len() > 1 {
            return None;
        }
        let mut hosts: BTreeMap<Limit, usize> = BTreeMap::new();
        for candidate in candidates.pool(pool) {
            let domain = spread.domain(&candidate.limits)?;
            if problem.reserved[candidate.class].is_some() {
                return None;
            }
            *hosts.entry(domain).or_default() += problem.capacities[candidate.class];
        }
        let places: usize = hosts.values().map(|hosts| hosts / missing).sum();
        let others = self.accepted.iter().copied().filter(is_rival);
        let mut demands: Vec<usize> = others.take(places).chain([demand]).collect();
        demands.sort_unstable();
        let constrained = demands.clone();
        let core =
            ConflictCore { demands, constrained, is_minimal: true, ..ConflictCore::default() };
        let is_short = core.demands.len() > places;
        let why = || ShortageProof::Crossing(self.conflict(core));
        is_short.then(|| ShortDemand::at_most(demand, missing - 1, why()))
    }

    /// Returns why a demand cannot meet a constraint on domains with any hosts that it may use.
    pub(super) fn constraint_excess(&self, demand: usize) -> Option<ShortDemand> {
        let problem = &self.instance.problem;
        let FlowDemand { pool, missing, .. } = problem.demands[demand];
        self.instance.demands[demand].spreads.iter().find_map(|skew| {
            let mut available: HashMap<&str, usize> = HashMap::new();
            let key = self.instance.key(skew.key)?;
            for &Candidate { class, .. } in self.placing.candidates.pool(pool) {
                if problem.may_have(demand, class)
                    && let Some(domain) = self.instance.value(class, key)
                {
                    *available.entry(domain).or_default() += problem.capacities[class];
                }
            }
            let proof =
                skew.proof(missing, |domain| available.get(domain).copied().unwrap_or_default())?;
            Some(ShortDemand::at_most(demand, proof.found, ShortageProof::Constrained(proof)))
        })
    }
}
