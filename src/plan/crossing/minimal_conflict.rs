//! Reduces a conflict to a minimal set of demands and topology domains.

use std::collections::BTreeSet;

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

impl CrossingSearch<'_> {
    /// Removes unnecessary demands from those that conflict with a cluster, then unnecessary domains and
    /// quotas.
    pub(super) fn core(&mut self, cluster: &[usize], relaxed: Relaxed) -> ConflictCore {
        let Self { instance, placing, accepted, budget, .. } = self;
        let (problem, candidates) = (&instance.problem, placing.candidates);
        // Demands that are served last are removed first.
        let last_first = cluster.iter().rev().chain(accepted.iter().rev());
        let demands: Vec<usize> = last_first.copied().collect();
        let (mut limits, mut constrained) = (BTreeSet::new(), Vec::new());
        if relaxed != Relaxed::Topology {
            let pools: BTreeSet<usize> =
                demands.iter().map(|demand| problem.demands[*demand].pool).collect();
            let classes = pools.iter().flat_map(|pool| candidates.pool(*pool));
            limits.extend(classes.flat_map(|candidate| candidate.limits.iter().copied()));
            constrained = demands.clone();
            constrained.retain(|demand| !candidates.spreads[*demand].is_empty());
        }
        let mut is_minimal = true;
        let mut is_conflict = |core: &ConflictCore| {
            let limits: BTreeSet<Limit> = core.limits.iter().copied().collect();
            let question = Question {
                candidates,
                demands: &core.demands,
                missing: &|demand| problem.demands[demand].missing,
                hosts: &problem.capacities,
                limits: &|limit| limits.contains(&limit),
                quotas: &|quota| core.quotas.contains(&quota).then(|| problem.quotas[quota]),
                spreads: &|demand| core.constrained.contains(&demand),
            };
            let answer = question.answer(budget, SHARE);
            is_minimal &= answer != SolverAnswer::Undecided;
            answer == SolverAnswer::Impossible
        };
        let mut core = ConflictCore {
            demands,
            limits: limits.into_iter().collect(),
            quotas: (0..problem.quotas.len()).collect(),
            constrained,
            is_minimal: false,
        };
        shrink(&mut core, |core| &mut core.demands, &mut is_conflict);
        core.constrained.retain(|demand| core.demands.contains(demand));
        shrink(&mut core, |core| &mut core.limits, &mut is_conflict);
        shrink(&mut core, |core| &mut core.quotas, &mut is_conflict);
        shrink(&mut core, |core| &mut core.constrained, &mut is_conflict);
        core.demands.sort_unstable();
        core.constrained.sort_unstable();
        ConflictCore { is_minimal, ..core }
    }

    /// Returns how many hosts each demand of a cluster can have, one after the other, in addition to
    /// all accepted ones.
    pub(super) fn most(&mut self, cluster: &[usize], relaxed: Relaxed) -> Vec<HostBounds> {
        let Self { instance, placing, accepted, budget, .. } = self;
        let (problem, candidates) = (&instance.problem, placing.candidates);
        let mut found: Vec<HostBounds> = Vec::new();
        let demands: Vec<usize> = accepted.iter().chain(cluster).copied().collect();
        for last in cluster {
            // Binary search for the largest number of hosts that can be placed.
            let (mut least, mut most) = (0, problem.demands[*last].missing);
            let mut proven = most;
            while least < most {
                let middle = (least + most).div_ceil(2);
                let missing = |demand: usize| match cluster.iter().position(|own| *own == demand) {
                    Some(at) if at == found.len() => middle,
                    Some(at) => found.get(at).map_or(0, |found| found.least),
                    None => problem.demands[demand].missing,
                };
                let question = Question {
                    candidates,
                    demands: &demands,
                    missing: &missing,
                    hosts: &problem.capacities,
                    limits: &|_| relaxed != Relaxed::Topology,
                    quotas: &|quota| (relaxed != Relaxed::Quotas).then(|| problem.quotas[quota]),
                    spreads: &|_| relaxed != Relaxed::Topology,
                };
                match question.answer(budget, SHARE) {
                    SolverAnswer::Placed(_) => least = middle,
                    SolverAnswer::Impossible => (most, proven) = (middle - 1, middle - 1),
                    SolverAnswer::Undecided => most = middle - 1,
                }
            }
            found.push(HostBounds { least, most: proven });
        }
        found
    }
}

/// Removes parts of one kind while the rest is still a conflict: many at once, then fewer.
fn shrink(
    core: &mut ConflictCore,
    parts: fn(&mut ConflictCore) -> &mut Vec<usize>,
    is_conflict: &mut impl FnMut(&ConflictCore) -> bool,
) {
    let mut size = parts(core).len().div_ceil(2).max(1);
    loop {
        let mut at = 0;
        while at < parts(core).len() {
            let mut rest = core.clone();
            let end = (at + size).min(parts(core).len());
            parts(&mut rest).drain(at..end);
            if is_conflict(&rest) { *core = rest } else { at = end }
        }
        if size == 1 {
            return;
        }
        size = size.div_ceil(2);
    }
}
