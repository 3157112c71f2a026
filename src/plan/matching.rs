//! Assigns hosts to demands by a flow that is augmented demand by demand.
//!
//! A demand sends its missing hosts as units of flow through its topology domains into classes. A
//! limited domain has capacity 1 for each demand. A class of equal hosts has the number of its
//! hosts as capacity.
//!
//! A group of demands is accepted if all of its units find a path, rerouting units of others if
//! necessary. Accepted units are never lost. If a unit finds no path, the nodes that the search
//! reached prove why: see [`Cut`]. At last, exchanges make the picks as even over domains as possible
//! (`balance`).

mod balance;
mod free_hosts;
mod path_search;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use path_search::PathSearch;

use super::preference::SizeRank;

/// A matching problem. Classes, domains and demands are indices.
#[derive(Debug, Clone, Default)]
pub(super) struct MatchingProblem {
    /// Number of hosts of each class.
    pub(super) capacities: Vec<usize>,
    /// The only group that may take the hosts of a class, if there is one.
    pub(super) reserved: Vec<Option<usize>>,
    /// Numbers of the topology values of each class; empty if no demand retains hosts with several.
    pub(super) values: Vec<Vec<usize>>,
    /// Candidates of demands. Demands with equal requirements share a pool.
    pub(super) pools: Vec<Arc<HostPool>>,
    /// Demands for hosts.
    pub(super) demands: Vec<FlowDemand>,
    /// Number of hosts that the demands of each quota may take together. The flow ignores quotas.
    pub(super) quotas: Vec<usize>,
    /// Quotas that count the hosts of each class; empty without quotas.
    pub(super) counts: Vec<Vec<usize>>,
}

/// The hosts that meet certain requirements.
#[derive(Debug, Clone, Default)]
pub(super) struct HostPool {
    /// True if smaller hosts are preferred.
    pub(super) by_size: bool,
    pub(super) domains: Vec<FlowDomain>,
    /// Domains with their classes in order of preference: each tier is used up before the next.
    pub(super) tiers: Vec<Vec<EqualClasses>>,
}

impl HostPool {
    /// Returns the classes of all domains.
    pub(super) fn classes(&self) -> impl Iterator<Item = usize> {
        self.domains.iter().flat_map(|domain| &domain.classes).copied()
    }
}

/// A topology domain.
#[derive(Debug, Clone, Default)]
pub(super) struct FlowDomain {
    /// True if a demand may only have so many hosts in it as its limit says.
    pub(super) limited: bool,
    /// True for the hosts without the label, which may be in any domain.
    pub(super) is_unknown: bool,
    /// Classes in the domain.
    pub(super) classes: Vec<usize>,
}

/// Equally good classes of one domain.
#[derive(Debug, Clone, Default)]
pub(super) struct EqualClasses {
    pub(super) domain: usize,
    /// Size of the hosts.
    pub(super) size: SizeRank,
    pub(super) classes: Vec<usize>,
}

/// A demand for hosts.
#[derive(Debug, Clone, Default)]
pub(super) struct FlowDemand {
    /// The group that is accepted as a whole, a cluster.
    pub(super) group: usize,
    /// Its group if some class is reserved for it: no other group is equal to it.
    pub(super) reserving: Option<usize>,
    pub(super) pool: usize,
    pub(super) missing: usize,
    /// Maximum number of hosts in a limited domain.
    pub(super) limit: usize,
    /// Number of hosts that it has in each domain of its pool.
    pub(super) load: BTreeMap<usize, usize>,
    /// Number of hosts that it has with each topology value that excludes another.
    pub(super) taken: BTreeMap<usize, usize>,
    /// Quotas of its namespace.
    pub(super) quotas: Vec<usize>,
}

/// The domain and the values that a replaced host gives up.
#[derive(Debug, Clone, Default)]
pub(super) struct VacatedPlace {
    /// The domain in the demand's pool.
    pub(super) domain: Option<usize>,
    /// Topology values by number.
    pub(super) values: Vec<usize>,
    /// The host is replaced only by one in a domain that then has fewer hosts than this.
    pub(super) fewer_than: Option<usize>,
}

