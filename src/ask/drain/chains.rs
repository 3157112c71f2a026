//! Moves of other assigned hosts, where free hosts do not suffice.
//!
//! A chain ends at a free host: the last node set takes it, which frees a host for the node set
//! before, and so on up to the one that must give up a drained host. Each chain is the shortest in
//! its state. All chains together may have more moves than needed.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::iter::successors;

use super::DrainVerdict;
use super::state::{HostMove, MoveState, OccupiedSite};
use crate::plan::ask::PlannedSite;

/// Maximum number of pairs of a host that leaves and a host that joins.
const MAX_TRIED: usize = 5_000_000;

/// Replaces the leaving hosts one by one, by hosts that the planner accepts if all may move. Returns
/// the moves in their order.
pub(super) fn chains(
    site: &OccupiedSite<'_>,
    planned: &PlannedSite<'_>,
    drained: &BTreeSet<usize>,
    leaving: &BTreeMap<usize, usize>,
) -> Result<Vec<HostMove>, DrainVerdict> {
    let mut search = ChainSearch {
        site,
        accepted: site.node_sets.iter().map(|_| OnceCell::new()).collect(),
        planned,
        drained,
        state: MoveState::new(site),
        tried: 0,
    };
    let mut moves = Vec::new();
    for (host, set) in leaving {
        let Some(chain) = search.shortest(*set, *host) else {
            let is_undecided = search.tried > MAX_TRIED;
            return Err(if is_undecided { DrainVerdict::Undecided } else { DrainVerdict::NoOrder });
        };
        moves.extend(chain);
    }
    Ok(moves)
}

struct ChainSearch<'s, 'r, 'p> {
    site: &'r OccupiedSite<'r>,
    planned: &'s PlannedSite<'p>,
    /// The hosts that each node set may have.
    accepted: Vec<OnceCell<Vec<usize>>>,
    drained: &'s BTreeSet<usize>,
    state: MoveState<'r>,
    tried: usize,
}

impl ChainSearch<'_, '_, '_> {
    /// Makes the shortest chain by which a host leaves its node set, and returns its moves in order.
    fn shortest(&mut self, set: usize, host: usize) -> Option<Vec<HostMove>> {
        let mut queue = VecDeque::from([(set, host)]);
        // For each host that would move, the move that needs it.
        let mut needed_by: BTreeMap<usize, HostMove> = BTreeMap::new();
        while let Some((set, from)) = queue.pop_front() {
            let accepted = || self.planned.accepted_hosts(&self.site.node_sets[set]);
            for to in self.accepted[set].get_or_init(accepted).iter().copied() {
                let owner = self.state.owner(to);
                if self.drained.contains(&to) || owner == Some(set) {
                    continue;
                }
                self.tried += 1;
                if self.tried > MAX_TRIED {
                    return None;
                }
                let step = HostMove { set, from, to };
                if !self.state.allows(step) {
                    continue;
                }
                match owner {
                    None if !self.state.is_assigned(to) => {
                        // The last move is made first.
                        let needing = |step: &HostMove| needed_by.get(&step.from).copied();
                        let chain: Vec<HostMove> = successors(Some(step), needing).collect();
                        if self.state.make_all(&chain) {
                            return Some(chain);
                        }
                    }
                    Some(other)
                        if !self.site.node_sets[other].node_set.is_named()
                            && !needed_by.contains_key(&to) =>
                    {
                        needed_by.insert(to, step);
                        queue.push_back((other, to));
                    }
                    _ => {}
                }
            }
        }
        None
    }
}
