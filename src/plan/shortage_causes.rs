//! Causes of shortages: what keeps the hosts that match a node set from serving it.
//!
//! A rule is a cause of a shortage only if the node set would lack fewer hosts without it. So a host
//! counts for a rule if no other rule refuses it, and if its topology domains are open.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::demand::NodeSetDemand;
use super::eligibility::{self, Needs, Refusal};
use super::flow_network::Instance;
use super::host_classes::HostSupply;
use super::matching::FlowUnit;
use super::search_result::ShortageProof;
use super::topology::occurrences;
use crate::base::api::names::ClusterKey;
use crate::base::api::topology_spread::shared_key;
use crate::input::settings::quotas::Quota;
use crate::site::inventory::Host;

/// Maximum number of rules that are compared for a host.
const RULES_COMPARED: usize = 3;
/// Maximum number of rules in a headline.
const RULES_SHOWN: usize = 3;

/// Limits of a node set that lacks hosts: domains and quotas.
#[derive(Debug)]
pub(super) struct DemandLimits {
    /// Set if the node set lacked fewer hosts without its topology keys.
    is_limited: bool,
    /// A topology key, and its domains in which no further host helps the node set. Of other keys,
    /// those are the domains in which usable hosts are.
    closed: Option<(String, BTreeSet<String>)>,
    /// Quotas in which the hosts that it may have leave no room for another.
    full_quotas: Vec<Quota>,
}

impl DemandLimits {
    /// Translates the proof for a demand of a problem. The hosts of earlier demands are picked.
    pub(super) fn new(
        instance: &Instance<'_>,
        picks: &[Vec<FlowUnit>],
        demand: usize,
        why: &ShortageProof,
    ) -> Self {
        let pool = instance.pool(demand);
        let count = match why {
            ShortageProof::Counted(count) => Some(count),
            _ => None,
        };
        // A crossing key is no key of the pool's own domains.
        let own_key = pool.key.filter(|_| pool.crossing.is_empty());
        let closed = count.zip(own_key).map(|(count, key)| {
            let closed = pool.domains.iter().filter(|(_, at)| count.closed.contains(at));
            let closed = closed.filter_map(|(value, _)| value.map(str::to_owned));
            (key.to_owned(), closed.collect())
        });
        let full_quotas = full_quotas(instance, picks, demand);
        Self { is_limited: count.is_some_and(|count| count.is_limited), closed, full_quotas }
    }
}

/// Returns the quotas of a demand that earlier demands and the hosts that its cluster may have fill.
fn full_quotas(instance: &Instance<'_>, picks: &[Vec<FlowUnit>], demand: usize) -> Vec<Quota> {
    let problem = &instance.problem;
    let own = &problem.demands[demand];
    if own.quotas.is_empty() {
        return Vec::new();
    }
    let picked = occurrences(picks.iter().flatten().map(|pick| pick.class));
    let is_full = |quota: &&usize| {
        let counts = |class: &usize| problem.counts(*class).contains(quota);
        let earlier = problem.demands[..demand].iter().zip(picks);
        let earlier = earlier.filter(|(earlier, _)| earlier.quotas.contains(quota));
        let taken = earlier.flat_map(|(_, picks)| picks).filter(|pick| counts(&pick.class)).count();
        let free = |class: usize| {
            let picked = picked.get(&class).copied().unwrap_or_default();
            let left = problem.capacities[class].saturating_sub(picked);
            if problem.may_have(demand, class) { left } else { 0 }
        };
        // Hosts that several node sets may have count once.
        let mut all: BTreeMap<usize, usize> = BTreeMap::new();
        let available = problem.demands.iter().filter(|other| other.group == own.group).map(|of| {
            let domains = problem.pools[of.pool].domains.iter().map(|domain| {
                let counted = domain.classes.iter().filter(|class| counts(class));
                let counted = counted.map(|class| (*class, free(*class)));
                let hosts: usize = counted.clone().map(|(_, free)| free).sum();
                all.extend(counted);
                if domain.limited { hosts.min(of.limit) } else { hosts }
            });
            domains.sum::<usize>().min(of.missing)
        });
        let available: usize = available.sum();
        problem.quotas[**quota] <= taken + available.min(all.into_values().sum())
    };
    let full = own.quotas.iter().filter(is_full);
    full.map(|quota| instance.quotas[*quota].quota.clone()).collect()
}

