//! The plan: which host each cluster gets, which it keeps, and which it gives back.
//!
//! * `holdings`: who has which host before anything is chosen, by the tree and by labels.
//! * `renaming`: machines that keep their hosts under other names.
//! * `standing`: hosts that one object must not be made of after another one, or an agent erases their spec.
//! * `eligibility`: one rule after the other, why a host may not be taken.
//! * `encrypted`: hosts whose network data would have to be decrypted.
//! * `demand`: what a node set still wants after the hosts that it keeps.
//! * `choose`: chooses hosts for all demands at once, so that a placement is found whenever there is one.
//!   `kinds` and `classes` make its problem small, `matching` solves it, and `crossing` where hosts are to be apart
//!   by labels that cross each other.
//! * `shortage`: the proof that a node set cannot be filled.
//! * `giving_back`: what becomes of the hosts that clusters give back.
//! * `explain`: why each host is where it is, for people.
//! * `machines`: what is asked of machines and what hosts have, for people.
//! * `states`: how every host stands when the plan is carried out, in a word.
//!
//! A plan is a function of the site alone: no files, no clock, no randomness.

mod choose;
mod classes;
mod crossing;
mod demand;
pub(crate) mod eligibility;
mod encrypted;
pub mod explain;
mod giving_back;
mod holdings;
pub(crate) mod kinds;
pub mod machines;
mod matching;
mod renaming;
mod shortage;
mod standing;
pub mod states;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::api::names::{ClusterKey, HostKey, Part};
use crate::finding::Finding;
use crate::output::state::Release;
use crate::request::Cluster;
use crate::site::Site;

use choose::{Chosen, choose};
use demand::Demand;
use eligibility::Availability;
use holdings::{Flaw, Holdings};

pub use shortage::{Reason, Refused, Rival, Shortage, Topology};

/// What is to become of every cluster's hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The hosts of every cluster that is planned.
    pub clusters: BTreeMap<ClusterKey, Placement>,
    /// The node sets that cannot be filled.
    pub shortages: BTreeMap<(ClusterKey, Part), Shortage>,
    /// The clusters whose files stay as they are.
    pub frozen: BTreeSet<ClusterKey>,
    /// The observed hosts that are being given back, those of earlier runs included.
    pub released: BTreeMap<HostKey, Release>,
    /// The declared hosts whose manifests' assignment labels must be patched away.
    pub unlabelled: BTreeSet<HostKey>,
    /// The hosts that this plan takes from clusters, deleted clusters included.
    pub given_back: BTreeMap<ClusterKey, Vec<HostKey>>,
}

/// The hosts of one cluster: indices into the inventory's hosts, in their order.
pub type Placement = BTreeMap<Part, Vec<Assigned>>;

/// A host of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Assigned {
    /// Index into the inventory's hosts.
    pub host: usize,
    /// How the cluster came by it.
    pub how: How,
}

/// How a cluster came by a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum How {
    /// The last run's output has it there.
    Stays,
    /// Labels in the inventory say so, and the output does not yet.
    Adopted,
    /// This plan chose it.
    Added,
}

/// Plans every cluster of the site that is valid and not `frozen`.
///
/// A frozen cluster keeps the hosts that the last run's output gives it. Of those, `left_out` are the ones that nobody
/// asked for in this run: nobody else gets the hosts that they name by MAC addresses. With `rebalance`, hosts that stay but
/// would not be chosen again are moved where that is possible.
///
/// A cluster that cannot be planned has an error among the findings; the rest of the plan is only good for what
/// to report, and a new one, with that cluster frozen, good for writing.
pub fn plan(
    site: &Site,
    frozen: &BTreeSet<ClusterKey>,
    left_out: &BTreeSet<ClusterKey>,
    rebalance: bool,
) -> (Plan, Vec<Finding>) {
    let (plan, findings, renamed) = with_names(site, frozen, left_out, rebalance, true);
    if renamed && !plan.shortages.is_empty() {
        // Another machine may need the host that one has kept under another name.
        let (other, findings, _) = with_names(site, frozen, left_out, rebalance, false);
        if other.shortages.len() < plan.shortages.len() {
            return (other, findings);
        }
    }
    (plan, findings)
}

