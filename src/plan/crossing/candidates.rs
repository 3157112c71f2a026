//! Candidates: the classes that demands may use, each with the topology domains that it occupies.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

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
    pub(super) instance: &'a Instance<'a>,
    classes: Vec<Vec<Candidate>>,
    /// The pools of each class, with its position in each.
    places: Vec<BTreeMap<usize, usize>>,
    /// Indices of topology keys, with values.
    pub(super) limits: Vec<(usize, &'a str)>,
    numbers: HashMap<(usize, &'a str), Limit>,
    /// Domains of the hosts that each demand retains, once per host.
    pub(super) taken: Vec<Vec<Limit>>,
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
    pub(super) fn new(instance: &'a Instance<'a>, demands: &[usize]) -> Self {
        let problem = &instance.problem;
        let mut all = Self {
            instance,
            classes: problem.pools.iter().map(|_| Vec::new()).collect(),
            places: vec![BTreeMap::new(); problem.capacities.len()],
            limits: Vec::new(),
            numbers: HashMap::new(),
            taken: vec![Vec::new(); problem.demands.len()],
            spreads: vec![Vec::new(); problem.demands.len()],
            spread_keys: HashSet::new(),
        };
        let mut seen = HashSet::new();
        for &index in demands {
            let pool = problem.demands[index].pool;
            if seen.insert(pool) {
                all.read(pool);
            }
            for host in &instance.demands[index].kept {
                for (key, value) in domains_of(instance, &instance.classes.hosts[*host], pool) {
                    let taken = all.number(key, value);
                    all.taken[index].push(taken);
                }
            }
            for skew in &instance.demands[index].spreads {
                let Some(key) = instance.key(skew.key) else { continue };
                all.spread_keys.insert(key);
                let domains = skew.domains.keys().map(|value| all.number(key, value)).collect();
                all.spreads[index].push(SpreadDomains { rule: skew.rule, domains });
            }
        }
        all
    }

    fn read(&mut self, pool: usize) {
        let instance = self.instance;
        let problem = &instance.problem;
        let keys = &instance.pools[pool].counted;
        let mut classes = Vec::new();
        for (tier, choices) in problem.pools[pool].tiers.iter().enumerate() {
            let all = choices
                .iter()
                .flat_map(|choice| choice.classes.iter().map(move |class| (*class, choice.domain)));
            // All hosts of a class may be gone.
            for (class, domain) in all.filter(|(class, _)| problem.capacities[*class] > 0) {
                let values =
                    keys.iter().filter_map(|key| Some((*key, instance.value(class, *key)?)));
                let limits = values.map(|(key, value)| self.number(key, value)).collect();
                classes.push(Candidate { class, domain, tier, limits });
            }
        }
        // Stable, so that classes with equally many labels stay in order of their tiers.
        classes.sort_by_key(|candidate| keys.len() - candidate.limits.len());
        for (place, candidate) in classes.iter().enumerate() {
            self.places[candidate.class].insert(pool, place);
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
    pub(super) fn limits_of(&self, host: &Host, pool: usize) -> Vec<Limit> {
        let domains = domains_of(self.instance, host, pool);
        domains.filter_map(|domain| self.numbers.get(&domain).copied()).collect()
    }

    /// Returns the constraint by which all hosts of a demand are in a single domain.
    pub(super) fn single(&self, demand: usize) -> Option<&SpreadDomains> {
        self.spreads[demand].iter().find(|spread| spread.rule == DomainRule::Same)
    }

    /// Returns the maximum number of hosts of a demand in a domain.
    pub(super) fn most(&self, demand: usize, limit: Limit) -> usize {
        let (key, _) = self.limits[limit];
        let is_limited = self.instance.pool(demand).limiting.contains(&key);
        if is_limited { self.instance.problem.demands[demand].limit } else { usize::MAX }
    }

    /// Returns whether a topology spread constraint counts the hosts in a domain.
    pub(super) fn is_spread(&self, limit: Limit) -> bool {
        self.spread_keys.contains(&self.limits[limit].0)
    }

    /// Returns the classes of a pool.
    pub(super) fn pool(&self, pool: usize) -> &[Candidate] {
        &self.classes[pool]
    }

    /// Returns a class as a candidate of one of its pools.
    pub(super) fn candidate(&self, pool: usize, class: usize) -> Option<&Candidate> {
        self.places[class].get(&pool).map(|place| &self.classes[pool][*place])
    }

    /// Returns the domains of the hosts of a class in one of its pools.
    pub(super) fn class_limits(&self, pool: usize, class: usize) -> &[Limit] {
        self.candidate(pool, class).map_or(&[], |candidate| &candidate.limits)
    }

    /// Returns the pools of a class, with its position in each.
    pub(super) fn pools(&self, class: usize) -> &BTreeMap<usize, usize> {
        &self.places[class]
    }
}

/// Returns the domains of a host that a pool limits, each with the index of its key.
fn domains_of<'h>(
    instance: &Instance<'_>,
    host: &'h Host,
    pool: usize,
) -> impl Iterator<Item = (usize, &'h str)> {
    let keys = instance.pools[pool].counted.iter();
    keys.filter_map(move |key| Some((*key, host.domain(instance.classes.topology[*key])?)))
}