/// Rules that refuse hosts, each with the number of these; most hosts first.
type RefusalCounts = Vec<(usize, String)>;

/// Constraints without each of which a node set would lack fewer hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ShortageCauses {
    /// Number of hosts that match and that the node set does not have.
    pub(super) matching: usize,
    /// The rules without which it would lack fewer hosts, as in "5 in use", with the hosts that a single
    /// rule refuses; most hosts first.
    pub(super) by_one: RefusalCounts,
    /// Hosts that several rules refuse together, or rules and topology.
    pub(super) by_several: RefusalCounts,
    /// The topology keys, with the number of domains in which the matching hosts are.
    pub(super) topology: Vec<(String, usize)>,
}

impl ShortageCauses {
    /// Finds the causes of a shortage. Hosts that are gone do not count.
    pub(super) fn new(
        matching: &MatchingHosts<'_>,
        HostSupply { hosts, gone, .. }: HostSupply<'_, '_>,
        demand: &NodeSetDemand<'_>,
        limits: &DemandLimits,
    ) -> Self {
        let keys = demand.node_set.topology_keys.iter().enumerate().filter(|_| limits.is_limited);
        let topology = keys.map(|(at, key)| (key.clone(), matching.domains(at, gone)));
        let excepted: BTreeSet<usize> = demand.kept.union(gone).copied().collect();
        // A further host helps in the right domain only.
        let (by_one, by_several) = match shared_key(&demand.node_set.spread).is_some() {
            true => (Vec::new(), Vec::new()),
            false => matching.refused(demand, hosts, &excepted, limits),
        };
        let others = matching.groups.values().flat_map(|hosts| left(hosts, &excepted));
        Self { matching: others.count(), by_one, by_several, topology: topology.collect() }
    }
}

/// The hosts that match requirements, whoever has them and whatever their condition.
pub(super) struct MatchingHosts<'h> {
    groups: HashMap<RefusedGroup<'h>, Vec<usize>>,
    /// Domains of the hosts that are not refused.
    usable_domains: HashSet<(usize, &'h str)>,
}

/// Hosts in the same topology domains that the same rules refuse.
#[derive(PartialEq, Eq, Hash)]
struct RefusedGroup<'h> {
    /// The only cluster that the first rule does not refuse.
    only: Option<ClusterKey>,
    /// Empty for usable hosts.
    rules: Vec<String>,
    /// In the order of the topology keys.
    domains: Vec<Option<&'h str>>,
}

impl<'h> MatchingHosts<'h> {
    /// Finds the hosts, and all rules that refuse each.
    pub(super) fn new(supply: HostSupply<'h, '_>, needs: &Needs<'_>) -> Self {
        let mut groups: HashMap<RefusedGroup<'_>, Vec<usize>> = HashMap::new();
        let mut usable_domains = HashSet::new();
        for (index, host) in supply.hosts.iter().enumerate() {
            let mut objections = eligibility::objections(index, host, needs).peekable();
            if objections.peek().is_some_and(|refusal| refusal.is_unasked(host, needs)) {
                continue;
            }
            let availability = &supply.availability[index];
            let by_owner = availability.refusal().map(Refusal::rule);
            let others = objections.take(RULES_COMPARED).map(|refusal| refusal.rule());
            let mut rules: Vec<String> = Vec::new();
            for rule in by_owner.into_iter().chain(others) {
                if !rules.contains(&rule) {
                    rules.push(rule);
                }
            }
            let keys = needs.node_set.topology_keys.iter();
            let domains: Vec<Option<&str>> = keys.map(|key| host.domain(key)).collect();
            if rules.is_empty() {
                usable_domains.extend(numbered(&domains));
            }
            let group = RefusedGroup { only: availability.only().cloned(), rules, domains };
            groups.entry(group).or_default().push(index);
        }
        Self { groups, usable_domains }
    }

    /// Returns the number of domains of a topology key, given by its index, in which the hosts are, one
    /// for each host without the label. Hosts that are gone do not count.
    fn domains(&self, key: usize, gone: &BTreeSet<usize>) -> usize {
        let (mut domains, mut unlabelled) = (HashSet::new(), 0);
        for (group, hosts) in &self.groups {
            let hosts = left(hosts, gone).count();
            match group.domains[key] {
                Some(domain) if hosts > 0 => drop(domains.insert(domain)),
                Some(_) => {}
                None => unlabelled += hosts,
            }
        }
        domains.len() + unlabelled
    }

