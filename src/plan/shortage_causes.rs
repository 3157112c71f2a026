//! Causes of shortages: what keeps the hosts that match a node set from serving it.
//!
//! A rule is a cause of a shortage only if the node set would lack fewer hosts without it. So a host
//! counts for a rule if no other rule refuses it, and if its topology domains are open.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::demand::NodeSetDemand;
use super::eligibility::{self, Availability, Needs};
use super::flow_network::Instance;
use super::matching::FlowUnit;
use super::search_result::ShortageProof;
use crate::base::api::names::ClusterKey;
use crate::base::api::topology_spread::shared_key;
use crate::input::settings::quotas::Quota;
use crate::site::inventory::Host;

/// Maximum number of rules that are compared for a host.
const RULES_COMPARED: usize = 3;
/// Maximum number of rules in a headline.
const RULES_SHOWN: usize = 3;

/// Topology domains of a host, in the order of the topology keys.
type Domains<'h> = Vec<Option<&'h str>>;

/// Limits of a node set that lacks hosts: domains and quotas.
#[derive(Debug, Clone)]
pub(super) struct DemandLimits {
    /// Set if the node set lacked fewer hosts without its topology keys.
    is_limited: bool,
    closed: ClosedDomains,
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
        let pool = instance.pools[instance.problem.demands[demand].pool];
        let mut closed = ClosedDomains::default();
        let is_limited = match why {
            ShortageProof::Counted(count) => {
                // A crossing key is no key of the pool's own domains.
                if pool.crossing.is_empty() {
                    let is_closed = |(_, at): &(_, &usize)| count.closed.contains(at);
                    let values = pool.domains.iter().filter(is_closed);
                    closed.values =
                        values.filter_map(|(value, _)| value.map(str::to_owned)).collect();
                    closed.key = pool.key.map(str::to_owned);
                }
                count.is_limited
            }
            ShortageProof::Crossing(_)
            | ShortageProof::Constrained(_)
            | ShortageProof::Undecided => false,
        };
        Self { is_limited, closed, full_quotas: full_quotas(instance, picks, demand) }
    }
}

