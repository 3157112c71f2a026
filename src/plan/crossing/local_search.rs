//! Local search: places one demand after the other on free hosts, or by chains of moves.
//!
//! A chain moves other demands to other hosts, each by one, until one of them finds a free host.
//! Chains find nearly all placements of real sites. They never prove that there is no placement.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use super::super::flow_network::Instance;
use super::super::matching::{FlowUnit, Matching};
use super::super::skew::DomainRule;
use super::super::topology::occurrences;
use super::candidates::{Candidate, Candidates, Limit};
use crate::site::inventory::Host;

/// Maximum number of candidates that one search for a chain examines.
const MOST_LOOKS: usize = 300_000;
/// Maximum number of complete chains that one search tries. A chain may conflict with itself.
const MOST_CHAINS: usize = 64;
/// Number of exhausted candidates that a scan skips before they are dropped.
const MOST_EXHAUSTED: usize = 16;

/// The placement so far.
pub(super) struct LocalSearch<'a> {
    pub(super) instance: &'a Instance<'a>,
    pub(super) candidates: &'a Candidates<'a>,
    pub(super) matching: Matching<'a>,
    /// Number of hosts of each demand in each limited domain.
    used: Vec<HashMap<Limit, usize>>,
    /// Number of hosts that each quota leaves.
    pub(super) left: Vec<usize>,
    /// Positions in each pool whose classes may have a free host, in order.
    live: Vec<Vec<usize>>,
    /// The single domain that is tried for a demand.
    pub(super) tried: Vec<Option<Limit>>,
}

/// A demand that must find another host.
struct Link {
    demand: usize,
    /// The class that it leaves; `None` at the start of the chain.
    left: Option<usize>,
    /// The previous link, and the class that its demand takes.
    before: Option<(usize, usize)>,
}

impl<'a> LocalSearch<'a> {
    pub(super) fn new(candidates: &'a Candidates<'a>) -> Self {
        let instance = candidates.instance;
        let used = candidates.taken.iter();
        let used = used.map(|taken| occurrences(taken.iter().copied()).into_iter().collect());
        let live = (0..instance.problem.pools.len())
            .map(|pool| (0..candidates.pool(pool).len()).collect());
        Self {
            instance,
            candidates,
            matching: Matching::new(&instance.problem),
            used: used.collect(),
            left: instance.problem.quotas.clone(),
            live: live.collect(),
            tried: vec![None; instance.problem.demands.len()],
        }
    }

    pub(super) fn pool(&self, demand: usize) -> usize {
        self.instance.problem.demands[demand].pool
    }

    /// Picks free hosts, then moves others. Returns whether a demand is satisfied.
    pub(super) fn fill_by_chains(&mut self, demand: usize) -> bool {
        let pool = self.pool(demand);
        let has_quota = !self.instance.problem.demands[demand].quotas.is_empty();
        let spreads = &self.candidates.spreads[demand];
        if !spreads.is_empty() && self.candidates.single(demand).is_none() {
            self.take_evenly(demand);
        } else if self.instance.pools[pool].crossing.is_empty() && !has_quota && spreads.is_empty()
        {
            let before = self.matching.picks[demand].len();
            self.matching.take_free(demand);
            let new: Vec<usize> =
                self.matching.picks[demand][before..].iter().map(|pick| pick.class).collect();
            new.into_iter().for_each(|class| self.count(demand, class, true));
        } else {
            self.take_free(demand);
        }
        while self.matching.is_short(demand) {
            if !self.chain(demand) {
                return false;
            }
        }
        true
    }

    /// Picks free hosts in order of preference.
    fn take_free(&mut self, demand: usize) {
        let pool = self.pool(demand);
        let mut exhausted = 0;
        for at in 0..self.live[pool].len() {
            if !self.matching.is_short(demand) {
                break;
            }
            let candidate = &self.candidates.pool(pool)[self.live[pool][at]];
            exhausted += usize::from(!self.matching.is_free(candidate.class));
            while self.matching.is_short(demand)
                && self.matching.is_free(candidate.class)
                && self.fits(demand, candidate, None)
            {
                self.put(demand, candidate.class);
            }
        }
        if exhausted > MOST_EXHAUSTED {
            self.forget_exhausted(pool);
        }
    }

