//! The plan: which host each cluster gets, which it keeps, and which it gives back.
//!
//! * `holdings`: who has which host before anything is chosen, by the tree and by labels.
//! * `eligibility`: one rule after the other, why a host may not be taken.
//! * `demand`: what a node set still wants after the hosts that it keeps.
//! * `greedy`: chooses among the hosts that may be; the one part that another strategy would replace.
//! * `shortage`: tells why a node set could not be filled.
//! * `giving_back`: what becomes of the hosts that clusters give back.
//!
//! A plan is a function of the site alone: no files, no clock, no randomness.

mod demand;
mod eligibility;
mod giving_back;
mod greedy;
mod holdings;
mod shortage;

use std::collections::{BTreeMap, BTreeSet};

use crate::api::names::{ClusterKey, HostKey, Role};
use crate::finding::Finding;
use crate::site::state::Release;
use crate::site::{Cluster, Site};

use demand::Demand;
use eligibility::Availability;

/// What is to become of every cluster's hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The hosts of every cluster that is planned.
    pub clusters: BTreeMap<ClusterKey, Placement>,
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
pub type Placement = BTreeMap<Role, Vec<Assigned>>;

/// A host of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Assigned {
    /// Index into the inventory's hosts.
    pub host: usize,
    /// How the cluster came by it.
    pub how: How,
}

/// How a cluster came by a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
/// A frozen cluster keeps the hosts that the last run's output gives it. A cluster that cannot be planned has
/// an error among the findings; the rest of the plan is only good for what to report, and a new one, with that
/// cluster frozen, good for writing.
pub fn plan(site: &Site, frozen: &BTreeSet<ClusterKey>) -> (Plan, Vec<Finding>) {
    let (mut holdings, mut findings) = holdings::read(site, frozen);
    let mut placements: BTreeMap<ClusterKey, Placement> = BTreeMap::new();
    for cluster in planned(site, frozen) {
        placements.insert(cluster.key.clone(), holdings.keep(cluster, site));
    }
    findings.extend(holdings.contested(site));

    let mut released = giving_back::still_released(site);
    released.extend(giving_back::newly_released(site, &holdings));
    let availability = Availability::of_all(site, &holdings, &released);

    let demands: Vec<Demand<'_>> = planned(site, frozen)
        .flat_map(|cluster| cluster.node_sets.iter().map(move |(role, node_set)| (cluster, *role, node_set)))
        .map(|(cluster, role, node_set)| {
            let kept = placements[&cluster.key].get(&role).map_or(&[][..], Vec::as_slice);
            Demand::new(site, cluster, role, node_set, kept)
        })
        .collect();
    for (demand, chosen) in demands.iter().zip(greedy::choose(site, &availability, &demands)) {
        match chosen {
            Ok(hosts) => {
                let added = hosts.into_iter().map(|host| Assigned { host, how: How::Added });
                let placement = placements.entry(demand.cluster.key.clone()).or_default();
                let assigned = placement.entry(demand.role).or_default();
                assigned.extend(added);
                assigned.sort();
            }
            Err(shortage) => findings.push(shortage.explain(site, demand)),
        }
    }

    let of_frozen =
        holdings.kept.iter().flat_map(|(host, keepers)| keepers.iter().map(|(cluster, ..)| (*host, *cluster)));
    let of_planned = placements
        .iter()
        .flat_map(|(cluster, placement)| placement.values().flatten().map(move |assigned| (assigned.host, cluster)));
    let assigned: BTreeMap<usize, &ClusterKey> = of_frozen.chain(of_planned).collect();
    released.retain(|host, _| site.inventory.index(host).is_some_and(|index| !assigned.contains_key(&index)));
    findings.extend(giving_back::stuck(site, &released));
    findings.extend(giving_back::surplus(site, &holdings));
    let unlabelled = giving_back::unlabelled(site, &holdings, &assigned);
    let given_back = giving_back::by_cluster(site, &holdings, &assigned);
    (Plan { clusters: placements, frozen: frozen.clone(), released, unlabelled, given_back }, findings)
}

/// The clusters to plan, in the order in which they choose: by namespace and name.
fn planned<'a>(site: &'a Site, frozen: &'a BTreeSet<ClusterKey>) -> impl Iterator<Item = &'a Cluster> {
    site.clusters
        .values()
        .filter_map(|request| request.cluster.as_ref())
        .filter(|cluster| !frozen.contains(&cluster.key))
}
