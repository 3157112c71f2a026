//! Further clusters like those of a site.

use std::collections::HashSet;
use std::sync::Arc;

use rayon::prelude::*;

use super::{ClusterCopies, CopyMix, CopyShare, ScarceNodeSet, name_originals, scarce};
use crate::base::api::names::{ClusterKey, ObjectName};
use crate::base::api::reservation::Tenants;
use crate::base::grouping::grouped_in_order;
use crate::plan::ask::{PlanHypothesis, PlannedSite, is_proven, largest};
use crate::site::Site;
use crate::site::request::Cluster;

/// Returns whether a copy of a cluster can exist.
pub(super) fn is_copyable(cluster: &Cluster) -> bool {
    hosts_of(cluster) > 0 && !cluster.node_sets.values().any(|set| set.is_named())
}

/// Returns the number of hosts of a copy.
fn hosts_of(cluster: &Cluster) -> usize {
    cluster.node_sets.values().map(|node_set| node_set.wanted()).sum()
}

/// Returns how many copies of each cluster fit. Equal requests have equal answers.
pub(super) fn copies(planned: &PlannedSite<'_>, clusters: &[&Cluster]) -> Vec<ClusterCopies> {
    let alike =
        grouped_in_order(clusters.iter().map(|cluster| (planned.request(cluster), *cluster)));
    let answers = alike.par_iter().flat_map_iter(|(_, alike)| {
        let one: Vec<(&Cluster, usize)> = alike.iter().take(1).map(|it| (*it, 1)).collect();
        let sets = sets(planned, &one);
        alike.iter().map(move |cluster| {
            let key = &cluster.key;
            let scarce =
                sets.scarce.iter().map(|it| ScarceNodeSet { cluster: key.clone(), ..it.clone() });
            ClusterCopies {
                cluster: key.clone(),
                hosts: sets.hosts,
                fit: sets.fit,
                is_proven: sets.is_proven,
                scarce: scarce.collect(),
            }
        })
    });
    let mut copies: Vec<ClusterCopies> = answers.collect();
    copies.sort_by(|a, b| a.cluster.cmp(&b.cluster));
    copies
}

/// Returns how many sets of copies fit.
pub(super) fn sets(planned: &PlannedSite<'_>, mix: &[(&Cluster, usize)]) -> CopyMix {
    let site = planned.site;
    let per_set: usize = mix.iter().map(|(_, copies)| copies).sum();
    let copies = |count: usize| copied(site, mix).take(count * per_set);
    let fits = |count: usize| {
        let copies: Vec<Cluster> = copies(count).map(|(copy, _)| copy).collect();
        let hypothesis = PlanHypothesis { more: &copies, ..PlanHypothesis::default() };
        planned.is_served(&hypothesis)
    };
    // There may be far more hosts than copies that fit, so few copies are tried first.
    let mut high = 1;
    while fits(high) {
        high *= 2;
    }
    let low = high / 2;
    let fit = low + largest(high - 1 - low, |count| fits(low + count));
    let (copies, originals): (Vec<Cluster>, Vec<&ClusterKey>) = copies(fit + 1).unzip();
    let hypothesis = PlanHypothesis { more: &copies, ..PlanHypothesis::default() };
    let mut one_more = planned.lacking_more(&hypothesis);
    name_originals(one_more.iter_mut().map(|it| &mut it.cluster), &copies, &originals);
    let share = |(cluster, copies): &(&Cluster, usize)| CopyShare {
        cluster: cluster.key.clone(),
        copies: *copies,
    };
    CopyMix {
        shares: mix.iter().map(share).collect(),
        hosts: mix.iter().map(|(cluster, copies)| copies * hosts_of(cluster)).sum(),
        fit,
        is_proven: is_proven(&one_more),
        scarce: scarce(one_more, site.inventory.hosts.len()),
    }
}

/// Returns copies of clusters with their originals, set by set without end.
pub(super) fn copied<'c>(
    site: &Site,
    mix: &[(&'c Cluster, usize)],
) -> impl Iterator<Item = (Cluster, &'c ClusterKey)> {
    let set = mix.iter().flat_map(|(cluster, copies)| std::iter::repeat_n(*cluster, *copies));
    let names = (1..).filter_map(|number| format!("copy-{number}").parse().ok());
    let known: HashSet<&ObjectName> = site.clusters.keys().map(|key| &key.name).collect();
    let names = names.filter(move |name| !known.contains(name));
    set.cycle().zip(names).map(|(original, name)| {
        let namespace = original.key.namespace.clone();
        let key = ClusterKey { namespace, name };
        let mut copy = Cluster { key, ..original.clone() };
        for node_set in copy.node_sets.values_mut() {
            // A reservation for the original by name is none for its copies.
            let is_included = |tenants: &Arc<Tenants>| tenants.include(&copy.key);
            node_set.reservations.retain(is_included);
        }
        (copy, &original.key)
    })
}

/// Returns the clusters that must be served beside those of the site, each with its original: one set
/// of the mix, and the clusters that no set has.
pub(super) fn wanted<'c>(
    site: &Site,
    others: &'c [Cluster],
    mix: &[(&'c Cluster, usize)],
) -> Vec<(Cluster, &'c ClusterKey)> {
    let is_in_set = |other: &&Cluster| mix.iter().any(|(cluster, _)| cluster.key == other.key);
    let alone = others.iter().filter(|other| !is_in_set(other));
    let alone = alone.map(|cluster| (cluster.clone(), &cluster.key));
    let copies = mix.iter().map(|(_, copies)| copies).sum();
    copied(site, mix).take(copies).chain(alone).collect()
}
