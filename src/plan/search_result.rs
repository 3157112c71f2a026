//! Results of a search for hosts. Both searches, the flow of `choose` and `crossing`, return them.
//!
//! Demands, classes and domains are indices of the [`MatchingProblem`](super::matching::MatchingProblem).

use std::collections::{BTreeMap, BTreeSet};

use super::matching::{Cut, FlowUnit, MatchingProblem};
use super::skew::DomainProof;

/// Hosts found for each demand of a problem.
pub(super) struct SearchResult {
    pub(super) picks: Vec<Vec<FlowUnit>>,
    /// Retained hosts of each demand that some of its picks replace.
    pub(super) replaced: Vec<Vec<usize>>,
    pub(super) unserved: Vec<ShortDemand>,
}

/// A demand without enough hosts.
#[derive(Clone)]
pub(super) struct ShortDemand {
    /// Index of the demand.
    pub(super) index: usize,
    pub(super) found: HostBounds,
    pub(super) why: ShortageProof,
}

/// Bounds of the number of hosts that a demand could have.
#[derive(Debug, Clone, Copy)]
pub(super) struct HostBounds {
    /// A placement gives it so many.
    pub(super) least: usize,
    /// No placement gives it more.
    pub(super) most: usize,
}

/// The proof that a demand cannot be served.
#[derive(Clone)]
pub(super) enum ShortageProof {
    Counted(CutCount),
    Crossing(DemandConflict),
    Constrained(DomainProof),
    /// The search ended at its limit of steps.
    Undecided,
}

/// The result of counting a [`Cut`]. Clusters with equal demands share it, so it does not list classes.
#[derive(Debug, Clone)]
pub(super) struct CutCount {
    pub(super) demands: Vec<usize>,
    /// The largest number of hosts that the demands can have together.
    pub(super) can_be_had: usize,
    /// True if the unserved demand, and so its cluster, could have more hosts if topology did not limit
    /// it.
    pub(super) is_limited: bool,
    /// Domains of its pool in which no further host would help it.
    pub(super) closed: Vec<usize>,
}

/// Demands that cannot be served together even if only these domains keep hosts apart, and only
/// these quotas and topology spread constraints count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ConflictCore {
    pub(super) demands: Vec<usize>,
    /// Topology domains by the numbers of `crossing::candidates`.
    pub(super) limits: Vec<usize>,
    pub(super) quotas: Vec<usize>,
    /// Demands whose topology spread constraints count.
    pub(super) constrained: Vec<usize>,
    /// True if each demand, domain and quota is proven necessary.
    pub(super) is_minimal: bool,
}

/// A conflict, with its hosts.
#[derive(Debug, Clone)]
pub(super) struct DemandConflict {
    pub(super) core: ConflictCore,
    /// Values of topology keys.
    pub(super) domains: BTreeMap<String, BTreeSet<String>>,
    /// Number of hosts that the demands can use.
    pub(super) hosts: usize,
    /// Number of those that are in none of the domains.
    pub(super) outside: usize,
    /// True if there are too few hosts even without the quotas.
    pub(super) has_no_more_hosts: bool,
}

impl ShortDemand {
    /// Returns a demand that can have at most so many hosts. No placement with them is known.
    pub(super) fn at_most(index: usize, most: usize, why: ShortageProof) -> Self {
        Self { index, found: HostBounds { least: 0, most }, why }
    }

    pub(super) fn by_cut(problem: &MatchingProblem, cut: Cut) -> Self {
        let classes = cut.classes.iter();
        let capacity: usize = classes.map(|class| problem.capacities[*class]).sum();
        let places = cut.domains.iter().map(|(demand, domain)| {
            let demand = &problem.demands[*demand];
            demand.limit - demand.load.get(domain).copied().unwrap_or_default()
        });
        Self {
            index: cut.demand,
            found: HostBounds { least: cut.found, most: cut.found },
            why: ShortageProof::Counted(CutCount {
                demands: cut.demands.into_iter().collect(),
                can_be_had: capacity + places.sum::<usize>(),
                is_limited: cut.is_limited,
                closed: cut.closed,
            }),
        }
    }

    /// Translates the result of one cluster to another cluster with equal demands.
    pub(super) fn translated(&self, from: &[usize], to: &[usize]) -> ShortDemand {
        let translated = |demand: usize| {
            from.iter().position(|other| *other == demand).map_or(demand, |at| to[at])
        };
        let mut why = self.why.clone();
        match &mut why {
            ShortageProof::Crossing(conflict) => {
                let core = &mut conflict.core;
                let demands = core.demands.iter_mut().chain(&mut core.constrained);
                demands.for_each(|demand| *demand = translated(*demand));
            }
            ShortageProof::Counted(count) => {
                count.demands.iter_mut().for_each(|demand| *demand = translated(*demand));
                // Demands are listed in the order in which they choose.
                count.demands.sort_unstable();
            }
            ShortageProof::Constrained(_) | ShortageProof::Undecided => {}
        }
        ShortDemand { index: translated(self.index), found: self.found, why }
    }
}

/// Replaces as many hosts as possible and returns those that were replaced.
///
/// A failed replacement is retried after every successful one, because that may have left the domain
/// that was missing.
pub(super) fn replace_each(
    mut hosts: Vec<usize>,
    mut replace: impl FnMut(usize) -> bool,
) -> Vec<usize> {
    let mut replaced = Vec::new();
    loop {
        let before = replaced.len();
        hosts.retain(|host| {
            let found = replace(*host);
            replaced.extend(found.then_some(*host));
            !found
        });
        if replaced.len() == before {
            return replaced;
        }
    }
}
