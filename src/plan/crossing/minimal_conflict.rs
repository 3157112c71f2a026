//! Reduces a conflict to a minimal set of demands and topology domains.

use std::collections::{BTreeMap, BTreeSet};

use super::super::search_result::{ConflictCore, HostBounds};
use super::CrossingSearch;
use super::candidates::Limit;
use super::integer_program::{Question, SolverAnswer};

/// Maximum number of steps for one question.
const SHARE: u64 = 3_000_000;

/// Constraints that a question leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relaxed {
    Nothing,
    Topology,
    Quotas,
}

impl CrossingSearch<'_, '_> {
    /// Removes unnecessary demands from those that conflict with a cluster, then unnecessary domains and
    /// quotas.
    pub(super) fn core(&mut self, cluster: &[usize], relaxed: Relaxed) -> ConflictCore {
        let Self { instance, placing, accepted, budget, .. } = self;
        let (problem, candidates) = (&instance.problem, placing.candidates);
        // Demands that are served last are removed first.
        let last_first = cluster.iter().rev().chain(accepted.iter().rev());
        let mut demands: Vec<usize> = last_first.copied().collect();
        let pools: BTreeSet<usize> =
            demands.iter().map(|demand| problem.demands[*demand].pool).collect();
        let all: BTreeSet<Limit> = pools
            .iter()
            .filter(|_| relaxed != Relaxed::Topology)
            .flat_map(|pool| candidates.all(*pool))
            .flat_map(|candidate| candidate.limits.iter().copied())
            .collect();
        let mut is_minimal = true;
        let mut is_impossible =
            |demands: &[usize], limits: &[Limit], quotas: &[usize], constrained: &[usize]| {
                let limits: BTreeSet<Limit> = limits.iter().copied().collect();
                let limits = |limit: Limit| limits.contains(&limit);
                let missing = |demand: usize| problem.demands[demand].missing;
                let question = Question {
                    problem,
                    candidates,
                    demands,
                    missing: &missing,
                    hosts: &problem.capacities,
                    limits: &limits,
                    quotas: &|quota| quotas.contains(&quota).then(|| problem.quotas[quota]),
                    spreads: &|demand| constrained.contains(&demand),
                };
                let answer = question.answer(budget, SHARE);
                is_minimal &= answer != SolverAnswer::Undecided;
                answer == SolverAnswer::Impossible
            };
        let mut limits: Vec<Limit> = all.into_iter().collect();
        let mut quotas: Vec<usize> = (0..problem.quotas.len()).collect();
        let is_skewed = |demand: &usize| {
            relaxed != Relaxed::Topology && !candidates.spreads[*demand].is_empty()
        };
        let mut constrained: Vec<usize> = demands.iter().copied().filter(is_skewed).collect();
        shrink(&mut demands, |demands| is_impossible(demands, &limits, &quotas, &constrained));
        constrained.retain(|demand| demands.contains(demand));
        shrink(&mut limits, |limits| is_impossible(&demands, limits, &quotas, &constrained));
        shrink(&mut quotas, |quotas| is_impossible(&demands, &limits, quotas, &constrained));
        shrink(&mut constrained, |constrained| {
            is_impossible(&demands, &limits, &quotas, constrained)
        });
        demands.sort_unstable();
        constrained.sort_unstable();
        ConflictCore { demands, limits, quotas, constrained, is_minimal }
    }

    /// Returns how many hosts each demand of a cluster can have, one after the other, in addition to
    /// all accepted ones.
    pub(super) fn most(&mut self, cluster: &[usize], relaxed: Relaxed) -> Vec<HostBounds> {
        let Self { instance, placing, accepted, budget, .. } = self;
        let (problem, candidates) = (&instance.problem, placing.candidates);
        let mut found: BTreeMap<usize, HostBounds> = BTreeMap::new();
        let demands: Vec<usize> = accepted.iter().chain(cluster).copied().collect();
        for last in cluster {
            // Binary search for the largest number of hosts that can be placed.
            let (mut least, mut most) = (0, problem.demands[*last].missing);
            let mut proven = most;
            while least < most {
                let middle = (least + most).div_ceil(2);
                let missing = |demand: usize| match found.get(&demand) {
                    Some(found) => found.least,
                    None if demand == *last => middle,
                    None if cluster.contains(&demand) => 0,
                    None => problem.demands[demand].missing,
                };
                let limits = |_: Limit| relaxed != Relaxed::Topology;
                let demands = &demands;
                let question = Question {
                    problem,
                    candidates,
                    demands,
                    missing: &missing,
                    hosts: &problem.capacities,
                    limits: &limits,
                    quotas: &|quota| (relaxed != Relaxed::Quotas).then(|| problem.quotas[quota]),
                    spreads: &|_| relaxed != Relaxed::Topology,
                };
                match question.answer(budget, SHARE) {
                    SolverAnswer::Placed(_) => least = middle,
                    SolverAnswer::Impossible => (most, proven) = (middle - 1, middle - 1),
                    SolverAnswer::Undecided => most = middle - 1,
                }
            }
            found.insert(*last, HostBounds { least, most: proven });
        }
        cluster.iter().filter_map(|demand| found.get(demand).copied()).collect()
    }
}

/// Removes items while the rest still `holds`: many at once, then fewer.
fn shrink(items: &mut Vec<usize>, mut holds: impl FnMut(&[usize]) -> bool) {
    let mut size = items.len().div_ceil(2).max(1);
    loop {
        let mut at = 0;
        while at < items.len() {
            let end = (at + size).min(items.len());
            let rest: Vec<usize> = items[..at].iter().chain(&items[end..]).copied().collect();
            if holds(&rest) { *items = rest } else { at = end }
        }
        if size == 1 {
            return;
        }
        size = size.div_ceil(2);
    }
}