/// The proof that a demand cannot be satisfied. It can be checked by counting.
///
/// Every host for one of `demands` is in one of `classes`, or in a domain that `domains` names for
/// that demand. A demand takes at most [`FlowDemand::limit`] hosts from such a domain. So together they
/// have at most the hosts of the classes, and these of each of `domains`. They request more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Cut {
    /// The unsatisfied demand.
    pub(super) demand: usize,
    /// Number of hosts that it could have.
    pub(super) found: usize,
    pub(super) demands: BTreeSet<usize>,
    pub(super) classes: BTreeSet<usize>,
    /// Pairs of demand and domain.
    pub(super) domains: BTreeSet<(usize, usize)>,
    /// Domains in which no further host would help the unsatisfied demand.
    pub(super) closed: Vec<usize>,
    /// Set if the unsatisfied demand could have more hosts if its domains did not limit it, and all
    /// other demands as many as now.
    pub(super) is_limited: bool,
}

/// One unit of flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct FlowUnit {
    pub(super) domain: usize,
    pub(super) class: usize,
}

/// The flow so far.
pub(super) struct Matching<'a> {
    pub(super) problem: &'a MatchingProblem,
    /// Number of unpicked hosts of each class.
    pub(super) free: Vec<usize>,
    /// Demands of the picked hosts of each class, once per host, each with the domain that has the
    /// class in its pool.
    pub(super) users: Vec<Vec<(usize, usize)>>,
    /// Picks of each demand.
    pub(super) picks: Vec<Vec<FlowUnit>>,
    /// Number of picks that each demand wants.
    pub(super) wanted: Vec<usize>,
    /// Number of hosts of each demand in each domain, retained hosts included.
    load: Vec<BTreeMap<usize, usize>>,
    /// Number of retained hosts of each demand with each topology value.
    taken: Vec<BTreeMap<usize, usize>>,
    /// For each pool and tier, the number of its first choices without a free host.
    passed: Vec<Vec<usize>>,
    /// Number of picks that made way for a pick of another demand. If it did not change while demands
    /// were refused, neither did any other pick.
    pub(super) reroutes: usize,
    /// How often a host became free.
    freed: usize,
    /// For each domain of each pool: the number of its first classes without a free host, and the
    /// value of `freed` at that time.
    exhausted: Vec<Vec<Cell<(usize, usize)>>>,
}

fn none_passed(problem: &MatchingProblem) -> Vec<Vec<usize>> {
    problem.pools.iter().map(|pool| vec![0; pool.tiers.len()]).collect()
}

impl MatchingProblem {
    /// Returns the quotas that count the hosts of a class.
    pub(super) fn counts(&self, class: usize) -> &[usize] {
        self.counts.get(class).map_or(&[], Vec::as_slice)
    }

    /// Returns whether a class is not reserved for another group than that of a demand.
    pub(super) fn may_have(&self, demand: usize, class: usize) -> bool {
        self.reserved[class].is_none_or(|reserved| reserved == self.demands[demand].group)
    }

    /// Returns the quotas that count a class for a demand.
    pub(super) fn counted_by(&self, demand: usize, class: usize) -> impl Iterator<Item = usize> {
        let counts = self.counts(class);
        let quotas = self.demands[demand].quotas.iter();
        quotas.copied().filter(|quota| counts.contains(quota))
    }
}

impl<'a> Matching<'a> {
    /// Starts with an empty flow.
    pub(super) fn new(problem: &'a MatchingProblem) -> Self {
        Self {
            problem,
            free: problem.capacities.clone(),
            users: vec![Vec::new(); problem.capacities.len()],
            picks: vec![Vec::new(); problem.demands.len()],
            wanted: problem.demands.iter().map(|demand| demand.missing).collect(),
            load: problem.demands.iter().map(|demand| demand.load.clone()).collect(),
            taken: problem.demands.iter().map(|demand| demand.taken.clone()).collect(),
            passed: none_passed(problem),
            reroutes: 0,
            freed: 0,
            exhausted: problem
                .pools
                .iter()
                .map(|pool| vec![Cell::default(); pool.domains.len()])
                .collect(),
        }
    }

