//! Proofs that demands cannot be served, by one key at a time.
//!
//! Whoever is to be apart by several keys is to be apart by each of them. Apart by one, it is a flow, which tells
//! quickly, and with a cut that a person can check by counting.

use std::collections::HashMap;

use super::super::flow_network::Instance;
use super::super::matching::{Choice, Cut, Domain, Matching, Pool, Problem};

/// The demands that found too few hosts, with how many and why.
pub(super) type Cuts = Vec<(usize, usize, Cut)>;

/// The problem with the domains of one key for all that want it.
pub(super) fn by_one_key(instance: &Instance<'_>) -> Vec<Problem> {
    let mut keys: Vec<usize> = instance.crossing.iter().flatten().copied().collect();
    keys.sort_unstable();
    keys.dedup();
    let with_key = |key: usize| {
        let pools = instance.problem.pools.iter().zip(&instance.crossing);
        let pools = pools.map(|(pool, keys)| {
            if keys.contains(&key) {
                by_key(instance, pool, key)
            } else {
                pool.clone()
            }
        });
        let mut problem = Problem {
            pools: pools.collect(),
            ..instance.problem.clone()
        };
        for demand in problem
            .demands
            .iter_mut()
            .filter(|demand| instance.crossing[demand.pool].contains(&key))
        {
            // It counts in the domains that the pool had before. What the demand has taken says the same.
            demand.load.clear();
        }
        problem
    };
    keys.into_iter().map(with_key).collect()
}

/// A pool with the domains of another key.
fn by_key(instance: &Instance<'_>, pool: &Pool, key: usize) -> Pool {
    let mut numbers: HashMap<Option<&str>, usize> = HashMap::new();
    let mut domains: Vec<Domain> = Vec::new();
    let of_domain = |domains: &mut Vec<Domain>, limited| {
        domains.push(Domain {
            limited,
            classes: Vec::new(),
        });
        domains.len() - 1
    };
    for class in pool
        .tiers
        .iter()
        .flatten()
        .flat_map(|choice| &choice.classes)
    {
        let value = instance.values[*class][key];
        let domain = *numbers
            .entry(value)
            .or_insert_with(|| of_domain(&mut domains, value.is_some()));
        domains[domain].classes.push(*class);
    }
    let choice = |(domain, of): (usize, &Domain)| Choice {
        domain,
        classes: of.classes.clone(),
    };
    let tier = domains.iter().enumerate().map(choice).collect();
    Pool {
        by_size: pool.by_size,
        domains,
        tiers: vec![tier],
    }
}

/// One flow for each key.
pub(super) struct Bounds<'p> {
    flows: Vec<Matching<'p>>,
}

impl<'p> Bounds<'p> {
    /// The flows of all that is accepted already.
    pub(super) fn new(problems: &'p [Problem], accepted: &[usize]) -> Self {
        let mut bounds = Self {
            flows: problems.iter().map(Matching::new).collect(),
        };
        // What is placed has a flow by each key.
        let _ = bounds.accept(accepted);
        bounds
    }

    /// Satisfies some demands by each key, or none by any.
    ///
    /// # Errors
    ///
    /// The demands that cannot be satisfied by the first key that refuses.
    pub(super) fn accept(&mut self, demands: &[usize]) -> Result<(), Cuts> {
        for at in 0..self.flows.len() {
            if let Err(cuts) = self.flows[at].accept(demands) {
                self.flows[..at]
                    .iter_mut()
                    .for_each(|flow| demands.iter().for_each(|demand| flow.release(*demand)));
                return Err(cuts);
            }
        }
        Ok(())
    }

    /// Takes back what was accepted.
    pub(super) fn release(&mut self, demands: &[usize]) {
        for flow in &mut self.flows {
            demands.iter().for_each(|demand| flow.release(*demand));
        }
    }
}
