//! Relaxations: proofs that demands cannot be served, by one topology key at a time.
//!
//! Hosts that are apart by several keys are apart by each of them. For one key the problem is a
//! flow: fast, and with a cut that a person can check by counting.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::flow_network::Instance;
use super::super::matching::{EqualClasses, FlowDomain, HostPool, Matching, MatchingProblem};
use super::super::search_result::ShortDemand;
use crate::base::grouping::grouped_in_order;

/// Returns for each crossing key the problem with the domains of that key; without any, the problem
/// without its quotas.
pub(super) fn by_one_key(instance: &Instance<'_>) -> Vec<MatchingProblem> {
    let keys: BTreeSet<usize> =
        instance.pools.iter().flat_map(|pool| &pool.crossing).copied().collect();
    if keys.is_empty() {
        return vec![instance.problem.clone()];
    }
    let with_key = |key: usize| {
        let mut problem = instance.problem.clone();
        let is_by_key = |pool: usize| instance.pools[pool].crossing.contains(&key);
        for pool in (0..problem.pools.len()).filter(|pool| is_by_key(*pool)) {
            problem.pools[pool] = Arc::new(by_key(instance, &problem.pools[pool], key));
        }
        for demand in problem.demands.iter_mut().filter(|demand| is_by_key(demand.pool)) {
            // The load counts hosts in the former domains of the pool. `taken` has the same hosts
            // by value.
            demand.load.clear();
        }
        problem
    };
    keys.into_iter().map(with_key).collect()
}

/// Returns a pool with the domains of another key.
fn by_key(instance: &Instance<'_>, pool: &HostPool, key: usize) -> HostPool {
    let classes = pool.tiers.iter().flatten().flat_map(|choice| &choice.classes);
    let by_value = grouped_in_order(classes.map(|class| (instance.value(*class, key), *class)));
    let domains = by_value.into_iter().map(|(value, classes)| FlowDomain {
        limited: value.is_some(),
        is_unknown: value.is_none(),
        classes,
    });
    let domains: Vec<FlowDomain> = domains.collect();
    let tier = domains.iter().enumerate().map(|(domain, FlowDomain { classes, .. })| {
        EqualClasses { domain, classes: classes.clone(), ..EqualClasses::default() }
    });
    HostPool { by_size: pool.by_size, tiers: vec![tier.collect()], domains }
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
    /// Returns the proofs for demands that cannot be satisfied by the key that leaves most hosts short.
    pub(super) fn accept(&mut self, demands: &[usize]) -> Result<(), Vec<ShortDemand>> {
        let mut worst: Option<(usize, Vec<ShortDemand>)> = None;
        let mut accepting = Vec::new();
        for flow in &mut self.0 {
            let Err(cuts) = flow.accept(demands) else {
                accepting.push(flow);
                continue;
            };
            let lacking = cuts.iter().map(|cut| flow.wanted[cut.demand] - cut.found).sum();
            if worst.as_ref().is_none_or(|(most, _)| lacking > *most) {
                // The numbers of its domains are those of this flow's problem.
                let short = cuts.into_iter().map(|cut| ShortDemand::by_cut(flow.problem, cut));
                worst = Some((lacking, short.collect()));
            }
        }
        let Some((_, worst)) = worst else { return Ok(()) };
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
