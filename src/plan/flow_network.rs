//! Builds the flow network of demands from classes of hosts.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::demand::NodeSetDemand;
use super::eligibility::Needs;
use super::host_classes::{HostClasses, NodeSetPool};
use super::matching::{self, MatchingProblem, VacatedPlace};
use super::quotas::QuotaUse;
use super::topology::{self, occurrences};
use crate::site::inventory::Host;

/// A matching problem with the meaning of its indices. Its pools are those of the demands; the classes
/// may be those of more.
pub(super) struct Instance<'a> {
    pub(super) problem: MatchingProblem,
    /// The demands of the problem.
    pub(super) demands: &'a [NodeSetDemand<'a>],
    pub(super) classes: &'a HostClasses<'a>,
    /// Hosts that count as if they did not exist.
    gone: &'a BTreeSet<usize>,
    /// The pools of the problem, with the meaning of their domains.
    pub(super) pools: Vec<&'a NodeSetPool<'a>>,
    /// The quotas of the problem.
    pub(super) quotas: &'a [QuotaUse],
    taken: RetainedDomains<'a>,
}

/// Numbers of the domains, key and value, in which demands with several topology keys retain hosts.
type RetainedDomains<'a> = HashMap<(&'a str, &'a str), usize>;

impl<'a> Instance<'a> {
    /// Builds the problem of serving demands, which come cluster by cluster. Returns `None` if the
    /// classes are not those of all demands.
    pub(super) fn new(
        classes: &'a HostClasses<'a>,
        gone: &'a BTreeSet<usize>,
        demands: &'a [NodeSetDemand<'a>],
        quotas: &'a [QuotaUse],
    ) -> Option<Self> {
        let mut pools: Vec<&NodeSetPool<'a>> = Vec::new();
        let mut number = HashMap::new();
        let mut pool_of = Vec::with_capacity(demands.len());
        for demand in demands {
            let pool = classes.pool(demand)?;
            pool_of.push(*number.entry(pool).or_insert_with(|| {
                pools.push(&classes.pools[pool]);
                pools.len() - 1
            }));
        }
        let mut groups = HashMap::new();
        for demand in demands {
            let next = groups.len();
            groups.entry(&demand.cluster.key).or_insert(next);
        }
        let all = 0..classes.classes.len();
        // A class reserved for a cluster without demands stays unused.
        let mut reserved = vec![None; all.len()];
        for class in &classes.reserved {
            let only = classes.classes[*class].only.as_ref();
            reserved[*class] = only.map(|only| groups.get(only).copied().unwrap_or(usize::MAX));
        }
        let reserving: HashSet<usize> = reserved.iter().copied().flatten().collect();
        let taken = taken_values(demands);
        let wanted = demands.iter().zip(&pool_of).map(|(demand, at)| {
            let pool = pools[*at];
            let kept = demand.kept.iter().map(|host| &classes.hosts[*host]);
            let namespace = &demand.cluster.key.namespace;
            let limits_namespace = |quota: &usize| quotas[*quota].quota.namespace == *namespace;
            let group = groups[&demand.cluster.key];
            matching::FlowDemand {
                quotas: (0..quotas.len()).filter(limits_namespace).collect(),
                group,
                reserving: Some(group).filter(|group| reserving.contains(group)),
                pool: *at,
                missing: demand.missing,
                limit: demand.node_set.max_per_domain,
                load: occurrences(kept.clone().filter_map(|host| pool.domain_of(host))),
                taken: occurrences(kept.flat_map(|host| numbers_of(host, &demand.needs, &taken))),
            }
        });
        let counts = |class: usize| {
            (0..quotas.len()).filter(|quota| classes.counts(&quotas[*quota], class)).collect()
        };
        let values = |class: usize| {
            let values = classes.topology.iter().zip(&classes.classes[class].domains);
            let values = values.filter_map(|(key, value)| taken.get(&(*key, (*value)?)).copied());
            values.collect()
        };
        let mut capacities = classes.capacities.clone();
        for class in gone.iter().filter_map(|host| classes.class_of(*host)) {
            capacities[class] -= 1;
        }
        let problem = MatchingProblem {
            capacities,
            reserved,
            values: if taken.is_empty() { Vec::new() } else { all.clone().map(values).collect() },
            demands: wanted.collect(),
            quotas: quotas.iter().map(QuotaUse::left).collect(),
            counts: if quotas.is_empty() { Vec::new() } else { all.map(counts).collect() },
            pools: pools.iter().map(|pool| pool.pool.clone()).collect(),
        };
        Some(Self { classes, gone, demands, taken, quotas, pools, problem })
    }

    /// Returns the index of a topology key.
    pub(super) fn key(&self, key: &str) -> Option<usize> {
        self.classes.topology.iter().position(|other| *other == key)
    }

    /// Returns the hosts of a class that exist, in inventory order.
    pub(super) fn hosts(&self, class: usize) -> impl Iterator<Item = usize> {
        let hosts = self.classes.classes[class].hosts.iter().copied();
        hosts.filter(|host| !self.gone.contains(host))
    }

    /// Returns the value of a topology key, given by its index, on the hosts of a class.
    pub(super) fn value(&self, class: usize, key: usize) -> Option<&'a str> {
        self.classes.classes[class].domains[key]
    }

    /// Returns the pool of a demand.
    pub(super) fn pool(&self, demand: usize) -> &'a NodeSetPool<'a> {
        self.pools[self.problem.demands[demand].pool]
    }

    /// Returns the domain and the values that a demand gives up with a host.
    pub(super) fn left_by(&self, host: usize, index: usize) -> VacatedPlace {
        let demand = &self.demands[index];
        let fewer_than = demand.uneven.get(&host).copied();
        let host = &self.classes.hosts[host];
        VacatedPlace {
            domain: self.pool(index).domain_of(host),
            values: numbers_of(host, &demand.needs, &self.taken).collect(),
            fewer_than,
        }
    }
}

/// Returns the numbers of a host's topology values if several keys keep hosts apart. The pool's
/// domains represent a single key.
fn numbers_of<'h>(
    host: &'h Host,
    needs: &Needs<'h>,
    taken: &RetainedDomains<'_>,
) -> impl Iterator<Item = usize> {
    let keys = needs.node_set.topology_keys.as_slice();
    let values = topology::domains(host, if keys.len() > 1 { keys } else { &[] });
    values.into_iter().filter_map(|value| taken.get(&value).copied())
}

/// Numbers the domains in which demands with several topology keys retain hosts.
fn taken_values<'a>(demands: &[NodeSetDemand<'a>]) -> RetainedDomains<'a> {
    let mut taken = HashMap::new();
    let several = demands.iter().filter(|demand| demand.node_set.topology_keys.len() > 1);
    for domain in several.flat_map(|demand| &demand.domains) {
        let next = taken.len();
        taken.entry(*domain).or_insert(next);
    }
    taken
}
