//! Host classes: hosts that no node set tells apart, and the classes that each node set may use.
//!
//! They do not depend on the numbers of hosts that node sets lack, so many questions share them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::demand::NodeSetDemand;
use super::eligibility::{Availability, Needs, PoolKey};
use super::equivalence::{CountedHosts, HostKinds};
use super::matching::{EqualClasses, FlowDomain, HostPool};
use super::preference::{HostSize, HostTraits, Preference, SharedNamespaces, SizeRank};
use super::quotas::QuotaUse;
use crate::base::api::names::{ClusterKey, Namespace};
use crate::base::api::topology_spread::evenness_key;
use crate::base::grouping::{grouped, grouped_in_order};
use crate::site::inventory::Host;

/// Hosts of a site with their availability.
#[derive(Clone, Copy)]
pub(super) struct HostSupply<'h, 's> {
    pub(super) hosts: &'h [Host],
    /// The availability of each host.
    pub(super) availability: &'s [Availability],
    /// Hosts that count as if they did not exist.
    pub(super) gone: &'s BTreeSet<usize>,
}

impl HostSupply<'_, '_> {
    /// Returns the hosts that some cluster may take, in inventory order.
    pub(super) fn candidates(self) -> Vec<usize> {
        let is_refused = |host: usize| matches!(self.availability[host], Availability::Refused(_));
        let all = 0..self.availability.len();
        all.filter(|host| !is_refused(*host) && !self.gone.contains(host)).collect()
    }
}

/// Labels of which a quota counts the hosts.
type QuotaLabels = BTreeMap<String, String>;

/// Requirements with the namespace whose hosts are preferred.
type PoolNeeds<'n, 'a> = (&'n Needs<'a>, Option<&'a Namespace>);

/// Available hosts by class, and the pools of node sets.
pub(super) struct HostClasses<'a> {
    pub(super) hosts: &'a [Host],
    /// All topology keys.
    pub(super) topology: Vec<&'a str>,
    pub(super) classes: Vec<Class<'a>>,
    /// Number of hosts of each class.
    pub(super) capacities: Vec<usize>,
    /// Classes that a single cluster may take.
    pub(super) reserved: Vec<usize>,
    pub(super) pools: Vec<NodeSetPool<'a>>,
    /// The class of each available host.
    class_of: HashMap<usize, usize>,
    /// Pools by requirements and preferred namespace.
    pool_of: HashMap<(PoolKey<'a>, Option<&'a Namespace>), usize>,
    homes: SharedNamespaces<'a>,
}

/// Hosts that no demand tells apart.
pub(super) struct Class<'a> {
    /// The only cluster that may take them.
    pub(super) only: Option<ClusterKey>,
    /// Values of all topology keys.
    pub(super) domains: Vec<Option<&'a str>>,
    /// Labels of quotas that count them.
    quota_labels: Vec<&'a QuotaLabels>,
    traits: HostTraits<'a>,
    /// The size of the first host, and of all if a node set depends on hardware.
    size: HostSize,
    /// Indices of the hosts, in inventory order.
    pub(super) hosts: Vec<usize>,
}

/// The classes for node sets with equal requirements.
pub(super) struct NodeSetPool<'a> {
    pub(super) pool: Arc<HostPool>,
    /// The topology key of its domains.
    pub(super) key: Option<&'a str>,
    /// Its domains by the value of that key; `None` is the domain of hosts without the label.
    pub(super) domains: HashMap<Option<&'a str>, usize>,
    /// Indices of its topology keys if they cross each other. Keys cross if none of them implies the
    /// others.
    pub(super) crossing: Vec<usize>,
    /// Indices of all its topology keys.
    pub(super) limiting: Vec<usize>,
    /// Indices of these, and of the keys of required topology spread constraints.
    pub(super) counted: Vec<usize>,
    /// Index of the key over which its hosts are to be even.
    pub(super) evenness: Option<usize>,
    /// The largest number of hosts that its domains admit.
    pub(super) places: usize,
}

impl<'a> NodeSetPool<'a> {
    /// Returns the number of a host's domain.
    pub(super) fn domain_of(&self, host: &Host) -> Option<usize> {
        self.domains.get(&Some(host.domain(self.key?)?)).copied()
    }
}

