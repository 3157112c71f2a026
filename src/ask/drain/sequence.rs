//! Orders of moves to chosen hosts, and their division into steps.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::DrainedHosts;
use super::state::{HostMove, MoveState, OccupiedSite};
use crate::base::api::names::{ClusterKey, Role};
use crate::base::grouping::grouped;
use crate::plan::ask::{OccupiedSet, Replacements};

/// Maximum number of moves that the search for an order tries.
const MAX_TRIED: usize = 100_000;

/// Hosts of a cluster that leave, and of those the members of its control plane.
#[derive(Default)]
struct ClusterMoves {
    hosts: usize,
    members: usize,
}

impl ClusterMoves {
    fn count(&mut self, set: &OccupiedSet<'_>) {
        self.hosts += 1;
        self.members += usize::from(set.part.role == Role::ControlPlane);
    }

    /// Returns whether a host of the node set may move in the same step.
    ///
    /// A control plane moves one member per step: its quorum must survive a failure of the member
    /// that joins.
    fn allows(&self, set: &OccupiedSet<'_>, at_once: usize) -> bool {
        self.hosts < at_once && (set.part.role != Role::ControlPlane || self.members == 0)
    }
}

/// Counts hosts, given by their node sets, by cluster.
fn by_cluster<'r>(
    site: &'r OccupiedSite<'r>,
    sets: impl Iterator<Item = usize>,
) -> BTreeMap<&'r ClusterKey, ClusterMoves> {
    let mut moves: BTreeMap<&ClusterKey, ClusterMoves> = BTreeMap::new();
    for set in sets.map(|set| &site.node_sets[set]) {
        moves.entry(&set.cluster.key).or_default().count(set);
    }
    moves
}

/// Orders moves of hosts to those that node sets have chosen, so that every constraint holds after
/// each move. Returns `None` if there is no order, or none was found within the limit.
pub(super) fn sequence(
    site: &OccupiedSite<'_>,
    leaving: &BTreeMap<usize, usize>,
    chosen: &Replacements,
) -> Option<Vec<HostMove>> {
    let mut open: Vec<OpenMoves> = Vec::new();
    for (index, from) in grouped(leaving.iter().map(|(host, set)| (*set, *host))) {
        let set = &site.node_sets[index];
        if let Some(added) = chosen.get(&(set.cluster.key.clone(), set.part.clone())) {
            open.push((index, from, added.clone()));
        }
    }
    // Node sets without quotas do not affect each other.
    let (limited, others): (Vec<_>, Vec<_>) =
        open.into_iter().partition(|(set, ..)| site.is_limited(*set));
    let mut parts: Vec<Vec<_>> = others.into_iter().map(|part| vec![part]).collect();
    parts.push(limited);
    let mut state = MoveState::new(site);
    let mut moves = Vec::new();
    let mut tried = 0;
    for part in parts {
        let mut search = SequenceSearch {
            open: part,
            state: &mut state,
            moves: Vec::new(),
            failed: HashSet::new(),
            tried: &mut tried,
        };
        if !search.complete() {
            return None;
        }
        moves.append(&mut search.moves);
    }
    Some(moves)
}

/// A node set with the hosts that leave and those that join.
type OpenMoves = (usize, Vec<usize>, Vec<usize>);

/// A search in depth for an order.
struct SequenceSearch<'s, 'r> {
    open: Vec<OpenMoves>,
    state: &'s mut MoveState<'r>,
    moves: Vec<HostMove>,
    /// Open moves that cannot be completed.
    failed: HashSet<Vec<OpenMoves>>,
    tried: &'s mut usize,
}

impl SequenceSearch<'_, '_> {
    fn complete(&mut self) -> bool {
        if self.open.iter().all(|(_, from, _)| from.is_empty()) {
            return true;
        }
        if self.failed.contains(&self.open) {
            return false;
        }
        for at in 0..self.open.len() {
            let (set, from, to) = self.open[at].clone();
            for (leaves, from) in from.iter().copied().enumerate() {
                for (joins, to) in to.iter().copied().enumerate() {
                    if *self.tried >= MAX_TRIED {
                        return false;
                    }
                    *self.tried += 1;
                    let step = HostMove { set, from, to };
                    if !self.state.make(step) {
                        continue;
                    }
                    self.open[at].1.remove(leaves);
                    self.open[at].2.remove(joins);
                    self.moves.push(step);
                    if self.complete() {
                        return true;
                    }
                    self.moves.pop();
                    self.open[at].1.insert(leaves, from);
                    self.open[at].2.insert(joins, to);
                    self.state.revert(step);
                }
            }
        }
        self.failed.insert(self.open.clone());
        false
    }
}

/// Divides ordered moves into steps of at most `at_once` hosts per cluster. A step takes each move that
/// the limits allow, if the others can still be made after it in their order. Hosts that already leave
/// their node sets count in the first step.
pub(super) fn steps(
    site: &OccupiedSite<'_>,
    moves: &[HostMove],
    places: &DrainedHosts,
    at_once: usize,
) -> Vec<Vec<HostMove>> {
    let mut state = MoveState::new(site);
    let mut open: Vec<HostMove> = moves.to_vec();
    let mut steps: Vec<Vec<HostMove>> = Vec::new();
    while !open.is_empty() {
        let waiting = places.waiting.values().copied().filter(|_| steps.is_empty());
        let mut used = by_cluster(site, waiting);
        let mut step: Vec<HostMove> = Vec::new();
        let mut released = BTreeSet::new();
        let mut at = 0;
        while at < open.len() {
            let next = open[at];
            let set = &site.node_sets[next.set];
            let moved = used.entry(&set.cluster.key).or_default();
            let fits = moved.allows(set, at_once) && !released.contains(&next.to);
            if fits && may_go_first(&mut state, &open, at) {
                open.remove(at);
                state.make(next);
                moved.count(set);
                released.insert(next.from);
                step.push(next);
            } else {
                at += 1;
            }
        }
        // Only the first step may be empty: hosts that already leave use up its limits.
        if step.is_empty() && !steps.is_empty() {
            break;
        }
        steps.push(step);
    }
    steps
}

/// Returns whether all moves can be made if one of them is the first.
fn may_go_first(state: &mut MoveState<'_>, open: &[HostMove], first: usize) -> bool {
    let rest = open.iter().enumerate().filter(|(at, _)| *at != first);
    let order: Vec<HostMove> =
        std::iter::once(open[first]).chain(rest.map(|(_, step)| *step)).collect();
    let is_possible = state.make_all(&order);
    if is_possible {
        state.revert_all(&order);
    }
    is_possible
}

/// Returns a number of steps that every plan needs.
pub(super) fn least_steps(site: &OccupiedSite<'_>, places: &DrainedHosts, at_once: usize) -> usize {
    let sets = || places.leaving.values().copied();
    let all = by_cluster(site, sets().chain(places.waiting.values().copied()));
    let moving = by_cluster(site, sets());
    let needed = all.iter().filter(|(cluster, _)| moving.contains_key(*cluster));
    let needed = needed.map(|(_, all)| all.hosts.div_ceil(at_once).max(all.members));
    needed.max().unwrap_or_default()
}
