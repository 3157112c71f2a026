//! Free hosts by requirement and topology domain.
//!
//! A question on top of a plan is mostly about a few hosts, while tens of thousands may be free.
//! Counts decide about a node set that competes with no other, and a sample of the free hosts
//! decides about those that compete. Both hold where no node set has several topology keys.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::OnceLock;

use super::super::demand::Demand;
use super::super::eligibility::{self, Availability, Key, Needs, Obstacle, Refusal};
use super::super::equivalence::{Counted, HostKinds};
use super::super::shortage::Excluded;
use super::super::topology;
use crate::api::names::ClusterKey;
use crate::inventory::Host;

/// The free hosts of a site.
pub(super) struct FreeHosts<'a> {
    hosts: &'a [Host],
    classes: Vec<Class<'a>>,
    class_of: HashMap<usize, usize>,
    pools: Vec<Pool<'a>>,
    /// Clusters that have hosts which no other may take.
    preferred: BTreeSet<ClusterKey>,
    /// Indices of pools by requirements.
    pool_of: HashMap<Key<'a>, usize>,
}

/// Free hosts that node sets tell apart only by their topology domains.
struct Class<'a> {
    hosts: Vec<usize>,
    domains: BTreeMap<&'a str, Domains<'a>>,
}

/// Hosts by the value of a topology key, in order of first occurrence.
struct Domains<'a> {
    known: Vec<(&'a str, Vec<usize>)>,
    /// Hosts without the label.
    unknown: Vec<usize>,
}

/// The free hosts for node sets with equal requirements.
pub(super) struct Pool<'a> {
    /// Classes of hosts that every cluster may take.
    classes: BTreeSet<usize>,
    /// Classes of hosts that only one cluster may take.
    reserved: HashMap<ClusterKey, Vec<usize>>,
    /// The first topology key of the node sets.
    key: Option<&'a str>,
    counts: OnceLock<Counts>,
    matching: OnceLock<Vec<usize>>,
    excluded: OnceLock<Excluded>,
}

/// Numbers of hosts that every cluster may take.
#[derive(Default)]
struct Counts {
    hosts: usize,
    labelled: usize,
    by_domain: HashMap<String, usize>,
}

/// Numbers of free hosts for a node set, if no other node set takes any.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Room {
    /// Number of hosts, whatever their domains.
    pub(super) hosts: usize,
    /// Number of hosts that the node set can have at once.
    pub(super) apart: usize,
    /// Number of domains that limit it to one of their hosts.
    pub(super) limiting: usize,
    /// Number of hosts in domains in which the node set has a host.
    pub(super) taken: usize,
}

impl<'a> FreeHosts<'a> {
    /// Groups the candidates among the hosts for node sets with these requirements.
    pub(super) fn new(
        hosts: &'a [Host],
        availability: &[Availability],
        candidates: &[usize],
        all_needs: impl Iterator<Item = Needs<'a>>,
    ) -> Self {
        let mut needs: Vec<Needs<'a>> = Vec::new();
        let mut pool_of = HashMap::new();
        for other in all_needs {
            pool_of.entry(other.key()).or_insert_with(|| {
                needs.push(other);
                needs.len() - 1
            });
        }
        let all: Vec<&Needs<'a>> = needs.iter().collect();
        let kinds = HostKinds::new(hosts, &all, &[], Counted::Usable(candidates));
        let mut classes: Vec<Class<'a>> = Vec::new();
        let mut number = HashMap::new();
        let mut of_kind: Vec<Vec<(usize, Option<&ClusterKey>)>> = vec![Vec::new(); kinds.count()];
        let mut class_of = HashMap::new();
        for host in candidates.iter().copied() {
            let only = match &availability[host] {
                Availability::Free => None,
                Availability::Only(cluster, _) => Some(cluster),
                Availability::Refused(_) => continue,
            };
            let Some(kind) = kinds.kind_of(host) else {
                continue;
            };
            let class = *number.entry((kind, only)).or_insert_with(|| {
                of_kind[kind].push((classes.len(), only));
                classes.push(Class {
                    hosts: Vec::new(),
                    domains: BTreeMap::new(),
                });
                classes.len() - 1
            });
            classes[class].hosts.push(host);
            class_of.insert(host, class);
        }
        let preferred = number.keys().filter_map(|(_, only)| only.cloned());
        let preferred = preferred.collect();
        let mut pools = Vec::new();
        for needs in &needs {
            let mut pool = Pool {
                classes: BTreeSet::new(),
                reserved: HashMap::new(),
                key: needs.topology_keys.first().copied(),
                counts: OnceLock::new(),
                matching: OnceLock::new(),
                excluded: OnceLock::new(),
            };
            let of_kinds = kinds.matching(hosts, needs).into_iter();
            for (class, only) in of_kinds.flat_map(|kind| &of_kind[kind]).copied() {
                match only {
                    None => drop(pool.classes.insert(class)),
                    Some(only) => pool.reserved.entry(only.clone()).or_default().push(class),
                }
                if let Some(key) = pool.key {
                    let Class {
                        hosts: own,
                        domains,
                    } = &mut classes[class];
                    let by_domain = || Domains::of(hosts, own, key);
                    domains.entry(key).or_insert_with(by_domain);
                }
            }
            pools.push(pool);
        }
        Self {
            hosts,
            classes,
            class_of,
            preferred,
            pools,
            pool_of,
        }
    }

