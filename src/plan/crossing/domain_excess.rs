//! Constraints on topology domains that demands cannot meet, proven by counting.

use std::collections::{BTreeMap, HashMap};

use super::super::matching::FlowDemand;
use super::super::search_result::{ConflictCore, HostBounds, ShortDemand, ShortageProof};
use super::CrossingSearch;
use super::candidates::{Candidate, Limit};

impl CrossingSearch<'_> {
    /// Returns equal demands for single domains, of which there are too few: a domain has room for a
    /// number of them. Their number is proven without the integer program, which takes long for copies.
    pub(super) fn domain_shortage(&self, demand: usize) -> Option<ConflictCore> {
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
        (core.demands.len() > places).then_some(core)
    }

    /// Returns the demands of a conflict that are not accepted. None has all its hosts.
    pub(super) fn short_by(&self, core: &ConflictCore) -> Vec<ShortDemand> {
        let short = core.demands.iter().filter(|demand| !self.accepted.contains(demand));
        let why = ShortageProof::Crossing(self.conflict(core.clone()));
        let unserved = |index: &usize| {
            let found = HostBounds::at_most(self.instance.problem.demands[*index].missing - 1);
            ShortDemand { index: *index, found, why: why.clone() }
        };
        short.map(unserved).collect()
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
            let found = HostBounds::at_most(proof.found);
            Some(ShortDemand { index: demand, found, why: ShortageProof::Constrained(proof) })
        })
    }
}
