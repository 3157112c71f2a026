//! Larger node sets.

use rayon::prelude::*;

use super::{Growth, scarce};
use crate::ask::overview::spare::PlacedNodeSet;
use crate::plan::ask::{PlanHypothesis, PlannedSite, is_proven, largest};
use crate::site::request::NodeSet;

/// Returns by how much each node set can grow, in their order, and what one host more lacks.
pub(super) fn growths(planned: &PlannedSite<'_>, node_sets: &[PlacedNodeSet<'_>]) -> Vec<Growth> {
    let hosts = planned.site.inventory.hosts.len();
    let today = planned.lacking(&PlanHypothesis::default());
    let growth = |(cluster, part, node_set): &PlacedNodeSet<'_>| {
        let grown = |more: usize| NodeSet { active: node_set.active + more, ..(*node_set).clone() };
        let is_served = |more: usize| {
            planned.is_served(&PlanHypothesis {
                resized: Some((&cluster.key, part, &grown(more))),
                ..PlanHypothesis::default()
            })
        };
        let is_short = planned.is_short(&cluster.key);
        let (mut fit, mut lacking) = (0, today.clone());
        lacking.retain(|lacking| lacking.cluster == cluster.key);
        if !is_short {
            fit = largest(planned.most_growth(cluster, part, node_set), is_served);
            lacking = planned.lacking_more(&PlanHypothesis {
                resized: Some((&cluster.key, part, &grown(fit + 1))),
                ..PlanHypothesis::default()
            });
        }
        Growth {
            cluster: cluster.key.clone(),
            part: (*part).clone(),
            wanted: node_set.wanted(),
            fit,
            is_proven: is_short || is_proven(&lacking),
            is_short,
            scarce: scarce(lacking, hosts),
        }
    };
    node_sets.par_iter().map(growth).collect()
}