    /// Satisfies all of these demands or none. Accepted demands stay satisfied.
    ///
    /// # Errors
    ///
    /// Returns the proof for each unsatisfied demand.
    pub(super) fn accept(&mut self, demands: &[usize]) -> Result<(), Vec<Cut>> {
        let mut failed: Vec<Cut> =
            demands.iter().filter_map(|demand| self.fill(*demand).err()).collect();
        if failed.is_empty() {
            return Ok(());
        }
        // More hosts for one demand do not help if they come from another of the cluster. Then these
        // compete, whatever their domains.
        for cut in &mut failed {
            let mut search = PathSearch::without_limits(self, cut.demand);
            cut.is_limited = search.run().is_some();
            if !cut.is_limited {
                *cut = Cut { closed: std::mem::take(&mut cut.closed), ..search.cut() };
            }
        }
        for &demand in demands {
            self.release(demand);
        }
        Err(failed)
    }

    /// Replaces one host of an accepted demand by a spare one. Returns whether there is one.
    pub(super) fn accept_one_more(&mut self, demand: usize, in_place_of: &VacatedPlace) -> bool {
        let VacatedPlace { domain, values, fewer_than } = in_place_of;
        domain.iter().for_each(|domain| take_one(&mut self.load[demand], *domain));
        values.iter().for_each(|value| take_one(&mut self.taken[demand], *value));
        self.wanted[demand] += 1;
        let mut found = self.fill(demand).is_ok();
        if let (true, Some(limit), Some(pick)) =
            (found, fewer_than, self.picks[demand].last().copied())
            && self.load[demand].get(&pick.domain).is_some_and(|hosts| hosts >= limit)
        {
            self.unpick(demand, pick);
            found = false;
        }
        if !found {
            self.wanted[demand] -= 1;
            domain.iter().for_each(|domain| *self.load[demand].entry(*domain).or_default() += 1);
            for value in values {
                *self.taken[demand].entry(*value).or_default() += 1;
            }
        }
        found
    }

    /// Picks until the demand has enough.
    fn fill(&mut self, demand: usize) -> Result<(), Cut> {
        self.take_free(demand);
        while self.picks[demand].len() < self.wanted[demand] {
            self.augment(demand)?;
        }
        Ok(())
    }

    /// Moves picks to better hosts that have become free, until none is left: of an earlier tier, or
    /// smaller ones. Making room for another may have left a demand with a worse host than necessary.
    /// No domain becomes fuller than the one that the pick leaves. `is_free` tells the pools
    /// that nothing but this flow limits.
    pub(super) fn settle(&mut self, is_free: impl Fn(usize) -> bool) {
        let is_by_size = |demand: &usize| {
            let demand = &self.problem.demands[*demand];
            let is_by_size = self.problem.pools[demand.pool].by_size;
            is_by_size && demand.quotas.is_empty() && is_free(demand.pool)
        };
        let demands: Vec<usize> = (0..self.problem.demands.len()).filter(is_by_size).collect();
        let mut moved = true;
        while moved {
            moved = false;
            for &demand in &demands {
                moved |= self.improve(demand);
            }
        }
    }

    /// Moves a pick of a demand to the best free host. Returns whether one is better.
    fn improve(&mut self, demand: usize) -> bool {
        let pool = &self.problem.pools[self.problem.demands[demand].pool];
        let ranked = || {
            let tiers = pool.tiers.iter().enumerate();
            tiers.flat_map(|(tier, choices)| {
                choices.iter().map(move |choice| ((tier, choice.size), choice))
            })
        };
        let hosts = |domain| self.load[demand].get(&domain).copied().unwrap_or_default();
        let mut picks = self.picks[demand].iter();
        let better = picks.find_map(|pick| {
            let has = |choice: &EqualClasses| choice.classes.contains(&pick.class);
            let (rank, _) = ranked().find(|(_, choice)| has(choice))?;
            let free = |class: &&usize| self.free[**class] > 0 && self.may_use(demand, **class);
            let is_even = |domain| {
                domain == pick.domain
                    || self.is_open(demand, domain) && hosts(domain) < hosts(pick.domain)
            };
            let better = ranked().filter(|(other, choice)| *other < rank && is_even(choice.domain));
            let better = better.filter_map(|(other, choice)| {
                let class = *choice.classes.iter().find(free)?;
                Some((other, FlowUnit { domain: choice.domain, class }))
            });
            Some((*pick, better.min_by_key(|(rank, _)| *rank)?.1))
        });
        let Some((pick, better)) = better else { return false };
        self.unpick(demand, pick);
        self.pick(demand, better);
        true
    }

