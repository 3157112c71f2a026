//! Orders of moves in which every constraint holds after each.
//!
//! A chain ends at a free host: the last node set takes it, which frees a host for the node set
//! before, and so on up to the one that must give up a drained host. Each chain is the shortest in
//! its state. All chains together may have more moves than needed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use super::DrainVerdict;
use super::state::{HostMove, MoveState, OccupiedSite};
use crate::plan::ask::OccupiedSet;

/// Maximum number of pairs of a host that leaves and a host that joins.
const MAX_TRIED: usize = 5_000_000;

/// Replaces the leaving hosts one by one, by hosts that their node sets accept. Returns the moves in
/// their order.
pub(super) fn chains(
    site: &OccupiedSite<'_>,
    accepted_hosts: &dyn Fn(&OccupiedSet<'_>) -> Vec<usize>,
    drained: &BTreeSet<usize>,
    leaving: &BTreeMap<usize, usize>,
) -> Result<Vec<HostMove>, DrainVerdict> {
    let mut search = ChainSearch {
        site,
        accepted_hosts,
        accepted: BTreeMap::new(),
        drained,
        state: MoveState::new(site),
        tried: 0,
    };
    let mut moves = Vec::new();
    let mut open: Vec<(usize, usize)> = leaving.iter().map(|(host, set)| (*set, *host)).collect();
    open.sort_unstable();
    while !open.is_empty() {
        let before = open.len();
        // Other moves may make room for a host that cannot move yet.
        open.retain(|(set, host)| match search.shortest(*set, *host) {
            Some(chain) => {
                moves.extend(chain);
                false
            }
            None => true,
        });
        if open.len() == before {
            let is_undecided = search.tried > MAX_TRIED;
            return Err(if is_undecided { DrainVerdict::Undecided } else { DrainVerdict::NoOrder });
        }
    }
    Ok(moves)
}

struct ChainSearch<'s, 'r> {
    site: &'r OccupiedSite<'r>,
    accepted_hosts: &'s dyn Fn(&OccupiedSet<'_>) -> Vec<usize>,
    /// The hosts that each node set may have, as far as they were asked for.
    accepted: BTreeMap<usize, Rc<[usize]>>,
    drained: &'s BTreeSet<usize>,
    state: MoveState<'r>,
    tried: usize,
}

impl ChainSearch<'_, '_> {
    /// Makes the shortest chain by which a host leaves its node set, and returns its moves in order.
    fn shortest(&mut self, set: usize, host: usize) -> Option<Vec<HostMove>> {
        let mut queue = VecDeque::from([(set, host)]);
        // For each host that would move, the move that needs it.
        let mut needed_by: BTreeMap<usize, HostMove> = BTreeMap::new();
        while let Some((set, from)) = queue.pop_front() {
            let accepted = self.accepted.entry(set);
            let accepted =
                accepted.or_insert_with(|| (self.accepted_hosts)(&self.site.node_sets[set]).into());
            for to in Rc::clone(accepted).iter().copied() {
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
                        let chain = chain(step, &needed_by);
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

/// Returns a chain from its last move, which is made first.
fn chain(last: HostMove, needed_by: &BTreeMap<usize, HostMove>) -> Vec<HostMove> {
    let mut chain = vec![last];
    let mut from = last.from;
    while let Some(step) = needed_by.get(&from) {
        chain.push(*step);
        from = step.from;
    }
    chain
}
