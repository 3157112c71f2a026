//! Spreads the picks of demands evenly over domains, without losing any.
//!
//! The cost of a host in a domain grows with the number of hosts that its demand has there: by one
//! for each, and by more than all of these for each beyond the even share. Hosts in unknown domains
//! cost nothing, but no demand moves there. A flow of least cost has no cycle of exchanges that lowers
//! the cost (Klein 1967). Such a cycle has a first step from which every partial sum is negative, so the search starts where a demand alone could be more even, and
//! follows only exchanges that together are a gain.

use std::collections::{HashMap, HashSet, VecDeque};

use super::{FlowDomain, FlowUnit, Matching};

/// Maximum number of exchanges that are examined for a site, some seconds.
const MOST_STEPS: usize = 10_000_000;
/// Cost of a host beyond the even share. No demand has as many hosts.
const BEYOND_SHARE: i64 = 1 << 24;
/// Cost of a host of the next tier. It exceeds what evenness can gain.
const TIER: i64 = 1 << 48;

/// A node of the residual network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum FlowNode {
    Demand(usize),
    /// A demand in one of its domains.
    Slot(usize, usize),
    Class(usize),
}

/// A host that a demand takes or gives up.
#[derive(Debug, Clone, Copy)]
struct Exchange {
    demand: usize,
    unit: FlowUnit,
    takes: bool,
}

/// A search for exchanges that together make picks more even.
struct ExchangeSearch<'m, 'a> {
    matching: &'m Matching<'a>,
    costs: &'m ExchangeCosts,
    /// The least known cost of each node, with the node before it.
    reached: HashMap<FlowNode, (i64, Option<FlowNode>)>,
    steps: &'m mut usize,
}

/// The parts of costs that do not change.
struct ExchangeCosts {
    /// The tier of each class, by pool.
    tiers: Vec<HashMap<usize, i64>>,
    /// The even share of each demand in a domain.
    shares: Vec<usize>,
}

impl ExchangeCosts {
    fn new(matching: &Matching<'_>) -> Self {
        let problem = matching.problem;
        let tiers = problem.pools.iter().map(|pool| {
            let tiers = (0..).zip(&pool.tiers);
            let classes = tiers.flat_map(|(tier, choices)| {
                let classes = choices.iter().flat_map(|choice| &choice.classes);
                classes.map(move |class| (*class, tier))
            });
            classes.collect()
        });
        let shares = problem.demands.iter().zip(&matching.load).map(|(demand, load)| {
            let domains = problem.pools[demand.pool].domains.iter();
            let domains = domains.filter(|domain| !domain.is_unknown).count().max(1);
            load.values().sum::<usize>().div_ceil(domains)
        });
        Self { tiers: tiers.collect(), shares: shares.collect() }
    }

    /// Returns the cost of a number of hosts in a domain beyond that of one host less.
    fn host(&self, demand: usize, hosts: usize) -> i64 {
        let beyond = if hosts > self.shares[demand] { BEYOND_SHARE } else { 0 };
        beyond + i64::try_from(hosts).unwrap_or(BEYOND_SHARE - 1)
    }
}

impl Matching<'_> {
    /// Exchanges hosts of demands until they are spread as evenly as possible.
    pub(in crate::plan) fn balance(&mut self) {
        // Most plans are even already.
        let mut costs = None;
        let mut steps = 0;
        // An exchange between demands may open a better one for another.
        let mut is_better = true;
        while is_better && steps <= MOST_STEPS {
            is_better = false;
            for demand in 0..self.picks.len() {
                while let Some(exchanges) = self.improvement(demand, &mut costs, &mut steps) {
                    self.exchange(&exchanges);
                    is_better = true;
                }
            }
        }
    }

    /// Returns exchanges that begin with a host of a demand and lower the cost.
    fn improvement(
        &self,
        demand: usize,
        costs: &mut Option<ExchangeCosts>,
        steps: &mut usize,
    ) -> Option<Vec<Exchange>> {
        self.uneven_picks(demand).into_iter().find_map(|pick| {
            let search = ExchangeSearch {
                matching: self,
                costs: costs.get_or_insert_with(|| ExchangeCosts::new(self)),
                reached: HashMap::new(),
                steps: &mut *steps,
            };
            search.run(demand, pick)
        })
    }

    /// Returns the different picks of a demand in domains that have two hosts more than an open one.
    fn uneven_picks(&self, demand: usize) -> Vec<FlowUnit> {
        let hosts = |domain: &usize| self.load[demand].get(domain).copied().unwrap_or_default();
        // Most demands have fewer hosts than there are domains, and at most one in each.
        if self.picks[demand].iter().all(|pick| hosts(&pick.domain) < 2) {
            return Vec::new();
        }
        let domains = &self.problem.pools[self.problem.demands[demand].pool].domains;
        let is_open = |domain: &usize| {
            let FlowDomain { is_unknown, classes, .. } = &domains[*domain];
            let has_class = classes.iter().any(|class| self.problem.capacities[*class] > 0);
            !is_unknown && has_class && self.is_open(demand, *domain)
        };
        let Some(fewest) = (0..domains.len()).filter(is_open).map(|domain| hosts(&domain)).min()
        else {
            return Vec::new();
        };
        let mut seen = HashSet::new();
        let is_uneven = |pick: &FlowUnit| {
            let is_known = !domains[pick.domain].is_unknown;
            is_known && hosts(&pick.domain) > fewest + 1 && seen.insert(*pick)
        };
        self.picks[demand].iter().copied().filter(is_uneven).collect()
    }

    /// Exchanges hosts. Every host that is taken is free or given up.
    fn exchange(&mut self, exchanges: &[Exchange]) {
        for Exchange { demand, unit, .. } in exchanges.iter().filter(|exchange| !exchange.takes) {
            self.unpick(*demand, *unit);
        }
        for Exchange { demand, unit, .. } in exchanges.iter().filter(|exchange| exchange.takes) {
            self.pick(*demand, *unit);
        }
        self.passed = super::none_passed(self.problem);
    }
}