    /// Returns whether a demand has fewer picks than it wants.
    pub(super) fn is_short(&self, demand: usize) -> bool {
        self.picks[demand].len() < self.wanted[demand]
    }

    /// Returns whether a class has an unpicked host.
    pub(super) fn is_free(&self, class: usize) -> bool {
        self.free[class] > 0
    }

    /// Picks a free host for a demand.
    pub(super) fn pick(&mut self, demand: usize, pick: FlowUnit) {
        self.free[pick.class] -= 1;
        self.put(demand, pick);
    }

    /// Undoes a pick.
    pub(super) fn unpick(&mut self, demand: usize, pick: FlowUnit) {
        self.lift(demand, pick);
        self.free[pick.class] += 1;
        self.freed += 1;
    }

    fn may_use(&self, demand: usize, class: usize) -> bool {
        let limit = self.problem.demands[demand].limit;
        let is_full = |value| self.taken[demand].get(value).is_some_and(|taken| *taken >= limit);
        self.problem.may_have(demand, class)
            && !self.problem.values.get(class).is_some_and(|values| values.iter().any(is_full))
    }

    /// Returns the first class of a domain with a free host that a demand may use.
    fn first_free(&self, demand: usize, pool: usize, domain: usize) -> Option<usize> {
        let classes = &self.problem.pools[pool].domains[domain].classes;
        let exhausted = &self.exhausted[pool][domain];
        let (mut first, freed) = exhausted.get();
        if freed != self.freed {
            first = 0;
        }
        let is_exhausted = |class: &&usize| self.free[**class] == 0;
        first += classes[first..].iter().take_while(is_exhausted).count();
        exhausted.set((first, self.freed));
        let free = |class: &usize| self.free[*class] > 0 && self.may_use(demand, *class);
        classes[first..].iter().copied().find(free)
    }

    /// Returns whether a demand may have another host in a domain.
    fn is_open(&self, demand: usize, domain: usize) -> bool {
        let FlowDemand { pool, limit, .. } = &self.problem.demands[demand];
        !self.problem.pools[*pool].domains[domain].limited
            || self.load[demand].get(&domain).is_none_or(|load| load < limit)
    }

    fn put(&mut self, demand: usize, pick: FlowUnit) {
        self.users[pick.class].push((demand, pick.domain));
        self.picks[demand].push(pick);
        *self.load[demand].entry(pick.domain).or_default() += 1;
    }

    /// Undoes a pick without freeing the host.
    fn lift(&mut self, demand: usize, pick: FlowUnit) {
        let users = &mut self.users[pick.class];
        if let Some(at) = users.iter().position(|(user, _)| *user == demand) {
            users.swap_remove(at);
        }
        if let Some(at) = self.picks[demand].iter().position(|other| *other == pick) {
            self.picks[demand].remove(at);
        }
        take_one(&mut self.load[demand], pick.domain);
    }

    /// Undoes all picks of a demand.
    pub(super) fn release(&mut self, demand: usize) {
        let mut picks = std::mem::take(&mut self.picks[demand]);
        self.freed += picks.len();
        for pick in &picks {
            self.free[pick.class] += 1;
            take_one(&mut self.load[demand], pick.domain);
        }
        // A class may have thousands of users, so they are filtered once.
        picks.sort_unstable_by_key(|pick| pick.class);
        picks.dedup_by_key(|pick| pick.class);
        for pick in picks {
            self.users[pick.class].retain(|(user, _)| *user != demand);
        }
        // Freed hosts may be in choices that were passed.
        self.passed = none_passed(self.problem);
    }

    /// Finds one more host for a demand by a shortest augmenting path.
    fn augment(&mut self, demand: usize) -> Result<(), Cut> {
        let mut search = PathSearch::new(self, demand);
        let Some(class) = search.run() else { return Err(search.cut()) };
        let steps = search.steps_to(class);
        for step in &steps {
            if let Some(pick) = step.instead_of {
                self.lift(step.demand, pick);
                self.reroutes += 1;
            }
        }
        for step in &steps {
            self.put(step.demand, step.pick);
        }
        // Every class on the path gains one unit and loses one, except the last.
        self.free[class] -= 1;
        Ok(())
    }
}

/// Decrements a count and removes it at zero.
fn take_one(counts: &mut BTreeMap<usize, usize>, key: usize) {
    if let Some(count) = counts.get_mut(&key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests;