    /// Counts the hosts that would help a node set if rules did not refuse them, except some: those that
    /// one rule refuses, and the others.
    fn refused(
        &self,
        demand: &NodeSetDemand<'_>,
        hosts: &[Host],
        excepted: &BTreeSet<usize>,
        limits: &DemandLimits,
    ) -> (RefusalCounts, RefusalCounts) {
        // A host that a full quota counts does not help, unless the quota is raised.
        let is_over_quota = |host: &usize| {
            limits.full_quotas.iter().any(|quota| quota.counts(&hosts[*host].labels))
        };
        let mut counts: BTreeMap<(&[String], bool, bool), usize> = BTreeMap::new();
        for (RefusedGroup { only, rules, domains }, members) in &self.groups {
            let is_own = only.as_ref() == Some(&demand.cluster.key);
            let rules = &rules[usize::from(is_own)..];
            if rules.is_empty() {
                continue;
            }
            // Further hosts in these domains do not help the node set.
            let is_closed = numbered(domains).any(|(at, domain)| {
                let key = demand.node_set.topology_keys[at].as_str();
                demand.domains.contains(&(key, domain))
                    || match &limits.closed {
                        Some((closed_key, closed)) if closed_key == key => closed.contains(domain),
                        _ => self.usable_domains.contains(&(at, domain)),
                    }
            });
            let (over_quota, within): (Vec<usize>, Vec<usize>) =
                left(members, excepted).partition(is_over_quota);
            *counts.entry((rules, is_closed, true)).or_default() += over_quota.len();
            *counts.entry((rules, is_closed, false)).or_default() += within.len();
        }
        let (mut by_one, mut by_several) = (BTreeMap::new(), BTreeMap::new());
        for ((rules, is_closed, is_over_quota), hosts) in counts {
            let is_by_one = rules.len() == 1 && !is_closed && !is_over_quota;
            let counts = if is_by_one { &mut by_one } else { &mut by_several };
            let closed = is_closed.then_some("in a topology domain of another host");
            let over_quota = is_over_quota.then_some("over a quota");
            let all = rules.iter().map(String::as_str).chain(closed).chain(over_quota);
            *counts.entry(all.collect::<Vec<_>>().join(" and ")).or_default() += hosts;
        }
        let sorted = |counts: BTreeMap<String, usize>| {
            let counts = counts.into_iter().filter(|(_, hosts)| *hosts > 0);
            let mut counts: RefusalCounts = counts.map(|(rule, hosts)| (hosts, rule)).collect();
            counts.sort_by_key(|(hosts, _)| std::cmp::Reverse(*hosts));
            counts
        };
        (sorted(by_one), sorted(by_several))
    }
}

/// Returns the hosts that are not excepted.
fn left<'s>(hosts: &'s [usize], excepted: &'s BTreeSet<usize>) -> impl Iterator<Item = usize> + 's {
    hosts.iter().copied().filter(|host| !excepted.contains(host))
}

/// Describes the refusals of some of the hosts: `, 2 of them in an error, 1 in use, 1 for several
/// reasons`. The text is empty without a rule that is listed.
pub(super) fn listed_refusals(
    hosts: usize,
    listed: &[(usize, String)],
    by_several: &[(usize, String)],
) -> String {
    match (listed, hosts) {
        ([], _) => return String::new(),
        ([(_, rule)], 1) => return format!(", {rule}"),
        _ => {}
    }
    let named: Vec<String> =
        listed.iter().take(RULES_SHOWN).map(|(hosts, rule)| format!("{hosts} {rule}")).collect();
    let further = listed.get(RULES_SHOWN..).unwrap_or_default();
    let others =
        [(further, "other"), (by_several, "several")].into_iter().filter_map(|(refused, which)| {
            let hosts: usize = refused.iter().map(|(hosts, _)| hosts).sum();
            (hosts > 0).then(|| format!("{hosts} for {which} reasons"))
        });
    match named.into_iter().chain(others).collect::<Vec<_>>().join(", ").split_once(' ') {
        Some((hosts, rules)) => format!(", {hosts} of them {rules}"),
        None => String::new(),
    }
}

/// Returns the domains of a host, each with the index of its topology key.
fn numbered<'h>(domains: &[Option<&'h str>]) -> impl Iterator<Item = (usize, &'h str)> {
    let domains = domains.iter().enumerate();
    domains.filter_map(|(at, domain)| Some((at, (*domain)?)))
}
