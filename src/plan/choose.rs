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
use super::eligibility::{self, Refusal};
use super::flow_network::Instance;
use super::host_classes::HostClasses;
use super::matching::{FlowDemand, Matching};
use super::quotas::QuotaUse;
use super::search_result::{HostBounds, SearchResult, ShortDemand, replace_each};
use super::shortage::{Shortage, ShortageExplanation, ShortageReason};
use super::shortage_causes::{DemandLimits, MatchingHosts, ShortageCauses};
use super::supply::HostSupply;
use crate::site::Site;
use crate::site::inventory::Host;
use crate::site::request::Cluster;

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
    supply: HostSupply<'_>,
    demands: &[NodeSetDemand<'_>],
    quotas: &[QuotaUse],
) -> Vec<Result<ChosenHosts, Box<Shortage>>> {
    let mut results: Vec<Result<ChosenHosts, Box<Shortage>>> =
        demands.iter().map(|_| Ok(ChosenHosts::default())).collect();
    let open = open(demands);
    if open.is_empty() {
        return results;
    }
    let classes =
        HostClasses::for_demands(supply, demands, &open, quotas, site.rack_label.as_deref());
    let Some(instance) = Instance::new(&classes, supply.gone, demands, &open, quotas) else {
        return results;
    };
    let served = search(&instance, supply.hosts, demands, &open, crossing::STEPS);

    // Hosts of a class are interchangeable, so picks take them in inventory order.
    let mut next: HashMap<usize, _> = HashMap::new();
    let mut takers: HashMap<usize, &Cluster> = HashMap::new();
    for (index, (picks, replaced)) in served.picks.iter().zip(served.replaced).enumerate() {
        let added: Vec<usize> = picks
            .iter()
            .filter_map(|pick| {
                let hosts = || instance.hosts(pick.class);
                next.entry(pick.class).or_insert_with(hosts).next()
            })
            .collect();
        takers.extend(added.iter().map(|host| (*host, demands[open[index]].cluster)));
        results[open[index]] = Ok(ChosenHosts { added, replaced });
    }
    let preferred = supply.preferred_clusters();
    let mut explanations: HashMap<_, Arc<ShortageExplanation>> = HashMap::new();
    let mut matching: HashMap<usize, MatchingHosts<'_>> = HashMap::new();
    for (told, ShortDemand { index, found, why }) in served.unserved.into_iter().enumerate() {
        let demand = &demands[open[index]];
        let pool = instance.problem.demands[index].pool;
        let matching = matching.entry(pool).or_insert_with(|| {
            MatchingHosts::new(supply.hosts, supply.availability, &demand.needs)
        });
        let limits = DemandLimits::new(&instance, &served.picks, index, &why);
        let causes = ShortageCauses::new(matching, supply.hosts, demand, supply.gone, &limits);
        let reason = ShortageReason::new(why, demands, &open, quotas);
        let is_listed = told < MAX_EXPLAINED;
        // Demands of a pool have equal requirements.
        let is_alike = demand.kept.is_empty() && !preferred.contains(&demand.cluster.key);
        let key = (pool, is_listed, (!is_alike).then_some(index));
        let explanation = explanations.entry(key).or_insert_with(|| {
            let refusals = is_listed.then(|| refusals(supply, demand, &takers));
            let refusals = refusals.unwrap_or_default();
            Arc::new(ShortageExplanation::new(site, demand, &causes, &refusals))
        });
        let explanation = explanation.clone();
        let shortage = Shortage::new(site, demand, found, explanation, causes, reason);
        results[open[index]] = Err(Box::new(shortage));
    }
    results
}

/// A demand that cannot be served.
pub(super) struct UnservedDemand {
    /// Its index.
    pub(super) index: usize,
    pub(super) found: HostBounds,
    pub(super) reason: ShortageReason,
    pub(super) limits: DemandLimits,
}

/// Returns the demands that cannot be served. `classes` may have those of other demands. Returns `None`
/// if they lack those of some.
pub(super) fn unserved<'a>(
    classes: &'a HostClasses<'a>,
    gone: &'a BTreeSet<usize>,
    demands: &[NodeSetDemand<'a>],
    quotas: &'a [QuotaUse],
) -> Option<Vec<UnservedDemand>> {
    let open = open(demands);
    let instance = Instance::new(classes, gone, demands, &open, quotas)?;
    let steps = crossing::STEPS_OF_QUESTION;
    let served = search(&instance, classes.hosts, demands, &open, steps);
    let unserved = served.unserved.into_iter();
    let unserved = unserved.map(|ShortDemand { index, found, why }| UnservedDemand {
        index: open[index],
        found,
        limits: DemandLimits::new(&instance, &served.picks, index, &why),
        reason: ShortageReason::new(why, demands, &open, quotas),
    });
    Some(unserved.collect())
}

