//! Builds the flow network from hosts and demands.
//!
//! Hosts that no demand tells apart form a class, so the network stays small for any number of
//! hosts.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::demand::Demand;
use super::eligibility::{Availability, Needs};
use super::equivalence::{Counted, HostKinds};
use super::matching::{self, Choice, Domain, Left, Pool, Problem};
use super::preference::{Homes, Preference, Traits};
use super::quotas::QuotaUse;
use super::supply::Supply;
use super::topology;
use crate::api::names::{ClusterKey, Namespace};
use crate::inventory::Host;
use crate::inventory::machine::{AskedMachine, Machine};
use crate::settings::quotas::Quota;

/// A matching problem with the meaning of its indices.
pub(super) struct Instance<'a> {
    pub(super) problem: Problem,
    /// Hosts of each class, in inventory order.
    pub(super) hosts: Vec<Vec<usize>>,
    /// Values of all topology keys for each class.
    pub(super) values: Vec<Vec<Option<&'a str>>>,
    /// For each pool, the indices of its topology keys if they cross each other. Keys cross if none
    /// of them implies the others.
    pub(super) crossing: Vec<Vec<usize>>,
    /// For each pool, the indices of all its topology keys.
    pub(super) limiting: Vec<Vec<usize>>,
    /// All topology keys.
    pub(super) topology: Vec<&'a str>,
    /// The quotas of the problem.
    pub(super) quotas: Vec<&'a Quota>,
    /// The topology key of each pool's domains.
    keys: Vec<Option<&'a str>>,
    /// Domains of each pool by the value of its topology key; `None` is the domain of hosts without
    /// the label.
    domains: Vec<HashMap<Option<&'a str>, usize>>,
    taken: Taken<'a>,
}

/// Numbers of the domains, key and value, in which demands retain hosts.
type Taken<'a> = HashMap<(&'a str, &'a str), usize>;

/// The shared properties of the hosts of a class: kind, exclusive cluster, numbers of domains, quotas,
/// and traits. With several topology keys, a host that lacks one is a class by itself, given by the last field.
type Alike<'k, 'a> = (
    usize,
    Option<&'a ClusterKey>,
    &'k [usize],
    Vec<usize>,
    Traits<'a>,
    Option<usize>,
);

/// Hosts that no demand tells apart.
struct Class<'a> {
    /// The only cluster that may take them.
    only: Option<&'a ClusterKey>,
    /// Values of all topology keys.
    domains: Vec<Option<&'a str>>,
    /// The numbers of these values.
    numbers: Vec<usize>,
    /// Quotas that count them.
    quotas: Vec<usize>,
    traits: Traits<'a>,
    hosts: Vec<usize>,
}

