//! Larger node sets.

use std::collections::HashMap;

use rayon::prelude::*;

use super::{Growth, is_proven, scarce};
use crate::base::api::names::Part;
use crate::plan::ask::{HypothesisVerdict, PlanHypothesis, PlannedSite, largest};
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
        let (_, first_part, _) = node_sets[alike[0]];
        let one = growth(hosts, planned, node_sets[alike[0]]);
        alike.iter().map(move |at| {
            let (cluster, part, _) = node_sets[*at];
            let scarce = one.scarce.iter().map(|scarce| {
                let is_own = scarce.part == *first_part;
                scarce.for_part(&cluster.key, if is_own { part } else { &scarce.part })
            });
            let growth = Growth {
                cluster: cluster.key.clone(),
                part: part.clone(),
                scarce: scarce.collect(),
                ..one.clone()
            };
            (*at, growth)
        })
    });
    let mut growths: Vec<(usize, Growth)> = growths.collect();
    growths.sort_by_key(|(at, _)| *at);
    growths.into_iter().map(|(_, growth)| growth).collect()
}

fn growth(
    hosts: usize,
    planned: &PlannedSite<'_>,
    (cluster, part, node_set): PlacedNodeSet<'_>,
) -> Growth {
    let grown = |more: usize| NodeSet { active: node_set.active + more, ..node_set.clone() };
    let verdict = |more: usize| {
        planned.is_served(&PlanHypothesis {
            resized: Some((&cluster.key, part, &grown(more))),
            ..PlanHypothesis::default()
        })
    };
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
        let scarce = scarce(lacking, hosts, |_| None);
        return Growth { scarce, ..growth };
    }
    let most = planned.spare(cluster, part, node_set);
    let fit = largest(most, most, |more| verdict(more) == HypothesisVerdict::Served);
    let one_more = grown(fit + 1);
    let lacking = planned.lacking_more(&PlanHypothesis {
        resized: Some((&cluster.key, part, &one_more)),
        ..PlanHypothesis::default()
    });
    Growth {
        fit,
        is_proven: is_proven(&lacking),
        is_short: false,
        scarce: scarce(lacking, hosts, |_| None),
        ..growth
    }
}