fn open(demands: &[NodeSetDemand<'_>]) -> Vec<usize> {
    let all = 0..demands.len();
    all.filter(|demand| demands[*demand].is_open()).collect()
}

/// Serves the open demands, with a limit of steps for those whose keys cross each other.
fn search(
    instance: &Instance<'_>,
    hosts: &[Host],
    demands: &[NodeSetDemand<'_>],
    open: &[usize],
    steps: u64,
) -> SearchResult {
    let all: Vec<usize> = (0..open.len()).collect();
    let clusters =
        all.chunk_by(|a, b| demands[open[*a]].cluster.key == demands[open[*b]].cluster.key);
    let crosses = crossing_demands(instance);
    let (crossing, others): (Vec<&[usize]>, Vec<&[usize]>) =
        clusters.partition(|cluster| crosses[cluster[0]]);
    let mut served = serve(instance, others.into_iter(), |index| &demands[open[index]]);
    if !crossing.is_empty() {
        let crossing_demands: Vec<(usize, &NodeSetDemand<'_>)> = crossing
            .iter()
            .copied()
            .flatten()
            .map(|index| (*index, &demands[open[*index]]))
            .collect();
        let crossing = crossing.into_iter();
        served.join(crossing::serve(instance, hosts, &crossing_demands, crossing, steps));
    }
    served
}

/// Returns for each demand whether `crossing` has to serve it. That holds if topology keys cross
/// each other, or a quota or a skew binds, for a demand that competes with it, directly or through others.
fn crossing_demands(instance: &Instance<'_>) -> Vec<bool> {
    let problem = &instance.problem;
    let crossing = problem.demands.iter().zip(&instance.spreads).map(|(demand, spreads)| {
        let is_crossing = !instance.pools[demand.pool].crossing.is_empty();
        !demand.quotas.is_empty() || is_crossing || !spreads.is_empty()
    });
    let mut crossing: Vec<bool> = crossing.collect();
    while crossing.contains(&true) {
        let found = problem.demands.iter().zip(&crossing).filter(|(_, crosses)| **crosses);
        let found: Vec<&FlowDemand> = found.map(|(demand, _)| demand).collect();
        let groups: HashSet<usize> = found.iter().map(|demand| demand.group).collect();
        let pools: HashSet<usize> = found.iter().map(|demand| demand.pool).collect();
        let mut is_wanted = vec![false; problem.capacities.len()];
        let classes = pools.iter().flat_map(|pool| problem.pools[*pool].classes());
        classes.for_each(|class| is_wanted[class] = true);
        let rivals = problem.pools.iter().map(|pool| pool.classes().any(|class| is_wanted[class]));
        let rivals: Vec<bool> = rivals.collect();
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
fn serve<'i, 'd>(
    instance: &Instance<'_>,
    clusters: impl Iterator<Item = &'i [usize]>,
    demand: impl Fn(usize) -> &'d NodeSetDemand<'d>,
) -> SearchResult {
    let problem = &instance.problem;
    let mut matching = Matching::new(problem);
    let mut unserved = Vec::new();
    let mut accepted: Vec<usize> = Vec::new();
    // Clusters refused by the current flow. A cluster with equal demands is refused for the same
    // reason, so it needs no search.
    let mut refused: HashMap<Vec<_>, (&[usize], Vec<ShortDemand>)> = HashMap::new();
    for cluster in clusters {
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
        let demand = demand(index);
        replaced[index] = replace_each(demand.replaceable.clone(), |host| {
            matching.accept_one_more(index, &instance.left_by(host, index, demand))
        });
    }
    matching.balance();
    matching.settle(|_| true);
    SearchResult { picks: matching.picks, replaced, unserved }
}

/// Returns the refusal of each host; `None` for an acceptable host.
fn refusals(
    supply: HostSupply<'_>,
    demand: &NodeSetDemand<'_>,
    takers: &HashMap<usize, &Cluster>,
) -> Vec<(usize, Option<Refusal>)> {
    let others = supply.existing().filter(|(index, _)| !demand.kept.contains(index));
    others
        .map(|(index, host)| {
            let asker = demand
                .asker(&supply.availability[index], takers.get(&index).map(|cluster| &cluster.key));
            (index, eligibility::refusal(index, host, &asker))
        })
        .collect()
}