    /// Picks free hosts of a demand with a topology spread constraint, each of the most preferred in the
    /// domain with the fewest.
    fn take_evenly(&mut self, demand: usize) {
        let pool = self.pool(demand);
        self.forget_exhausted(pool);
        let spreads = &self.candidates.spreads[demand];
        while self.matching.is_short(demand) {
            let used = |domain: &Limit| self.used[demand].get(domain).copied().unwrap_or_default();
            // A host more in a domain never lowers the number of the emptiest one.
            let most = spreads.iter().map(|skew| match skew.rule {
                DomainRule::Skew(rule) => rule.most(skew.domains.iter().map(used)),
                DomainRule::Same => usize::MAX,
            });
            let most: Vec<usize> = most.collect();
            let rank = |candidate: &&Candidate| {
                let domain = spreads.first().and_then(|skew| skew.domain(&candidate.limits));
                (candidate.tier, domain.as_ref().map(used).unwrap_or_default())
            };
            let is_even = |candidate: &Candidate| {
                spreads.iter().zip(&most).all(|(skew, most)| {
                    let mut own = candidate.limits.iter();
                    own.all(|limit| !skew.domains.contains(limit) || used(limit) < *most)
                })
            };
            let places = self.live[pool].iter().map(|place| &self.candidates.pool(pool)[*place]);
            let fitting = places.filter(|candidate| {
                self.matching.is_free(candidate.class)
                    && is_even(candidate)
                    && self.instance.problem.may_have(demand, candidate.class)
                    && !self.exceeds(demand, candidate.class, None)
                    && !candidate.limits.iter().any(|limit| self.is_full(demand, *limit, None))
            });
            let Some(class) = fitting.min_by_key(rank).map(|candidate| candidate.class) else {
                return;
            };
            self.put(demand, class);
        }
    }

    fn forget_exhausted(&mut self, pool: usize) {
        let Self { candidates, matching, live, .. } = self;
        live[pool].retain(|place| matching.is_free(candidates.pool(pool)[*place].class));
    }

    /// Returns whether a demand may have a class once it has left `left`.
    pub(super) fn fits(&self, demand: usize, candidate: &Candidate, left: Option<usize>) -> bool {
        self.instance.problem.may_have(demand, candidate.class)
            && !self.exceeds(demand, candidate.class, left)
            && !candidate.limits.iter().any(|limit| self.is_full(demand, *limit, left))
            && self.is_even(demand, candidate, left)
    }

    /// Returns whether the constraints of a demand on domains admit a class once it has left `left`.
    fn is_even(&self, demand: usize, candidate: &Candidate, left: Option<usize>) -> bool {
        let pool = self.pool(demand);
        let limits = |class| self.candidates.class_limits(pool, class);
        let left_limits = left.map_or(&[][..], limits);
        self.candidates.spreads[demand].iter().all(|skew| {
            let DomainRule::Skew(rule) = skew.rule else {
                let domain = skew.domain(&candidate.limits);
                let mut others = self.matching.picks[demand].iter().map(|pick| pick.class);
                // One of several hosts of the class is left.
                let leaving = left.and_then(|left| others.clone().position(|class| class == left));
                let mut others = others.by_ref().enumerate().filter(|(at, _)| Some(*at) != leaving);
                return domain.is_some()
                    && self.tried[demand].is_none_or(|tried| Some(tried) == domain)
                    && others.all(|(_, class)| skew.domain(limits(class)) == domain);
            };
            let hosts = |domain: &Limit| {
                let used = self.used[demand].get(domain).copied().unwrap_or_default();
                let taken = usize::from(candidate.limits.contains(domain));
                (used + taken).saturating_sub(usize::from(left_limits.contains(domain)))
            };
            let most = rule.most(skew.domains.iter().map(hosts));
            let picked = self.matching.picks[demand].iter().flat_map(|pick| limits(pick.class));
            let mut grown = picked.chain(&candidate.limits);
            grown.all(|domain| !skew.domains.contains(domain) || hosts(domain) <= most)
        })
    }

    /// Returns whether a class would exceed a quota of a demand once it has left `left`.
    fn exceeds(&self, demand: usize, class: usize, left: Option<usize>) -> bool {
        let problem = &self.instance.problem;
        let is_left = |quota| {
            left.is_some_and(|left| problem.counted_by(demand, left).any(|other| other == quota))
        };
        let mut quotas = problem.counted_by(demand, class);
        quotas.any(|quota| self.left[quota] == 0 && !is_left(quota))
    }

    /// Returns whether a demand has no room for another host in a domain once it has left `left`.
    fn is_full(&self, demand: usize, limit: Limit, left: Option<usize>) -> bool {
        let used = self.used[demand].get(&limit).copied().unwrap_or_default();
        let most = self.candidates.most(demand, limit);
        let is_of = |class| self.candidates.class_limits(self.pool(demand), class).contains(&limit);
        used >= most && used.saturating_sub(usize::from(left.is_some_and(is_of))) >= most
    }

