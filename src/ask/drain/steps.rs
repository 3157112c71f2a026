//! Division of ordered moves into steps.

use std::collections::{BTreeMap, BTreeSet};

use super::state::{HostMove, MoveState, OccupiedSite};
use crate::base::api::names::{ClusterKey, Role};
use crate::base::grouping::grouped;

/// Limits of a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepLimits<'l> {
    /// Maximum number of hosts per cluster.
    pub(super) at_once: usize,
    /// Hosts that already leave their node sets. They count in the first step.
    pub(super) waiting: &'l BTreeMap<usize, usize>,
}

/// Returns the roles of hosts that leave, given by their node sets, by cluster.
fn roles<'r>(
    site: &'r OccupiedSite<'r>,
    sets: impl Iterator<Item = usize>,
) -> BTreeMap<&'r ClusterKey, Vec<Role>> {
    let sets = sets.map(|set| &site.node_sets[set]);
    grouped(sets.map(|set| (&set.cluster.key, set.part.role)))
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
        let waiting = limits.waiting.values().copied().filter(|_| steps.is_empty());
        let mut used = roles(site, waiting);
        let mut step: Vec<HostMove> = Vec::new();
        let mut released = BTreeSet::new();
        let mut at = 0;
        while at < open.len() {
            let next = open[at];
            let set = &site.node_sets[next.set];
            let roles = used.entry(&set.cluster.key).or_default();
            // A control plane moves one member per step: its quorum must survive a failure of the
            // member that joins.
            let is_second_member =
                set.part.role == Role::ControlPlane && roles.contains(&Role::ControlPlane);
            let fits =
                roles.len() < limits.at_once && !is_second_member && !released.contains(&next.to);
            if fits && may_go_first(&mut state, &open, at) {
                open.remove(at);
                state.make(next);
                roles.push(set.part.role);
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
    let sets = || leaving.values().copied();
    let moving = roles(site, sets());
    let all = roles(site, sets().chain(limits.waiting.values().copied()));
    let needed =
        all.iter().filter(|(cluster, _)| moving.contains_key(*cluster)).map(|(_, roles)| {
            let members = roles.iter().filter(|role| **role == Role::ControlPlane).count();
            roles.len().div_ceil(limits.at_once).max(members)
        });
    needed.max().unwrap_or_default()
}
