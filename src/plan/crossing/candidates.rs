//! Candidates: the classes that demands may use, each with the topology domains that it occupies.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::super::demand::NodeSetDemand;
use super::super::flow_network::Instance;
use super::super::skew::DomainRule;
use crate::site::inventory::Host;

/// A topology domain in which the hosts of a demand count; an index into [`Candidates::limits`].
pub(super) type Limit = usize;

/// A class in a pool.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) class: usize,
    /// The domain of the class in the pool.
    pub(super) domain: usize,
    /// Its rank by preference; the lowest is taken first.
    pub(super) tier: usize,
    pub(super) limits: Vec<Limit>,
}

/// The classes of every pool in order of preference: fewest missing labels first, then by tier.
pub(super) struct Candidates<'a> {
    classes: Vec<Vec<Candidate>>,
    /// The position of each class in its pools.
    places: Vec<HashMap<usize, usize>>,
    /// The pools of each class.
    pools: Vec<Vec<usize>>,
    /// Indices of topology keys, with values.
    pub(super) limits: Vec<(usize, &'a str)>,
    numbers: HashMap<(usize, &'a str), Limit>,
    /// Domains of the hosts that each demand retains, once per host.
    pub(super) taken: Vec<Vec<Limit>>,
    /// Maximum number of hosts of each demand in a domain of its topology keys.
    most: Vec<usize>,
    /// The topology keys of each demand.
    topology: Vec<Vec<usize>>,
    /// Required constraints of each demand on domains.
    pub(super) spreads: Vec<Vec<SpreadDomains>>,
    /// Indices of the keys of these constraints.
    spread_keys: HashSet<usize>,
}

/// A required constraint with its domains.
#[derive(Debug, Clone)]
pub(super) struct SpreadDomains {
    pub(super) rule: DomainRule,
    /// Ordered, for equal plans from equal sites.
    pub(super) domains: BTreeSet<Limit>,
}

impl SpreadDomains {
    /// Returns the domain of a host with these limits.
    pub(super) fn domain(&self, limits: &[Limit]) -> Option<Limit> {
        limits.iter().copied().find(|limit| self.domains.contains(limit))
    }
}

impl<'a> Candidates<'a> {
    /// Reads the pools of these demands. Other pools stay empty.
    pub(super) fn new(
        instance: &Instance<'a>,
        hosts: &'a [Host],
        demands: &[(usize, &NodeSetDemand<'a>)],
    ) -> Self {
        let problem = &instance.problem;
        let mut all = Self {
            classes: problem.pools.iter().map(|_| Vec::new()).collect(),
            places: vec![HashMap::new(); problem.pools.len()],
            pools: vec![Vec::new(); problem.capacities.len()],
            limits: Vec::new(),
            numbers: HashMap::new(),
            taken: vec![Vec::new(); problem.demands.len()],
            most: problem.demands.iter().map(|demand| demand.limit).collect(),
            topology: problem
                .demands
                .iter()
                .map(|demand| instance.pools[demand.pool].limiting.clone())
                .collect(),
            spreads: vec![Vec::new(); problem.demands.len()],
            spread_keys: HashSet::new(),
        };
        let mut seen = HashSet::new();
        for &(index, demand) in demands {
            let pool = problem.demands[index].pool;
            if seen.insert(pool) {
                all.read(instance, pool);
            }
            for host in &demand.kept {
                let domains = domains_of(instance, &hosts[*host], pool);
                let taken: Vec<Limit> =
                    domains.map(|(key, value)| all.number(key, value)).collect();
                all.taken[index].extend(taken);
            }
            for skew in &instance.spreads[index] {
                let Some(key) = instance.topology().iter().position(|key| *key == skew.key) else {
                    continue;
                };
                all.spread_keys.insert(key);
                let domains = skew.domains.keys().map(|value| all.number(key, value)).collect();
                all.spreads[index].push(SpreadDomains { rule: skew.rule, domains });
            }
        }
        all
    }

    fn read(&mut self, instance: &Instance<'a>, pool: usize) {
        let problem = &instance.problem;
        let keys = &instance.pools[pool].counted;
        let mut classes = Vec::new();
        for (tier, choices) in problem.pools[pool].tiers.iter().enumerate() {
            let all = choices
                .iter()
                .flat_map(|choice| choice.classes.iter().map(move |class| (*class, choice.domain)));
            // All hosts of a class may be gone.
            for (class, domain) in all.filter(|(class, _)| problem.capacities[*class] > 0) {
                let values = keys.iter();
                let values = values.filter_map(|key| Some((*key, instance.value(class, *key)?)));
                let limits = values.map(|(key, value)| self.number(key, value)).collect();
                classes.push(Candidate { class, domain, tier, limits });
            }
        }
        // Stable, so that classes with equally many labels stay in order of their tiers.
        classes.sort_by_key(|candidate| keys.len() - candidate.limits.len());
        for (place, candidate) in classes.iter().enumerate() {
            self.places[pool].insert(candidate.class, place);
            self.pools[candidate.class].push(pool);
        }
        self.classes[pool] = classes;
    }

    fn number(&mut self, key: usize, value: &'a str) -> Limit {
        *self.numbers.entry((key, value)).or_insert_with(|| {
            self.limits.push((key, value));
            self.limits.len() - 1
        })
    }

    /// Returns the domains of a host that a demand retains and its pool limits.
    pub(super) fn limits_of(
        &self,
        instance: &Instance<'_>,
        host: &Host,
        pool: usize,
    ) -> Vec<Limit> {
        domains_of(instance, host, pool)
            .filter_map(|domain| self.numbers.get(&domain).copied())
            .collect()
    }

    /// Returns the constraint by which all hosts of a demand are in a single domain.
    pub(super) fn single(&self, demand: usize) -> Option<&SpreadDomains> {
        self.spreads[demand].iter().find(|spread| spread.rule == DomainRule::Same)
    }

    /// Returns the maximum number of hosts of a demand in a domain.
    pub(super) fn most(&self, demand: usize, limit: Limit) -> usize {
        let (key, _) = self.limits[limit];
        if self.topology[demand].contains(&key) { self.most[demand] } else { usize::MAX }
    }

    /// Returns whether a topology spread constraint counts the hosts in a domain.
    pub(super) fn is_spread(&self, limit: Limit) -> bool {
        self.spread_keys.contains(&self.limits[limit].0)
    }

    pub(super) fn count(&self, pool: usize) -> usize {
        self.classes[pool].len()
    }

    pub(super) fn at(&self, pool: usize, place: usize) -> &Candidate {
        &self.classes[pool][place]
    }

    pub(super) fn all(&self, pool: usize) -> impl Iterator<Item = &Candidate> {
        self.classes[pool].iter()
    }

    /// Returns a class as a candidate of one of its pools.
    pub(super) fn candidate(&self, pool: usize, class: usize) -> Option<&Candidate> {
        self.places[pool].get(&class).map(|place| self.at(pool, *place))
    }

    /// Returns the domains of the hosts of a class in one of its pools.
    pub(super) fn class_limits(&self, pool: usize, class: usize) -> &[Limit] {
        self.candidate(pool, class).map_or(&[], |candidate| &candidate.limits)
    }

    /// Returns the pools of a class, with its position in each.
    pub(super) fn pools(&self, class: usize) -> impl Iterator<Item = (usize, usize)> {
        self.pools[class].iter().map(move |pool| (*pool, self.places[*pool][&class]))
    }
}

/// Returns the domains of a host that a pool limits, each with the index of its key.
fn domains_of<'h>(
    instance: &Instance<'_>,
    host: &'h Host,
    pool: usize,
) -> impl Iterator<Item = (usize, &'h str)> {
    let keys = instance.pools[pool].counted.iter();
    keys.filter_map(move |key| Some((*key, host.domain(instance.topology()[*key])?)))
}