    /// Counts a host of a class for a demand once more, or no longer.
    fn count(&mut self, demand: usize, class: usize, more: bool) {
        let problem = &self.instance.problem;
        let quotas: Vec<usize> = problem.counted_by(demand, class).collect();
        let limits = self.candidates.class_limits(self.pool(demand), class);
        self.count_host(demand, limits, &quotas, more);
    }

    /// Counts a host with these domains, which these quotas count, once more or no longer.
    fn count_host(&mut self, demand: usize, limits: &[Limit], quotas: &[usize], more: bool) {
        let change = |count: usize, more| if more { count + 1 } else { count.saturating_sub(1) };
        for limit in limits {
            let used = self.used[demand].entry(*limit).or_default();
            *used = change(*used, more);
        }
        for quota in quotas {
            self.left[*quota] = change(self.left[*quota], !more);
        }
    }

    /// Picks a free host of a class for a demand.
    pub(super) fn put(&mut self, demand: usize, class: usize) {
        let Some(candidate) = self.candidates.candidate(self.pool(demand), class) else { return };
        self.matching.pick(demand, FlowUnit { domain: candidate.domain, class });
        self.count(demand, class, true);
    }

    /// Undoes a pick of a class.
    pub(super) fn leave(&mut self, demand: usize, class: usize) {
        let Some(candidate) = self.candidates.candidate(self.pool(demand), class) else { return };
        self.matching.unpick(demand, FlowUnit { domain: candidate.domain, class });
        self.count(demand, class, false);
        for (pool, place) in self.candidates.pools(class) {
            if let Err(at) = self.live[*pool].binary_search(place) {
                self.live[*pool].insert(at, *place);
            }
        }
    }

    /// Undoes all picks of a demand.
    pub(super) fn release(&mut self, demand: usize) {
        for pick in self.matching.picks[demand].clone() {
            self.leave(demand, pick.class);
        }
    }

    /// Replaces a retained host by a spare one. Returns whether there is one.
    pub(super) fn replace(&mut self, demand: usize, host: &Host) -> bool {
        let instance = self.instance;
        let limits = self.candidates.limits_of(host, self.pool(demand));
        let mut quotas = instance.problem.demands[demand].quotas.clone();
        quotas.retain(|quota| instance.quotas[*quota].quota.counts(&host.labels));
        self.count_host(demand, &limits, &quotas, false);
        self.matching.wanted[demand] += 1;
        let found = self.fill(demand);
        if !found {
            self.matching.wanted[demand] -= 1;
            self.count_host(demand, &limits, &quotas, true);
        }
        found
    }

    /// Moves picks without all labels to free classes that have them.
    pub(super) fn settle(&mut self, demand: usize) {
        let pool = self.pool(demand);
        let keys = self.instance.pools[pool].counted.len();
        for pick in self.matching.picks[demand].clone() {
            let Some(candidate) = self.candidates.candidate(pool, pick.class) else { continue };
            let labels = candidate.limits.len();
            if labels == keys {
                continue;
            }
            let is_better = |place: &&usize| {
                let other = &self.candidates.pool(pool)[**place];
                other.limits.len() > labels
                    && self.matching.is_free(other.class)
                    && self.fits(demand, other, Some(pick.class))
            };
            if let Some(better) = self.live[pool].iter().find(is_better) {
                let class = self.candidates.pool(pool)[*better].class;
                self.leave(demand, pick.class);
                self.put(demand, class);
            }
        }
    }