/// Returns the quotas of a demand that earlier demands and the hosts that its cluster may have fill.
fn full_quotas(instance: &Instance<'_>, picks: &[Vec<FlowUnit>], demand: usize) -> Vec<Quota> {
    let problem = &instance.problem;
    let own = &problem.demands[demand];
    let mut picked: HashMap<usize, usize> = HashMap::new();
    if !own.quotas.is_empty() {
        for pick in picks.iter().flatten() {
            *picked.entry(pick.class).or_default() += 1;
        }
    }
    let is_full = |quota: &&usize| {
        let counts = |class: &usize| problem.counts(*class).contains(quota);
        let earlier = problem.demands[..demand].iter().zip(picks);
        let earlier = earlier.filter(|(earlier, _)| earlier.quotas.contains(quota));
        let taken = earlier.flat_map(|(_, picks)| picks).filter(|pick| counts(&pick.class)).count();
        let free = |class: usize| {
            let is_own = problem.reserved[class].is_none_or(|reserved| reserved == own.group);
            let picked = picked.get(&class).copied().unwrap_or_default();
            if is_own { problem.capacities[class].saturating_sub(picked) } else { 0 }
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
    full.map(|quota| instance.quotas[*quota].clone()).collect()
}

/// Constraints without each of which a node set would lack fewer hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ShortageCauses {
    /// Number of hosts that match and that the node set does not have.
    pub(super) matching: usize,
    pub(super) refused: RefusedCounts,
    /// The topology keys, with the number of domains in which the matching hosts are.
    pub(super) topology: Vec<(String, usize)>,
}

impl ShortageCauses {
    pub(super) fn new(
        matching: &MatchingHosts<'_>,
        hosts: &[Host],
        demand: &NodeSetDemand<'_>,
        gone: &BTreeSet<usize>,
        limits: &DemandLimits,
    ) -> Self {
        let keys = demand.needs.topology_keys.iter().enumerate();
        let keys = keys.filter(|_| limits.is_limited);
        let topology = keys.map(|(at, key)| {
            let domains = matching.domains((at, key), hosts, gone);
            ((*key).to_owned(), domains)
        });
        // A further host helps in the right domain only.
        let refused = match shared_key(demand.needs.spread).is_some() {
            true => RefusedCounts::default(),
            false => matching.refused(demand, hosts, gone, limits),
        };
        Self { matching: matching.others(demand, gone), refused, topology: topology.collect() }
    }
}

/// The hosts that match requirements, whoever has them and whatever their condition.
pub(super) struct MatchingHosts<'h> {
    /// In ascending order.
    hosts: Vec<usize>,
    refused: Vec<RefusedHosts<'h>>,
    /// Index of the refusals of each refused host, and its domains.
    refused_by: HashMap<usize, (usize, Domains<'h>)>,
    /// Domains of the hosts that are not refused.
    usable_domains: HashSet<(usize, &'h str)>,
    /// Number of hosts in each domain.
    by_domain: HashMap<(usize, &'h str), usize>,
    /// Number of domains of each topology key, one for each host without the label.
    domain_counts: Vec<usize>,
}

/// Hosts that the same rules refuse.
struct RefusedHosts<'h> {
    /// The only cluster that `only_rule` does not refuse.
    only: Option<ClusterKey>,
    only_rule: Option<String>,
    rules: Vec<String>,
    /// Numbers of hosts by their topology domains.
    by_domains: HashMap<Domains<'h>, usize>,
    hosts: usize,
    /// Number of hosts in domains of usable hosts.
    in_usable: usize,
}

/// Topology domains in which no further host helps a node set. Of other keys than this one, those are
/// the domains in which usable hosts are.
#[derive(Debug, Clone, Default)]
struct ClosedDomains {
    key: Option<String>,
    values: BTreeSet<String>,
}

/// The rules without which a node set lacks fewer hosts, as in "5 in use", most hosts first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RefusedCounts {
    /// Hosts that a single rule refuses.
    pub(super) by_one: Vec<(usize, String)>,
    /// Hosts that several rules refuse together, or rules and topology.
    pub(super) by_several: Vec<(usize, String)>,
}

impl<'h> MatchingHosts<'h> {
    /// Finds the hosts, and all rules that refuse each.
    pub(super) fn new(hosts: &'h [Host], availability: &[Availability], needs: &Needs<'_>) -> Self {
        let mut all = Self {
            hosts: Vec::new(),
            refused: Vec::new(),
            refused_by: HashMap::new(),
            usable_domains: HashSet::new(),
            by_domain: HashMap::new(),
            domain_counts: vec![0; needs.topology_keys.len()],
        };
        let mut known: HashMap<(Option<ClusterKey>, Vec<String>), usize> = HashMap::new();
        for (index, host) in hosts.iter().enumerate() {
            let mut objections = eligibility::objections(index, host, needs).peekable();
            if objections.peek().is_some_and(|refusal| refusal.is_unasked(needs)) {
                continue;
            }
            all.hosts.push(index);
            let mut rules: Vec<String> = Vec::new();
            let (only, only_rule) = match &availability[index] {
                Availability::Free => (None, None),
                Availability::Only(cluster, refusal) => {
                    (Some(cluster), Some(refusal.rule().to_string()))
                }
                Availability::Refused(refusal) => {
                    rules.push(refusal.rule().to_string());
                    (None, None)
                }
            };
            for refusal in objections.take(RULES_COMPARED) {
                let rule = refusal.rule().to_string();
                if !rules.contains(&rule) {
                    rules.push(rule);
                }
            }
            let keys = needs.topology_keys.iter();
            let domains: Domains<'_> = keys.map(|key| host.domain(key)).collect();
            for domain in numbered(&domains) {
                *all.by_domain.entry(domain).or_default() += 1;
            }
            if rules.is_empty() && only.is_none() {
                all.usable_domains.extend(numbered(&domains));
                continue;
            }
            let at = *known.entry((only.cloned(), rules.clone())).or_insert_with(|| {
                all.refused.push(RefusedHosts {
                    only: only.cloned(),
                    only_rule,
                    rules,
                    by_domains: HashMap::new(),
                    hosts: 0,
                    in_usable: 0,
                });
                all.refused.len() - 1
            });
            let refused = &mut all.refused[at];
            refused.hosts += 1;
            *refused.by_domains.entry(domains.clone()).or_default() += 1;
            all.refused_by.insert(index, (at, domains));
        }
        for refused in &mut all.refused {
            let is_usable = |domains: &Domains<'_>| {
                numbered(domains).any(|domain| all.usable_domains.contains(&domain))
            };
            refused.in_usable = refused.hosts_in(is_usable);
        }
        let mut labelled = vec![0; needs.topology_keys.len()];
        for ((key, _), hosts) in &all.by_domain {
            all.domain_counts[*key] += 1;
            labelled[*key] += hosts;
        }
        for (count, labelled) in all.domain_counts.iter_mut().zip(labelled) {
            *count += all.hosts.len() - labelled;
        }
        all
    }

    /// Returns the number of hosts that a node set does not have. Hosts that are gone do not count.
    pub(super) fn others(&self, demand: &NodeSetDemand<'_>, gone: &BTreeSet<usize>) -> usize {
        let excepted = demand.kept.union(gone).filter(|host| self.contains(**host));
        self.hosts.len() - excepted.count()
    }

    /// Returns the number of domains in which the hosts are, one for each host without the label. Hosts
    /// that are gone do not count.
    pub(super) fn domains(
        &self,
        (at, key): (usize, &str),
        hosts: &[Host],
        gone: &BTreeSet<usize>,
    ) -> usize {
        let mut unlabelled = 0;
        let mut lost: HashMap<&str, usize> = HashMap::new();
        for host in gone.iter().filter(|host| self.contains(**host)) {
            match hosts[*host].domain(key) {
                Some(domain) => *lost.entry(domain).or_default() += 1,
                None => unlabelled += 1,
            }
        }
        let is_lost = |(domain, hosts): &(&&str, &usize)| {
            self.by_domain.get(&(at, **domain)).is_some_and(|all| all == *hosts)
        };
        self.domain_counts[at] - unlabelled - lost.iter().filter(is_lost).count()
    }

    fn contains(&self, host: usize) -> bool {
        self.hosts.binary_search(&host).is_ok()
    }

    /// Returns whether further hosts in these domains do not help a node set.
    fn is_closed(
        &self,
        demand: &NodeSetDemand<'_>,
        limits: &DemandLimits,
        domains: &[Option<&str>],
    ) -> bool {
        numbered(domains).any(|(at, domain)| {
            let key = demand.needs.topology_keys[at];
            let closed = &limits.closed;
            demand.domains.contains(&(key, domain))
                || match closed.key.as_deref() == Some(key) {
                    true => closed.values.contains(domain),
                    false => self.usable_domains.contains(&(at, domain)),
                }
        })
    }

    /// Returns the number of refused hosts in closed domains. Answers ask for it thousands of times, so
    /// with a single topology key it visits few of the domains.
    fn closed_hosts(
        &self,
        refused: &RefusedHosts<'h>,
        demand: &NodeSetDemand<'_>,
        limits: &DemandLimits,
    ) -> usize {
        let key = match demand.needs.topology_keys.as_slice() {
            [] => return 0,
            [key] => key,
            _ => return refused.hosts_in(|domains| self.is_closed(demand, limits, domains)),
        };
        let mut domains: BTreeSet<&str> =
            demand.domains.iter().map(|(_, domain)| *domain).collect();
        let mut hosts = 0;
        if limits.closed.key.as_deref() == Some(key) {
            domains.extend(limits.closed.values.iter().map(String::as_str));
        } else {
            domains.retain(|domain| !self.usable_domains.contains(&(0, *domain)));
            hosts = refused.in_usable;
        }
        let in_domains = domains.into_iter().filter_map(|domain| {
            let domain: &[Option<&str>] = &[Some(domain)];
            refused.by_domains.get(domain)
        });
        hosts + in_domains.sum::<usize>()
    }

    /// Counts the hosts that would help a node set if rules did not refuse them.
    pub(super) fn refused(
        &self,
        demand: &NodeSetDemand<'_>,
        hosts: &[Host],
        gone: &BTreeSet<usize>,
        limits: &DemandLimits,
    ) -> RefusedCounts {
        let is_open = |domains: &Domains<'_>| !self.is_closed(demand, limits, domains);
        // Hosts that are gone or that the node set has cannot help.
        let mut excepted: HashMap<(usize, bool), usize> = HashMap::new();
        for host in demand.kept.union(gone) {
            if let Some((at, domains)) = self.refused_by.get(host) {
                *excepted.entry((*at, is_open(domains))).or_default() += 1;
            }
        }
        // Neither can hosts that a full quota counts, unless it is raised.
        let mut over_quota: HashMap<(usize, bool), usize> = HashMap::new();
        let is_all_over = limits.full_quotas.iter().any(|quota| quota.labels.is_empty());
        if !limits.full_quotas.is_empty() && !is_all_over {
            let is_excepted = |host: &usize| demand.kept.contains(host) || gone.contains(host);
            let refused = self.refused_by.iter();
            for (host, (at, domains)) in refused.filter(|(host, _)| !is_excepted(host)) {
                let mut quotas = limits.full_quotas.iter();
                if quotas.any(|quota| quota.counts(&hosts[*host].labels)) {
                    *over_quota.entry((*at, is_open(domains))).or_default() += 1;
                }
            }
        }
        let (mut by_one, mut by_several) = (BTreeMap::new(), BTreeMap::new());
        for (at, refused) in self.refused.iter().enumerate() {
            let is_own = refused.only.as_ref() == Some(&demand.cluster.key);
            let own_rule = refused.only_rule.iter().filter(|_| !is_own);
            let rules: Vec<&str> = own_rule.chain(&refused.rules).map(String::as_str).collect();
            let closed = self.closed_hosts(refused, demand, limits);
            for (is_in_open, hosts) in [(true, refused.hosts - closed), (false, closed)] {
                let number = |of: &HashMap<(usize, bool), usize>| {
                    let number = of.get(&(at, is_in_open));
                    number.copied().unwrap_or_default()
                };
                let hosts = hosts - number(&excepted);
                let over_quota = if is_all_over { hosts } else { number(&over_quota) };
                let hosts = hosts - over_quota;
                if rules.is_empty() {
                    continue;
                }
                let mut all = rules.join(" and ");
                if !is_in_open {
                    all.push_str(" and in a topology domain of another host");
                }
                if over_quota > 0 {
                    let all = format!("{all} and over a quota");
                    *by_several.entry(all).or_default() += over_quota;
                }
                let counts = match (rules.len(), is_in_open) {
                    (1, true) => &mut by_one,
                    _ => &mut by_several,
                };
                if hosts > 0 {
                    *counts.entry(all).or_default() += hosts;
                }
            }
        }
        let sorted = |counts: BTreeMap<String, usize>| {
            let counts = counts.into_iter().map(|(rule, hosts)| (hosts, rule));
            let mut counts: Vec<(usize, String)> = counts.collect();
            counts.sort_by_key(|(hosts, _)| std::cmp::Reverse(*hosts));
            counts
        };
        RefusedCounts { by_one: sorted(by_one), by_several: sorted(by_several) }
    }
}

impl<'h> RefusedHosts<'h> {
    /// Returns the number of hosts with such domains.
    fn hosts_in(&self, is_in: impl Fn(&Domains<'h>) -> bool) -> usize {
        self.by_domains.iter().filter(|(domains, _)| is_in(domains)).map(|(_, hosts)| hosts).sum()
    }
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
    let others = [(further, "other"), (by_several, "several")];
    let others = others.into_iter().filter_map(|(refused, which)| {
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
