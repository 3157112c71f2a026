//! Chooses hosts for all demands at once.
//!
//! Clusters are served in the order of their demands. Each is accepted exactly if it can be served
//! together with all clusters before it. Those may get other new hosts for it, so neither the order
//! of hosts nor that of node sets prevents a placement. Retained hosts never move.
//!
//! Clusters that compete for the same hosts are served by `crossing` if their topology keys cross
//! each other, or if they could exceed a quota. All others are a flow.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::crossing;
use super::demand::NodeSetDemand;
use super::eligibility::{self, Availability, Refusal};
use super::flow_network::Instance;
use super::host_classes::{HostClasses, HostSupply};
use super::matching::Matching;
use super::quotas::QuotaUse;
use super::search_result::{SearchResult, ShortDemand, replace_each};
use super::shortage::{Shortage, ShortageExplanation, UnservedDemand};
use super::shortage_causes::{MatchingHosts, ShortageCauses};
use crate::base::api::names::ClusterKey;
use crate::site::Site;

/// Maximum number of shortages that list refused hosts, because each list requires a pass over all
/// hosts.
const MAX_EXPLAINED: usize = 100;

/// Hosts chosen for a demand.
#[derive(Debug, Clone, Default)]
pub(super) struct ChosenHosts {
    pub(super) added: Vec<usize>,
    /// Retained hosts of the node set that some added hosts replace.
    pub(super) replaced: Vec<usize>,
}

/// Chooses hosts for all demands, which are grouped by cluster. Returns for each demand the chosen
/// hosts, or the reason why there are too few.
pub(super) fn choose(
    site: &Site,
    supply: HostSupply<'_, '_>,
    demands: &[NodeSetDemand<'_>],
    quotas: &[QuotaUse],
) -> Vec<Result<ChosenHosts, Box<Shortage>>> {
    let mut results: Vec<Result<ChosenHosts, Box<Shortage>>> =
        demands.iter().map(|_| Ok(ChosenHosts::default())).collect();
    if demands.is_empty() {
        return results;
    }
    let classes = HostClasses::for_demands(supply, demands, quotas, site.rack_label.as_deref());
    let Some(instance) = Instance::new(&classes, supply.gone, demands, quotas) else {
        return results;
    };
    let SearchResult { picks, replaced, unserved } = search(&instance, crossing::STEPS);

    // Hosts of a class are interchangeable, so picks take them in inventory order.
    let mut next: HashMap<usize, _> = HashMap::new();
    let mut takers: HashMap<usize, &ClusterKey> = HashMap::new();
    for (index, (picks, replaced)) in picks.iter().zip(replaced).enumerate() {
        let hosts = picks.iter().filter_map(|pick| {
            let hosts = || instance.hosts(pick.class);
            next.entry(pick.class).or_insert_with(hosts).next()
        });
        let added: Vec<usize> = hosts.collect();
        takers.extend(added.iter().map(|host| (*host, &demands[index].cluster.key)));
        results[index] = Ok(ChosenHosts { added, replaced });
    }
    // They had a host, or claim one.
    let preferred: HashSet<&ClusterKey> =
        supply.availability.iter().filter_map(Availability::only).collect();
    let mut explanations: HashMap<_, Arc<ShortageExplanation>> = HashMap::new();
    let mut matching: HashMap<usize, MatchingHosts<'_>> = HashMap::new();
    for (told, short) in unserved.into_iter().enumerate() {
        let unserved = UnservedDemand::new(&instance, &picks, short);
        let index = unserved.index;
        let demand = &demands[index];
        let pool = instance.problem.demands[index].pool;
        let matching =
            matching.entry(pool).or_insert_with(|| MatchingHosts::new(supply, &demand.needs));
        let causes = ShortageCauses::new(matching, supply, demand, &unserved.limits);
        let is_listed = told < MAX_EXPLAINED;
        // Demands of a pool have equal requirements.
        let is_alike = demand.kept.is_empty() && !preferred.contains(&demand.cluster.key);
        let key = (pool, is_listed, (!is_alike).then_some(index));
        let explanation = explanations.entry(key).or_insert_with(|| {
            let refusals = if is_listed { refusals(supply, demand, &takers) } else { Vec::new() };
            Arc::new(ShortageExplanation::new(site, demand, &causes, &refusals))
        });
        let shortage = Shortage::new(site, demand, unserved, causes, explanation.clone());
        results[index] = Err(Box::new(shortage));
    }
    results
}

/// Returns the demands that cannot be served. `classes` may have those of other demands. Returns `None`
/// if they lack those of some.
pub(super) fn unserved<'a>(
    classes: &'a HostClasses<'a>,
    gone: &'a BTreeSet<usize>,
    demands: &'a [NodeSetDemand<'a>],
    quotas: &'a [QuotaUse],
) -> Option<Vec<UnservedDemand>> {
    let instance = Instance::new(classes, gone, demands, quotas)?;
    let SearchResult { picks, unserved, .. } = search(&instance, crossing::STEPS_OF_QUESTION);
    let unserved = unserved.into_iter();
    Some(unserved.map(|short| UnservedDemand::new(&instance, &picks, short)).collect())
}

