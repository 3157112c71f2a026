//! Further clusters like those of a site.

use std::collections::HashMap;

use rayon::prelude::*;

use super::{Copies, Scarce, scarce};
use crate::api::names::ClusterKey;
use crate::plan::probe::{Probe, Question, largest};
use crate::request::{Cluster, NodeSet};
use crate::site::Site;

/// Returns whether a copy of a cluster can exist.
pub(super) fn is_copyable(cluster: &Cluster) -> bool {
    let names_hosts = |node_set: &NodeSet| {
        let machine = node_set.machine.as_ref();
        machine.is_some_and(|machine| machine.named.is_some())
    };
    hosts_of(&[(cluster, 1)]) > 0 && !cluster.node_sets.values().any(|set| names_hosts(set))
}

/// Returns the number of hosts of one set.
pub(super) fn hosts_of(mix: &[(&Cluster, usize)]) -> usize {
    let of = |cluster: &Cluster| {
        cluster
            .node_sets
            .values()
            .map(|node_set| node_set.wanted())
            .sum::<usize>()
    };
    let hosts = mix.iter().map(|(cluster, copies)| copies * of(cluster));
    hosts.sum()
}

/// Returns how many copies of each cluster fit. Equal requests have equal answers.
pub(super) fn copies(site: &Site, probe: &Probe<'_>, clusters: &[&Cluster]) -> Vec<Copies> {
    let mut alike: HashMap<_, Vec<&Cluster>> = HashMap::new();
    for cluster in clusters {
        let request = probe.request(cluster);
        alike.entry(request).or_default().push(cluster);
    }
    let alike: Vec<Vec<&Cluster>> = alike.into_values().collect();
    let answers = alike.par_iter().flat_map_iter(|alike| {
        let one: Vec<(&Cluster, usize)> = alike.iter().take(1).map(|it| (*it, 1)).collect();
        let (fit, scarce) = sets(site, probe, &one);
        let hosts = hosts_of(&one);
        alike.iter().map(move |cluster| {
            let key = &cluster.key;
            Copies {
                cluster: key.clone(),
                hosts,
                fit,
                scarce: scarce.iter().map(|scarce| scarce.of(key)).collect(),
            }
        })
    });
    let mut copies: Vec<Copies> = answers.collect();
    copies.sort_by(|a, b| a.cluster.cmp(&b.cluster));
    copies
}

/// Returns how many sets of copies fit, and what one more lacks.
pub(super) fn sets(
    site: &Site,
    probe: &Probe<'_>,
    mix: &[(&Cluster, usize)],
) -> (usize, Vec<Scarce>) {
    let per_set: usize = mix.iter().map(|(_, copies)| copies).sum();
    let copies = |count: usize| copied(site, mix).take(count * per_set);
    let first = copies(1).map(|(copy, _)| copy);
    let most = first.flat_map(|copy| {
        let node_sets = copy.node_sets.iter();
        let fit = node_sets.filter_map(|(part, node_set)| {
            let hosts = probe.bound(&copy, part, node_set).hosts;
            hosts.checked_div(node_set.wanted())
        });
        fit.min()
    });
    let most = most.min().unwrap_or_default();
    let (copies, originals): (Vec<Cluster>, Vec<&ClusterKey>) = copies(most + 1).unzip();
    let question = |count: usize| Question {
        more: &copies[..count * per_set],
        ..Question::default()
    };
    let fit = largest(most, most, |count| probe.is_served(&question(count)));
    let original = |key: &ClusterKey| {
        let at = copies.iter().position(|copy| copy.key == *key)?;
        Some(originals[at])
    };
    let lacking = probe.constraints(&question(fit + 1));
    (fit, scarce(lacking.into_iter(), original))
}

/// Returns copies of clusters with their originals, set by set without end.
pub(super) fn copied<'c>(
    site: &Site,
    mix: &[(&'c Cluster, usize)],
) -> impl Iterator<Item = (Cluster, &'c ClusterKey)> {
    let set = mix.iter();
    let set = set.flat_map(|(cluster, copies)| std::iter::repeat_n(*cluster, *copies));
    let names = (1..).filter_map(|number| format!("copy-{number}").parse().ok());
    let names = names.filter(|name| !site.clusters.keys().any(|key| key.name == *name));
    set.cycle().zip(names).map(|(original, name)| {
        let namespace = original.key.namespace.clone();
        let copy = Cluster {
            key: ClusterKey { namespace, name },
            ..original.clone()
        };
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
