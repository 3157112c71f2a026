//! The choice of domains: the single one of a demand, or those over which its hosts are even.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::candidates::{Candidate, Limit};
use super::local_search::LocalSearch;
use crate::site::inventory::natural;

impl LocalSearch<'_> {
    /// Picks hosts until a demand is satisfied. Returns whether it succeeds.
    pub(super) fn fill(&mut self, demand: usize) -> bool {
        let domains = self.single_domains(demand);
        for (at, domain) in domains.iter().enumerate() {
            self.tried[demand] = Some(*domain);
            let is_filled = self.fill_by_chains(demand);
            self.tried[demand] = None;
            if is_filled || at + 1 == domains.len() {
                return is_filled;
            }
            self.release(demand);
        }
        self.fill_by_chains(demand)
    }

    /// Returns the domains to try for a demand without hosts that wants a single one: those with
    /// sufficient free hosts first, the most preferred and then the fewest, then those from which
    /// others must move, at last the largest.
    fn single_domains(&self, demand: usize) -> Vec<Limit> {
        let is_empty = self.matching.picks[demand].is_empty();
        let Some(spread) = self.candidates.single(demand).filter(|_| is_empty) else {
            return Vec::new();
        };
        let missing = self.instance.problem.demands[demand].missing;
        // The free hosts and all hosts of each tier.
        let mut hosts: BTreeMap<Limit, BTreeMap<usize, (usize, usize)>> = BTreeMap::new();
        for candidate in self.candidates.pool(self.pool(demand)) {
            if let Some(domain) = spread.domain(&candidate.limits)
                && self.instance.problem.may_have(demand, candidate.class)
            {
                let tiers = hosts.entry(domain).or_default();
                let (free, all) = tiers.entry(candidate.tier).or_default();
                *free += self.matching.free[candidate.class];
                *all += self.instance.problem.capacities[candidate.class];
            }
        }
        let rank = |(domain, tiers): (Limit, BTreeMap<usize, (usize, usize)>)| {
            let free: usize = tiers.values().map(|(free, _)| free).sum();
            let all: usize = tiers.values().map(|(_, all)| all).sum();
            let (is_short, mut left) = (free < missing, missing);
            // The hosts that it would take of each tier, the worst first.
            let mut taken = Vec::new();
            for (tier, (free, all)) in tiers {
                let hosts = left.min(if is_short { all } else { free });
                taken.extend((hosts > 0).then_some((tier, hosts)));
                left -= hosts;
            }
            taken.reverse();
            ((is_short, taken, free, all), domain)
        };
        let mut domains: Vec<_> = hosts.into_iter().map(rank).collect();
        let largest = domains.iter().map(|((.., all), _)| *all).max().unwrap_or_default();
        domains.retain(|((.., all), _)| *all >= missing.min(largest));
        let value = |domain: &Limit| self.candidates.limits[*domain].1;
        domains.sort_by(|(rank_a, a), (rank_b, b)| {
            rank_a.cmp(rank_b).then_with(|| natural(value(a), value(b)))
        });
        domains.into_iter().map(|(_, domain)| domain).collect()
    }

    /// Moves hosts of a demand to equally preferred free ones in emptier domains of a topology key, given
    /// by its index. `kept` has the number of retained hosts in each domain.
    pub(super) fn level(&mut self, demand: usize, key: usize, kept: &BTreeMap<&str, usize>) {
        while let Some((from, to)) = self.leveling_swap(demand, key, kept) {
            self.leave(demand, from);
            self.put(demand, to);
        }
    }

    /// Returns the class of a host in a crowded domain, and one in an emptier domain that can replace it.
    fn leveling_swap(
        &self,
        demand: usize,
        key: usize,
        kept: &BTreeMap<&str, usize>,
    ) -> Option<(usize, usize)> {
        let picks = self.matching.picks[demand].iter();
        let mut hosts = kept.clone();
        for domain in picks.clone().filter_map(|pick| self.instance.value(pick.class, key)) {
            *hosts.entry(domain).or_default() += 1;
        }
        let count = |class: usize| {
            let domain = self.instance.value(class, key)?;
            Some(hosts.get(domain).copied().unwrap_or_default())
        };
        let mut crowds: Vec<(usize, usize)> =
            picks.filter_map(|pick| Some((count(pick.class)?, pick.class))).collect();
        crowds.sort_unstable_by_key(|crowd| Reverse(*crowd));
        crowds.dedup();
        let (largest, _) = *crowds.first()?;
        let pool = self.pool(demand);
        let free = self.candidates.pool(pool).iter().filter_map(|candidate| {
            let hosts = count(candidate.class).filter(|hosts| hosts + 1 < largest)?;
            self.matching.is_free(candidate.class).then_some((hosts, candidate))
        });
        let mut free: Vec<(usize, &Candidate)> = free.collect();
        free.sort_by_key(|(hosts, _)| *hosts);
        crowds.into_iter().find_map(|(crowd, from)| {
            let emptier = free.iter().take_while(|(hosts, _)| hosts + 1 < crowd);
            let tier = self.candidates.candidate(pool, from)?.tier;
            let mut emptier = emptier.filter(|(_, to)| to.tier == tier);
            let (_, to) = emptier.find(|(_, to)| self.fits(demand, to, Some(from)))?;
            Some((from, to.class))
        })
    }
}