    /// Returns the free hosts that meet requirements; `None` if it does not know these.
    pub(super) fn pool(&self, needs: &Needs<'_>) -> Option<&Pool<'_>> {
        self.pools.get(self.pool_of(needs)?)
    }

    /// Returns the index of the pool for requirements; equal for equal requirements.
    pub(super) fn pool_of(&self, needs: &Needs<'_>) -> Option<usize> {
        self.pool_of.get(&needs.key()).copied()
    }

    /// Returns whether there are hosts that only this cluster may take.
    pub(super) fn is_preferred(&self, cluster: &ClusterKey) -> bool {
        self.preferred.contains(cluster)
    }

    /// Counts the free hosts for a node set. Hosts that are gone do not count.
    pub(super) fn room(
        &self,
        pool: &Pool<'_>,
        demand: &Demand<'_>,
        gone: &BTreeSet<usize>,
    ) -> Room {
        let counts = pool.counts.get_or_init(|| self.counts(pool));
        let own = pool.reserved.get(&demand.cluster.key);
        let own = own.into_iter().flatten();
        let own = own.flat_map(|class| self.classes[*class].hosts.iter());
        let own = own.filter(|host| !gone.contains(host));
        let of_pool = |host: &&usize| {
            let class = self.class_of.get(host);
            class.is_some_and(|class| pool.classes.contains(class))
        };
        let lost = gone.iter().filter(of_pool);

        let domain = |host: usize| topology::domain(&self.hosts[host], pool.key?);
        let (mut hosts, mut labelled) = (counts.hosts, counts.labelled);
        // Hosts to add and to subtract, in domains that differ from those of other clusters.
        let mut changed: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for host in own {
            hosts += 1;
            let Some(domain) = domain(*host) else {
                continue;
            };
            labelled += 1;
            changed.entry(domain).or_default().0 += 1;
        }
        for host in lost {
            hosts -= 1;
            let Some(domain) = domain(*host) else {
                continue;
            };
            labelled -= 1;
            changed.entry(domain).or_default().1 += 1;
        }
        let used = demand.domains.iter();
        let used: BTreeSet<&str> = used
            .filter(|(key, _)| pool.key == Some(key))
            .map(|(_, domain)| *domain)
            .collect();
        used.iter().for_each(|domain| {
            changed.entry(domain).or_default();
        });
        let (mut limiting, mut taken) = (counts.by_domain.len(), 0);
        for (domain, (more, fewer)) in changed {
            let usual = counts.by_domain.get(domain).copied().unwrap_or_default();
            let now = usual + more - fewer;
            limiting -= usize::from(usual > 0);
            if used.contains(domain) {
                taken += now;
            } else {
                limiting += usize::from(now > 0);
            }
        }
        Room {
            hosts,
            apart: match pool.key {
                Some(_) => limiting + hosts - labelled,
                None => hosts,
            },
            limiting,
            taken,
        }
    }

    fn counts(&self, pool: &Pool<'_>) -> Counts {
        let mut counts = Counts::default();
        for class in pool.classes.iter().map(|class| &self.classes[*class]) {
            counts.hosts += class.hosts.len();
            let domains = pool.key.and_then(|key| class.domains.get(key));
            for (domain, hosts) in domains.into_iter().flat_map(|domains| &domains.known) {
                counts.labelled += hosts.len();
                match counts.by_domain.get_mut(*domain) {
                    Some(count) => *count += hosts.len(),
                    None => drop(counts.by_domain.insert((*domain).to_owned(), hosts.len())),
                }
            }
        }
        counts
    }

    /// Returns whether two of these node sets can use the same free host.
    pub(super) fn compete(&self, pools: &[&Pool<'_>], demands: &[Demand<'_>]) -> bool {
        if demands.len() < 2 {
            return false;
        }
        let mut seen = HashSet::new();
        let mut classes = pools.iter().zip(demands);
        !classes.all(|(pool, demand)| pool.of(&demand.cluster.key).all(|class| seen.insert(class)))
    }

    /// Returns free hosts that serve the demands as well as all free hosts do, in inventory order.
    /// Those that are not served lack the same number of hosts for the same reason.
    ///
    /// A host that is left out can be exchanged for one of its class: with a host in each of as many
    /// unused domains as hosts are missing altogether, one of these is always free. In a class with
    /// fewer domains, as many hosts of each domain do the same.
    pub(super) fn sample(
        &self,
        pools: &[&Pool<'_>],
        demands: &[Demand<'_>],
        gone: &BTreeSet<usize>,
    ) -> Vec<usize> {
        let missing: usize = demands.iter().map(|demand| demand.missing).sum();
        let used: HashSet<(&str, &str)> = demands
            .iter()
            .flat_map(|demand| demand.domains.iter().copied())
            .collect();
        let places = pools.iter().zip(demands).flat_map(|(pool, demand)| {
            let classes = pool.of(&demand.cluster.key);
            classes.map(|class| (class, pool.key))
        });
        let places: BTreeSet<(usize, Option<&str>)> = places.collect();
        let is_left = |host: &usize| !gone.contains(host);
        let mut sample = BTreeSet::new();
        for (class, key) in places {
            let class = &self.classes[class];
            let domains = key.and_then(|key| Some((key, class.domains.get(key)?)));
            let Some((key, domains)) = domains else {
                let hosts = class.hosts.iter().copied().filter(is_left);
                sample.extend(hosts.take(missing));
                continue;
            };
            let unused = domains.known.iter();
            let unused = unused.filter(|(domain, _)| !used.contains(&(key, *domain)));
            let apart = unused.filter_map(|(_, hosts)| hosts.iter().copied().find(is_left));
            let unknown = domains.unknown.iter().copied().filter(is_left);
            let apart: Vec<usize> = apart.chain(unknown.clone()).take(missing).collect();
            if apart.len() == missing {
                sample.extend(apart);
                continue;
            }
            sample.extend(unknown);
            for (_, hosts) in &domains.known {
                sample.extend(hosts.iter().copied().filter(is_left).take(missing));
            }
        }
        sample.into_iter().collect()
    }
}

impl<'a> Domains<'a> {
    fn of(hosts: &'a [Host], of_class: &[usize], key: &str) -> Self {
        let mut number: HashMap<&str, usize> = HashMap::new();
        let mut domains = Self {
            known: Vec::new(),
            unknown: Vec::new(),
        };
        for host in of_class.iter().copied() {
            let Some(domain) = topology::domain(&hosts[host], key) else {
                domains.unknown.push(host);
                continue;
            };
            let at = *number.entry(domain).or_insert_with(|| {
                domains.known.push((domain, Vec::new()));
                domains.known.len() - 1
            });
            domains.known[at].1.push(host);
        }
        domains
    }
}

impl Pool<'_> {
    /// Returns the hosts that the node sets ask for, whoever has them and whatever their condition,
    /// in ascending order.
    pub(super) fn matching(&self, hosts: &[Host], needs: &Needs<'_>) -> &[usize] {
        let is_mismatch = |host: &usize| {
            let refusal = eligibility::unmet(*host, &hosts[*host], needs);
            let obstacle = refusal.as_ref().map(Refusal::obstacle);
            matches!(
                obstacle,
                Some(Obstacle::AnotherHost | Obstacle::Requirement)
            )
        };
        let all = || (0..hosts.len()).filter(|host| !is_mismatch(host)).collect();
        self.matching.get_or_init(all)
    }

    /// Returns the labels that exclude every host from the node sets.
    pub(super) fn excluded(&self, hosts: &[Host], needs: &Needs<'_>) -> &Excluded {
        let excluded = || Excluded::of(hosts, needs, true);
        self.excluded.get_or_init(excluded)
    }

    /// Returns the classes of hosts that a cluster may take.
    fn of(&self, cluster: &ClusterKey) -> impl Iterator<Item = usize> {
        let reserved = self.reserved.get(cluster).into_iter().flatten();
        self.classes.iter().chain(reserved).copied()
    }
}
