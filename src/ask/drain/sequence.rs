//! Orders of moves to chosen hosts, and their division into steps.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::state::{HostMove, MoveState, OccupiedSite};
use crate::base::api::names::{ClusterKey, Role};
use crate::plan::ask::Replacements;

/// Maximum number of moves that the search for an order tries.
const MAX_TRIED: usize = 100_000;

/// Limits of a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepLimits<'l> {
    /// Maximum number of hosts per cluster.
    pub(super) at_once: usize,
    /// Hosts that already leave their node sets. They count in the first step.
    pub(super) waiting: &'l BTreeMap<usize, usize>,
}

/// Moves of a step that clusters have made.
pub(super) struct StepUse<'r> {
    site: &'r OccupiedSite<'r>,
    at_once: usize,
    /// Number of hosts, and of those the members of control planes.
    used: BTreeMap<&'r ClusterKey, (usize, usize)>,
}

impl<'r> StepUse<'r> {
    /// Begins a step; the first one has the hosts that already leave.
    pub(super) fn begin(
        site: &'r OccupiedSite<'r>,
        limits: StepLimits<'_>,
        is_first: bool,
    ) -> Self {
        let mut step = Self { site, at_once: limits.at_once, used: BTreeMap::new() };
        if is_first {
            limits.waiting.values().for_each(|set| step.count(*set));
        }
        step
    }

    /// Returns whether a host of the node set may move in this step.
    ///
    /// A control plane moves one member per step: its quorum must survive a failure of the member
    /// that joins.
    pub(super) fn allows(&self, set: usize) -> bool {
        let set = &self.site.node_sets[set];
        let used = self.used.get(&set.cluster.key);
        let (hosts, members) = used.copied().unwrap_or_default();
        hosts < self.at_once && (set.part.role != Role::ControlPlane || members == 0)
    }

    /// Counts a host of the node set.
    pub(super) fn count(&mut self, set: usize) {
        let set = &self.site.node_sets[set];
        let used = self.used.entry(&set.cluster.key).or_default();
        used.0 += 1;
        used.1 += usize::from(set.part.role == Role::ControlPlane);
    }
}

/// Orders moves of hosts to those that node sets have chosen, so that every constraint holds after
/// each move. Returns `None` if there is no order, or none was found within the limit.
pub(super) fn sequence(
    site: &OccupiedSite<'_>,
    leaving: &BTreeMap<usize, usize>,
    chosen: &Replacements,
) -> Option<Vec<HostMove>> {
    let mut open: Vec<OpenMoves> = Vec::new();
    for (index, set) in site.node_sets.iter().enumerate() {
        let from = leaving.iter().filter(|(_, of)| **of == index);
        let from: Vec<usize> = from.map(|(host, _)| *host).collect();
        if let Some(added) = chosen.get(&(set.cluster.key.clone(), set.part.clone())) {
            open.push((index, from, added.clone()));
        }
    }
    // Node sets without quotas do not affect each other.
    let is_limited = |set: usize| site.limits.iter().any(|limit| limit.node_sets[set]);
    let (limited, others): (Vec<_>, Vec<_>) =
        open.into_iter().partition(|(set, ..)| is_limited(*set));
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

/// Divides ordered moves into steps. A step takes each move that the limits allow, if the others
/// can still be made after it in their order.
pub(super) fn steps(
    site: &OccupiedSite<'_>,
    moves: &[HostMove],
    limits: StepLimits<'_>,
) -> Vec<Vec<HostMove>> {
    let mut state = MoveState::new(site);
    let mut open: Vec<HostMove> = moves.to_vec();
    let mut steps: Vec<Vec<HostMove>> = Vec::new();
    while !open.is_empty() {
        let mut used = StepUse::begin(site, limits, steps.is_empty());
        let mut step: Vec<HostMove> = Vec::new();
        let mut released = BTreeSet::new();
        let mut at = 0;
        while at < open.len() {
            let next = open[at];
            let fits = used.allows(next.set) && !released.contains(&next.to);
            if fits && may_go_first(&mut state, &open, at) {
                open.remove(at);
                state.make(next);
                used.count(next.set);
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
    let order = std::iter::once(open[first]).chain(rest.map(|(_, step)| *step));
    let order: Vec<HostMove> = order.collect();
    let is_possible = state.make_all(&order);
    if is_possible {
        state.revert_all(&order);
    }
    is_possible
}

/// Returns a number of steps that every plan needs.
pub(super) fn fewest_steps(
    site: &OccupiedSite<'_>,
    leaving: &BTreeMap<usize, usize>,
    limits: StepLimits<'_>,
) -> usize {
    let mut hosts: BTreeMap<&ClusterKey, (usize, usize, bool)> = BTreeMap::new();
    let moves = leaving.values().map(|set| (*set, true));
    let waiting = limits.waiting.values().map(|set| (*set, false));
    for (set, moves) in moves.chain(waiting) {
        let set = &site.node_sets[set];
        let of = hosts.entry(&set.cluster.key).or_default();
        of.0 += 1;
        of.1 += usize::from(set.part.role == Role::ControlPlane);
        of.2 |= moves;
    }
    let needed = hosts.values().filter(|(.., moves)| *moves);
    let needed = needed.map(|(hosts, members, _)| hosts.div_ceil(limits.at_once).max(*members));
    needed.max().unwrap_or_default()
}