impl<'a> Instance<'a> {
    /// Builds the problem of serving the `open` demands with hosts that no cluster has. Demands
    /// come cluster by cluster.
    pub(super) fn new(
        supply: Supply<'a>,
        all: &[Demand<'a>],
        open: &[usize],
        quotas: &'a [QuotaUse],
    ) -> Self {
        let hosts = supply.hosts;
        let candidates = supply.candidates();
        let demands: Vec<&Demand<'a>> = open.iter().map(|demand| &all[*demand]).collect();
        let homes = Homes::new(
            demands.iter().copied(),
            candidates.iter().map(|host| &hosts[*host]),
        );
        let mut needs: Vec<&Needs<'a>> = Vec::new();
        let mut homes_by_pool: Vec<Option<&Namespace>> = Vec::new();
        let mut index = HashMap::new();
        let pool_of: Vec<usize> = demands
            .iter()
            .map(|demand| {
                let home = homes.home(demand);
                *index.entry((demand.needs.key(), home)).or_insert_with(|| {
                    needs.push(&demand.needs);
                    homes_by_pool.push(home);
                    needs.len() - 1
                })
            })
            .collect();
        let spread_by = commonest_key(all);
        let topology: BTreeSet<&str> = needs
            .iter()
            .flat_map(|needs| &needs.topology_keys)
            .copied()
            .chain(spread_by)
            .collect();
        let topology: Vec<&str> = topology.into_iter().collect();
        let kinds = HostKinds::new(hosts, &needs, &topology, Counted::Usable(&candidates));
        let counts = |host: usize| -> Vec<usize> {
            let counts = |quota: &usize| quotas[*quota].quota.counts(&hosts[host].labels);
            (0..quotas.len()).filter(counts).collect()
        };
        let (classes, of_kind) = classify(supply, &candidates, &kinds, &homes, counts);

        let members: Vec<Vec<usize>> = needs
            .iter()
            .zip(&homes_by_pool)
            .map(|(needs, home)| {
                let kinds = kinds.matching(hosts, needs);
                let rank = |class: usize| rank(hosts, &classes[class], needs, *home);
                let mut members: Vec<usize> = kinds
                    .into_iter()
                    .flat_map(|kind| &of_kind[kind])
                    .copied()
                    .collect();
                // The first host makes the order unique.
                members.sort_by_cached_key(|class| (rank(*class), classes[*class].hosts.first()));
                members
            })
            .collect();
        let groups = number(demands.iter().map(|demand| &demand.cluster.key));
        let contention = contention(&demands, &pool_of, &members, &classes);
        let mut keys = Vec::with_capacity(needs.len());
        let mut domains = Vec::with_capacity(needs.len());
        let mut pools = Vec::with_capacity(needs.len());
        let mut crossing = Vec::with_capacity(needs.len());
        let mut limiting = Vec::with_capacity(needs.len());
        for ((needs, home), members) in needs.iter().zip(&homes_by_pool).zip(&members) {
            let place = |key: &str| topology.iter().position(|other| *other == key);
            let own: Vec<usize> = needs
                .topology_keys
                .iter()
                .filter_map(|key| place(key))
                .collect();
            // A single key is a flow. If one key implies the others, it suffices.
            let binding = binding(&own, members, &classes);
            let at = binding
                .or(own.first().copied())
                .or(spread_by.and_then(place));
            let rank = |class: usize| rank(hosts, &classes[class], needs, *home);
            let (mut pool, numbers) =
                pool(members, &classes, at, !own.is_empty(), &contention, rank);
            crossing.push(if binding.is_none() {
                own.clone()
            } else {
                Vec::new()
            });
            limiting.push(own);
            let key = at.map(|at| topology[at]);
            pool.by_size = needs.machine.is_some();
            pools.push(pool);
            domains.push(numbers);
            keys.push(key);
        }
        let taken = taken_values(&demands);
        let wanted = demands.iter().zip(&pool_of).map(|(demand, pool)| {
            let mut load: BTreeMap<usize, usize> = BTreeMap::new();
            for domain in demand
                .kept
                .iter()
                .filter_map(|host| domain(&hosts[*host], keys[*pool], &domains[*pool]))
            {
                *load.entry(domain).or_default() += 1;
            }
            let mut taken_by: BTreeMap<usize, usize> = BTreeMap::new();
            for value in demand
                .kept
                .iter()
                .flat_map(|host| numbers_of(&hosts[*host], &demand.needs, &taken))
            {
                *taken_by.entry(value).or_default() += 1;
            }
            let group = groups[&demand.cluster.key];
            let namespace = &demand.cluster.key.namespace;
            let of_namespace = |quota: &usize| quotas[*quota].quota.namespace == *namespace;
            matching::Demand {
                quotas: (0..quotas.len()).filter(of_namespace).collect(),
                group,
                pool: *pool,
                missing: demand.missing,
                load,
                taken: taken_by,
            }
        });
        let problem = Problem {
            capacities: classes.iter().map(|class| class.hosts.len()).collect(),
            // A class reserved for a cluster without demands stays unused.
            reserved: classes
                .iter()
                .map(|class| {
                    class
                        .only
                        .map(|only| groups.get(only).copied().unwrap_or(usize::MAX))
                })
                .collect(),
            values: classes
                .iter()
                .map(|class| class.values(&topology, &taken))
                .collect(),
            demands: wanted.collect(),
            quotas: quotas.iter().map(QuotaUse::left).collect(),
            counts: classes.iter().map(|class| class.quotas.clone()).collect(),
            pools,
        };
        let (hosts, values) = classes
            .into_iter()
            .map(|class| (class.hosts, class.domains))
            .unzip();
        Self {
            hosts,
            values,
            crossing,
            limiting,
            topology,
            keys,
            domains,
            taken,
            quotas: quotas.iter().map(|quota| &quota.quota).collect(),
            problem,
        }
    }

    /// Returns the domain and the values that a demand gives up with a host.
    pub(super) fn left_by(&self, host: &Host, index: usize, demand: &Demand<'_>) -> Left {
        let pool = self.problem.demands[index].pool;
        Left {
            domain: domain(host, self.keys[pool], &self.domains[pool]),
            values: numbers_of(host, &demand.needs, &self.taken).collect(),
        }
    }
}

impl Class<'_> {
    /// Returns the numbers of the class's topology values that demands have taken.
    fn values(&self, topology: &[&str], taken: &Taken<'_>) -> Vec<usize> {
        let values = topology
            .iter()
            .zip(&self.domains)
            .filter_map(|(key, value)| Some((*key, (*value)?)));
        values
            .filter_map(|value| taken.get(&value).copied())
            .collect()
    }
}

