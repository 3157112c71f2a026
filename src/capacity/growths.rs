//! Larger node sets.

use std::collections::HashMap;

use rayon::prelude::*;

use super::{Growth, scarce};
use crate::api::names::Part;
use crate::plan::eligibility::Needs;
use crate::plan::probe::{Probe, Question, largest};
use crate::request::{Cluster, NodeSet};

/// A node set with its place.
type Placed<'a> = (&'a Cluster, &'a Part, &'a NodeSet);

/// Returns by how much each node set can grow, in their order.
pub(super) fn growths(probe: &Probe<'_>, node_sets: &[Placed<'_>]) -> Vec<Growth> {
    let mut alike: HashMap<_, Vec<usize>> = HashMap::new();
    for (at, (cluster, part, node_set)) in node_sets.iter().enumerate() {
        let needs = Needs::new(cluster, part, node_set).key();
        alike.entry(needs).or_default().push(at);
    }
    let alike: Vec<Vec<usize>> = alike.into_values().collect();
    let growths = alike.par_iter().flat_map(|alike| {
        let growth = |at: usize, guess: usize| growth(probe, node_sets[at], guess);
        let first = growth(alike[0], usize::MAX);
        // Node sets with equal requirements can mostly grow by the same number.
        let others = alike[1..].par_iter();
        let mut all: Vec<(usize, Growth)> =
            others.map(|at| (*at, growth(*at, first.fit))).collect();
        all.push((alike[0], first));
        all
    });
    let mut growths: Vec<(usize, Growth)> = growths.collect();
    growths.sort_by_key(|(at, _)| *at);
    growths.into_iter().map(|(_, growth)| growth).collect()
}

fn growth(probe: &Probe<'_>, (cluster, part, node_set): Placed<'_>, guess: usize) -> Growth {
    let grown = |more: usize| NodeSet {
        active: node_set.active + more,
        ..node_set.clone()
    };
    fn question<'q>(cluster: &'q Cluster, part: &'q Part, grown: &'q NodeSet) -> Question<'q> {
        Question {
            replaced: Some((&cluster.key, part, grown)),
            ..Question::default()
        }
    }
    let most = probe.bound(cluster, part, node_set).apart;
    let fit = largest(most, guess, |more| {
        probe.is_served(&question(cluster, part, &grown(more)))
    });
    let one_more = grown(fit + 1);
    let lacking = probe.constraints(&question(cluster, part, &one_more));
    Growth {
        cluster: cluster.key.clone(),
        part: part.clone(),
        wanted: node_set.wanted(),
        fit,
        scarce: scarce(lacking.into_iter(), |_| None),
    }
}
