//! The strategy that chooses hosts: first come, first served.
//!
//! Clusters choose in the order of namespace and name, control plane before workers, and take the first hosts
//! that are free, in the inventory's order. A cluster gets all that it needs or nothing. That may leave a later
//! cluster without hosts although another choice would have served both.
//!
//! Cost: hosts that meet the same needs are worked out once, grouped by topology domain, and every host that is
//! gone is passed over once; so the whole is near-linear in hosts and in clusters.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use kube::core::Expression;

use super::demand::Demand;
use super::eligibility::{self, Availability, Needs, Refusal};
use super::shortage::Shortage;
use crate::site::{Cluster, Host, Site};

/// Chooses hosts for all demands, which come cluster by cluster. For each, as many hosts as are missing, or why
/// there are not so many.
pub(super) fn choose(
    site: &Site,
    availability: &[Availability],
    demands: &[Demand<'_>],
) -> Vec<Result<Vec<usize>, Shortage>> {
    let hosts = &site.inventory.hosts;
    let mut index = LabelIndex::default();
    let mut candidates = BTreeMap::new();
    let mut takers: HashMap<usize, &Cluster> = HashMap::new();
    let mut results = Vec::with_capacity(demands.len());
    for of_cluster in demands.chunk_by(|a, b| a.cluster.key == b.cluster.key) {
        let mut chosen: BTreeSet<usize> = BTreeSet::new();
        let mut complete = true;
        for demand in of_cluster {
            let mut picks = Vec::new();
            let mut domains = demand.domains.clone();
            if demand.missing > 0 {
                candidates
                    .entry(demand.needs.key())
                    .or_insert_with(|| Candidates::find(hosts, &mut index, availability, &demand.needs))
                    .pick(demand, &mut domains, &mut picks, |host| {
                        if takers.contains_key(&host) {
                            Pick::Gone
                        } else if chosen.contains(&host) || availability[host].refuses(&demand.cluster.key).is_some() {
                            Pick::NotNow
                        } else {
                            Pick::Take
                        }
                    });
            }
            chosen.extend(&picks);
            if picks.len() == demand.missing {
                results.push(Ok(picks));
                continue;
            }
            complete = false;
            let refusal = |index: usize, host: &Host| {
                let taken = || {
                    let taker = if chosen.contains(&index) { Some(&demand.cluster) } else { takers.get(&index) };
                    taker.map(|cluster| Refusal::Assigned(cluster.key.clone()))
                };
                eligibility::unfit(host, &demand.needs)
                    .filter(|refusal| *refusal == Refusal::NotSelected)
                    .or_else(|| availability[index].refuses(&demand.cluster.key).cloned())
                    .or_else(taken)
                    .or_else(|| eligibility::unfit(host, &demand.needs))
                    .or_else(|| domain_taken(host, &demand.needs, &domains))
            };
            let is_its_own = |index: &usize| demand.kept.contains(index) || picks.contains(index);
            let refused = hosts.iter().enumerate().filter(|(index, _)| !is_its_own(index));
            let refusals = refused.filter_map(|(index, host)| Some((index, refusal(index, host)?))).collect();
            results.push(Err(Shortage { found: picks.len(), refusals }));
        }
        if complete {
            takers.extend(chosen.into_iter().map(|host| (host, of_cluster[0].cluster)));
        }
    }
    results
}

fn domain_taken(host: &Host, needs: &Needs<'_>, domains: &BTreeSet<&str>) -> Option<Refusal> {
    let key = needs.topology_key?;
    let domain = eligibility::domain(host, key).filter(|domain| domains.contains(domain))?;
    Some(Refusal::DomainTaken { key: key.to_owned(), domain: domain.to_owned() })
}

/// What can be done with a candidate.
enum Pick {
    Take,
    /// It is not for this demand, but may be for another.
    NotNow,
    /// It is taken for good.
    Gone,
}

/// The hosts that meet certain needs, by topology domain; the domains in the order of their first hosts.
struct Candidates<'a> {
    queues: Vec<Queue<'a>>,
    /// The queues before this one are empty.
    first: usize,
}