/// Returns the numbers of a host's topology values if several keys keep hosts apart. The pool's
/// domains represent a single key.
fn numbers_of<'h>(
    host: &'h Host,
    needs: &Needs<'h>,
    taken: &Taken<'_>,
) -> impl Iterator<Item = usize> {
    let keys = needs.topology_keys.as_slice();
    let values = topology::domains(host, if keys.len() > 1 { keys } else { &[] });
    values
        .into_iter()
        .filter_map(|value| taken.get(&value).copied())
}

/// Returns the number of a host's domain.
fn domain(host: &Host, key: Option<&str>, numbers: &HashMap<Option<&str>, usize>) -> Option<usize> {
    numbers.get(&Some(topology::domain(host, key?)?)).copied()
}

/// Returns the topology key that implies all others: hosts that share a value of another key share
/// its value. For example, the hosts of one server are in one rack.
fn binding(keys: &[usize], members: &[usize], classes: &[Class<'_>]) -> Option<usize> {
    let binds = |key: &usize| {
        keys.iter().filter(|other| *other != key).all(|other| {
            let mut value_of: HashMap<&str, Option<&str>> = HashMap::new();
            members.iter().all(|class| {
                let domains = &classes[*class].domains;
                let Some(value) = domains[*other] else {
                    return true;
                };
                domains[*key].is_some()
                    && *value_of.entry(value).or_insert(domains[*key]) == domains[*key]
            })
        })
    };
    keys.iter().copied().find(binds)
}

/// The order in which a pool takes classes. The size is equal for hosts of node sets other than
/// machines.
type Rank = (Preference, (usize, u64, u64));

fn rank(hosts: &[Host], class: &Class<'_>, needs: &Needs<'_>, home: Option<&Namespace>) -> Rank {
    let sample = class.hosts.first().map(|host| &hosts[*host]);
    let machine = needs.machine.zip(sample);
    match machine {
        Some((asked, host)) => (Preference::default(), machine_size(host, asked)),
        None => (class.traits.preference(home), Default::default()),
    }
}

/// Numbers values in order of first occurrence.
fn number<T: Ord>(things: impl Iterator<Item = T>) -> BTreeMap<T, usize> {
    let mut numbers = BTreeMap::new();
    for thing in things {
        let next = numbers.len();
        numbers.entry(thing).or_insert(next);
    }
    numbers
}

/// Returns the classes of available hosts, and the classes of each kind.
fn classify<'a>(
    supply: Supply<'a>,
    candidates: &[usize],
    kinds: &HostKinds<'a>,
    homes: &Homes<'a>,
    counts: impl Fn(usize) -> Vec<usize>,
) -> (Vec<Class<'a>>, Vec<Vec<usize>>) {
    let mut classes: Vec<Class<'a>> = Vec::new();
    let mut of_kind: Vec<Vec<usize>> = vec![Vec::new(); kinds.count()];
    let mut known: HashMap<Alike<'_, '_>, usize> = HashMap::new();
    for index in candidates.iter().copied() {
        let only = match &supply.availability[index] {
            Availability::Free => None,
            Availability::Only(cluster, _) => Some(cluster),
            Availability::Refused(_) => continue,
        };
        let Some(kind) = kinds.kind_of(index) else {
            continue;
        };
        let domains = kinds.domains(index);
        let quotas = counts(index);
        let by_itself = (domains.len() > 1 && domains.contains(&0)).then_some(index);
        let traits = homes.traits(&supply.hosts[index]);
        let class = *known
            .entry((kind, only, domains, quotas.clone(), traits, by_itself))
            .or_insert_with(|| {
                of_kind[kind].push(classes.len());
                classes.push(Class {
                    only,
                    domains: kinds.names(domains),
                    numbers: domains.to_vec(),
                    quotas,
                    traits,
                    hosts: Vec::new(),
                });
                classes.len() - 1
            });
        classes[class].hosts.push(index);
    }
    (classes, of_kind)
}