/// A plan in which machines keep their hosts under other names with `inherit`, and whether there is such a machine.
fn with_names(
    site: &Site,
    frozen: &BTreeSet<ClusterKey>,
    left_out: &BTreeSet<ClusterKey>,
    rebalance: bool,
    inherit: bool,
) -> (Plan, Vec<Finding>, bool) {
    let clusters = in_order(site, frozen);
    let (mut holdings, mut findings) = holdings::read(site, frozen);
    findings.extend(encrypted::needed(site, &clusters));
    let mut placements: BTreeMap<ClusterKey, Placement> = BTreeMap::new();
    for cluster in &clusters {
        let (placement, found) = holdings.keep(cluster, site, inherit);
        placements.insert(cluster.key.clone(), placement);
        findings.extend(found);
    }
    findings.extend(holdings.contested(site));

    let mut released = giving_back::still_released(site);
    released.extend(giving_back::newly_released(site, &holdings));
    let availability = Availability::of_all(site, &holdings.kept_by(), &released, left_out);
    let demands = demands(site, &clusters, &placements, &holdings, rebalance);
    let mut shortages = BTreeMap::new();
    for (demand, chosen) in demands.iter().zip(choose(site, &availability, &demands)) {
        let key = &demand.cluster.key;
        match chosen {
            Ok(chosen) => {
                findings.extend(demand.unlabelled(site, &chosen.added));
                let placement = placements
                    .entry(key.clone())
                    .or_default()
                    .entry(demand.part.clone())
                    .or_default();
                replace(placement, &chosen, key, &mut holdings);
            }
            Err(shortage) => {
                findings.extend(
                    (!shortage.is_of_any_host(demand)).then(|| shortage.finding(site, demand)),
                );
                shortages.insert((key.clone(), demand.part.clone()), *shortage);
            }
        }
    }
    let of_any_host = demands.iter().filter_map(|demand| {
        let shortage = shortages.get(&(demand.cluster.key.clone(), demand.part.clone()))?;
        shortage
            .is_of_any_host(demand)
            .then_some((demand, shortage))
    });
    findings.extend(shortage::of_machines(
        site,
        &of_any_host.collect::<Vec<_>>(),
    ));
    findings.extend(holdings.flawed(site, rebalance));

    let assigned = assigned(&placements, &holdings);
    released.extend(giving_back::newly_released(site, &holdings));
    released.retain(|host, _| {
        site.inventory
            .index(host)
            .is_some_and(|index| !assigned.contains_key(&index))
    });
    findings.extend(giving_back::stuck(site, &released));
    findings.extend(giving_back::surplus(site, &holdings));
    let unlabelled = giving_back::unlabelled(site, &holdings, &assigned);
    let given_back = giving_back::by_cluster(site, &holdings, &assigned);
    placements
        .values_mut()
        .for_each(|placement| placement.retain(|_, assigned| !assigned.is_empty()));
    let plan = Plan {
        clusters: placements,
        shortages,
        frozen: frozen.clone(),
        released,
        unlabelled,
        given_back,
    };
    (plan, findings, holdings.renamed)
}

/// The clusters to plan, in the order in which they are served: by priority, namespace and name.
fn in_order<'a>(site: &'a Site, frozen: &BTreeSet<ClusterKey>) -> Vec<&'a Cluster> {
    let valid = site
        .clusters
        .values()
        .filter_map(|request| request.cluster.as_ref());
    let mut clusters: Vec<&Cluster> = valid
        .filter(|cluster| !frozen.contains(&cluster.key))
        .collect();
    clusters.sort_by_key(|cluster| (Reverse(cluster.priority), &cluster.key));
    clusters
}

/// What every node set wants. A host that is being deleted gives way to a spare one; so does one that has failed, or
/// with `rebalance` is not what its node set wants, but not while a Machine consumes it.
fn demands<'a>(
    site: &'a Site,
    clusters: &[&'a Cluster],
    placements: &BTreeMap<ClusterKey, Placement>,
    holdings: &Holdings<'_>,
    rebalance: bool,
) -> Vec<Demand<'a>> {
    let gives_way = |part: &Part, host: usize| {
        let in_use = eligibility::in_use_as(&site.inventory.hosts[host], part).is_some();
        match holdings.flaws.get(&host) {
            Some(Flaw::Deleting) => true,
            Some(Flaw::Failed) => !in_use,
            Some(Flaw::NotSelected | Flaw::Insufficient | Flaw::SharesDomain) => {
                rebalance && !in_use
            }
            None => false,
        }
    };
    let node_sets = clusters
        .iter()
        .flat_map(|cluster| cluster.node_sets.iter().map(|set| (*cluster, set)));
    let demand = |(cluster, (part, node_set)): (&'a Cluster, (&'a Part, &'a _))| {
        let kept = placements
            .get(&cluster.key)
            .and_then(|placement| placement.get(part));
        Demand::new(
            site,
            cluster,
            part,
            node_set,
            kept.map_or(&[], Vec::as_slice),
            |host| gives_way(part, host),
        )
    };
    node_sets.map(demand).collect()
}

/// Puts the chosen hosts into a placement, and takes those out in whose place they come.
fn replace<'a>(
    placement: &mut Vec<Assigned>,
    chosen: &Chosen,
    cluster: &'a ClusterKey,
    holdings: &mut Holdings<'a>,
) {
    for host in &chosen.replaced {
        if let Some(at) = placement.iter().position(|assigned| assigned.host == *host) {
            let assigned = placement.remove(at);
            holdings.give_back(cluster, assigned.host, assigned.how);
        }
    }
    placement.extend(chosen.added.iter().map(|host| Assigned {
        host: *host,
        how: How::Added,
    }));
    placement.sort();
}

/// Whose each assigned host is, those of frozen clusters included.
fn assigned<'a>(
    placements: &'a BTreeMap<ClusterKey, Placement>,
    holdings: &Holdings<'a>,
) -> BTreeMap<usize, &'a ClusterKey> {
    let planned = placements.iter().flat_map(|(cluster, placement)| {
        placement
            .values()
            .flatten()
            .map(move |assigned| (assigned.host, cluster))
    });
    holdings.kept_by().into_iter().chain(planned).collect()
}