    /// Finds one more host for a demand by a chain of moves, the shortest first.
    fn chain(&mut self, start: usize) -> bool {
        let mut links = vec![Link { demand: start, left: None, before: None }];
        let mut queue = VecDeque::from([0]);
        let mut reached: HashSet<usize> = HashSet::new();
        let mut swapped: HashSet<(usize, usize)> = HashSet::new();
        let (mut looks, mut chains) = (0, 0);
        while let Some(at) = queue.pop_front() {
            let Link { demand, left, .. } = links[at];
            let pool = self.pool(demand);
            if self.live[pool]
                .iter()
                .take(MOST_EXHAUSTED)
                .all(|place| !self.matching.is_free(self.candidates.pool(pool)[*place].class))
            {
                self.forget_exhausted(pool);
            }
            let mut swaps = Vec::new();
            let mut ends = Vec::new();
            for place in &self.live[pool] {
                looks += 1;
                let candidate = &self.candidates.pool(pool)[*place];
                let class = candidate.class;
                if !self.matching.is_free(class)
                    || !self.instance.problem.may_have(demand, class)
                    || self.exceeds(demand, class, left)
                    || left == Some(class)
                {
                    continue;
                }
                match self.blocking(demand, candidate, left) {
                    BlockingHosts::Nothing => {
                        ends.push(class);
                        // A second end is tried only if the chain conflicts with the first one.
                        if ends.len() == 2 {
                            break;
                        }
                    }
                    BlockingHosts::Own(other) => swaps.push((class, other)),
                    BlockingHosts::More => {}
                }
            }
            for class in ends {
                chains += 1;
                if self.follow(&links, at, class) {
                    return true;
                }
            }
            if looks > MOST_LOOKS || chains > MOST_CHAINS {
                return false;
            }
            // The demand leaves its own host in the way and takes this class instead.
            for (class, other) in swaps {
                if swapped.insert((demand, other)) {
                    links.push(Link { demand, left: Some(other), before: Some((at, class)) });
                    queue.push_back(links.len() - 1);
                }
            }
            // A class without a free host is open if one of its users can move elsewhere.
            for candidate in self.candidates.pool(pool) {
                looks += 1;
                let class = candidate.class;
                if self.matching.is_free(class)
                    || reached.contains(&class)
                    || !self.fits(demand, candidate, left)
                {
                    continue;
                }
                reached.insert(class);
                // Ordered, for equal plans from equal sites.
                let users: BTreeSet<usize> =
                    self.matching.users[class].iter().map(|(user, _)| *user).collect();
                for user in users.into_iter().filter(|user| *user != demand) {
                    links.push(Link { demand: user, left: Some(class), before: Some((at, class)) });
                    queue.push_back(links.len() - 1);
                }
            }
        }
        false
    }

    fn blocking(&self, demand: usize, candidate: &Candidate, left: Option<usize>) -> BlockingHosts {
        let limits = candidate.limits.iter();
        let full: Vec<&Limit> = limits.filter(|it| self.is_full(demand, **it, left)).collect();
        let Some(first) = full.first() else {
            let is_even = self.is_even(demand, candidate, left);
            return if is_even { BlockingHosts::Nothing } else { BlockingHosts::More };
        };
        let pool = self.pool(demand);
        let limits = |class| self.candidates.class_limits(pool, class);
        let mut picks = self.matching.picks[demand].iter().map(|pick| pick.class);
        let blocks = |class: &usize| Some(*class) != left && limits(*class).contains(first);
        let Some(other) = picks.find(blocks) else { return BlockingHosts::More };
        let is_alone = |limit: &Limit| {
            let left = usize::from(left.is_some_and(|left| limits(left).contains(limit)));
            limits(other).contains(limit)
                && self.used[demand].get(limit).copied().unwrap_or_default()
                    <= self.candidates.most(demand, *limit) + left
        };
        if full.into_iter().all(is_alone) { BlockingHosts::Own(other) } else { BlockingHosts::More }
    }

    /// Moves all demands of a chain from its end, if they do not conflict with each other.
    fn follow(&mut self, links: &[Link], end: usize, class: usize) -> bool {
        let mut next = Some((end, class));
        let mut moves: Vec<(usize, Option<usize>, usize)> = Vec::new();
        while let Some((at, class)) = next {
            let Link { demand, left, before } = links[at];
            if !self.exchange(demand, left, class) {
                // In reverse, because later moves use what earlier ones left.
                for (demand, left, class) in moves.into_iter().rev() {
                    self.leave(demand, class);
                    left.into_iter().for_each(|left| self.put(demand, left));
                }
                return false;
            }
            moves.push((demand, left, class));
            next = before;
        }
        true
    }

    /// Lets a demand leave a class for another one. Returns whether it has the first and may have the
    /// second.
    fn exchange(&mut self, demand: usize, left: Option<usize>, class: usize) -> bool {
        if let Some(left) = left {
            // An earlier move of the chain may have taken this pick already.
            if !self.matching.picks[demand].iter().any(|pick| pick.class == left) {
                return false;
            }
            self.leave(demand, left);
        }
        let candidate = self.candidates.candidate(self.pool(demand), class);
        let fits = self.matching.is_free(class)
            && candidate.is_some_and(|candidate| self.fits(demand, candidate, None));
        let taken = if fits { Some(class) } else { left };
        taken.into_iter().for_each(|class| self.put(demand, class));
        fits
    }
}

/// The hosts of the demand itself in the domains of a class.
enum BlockingHosts {
    Nothing,
    /// One pick, of this class.
    Own(usize),
    More,
}