impl<'a> HostClasses<'a> {
    /// Groups hosts for demands, whose competition decides which hosts they prefer.
    pub(super) fn for_demands(
        supply: HostSupply<'a, '_>,
        demands: &[NodeSetDemand<'a>],
        quotas: &'a [QuotaUse],
        rack_label: Option<&'a str>,
    ) -> Self {
        let candidates = supply.candidates().into_iter().map(|host| &supply.hosts[host]);
        let homes = SharedNamespaces::new(demands, candidates);
        let needs: Vec<PoolNeeds<'_, 'a>> =
            demands.iter().map(|demand| (&demand.needs, homes.home(demand))).collect();
        let labels = quotas.iter().map(|quota| &quota.quota.labels);
        Self::new(supply, needs, homes, rack_label, labels, demands)
    }

    /// Groups hosts for node sets with these requirements, whatever hosts they prefer.
    pub(super) fn for_needs(
        supply: HostSupply<'a, '_>,
        all_needs: impl Iterator<Item = Needs<'a>>,
        quota_labels: impl Iterator<Item = &'a QuotaLabels>,
    ) -> Self {
        let all_needs: Vec<Needs<'a>> = all_needs.collect();
        let needs = all_needs.iter().map(|needs| (needs, None)).collect();
        Self::new(supply, needs, SharedNamespaces::default(), None, quota_labels, &[])
    }

    /// Groups hosts for these requirements, each of one of the demands if there are any.
    fn new(
        supply: HostSupply<'a, '_>,
        requests: Vec<PoolNeeds<'_, 'a>>,
        homes: SharedNamespaces<'a>,
        rack_label: Option<&'a str>,
        quota_labels: impl Iterator<Item = &'a QuotaLabels>,
        demands: &[NodeSetDemand<'a>],
    ) -> Self {
        let hosts = supply.hosts;
        let mut needs: Vec<PoolNeeds<'_, 'a>> = Vec::new();
        let mut pool_of = HashMap::new();
        let wanted = requests.into_iter().map(|(own, home)| {
            *pool_of.entry((own.pool_key(), home)).or_insert_with(|| {
                needs.push((own, home));
                needs.len() - 1
            })
        });
        let wanted: Vec<usize> = wanted.collect();
        let topology: BTreeSet<&str> = needs
            .iter()
            .flat_map(|(needs, _)| {
                let own = needs.node_set.topology_keys.iter().map(String::as_str);
                own.chain(needs.spread_keys())
            })
            .chain(rack_label)
            .collect();
        let topology: Vec<&str> = topology.into_iter().collect();
        let all_needs: Vec<&Needs<'_>> = needs.iter().map(|(needs, _)| *needs).collect();
        let usable = supply.candidates();
        let kinds = HostKinds::new(hosts, &all_needs, &topology, CountedHosts::Usable(&usable));
        let quota_labels: BTreeSet<&QuotaLabels> = quota_labels.collect();
        let (classes, classes_by_kind) = classify(supply, &kinds, &homes, &quota_labels);
        let members = needs.iter().map(|(needs, home)| {
            let kinds = kinds.matching(hosts, needs).into_iter();
            let members = kinds.flat_map(|kind| &classes_by_kind[kind]);
            let ranked = members.map(|class| (*class, rank(&classes[*class], needs, *home)));
            let mut members: Vec<RankedClass> = ranked.collect();
            // The first host makes the order unique.
            members.sort_unstable_by_key(|(class, rank)| (*rank, classes[*class].hosts.first()));
            members
        });
        let members: Vec<Vec<RankedClass>> = members.collect();
        let contenders = wanted.into_iter().zip(demands);
        let contention = contention(contenders, &members, &classes);
        let place = |key: &str| topology.iter().position(|other| *other == key);
        let pools = needs.iter().zip(&members).map(|((needs, _), members)| {
            let own: Vec<usize> =
                needs.node_set.topology_keys.iter().filter_map(|key| place(key)).collect();
            let evenness = evenness_key(&needs.node_set.spread, rack_label).and_then(place);
            // A single key is a flow. If one key implies the others, it suffices.
            let binding = binding(&own, members, &classes);
            let at = binding.or(own.first().copied()).or(evenness);
            let domains = (at, !own.is_empty());
            let (mut pool, domains) = pool(members, &classes, domains, &contention);
            pool.by_size = needs.is_by_hardware();
            let places = pool.domains.iter().map(|domain| {
                let hosts =
                    domain.classes.iter().map(|class| classes[*class].hosts.len()).sum::<usize>();
                if domain.limited { hosts.min(needs.node_set.max_per_domain) } else { hosts }
            });
            let places = places.sum();
            NodeSetPool {
                pool: Arc::new(pool),
                key: at.map(|at| topology[at]),
                domains,
                crossing: if binding.is_none() { own.clone() } else { Vec::new() },
                counted: needs.limiting_keys().into_iter().filter_map(place).collect(),
                limiting: own,
                evenness,
                places,
            }
        });
        let pools = pools.collect();
        let class_of = classes
            .iter()
            .enumerate()
            .flat_map(|(at, class)| class.hosts.iter().map(move |host| (*host, at)));
        Self {
            hosts,
            pools,
            class_of: class_of.collect(),
            pool_of,
            topology,
            capacities: classes.iter().map(|class| class.hosts.len()).collect(),
            reserved: (0..classes.len()).filter(|class| classes[*class].only.is_some()).collect(),
            classes,
            homes,
        }
    }

    /// Returns the pool of a demand; `None` if its requirements are unknown.
    pub(super) fn pool(&self, demand: &NodeSetDemand<'_>) -> Option<usize> {
        let home = self.homes.home(demand);
        self.pool_of.get(&(demand.needs.pool_key(), home)).copied()
    }

    /// Returns the pool for requirements, whatever hosts they prefer.
    pub(super) fn pool_of(&self, needs: &Needs<'_>) -> Option<usize> {
        self.pool_of.get(&(needs.pool_key(), None)).copied()
    }

    /// Returns the class of a host; `None` if no node set may use it.
    pub(super) fn class_of(&self, host: usize) -> Option<usize> {
        self.class_of.get(&host).copied()
    }

    /// Returns whether a quota counts the hosts of a class.
    pub(super) fn counts(&self, quota: &QuotaUse, class: usize) -> bool {
        self.classes[class].quota_labels.contains(&&quota.quota.labels)
    }
}

/// Returns the topology key that implies all others: hosts that share a value of another key share
/// its value. For example, the hosts of one server are in one rack.
fn binding(keys: &[usize], members: &[RankedClass], classes: &[Class<'_>]) -> Option<usize> {
    let binds = |key: &usize| {
        keys.iter().filter(|other| *other != key).all(|other| {
            let mut value_of: HashMap<&str, Option<&str>> = HashMap::new();
            members.iter().all(|(class, _)| {
                let domains = &classes[*class].domains;
                let Some(value) = domains[*other] else { return true };
                domains[*key].is_some()
                    && *value_of.entry(value).or_insert(domains[*key]) == domains[*key]
            })
        })
    };
    keys.iter().copied().find(binds)
}

/// The order in which a pool takes classes. The size is equal unless a node set depends on hardware.
type ClassRank = (Preference, SizeRank);

/// A class of a pool with its rank there.
type RankedClass = (usize, ClassRank);

fn rank(class: &Class<'_>, needs: &Needs<'_>, home: Option<&Namespace>) -> ClassRank {
    let size = needs.is_by_hardware().then(|| class.size.rank(&needs.node_set.hardware));
    (class.traits.preference(home), size.unwrap_or_default())
}

/// Returns the classes of available hosts, and the classes of each kind.
fn classify<'a>(
    supply: HostSupply<'a, '_>,
    kinds: &HostKinds<'a>,
    homes: &SharedNamespaces<'a>,
    quota_labels: &BTreeSet<&'a QuotaLabels>,
) -> (Vec<Class<'a>>, Vec<Vec<usize>>) {
    let keyed = supply.availability.iter().enumerate().filter_map(|(index, availability)| {
        // Only candidates have a kind.
        let kind = kinds.kind_of(index)?;
        let host = &supply.hosts[index];
        let domains = kinds.domains(index);
        let has = |(key, value): (&String, &String)| host.labels.get(key) == Some(value);
        let counted: Vec<&QuotaLabels> =
            quota_labels.iter().copied().filter(|labels| labels.iter().all(has)).collect();
        // With several topology keys, a host that lacks one is a class by itself.
        let by_itself = (domains.len() > 1 && domains.contains(&None)).then_some(index);
        Some(((kind, availability.only(), domains, counted, homes.traits(host), by_itself), index))
    });
    let mut classes_by_kind: Vec<Vec<usize>> = vec![Vec::new(); kinds.count()];
    let mut classes = Vec::new();
    for ((kind, only, domains, quota_labels, traits, _), hosts) in grouped_in_order(keyed) {
        classes_by_kind[kind].push(classes.len());
        let (only, domains) = (only.cloned(), domains.to_vec());
        let size = HostSize::new(&supply.hosts[hosts[0]]);
        classes.push(Class { only, domains, quota_labels, traits, size, hosts });
    }
    (classes, classes_by_kind)
}

/// Returns the number of demands that could use each class.
fn contention<'d>(
    contenders: impl Iterator<Item = (usize, &'d NodeSetDemand<'d>)>,
    members: &[Vec<RankedClass>],
    classes: &[Class<'_>],
) -> Vec<usize> {
    let mut pool_demands = vec![0; members.len()];
    let mut cluster_demands: HashMap<(usize, &ClusterKey), usize> = HashMap::new();
    for (pool, demand) in contenders.filter(|(_, demand)| demand.missing > 0) {
        pool_demands[pool] += 1;
        *cluster_demands.entry((pool, &demand.cluster.key)).or_default() += 1;
    }
    let mut contention = vec![0; classes.len()];
    for (pool, members) in members.iter().enumerate() {
        for (class, _) in members {
            contention[*class] += match &classes[*class].only {
                Some(only) => cluster_demands.get(&(pool, only)).copied().unwrap_or_default(),
                None => pool_demands[pool],
            };
        }
    }
    contention
}

/// A tier of a pool: true if the class lacks the label of limited domains, and its preference.
type Tier = (bool, Preference);

/// The order of equally good classes: the number of demands that could use them, their size, and whether
/// they lack the label.
type TieBreak = (usize, SizeRank, bool);

/// Builds a pool: classes by topology domain and by preference.
///
/// `key` is the index of the topology key in the classes' values. Preferred hosts come first. Of equally
/// good hosts, those that fewest demands can use come first, then the smallest sufficient ones, then
/// those with the label. Hosts without the label of a limited domain come last.
fn pool<'a>(
    members: &[RankedClass],
    classes: &[Class<'a>],
    (key, limited): (Option<usize>, bool),
    contention: &[usize],
) -> (HostPool, HashMap<Option<&'a str>, usize>) {
    let mut names: HashMap<Option<&str>, usize> = HashMap::new();
    let mut domains: Vec<FlowDomain> = Vec::new();
    let mut ranked: Vec<((Tier, TieBreak, usize), usize)> = Vec::with_capacity(members.len());
    for &(class, (preference, size)) in members {
        let name = key.and_then(|key| classes[class].domains[key]);
        let domain = *names.entry(name).or_insert_with(|| {
            domains.push(FlowDomain {
                limited: limited && name.is_some(),
                is_unknown: key.is_some() && name.is_none(),
                classes: Vec::new(),
            });
            domains.len() - 1
        });
        domains[domain].classes.push(class);
        let tier = (limited && name.is_none(), preference);
        let tie_break = (contention[class], size, name.is_none());
        ranked.push(((tier, tie_break, domain), class));
    }
    // Stable, so that equally good classes stay in order.
    ranked.sort_by_key(|((tier, tie_break, _), _)| (*tier, *tie_break));
    let choices =
        grouped_in_order(ranked).into_iter().map(|((tier, (_, size, _), domain), classes)| {
            (tier, EqualClasses { domain, size, classes })
        });
    let tiers = grouped(choices).into_values().collect();
    (HostPool { by_size: false, domains, tiers }, names)
}
