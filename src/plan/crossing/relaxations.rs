//! Relaxations: proofs that demands cannot be served, by one topology key at a time.
//!
//! Hosts that are apart by several keys are apart by each of them. For one key the problem is a
//! flow: fast, and with a cut that a person can check by counting.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::flow_network::Instance;
use super::super::matching::{Cut, EqualClasses, FlowDomain, HostPool, Matching, MatchingProblem};

/// Unserved demands, each with the number of hosts found and the proof.
pub(super) type DemandCuts = Vec<(usize, usize, Cut)>;

/// Returns for each crossing key the problem with the domains of that key; without any, the problem
/// without its quotas.
pub(super) fn by_one_key(instance: &Instance<'_>) -> Vec<MatchingProblem> {
    let mut keys: Vec<usize> =
        instance.pools.iter().flat_map(|pool| &pool.crossing).copied().collect();
    keys.sort_unstable();
    keys.dedup();
    let with_key = |key: usize| {
        let pools = instance.pools.iter().map(|of| match of.crossing.contains(&key) {
            true => Arc::new(by_key(instance, &of.pool, key)),
            false => of.pool.clone(),
        });
        let mut problem = MatchingProblem { pools: pools.collect(), ..instance.problem.clone() };
        for demand in problem
            .demands
            .iter_mut()
            .filter(|demand| instance.pools[demand.pool].crossing.contains(&key))
        {
            // The load counts hosts in the former domains of the pool. `taken` has the same hosts
            // by value.
            demand.load.clear();
        }
        problem
    };
    if keys.is_empty() {
        return vec![instance.problem.clone()];
    }
    keys.into_iter().map(with_key).collect()
}

/// Returns a pool with the domains of another key.
fn by_key(instance: &Instance<'_>, pool: &HostPool, key: usize) -> HostPool {
    let mut numbers: HashMap<Option<&str>, usize> = HashMap::new();
    let mut domains: Vec<FlowDomain> = Vec::new();
    let new_domain = |domains: &mut Vec<FlowDomain>, limited| {
        domains.push(FlowDomain { limited, is_unknown: !limited, classes: Vec::new() });
        domains.len() - 1
    };
    for class in pool.tiers.iter().flatten().flat_map(|choice| &choice.classes) {
        let value = instance.value(*class, key);
        let domain =
            *numbers.entry(value).or_insert_with(|| new_domain(&mut domains, value.is_some()));
        domains[domain].classes.push(*class);
    }
    let choice = |(domain, of): (usize, &FlowDomain)| EqualClasses {
        domain,
        classes: of.classes.clone(),
        ..EqualClasses::default()
    };
    let tier = domains.iter().enumerate().map(choice).collect();
    HostPool { by_size: pool.by_size, domains, tiers: vec![tier] }
}

/// One flow for each key.
pub(super) struct Relaxations<'p>(Vec<Matching<'p>>);

impl<'p> Relaxations<'p> {
    /// Starts with the flows of all accepted demands.
    pub(super) fn new(problems: &'p [MatchingProblem], accepted: &[usize]) -> Self {
        let mut bounds = Self(problems.iter().map(Matching::new).collect());
        // Placed demands have a flow for each key, so this cannot fail.
        let _ = bounds.accept(accepted);
        bounds
    }

    /// Satisfies these demands by each key, or by none.
    ///
    /// # Errors
    ///
    /// Returns the demands that cannot be satisfied by the key that leaves most hosts short.
    pub(super) fn accept(&mut self, demands: &[usize]) -> Result<(), DemandCuts> {
        let mut worst: Option<(usize, DemandCuts)> = None;
        let mut accepting = Vec::new();
        for flow in &mut self.0 {
            let Err(cuts) = flow.accept(demands) else {
                accepting.push(flow);
                continue;
            };
            let lacking = cuts.iter().map(|(demand, found, _)| flow.wanted[*demand] - found).sum();
            if worst.as_ref().is_none_or(|(most, _)| lacking > *most) {
                worst = Some((lacking, cuts));
            }
        }
        let Some((_, worst)) = worst else {
            return Ok(());
        };
        for flow in accepting {
            demands.iter().for_each(|demand| flow.release(*demand));
        }
        Err(worst)
    }

    /// Undoes the acceptance of demands.
    pub(super) fn release(&mut self, demands: &[usize]) {
        for flow in &mut self.0 {
            demands.iter().for_each(|demand| flow.release(*demand));
        }
    }
}