/// Numbers the domains in which demands retain hosts.
fn taken_values<'a>(demands: &[&Demand<'a>]) -> Taken<'a> {
    let mut taken = HashMap::new();
    for domain in demands.iter().flat_map(|demand| &demand.domains) {
        let next = taken.len();
        taken.entry(*domain).or_insert(next);
    }
    taken
}

/// Returns the number of demands that could use each class.
fn contention(
    demands: &[&Demand<'_>],
    pool_of: &[usize],
    members: &[Vec<usize>],
    classes: &[Class<'_>],
) -> Vec<usize> {
    let mut of_pool = vec![0; members.len()];
    let mut of_cluster: HashMap<(usize, &ClusterKey), usize> = HashMap::new();
    for (demand, pool) in demands
        .iter()
        .zip(pool_of)
        .filter(|(demand, _)| demand.missing > 0)
    {
        of_pool[*pool] += 1;
        *of_cluster.entry((*pool, &demand.cluster.key)).or_default() += 1;
    }
    let mut contention = vec![0; classes.len()];
    for (pool, members) in members.iter().enumerate() {
        for class in members {
            contention[*class] += match classes[*class].only {
                Some(only) => of_cluster.get(&(pool, only)).copied().unwrap_or_default(),
                None => of_pool[pool],
            };
        }
    }
    contention
}

/// Returns the most common topology key. Node sets without a key are spread by it.
fn commonest_key<'a>(demands: &[Demand<'a>]) -> Option<&'a str> {
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for key in demands
        .iter()
        .flat_map(|demand| &demand.needs.topology_keys)
        .copied()
    {
        *count.entry(key).or_default() += 1;
    }
    let most = count.values().copied().max()?;
    count
        .into_iter()
        .find(|(_, count)| *count == most)
        .map(|(key, _)| key)
}

/// Builds a pool: classes by topology domain and by preference.
///
/// `key` is the index of the topology key in the classes' values. Preferred hosts and the smallest
/// sufficient ones come first, then those that fewest demands can use. Hosts without the label come last.
fn pool<'a>(
    members: &[usize],
    classes: &[Class<'a>],
    key: Option<usize>,
    limited: bool,
    contention: &[usize],
    rank: impl Fn(usize) -> Rank,
) -> (Pool, HashMap<Option<&'a str>, usize>) {
    let mut names: HashMap<Option<&str>, usize> = HashMap::new();
    let mut numbers: HashMap<usize, usize> = HashMap::new();
    let mut domains: Vec<Domain> = Vec::new();
    let mut tiers: BTreeMap<(bool, Rank, usize), Vec<Choice>> = BTreeMap::new();
    let mut choice_of: HashMap<((bool, Rank, usize), usize), usize> = HashMap::new();
    for &class in members {
        let name = key.and_then(|key| classes[class].domains[key]);
        let number = key.map_or(0, |key| classes[class].numbers[key]);
        let domain = *numbers.entry(number).or_insert_with(|| {
            names.insert(name, domains.len());
            domains.push(Domain {
                limited: limited && name.is_some(),
                classes: Vec::new(),
            });
            domains.len() - 1
        });
        domains[domain].classes.push(class);
        let tier = (limited && name.is_none(), rank(class), contention[class]);
        let choices = tiers.entry(tier).or_default();
        let choice = *choice_of.entry((tier, domain)).or_insert_with(|| {
            choices.push(Choice {
                domain,
                classes: Vec::new(),
            });
            choices.len() - 1
        });
        choices[choice].classes.push(class);
    }
    (
        Pool {
            by_size: false,
            domains,
            tiers: tiers.into_values().collect(),
        },
        names,
    )
}

/// Sort key: smallest sufficient host first. Devices that the machine did not ask for count most,
/// then CPUs, then memory.
fn machine_size(host: &Host, asked: &AskedMachine) -> (usize, u64, u64) {
    let Machine {
        cpu,
        memory_mib,
        sriov,
        qat,
        ..
    } = &*host.machine;
    let unasked = usize::from(*sriov && !asked.sriov) + usize::from(*qat && !asked.qat);
    (
        unasked,
        cpu.unwrap_or_default(),
        memory_mib.unwrap_or_default(),
    )
}
