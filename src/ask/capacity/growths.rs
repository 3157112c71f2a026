//! Larger node sets.

use std::collections::HashMap;

use rayon::prelude::*;

use super::{Growth, is_proven, scarce};
use crate::base::api::names::Part;
use crate::plan::ask::{HypothesisVerdict, NodeSetLack, PlanHypothesis, PlannedSite, largest};
use crate::site::request::{Cluster, NodeSet};

/// A node set with its place.
type PlacedNodeSet<'a> = (&'a Cluster, &'a Part, &'a NodeSet);

/// Returns by how much each node set can grow, in their order. Node sets that request the same get the
/// same answer.
pub(super) fn growths(
    hosts: usize,
    planned: &PlannedSite<'_>,
    node_sets: &[PlacedNodeSet<'_>],
) -> Vec<Growth> {
    let mut alike: HashMap<_, Vec<usize>> = HashMap::new();
    for (at, (cluster, part, node_set)) in node_sets.iter().enumerate() {
        let request = planned.growth_request(cluster, part, node_set);
        alike.entry(request).or_default().push(at);
    }
    let alike: Vec<Vec<usize>> = alike.into_values().collect();
    let growths = alike.par_iter().flat_map_iter(|alike| {
        let (first_cluster, first_part, _) = node_sets[alike[0]];
        let (one, lacking) = growth(planned, node_sets[alike[0]]);
        alike.iter().map(move |at| {
            let (cluster, part, node_set) = node_sets[*at];
            let one_more = grown(node_set, one.fit + 1);
            let lacking = lacking.iter().map(|lack| {
                let is_own = lack.cluster == first_cluster.key && lack.part == *first_part;
                match is_own && !one.is_short {
                    true => planned.equal_lack(lack, cluster, part, &one_more),
                    false => lack.clone(),
                }
            });
            let growth = Growth {
                cluster: cluster.key.clone(),
                part: part.clone(),
                scarce: scarce(lacking.collect(), hosts, |_| None),
                ..one.clone()
            };
            (*at, growth)
        })
    });
    let mut growths: Vec<(usize, Growth)> = growths.collect();
    growths.sort_by_key(|(at, _)| *at);
    growths.into_iter().map(|(_, growth)| growth).collect()
}

fn grown(node_set: &NodeSet, more: usize) -> NodeSet {
    NodeSet { active: node_set.active + more, ..node_set.clone() }
}

/// Returns by how much a node set can grow, and what one host more lacks.
fn growth(
    planned: &PlannedSite<'_>,
    (cluster, part, node_set): PlacedNodeSet<'_>,
) -> (Growth, Vec<NodeSetLack>) {
    let growth = Growth {
        cluster: cluster.key.clone(),
        part: part.clone(),
        wanted: node_set.wanted(),
        fit: 0,
        is_proven: true,
        is_short: true,
        scarce: Vec::new(),
    };
    if planned.is_short(&cluster.key) {
        let mut lacking = planned.lacking(&PlanHypothesis::default());
        lacking.retain(|lacking| lacking.cluster == cluster.key);
        return (growth, lacking);
    }
    let is_served = |more: usize| {
        let verdict = planned.is_served(&PlanHypothesis {
            resized: Some((&cluster.key, part, &grown(node_set, more))),
            ..PlanHypothesis::default()
        });
        verdict == HypothesisVerdict::Served
    };
    let more = planned.spare(cluster, part, node_set).min(planned.places(cluster, part, node_set));
    let most = planned.surplus(cluster, part, node_set) + more;
    let fit = largest(most, most, is_served);
    let lacking = planned.lacking_more(&PlanHypothesis {
        resized: Some((&cluster.key, part, &grown(node_set, fit + 1))),
        ..PlanHypothesis::default()
    });
    (Growth { fit, is_proven: is_proven(&lacking), is_short: false, ..growth }, lacking)
}