/// Serves all demands, with a limit of steps for those whose keys cross each other.
fn search(instance: &Instance<'_>, steps: u64) -> SearchResult {
    let demands = &instance.problem.demands;
    let all: Vec<usize> = (0..demands.len()).collect();
    let clusters = all.chunk_by(|a, b| demands[*a].group == demands[*b].group);
    let crosses = crossing_demands(instance);
    let (crossing, others): (Vec<&[usize]>, Vec<&[usize]>) =
        clusters.partition(|cluster| crosses[cluster[0]]);
    let mut served = serve(instance, &others);
    if !crossing.is_empty() {
        crossing::serve(instance, &crossing, steps, &mut served);
        served.unserved.sort_by_key(|unserved| unserved.index);
    }
    served
}

/// Returns for each demand whether `crossing` has to serve it. That holds if topology keys cross
/// each other, or a quota or a skew binds, for a demand that competes with it, directly or through others.
fn crossing_demands(instance: &Instance<'_>) -> Vec<bool> {
    let problem = &instance.problem;
    let crossing = problem.demands.iter().zip(instance.demands).map(|(of, demand)| {
        let is_crossing = !instance.pools[of.pool].crossing.is_empty();
        !of.quotas.is_empty() || is_crossing || !demand.spreads.is_empty()
    });
    let mut crossing: Vec<bool> = crossing.collect();
    while crossing.contains(&true) {
        let found = problem.demands.iter().zip(&crossing).filter(|(_, crosses)| **crosses);
        let (groups, pools): (HashSet<usize>, HashSet<usize>) =
            found.map(|(demand, _)| (demand.group, demand.pool)).unzip();
        let mut is_wanted = vec![false; problem.capacities.len()];
        let classes = pools.iter().flat_map(|pool| problem.pools[*pool].classes());
        classes.for_each(|class| is_wanted[class] = true);
        let rivals: Vec<bool> =
            problem.pools.iter().map(|pool| pool.classes().any(|class| is_wanted[class])).collect();
        let competing = problem.demands.iter().map(|demand| {
            pools.contains(&demand.pool) || groups.contains(&demand.group) || rivals[demand.pool]
        });
        let before = std::mem::replace(&mut crossing, competing.collect());
        if crossing == before {
            break;
        }
    }
    crossing
}

/// Serves clusters one by one and then replaces hosts by spare ones.
fn serve(instance: &Instance<'_>, clusters: &[&[usize]]) -> SearchResult {
    let problem = &instance.problem;
    let mut matching = Matching::new(problem);
    let mut unserved = Vec::new();
    let mut accepted: Vec<usize> = Vec::new();
    // Clusters refused by the current flow. A cluster with equal demands is refused for the same
    // reason, so it needs no search.
    let mut refused: HashMap<Vec<_>, (&[usize], Vec<ShortDemand>)> = HashMap::new();
    for &cluster in clusters {
        let demands = cluster.iter().map(|index| &problem.demands[*index]);
        let requests: Vec<_> =
            demands.map(|of| (of.reserving, of.pool, of.missing, &of.load, &of.taken)).collect();
        if let Some((other, reasons)) = refused.get(&requests) {
            let reasons = reasons.iter();
            unserved.extend(reasons.map(|reason| reason.translated(other, cluster)));
            continue;
        }
        let reroutes = matching.reroutes;
        let result = matching.accept(cluster);
        let is_changed = result.is_ok() || matching.reroutes > reroutes;
        if is_changed {
            refused.clear();
        }
        match result {
            Ok(()) => accepted.extend(cluster),
            Err(cuts) => {
                let cuts = cuts.into_iter();
                let reasons: Vec<ShortDemand> =
                    cuts.map(|cut| ShortDemand::by_cut(problem, cut)).collect();
                unserved.extend(reasons.iter().cloned());
                if !is_changed {
                    refused.insert(requests, (cluster, reasons));
                }
            }
        }
    }
    let mut replaced = vec![Vec::new(); problem.demands.len()];
    for index in accepted {
        replaced[index] = replace_each(instance.demands[index].replaceable.clone(), |host| {
            matching.accept_one_more(index, &instance.left_by(host, index))
        });
    }
    matching.balance();
    matching.settle(|_| true);
    SearchResult { picks: matching.picks, replaced, unserved }
}

/// Returns the refusal of each host; `None` for an acceptable host.
fn refusals(
    supply: HostSupply<'_, '_>,
    demand: &NodeSetDemand<'_>,
    takers: &HashMap<usize, &ClusterKey>,
) -> Vec<(usize, Option<Refusal>)> {
    let others = supply
        .hosts
        .iter()
        .enumerate()
        .filter(|(index, _)| !supply.gone.contains(index) && !demand.kept.contains(index));
    others
        .map(|(index, host)| {
            let availability = &supply.availability[index];
            let is_open = availability.refuses(&demand.cluster.key).is_none();
            let taker = takers.get(&index).filter(|_| is_open);
            let taken = taker.map(|key| Availability::Refused(Refusal::Assigned((*key).clone())));
            let availability = taken.as_ref().unwrap_or(availability);
            (index, eligibility::refusal(index, host, demand, availability))
        })
        .collect()
}