/// The candidates of one topology domain, or all of them where the needs name none.
struct Queue<'a> {
    domain: Option<&'a str>,
    hosts: Vec<usize>,
    /// The hosts before this one are gone.
    first: usize,
}

impl<'a> Candidates<'a> {
    fn find(hosts: &'a [Host], index: &mut LabelIndex<'a>, availability: &[Availability], needs: &Needs<'_>) -> Self {
        let mut queues: Vec<Queue<'a>> = Vec::new();
        let mut by_domain: HashMap<Option<&str>, usize> = HashMap::new();
        for host in index.matching(hosts, needs) {
            let refused = matches!(availability[host], Availability::Refused(_));
            if refused || eligibility::unfit(&hosts[host], needs).is_some() {
                continue;
            }
            let domain = needs.topology_key.and_then(|key| eligibility::domain(&hosts[host], key));
            let queue = *by_domain.entry(domain).or_insert_with(|| {
                queues.push(Queue { domain, hosts: Vec::new(), first: 0 });
                queues.len() - 1
            });
            queues[queue].hosts.push(host);
        }
        Self { queues, first: 0 }
    }

    /// Picks until nothing is missing, and notes the domains of the picks.
    fn pick(
        &mut self,
        demand: &Demand<'_>,
        domains: &mut BTreeSet<&'a str>,
        picks: &mut Vec<usize>,
        judge: impl Fn(usize) -> Pick,
    ) {
        while self.queues.get(self.first).is_some_and(Queue::is_empty) {
            self.first += 1;
        }
        for queue in &mut self.queues[self.first..] {
            if queue.domain.is_some_and(|domain| domains.contains(domain)) {
                continue;
            }
            for at in queue.first..queue.hosts.len() {
                if picks.len() == demand.missing {
                    return;
                }
                match judge(queue.hosts[at]) {
                    Pick::Gone if at == queue.first => queue.first += 1,
                    Pick::Gone | Pick::NotNow => {}
                    Pick::Take => {
                        picks.push(queue.hosts[at]);
                        if let Some(domain) = queue.domain {
                            domains.insert(domain);
                            break;
                        }
                    }
                }
            }
        }
    }
}

impl Queue<'_> {
    fn is_empty(&self) -> bool {
        self.first == self.hosts.len()
    }
}

/// Which hosts have which value of a label; made for a label when a selector first asks for it.
#[derive(Default)]
struct LabelIndex<'a> {
    by_label: HashMap<String, HashMap<&'a str, Vec<usize>>>,
}

impl<'a> LabelIndex<'a> {
    /// Hosts in their order, among them all that the selector of the needs matches.
    fn matching(&mut self, hosts: &'a [Host], needs: &Needs<'_>) -> Vec<usize> {
        let mut best: Option<Vec<usize>> = None;
        for expression in needs.selector.clone() {
            let (key, values) = match expression {
                Expression::Equal(key, value) => (key, BTreeSet::from([value])),
                Expression::In(key, values) => (key, values),
                _ => continue,
            };
            let hosts_of = self.values_of(hosts, &key);
            let mut matching: Vec<usize> =
                values.iter().filter_map(|value| hosts_of.get(value.as_str())).flatten().copied().collect();
            if best.as_ref().is_none_or(|best| matching.len() < best.len()) {
                matching.sort_unstable();
                best = Some(matching);
            }
        }
        best.unwrap_or_else(|| (0..hosts.len()).collect())
    }

    fn values_of(&mut self, hosts: &'a [Host], key: &str) -> &HashMap<&'a str, Vec<usize>> {
        self.by_label.entry(key.to_owned()).or_insert_with(|| {
            let mut values: HashMap<&str, Vec<usize>> = HashMap::new();
            for (index, host) in hosts.iter().enumerate() {
                if let Some(value) = host.labels.get(key) {
                    values.entry(value).or_default().push(index);
                }
            }
            values
        })
    }
}