impl ExchangeSearch<'_, '_> {
    /// Searches for exchanges that begin with giving up a pick.
    fn run(mut self, demand: usize, pick: FlowUnit) -> Option<Vec<Exchange>> {
        let FlowUnit { domain, class } = pick;
        let start = FlowNode::Demand(demand);
        let given_up = Exchange { demand, unit: pick, takes: false };
        let gain = self.host_cost(demand, domain, 0) + self.tier_cost(demand, class);
        self.reached.insert(start, (-gain, None));
        let mut queue = VecDeque::from([start]);
        while let Some(node) = queue.pop_front() {
            let (cost, _) = self.reached[&node];
            if let FlowNode::Class(reached) = node
                && (self.matching.is_free(reached) || reached == class)
            {
                let mut exchanges = self.exchanges(&self.path_to(node));
                exchanges.push(given_up);
                return Some(exchanges);
            }
            for (next, more) in self.neighbors(node) {
                *self.steps += 1;
                let total = cost + more;
                let is_worse = self.reached.get(&next).is_some_and(|(known, _)| *known <= total);
                if total >= 0 || is_worse {
                    continue;
                }
                let path = self.path_to(node);
                if let Some(at) = path.iter().position(|before| *before == next) {
                    // The nodes between lower the cost by themselves.
                    let cycle: Vec<FlowNode> = path[at..].iter().copied().chain([next]).collect();
                    return Some(self.exchanges(&cycle));
                }
                self.reached.insert(next, (total, Some(node)));
                queue.push_back(next);
            }
            if *self.steps > MOST_STEPS {
                return None;
            }
        }
        None
    }

    /// Returns the cost of a demand's last host in a domain, or of one `more`.
    fn host_cost(&self, demand: usize, domain: usize, more: usize) -> i64 {
        let problem = self.matching.problem;
        if problem.pools[problem.demands[demand].pool].domains[domain].is_unknown {
            return 0;
        }
        let hosts = self.matching.load[demand].get(&domain).copied().unwrap_or_default();
        self.costs.host(demand, hosts + more)
    }

    fn tier_cost(&self, demand: usize, class: usize) -> i64 {
        let pool = self.matching.problem.demands[demand].pool;
        self.costs.tiers[pool].get(&class).map_or(0, |tier| tier * TIER)
    }

    /// Returns the nodes after a node, with the costs of the steps.
    fn neighbors(&self, node: FlowNode) -> Vec<(FlowNode, i64)> {
        let matching = self.matching;
        let pool = |demand: usize| &matching.problem.pools[matching.problem.demands[demand].pool];
        match node {
            FlowNode::Demand(demand) => {
                let domains = 0..pool(demand).domains.len();
                let open = domains.filter(|domain| {
                    let is_unknown = pool(demand).domains[*domain].is_unknown;
                    !is_unknown && matching.is_open(demand, *domain)
                });
                open.map(|domain| {
                    (FlowNode::Slot(demand, domain), self.host_cost(demand, domain, 1))
                })
                .collect()
            }
            FlowNode::Slot(demand, domain) => {
                let classes = pool(demand).domains[domain].classes.iter();
                let usable = classes.filter(|class| {
                    matching.problem.capacities[**class] > 0 && matching.may_use(demand, **class)
                });
                let taken =
                    usable.map(|class| (FlowNode::Class(*class), self.tier_cost(demand, *class)));
                let mut picks = matching.picks[demand].iter();
                let leaves = picks
                    .any(|pick| pick.domain == domain)
                    .then(|| (FlowNode::Demand(demand), -self.host_cost(demand, domain, 0)));
                taken.chain(leaves).collect()
            }
            FlowNode::Class(class) => {
                let mut users = matching.users[class].clone();
                users.sort_unstable();
                users.dedup();
                let given = users.into_iter().map(|(demand, domain)| {
                    (FlowNode::Slot(demand, domain), -self.tier_cost(demand, class))
                });
                given.collect()
            }
        }
    }

    /// Returns the nodes from the start to a node.
    fn path_to(&self, node: FlowNode) -> Vec<FlowNode> {
        let before = |node: &FlowNode| self.reached.get(node).and_then(|(_, before)| *before);
        let mut path: Vec<FlowNode> = std::iter::successors(Some(node), before).collect();
        path.reverse();
        path
    }

    /// Returns the exchanges on a path.
    fn exchanges(&self, path: &[FlowNode]) -> Vec<Exchange> {
        let exchange = |step: &[FlowNode]| match *step {
            [FlowNode::Slot(demand, domain), FlowNode::Class(class)] => {
                Some(Exchange { demand, unit: FlowUnit { domain, class }, takes: true })
            }
            [FlowNode::Class(class), FlowNode::Slot(demand, domain)] => {
                Some(Exchange { demand, unit: FlowUnit { domain, class }, takes: false })
            }
            _ => None,
        };
        path.windows(2).filter_map(exchange).collect()
    }
}
