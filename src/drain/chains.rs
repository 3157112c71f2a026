//! Chains of moves for sites that are too large for `search`.
//!
//! A chain ends at a free host: the last node set takes it, which frees a host for the node set
//! before, and so on up to the one that must give up a drained host. Each chain is the shortest in
//! its state. All chains together may have more moves than needed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::state::{HostMove, State};
use crate::plan::relocation::Relocation;

/// Maximum number of pairs of a host that leaves and a host that joins.
const MAX_TRIED: usize = 5_000_000;

/// Replaces the leaving hosts one by one. Returns `None` if a chain was not found.
///
/// `acceptable` has the node sets that accept each host.
pub(super) fn chains(
    rules: &Relocation<'_>,
    acceptable: &[Vec<usize>],
    drained: &BTreeSet<usize>,
    leaving: &BTreeMap<usize, usize>,
) -> Option<Vec<HostMove>> {
    let mut accepted: Vec<Vec<usize>> = vec![Vec::new(); rules.node_sets.len()];
    for (host, sets) in acceptable.iter().enumerate() {
        if !drained.contains(&host) {
            sets.iter().for_each(|set| accepted[*set].push(host));
        }
    }
    let mut owner: BTreeMap<usize, usize> = BTreeMap::new();
    for (index, set) in rules.node_sets.iter().enumerate() {
        owner.extend(set.hosts.iter().map(|host| (*host, index)));
    }
    let bound = |host: &usize| {
        owner
            .get(host)
            .is_some_and(|set| rules.node_sets[*set].is_bound())
    };
    for hosts in &mut accepted {
        hosts.retain(|host| !bound(host));
    }
    let mut search = Search {
        accepted: &accepted,
        owner,
        state: State::new(rules),
        tried: 0,
    };
    let mut moves = Vec::new();
    for (host, set) in leaving {
        let chain = search.shortest(*set, *host)?;
        for step in chain {
            if !search.state.make(step) {
                return None;
            }
            search.owner.remove(&step.from);
            search.owner.insert(step.to, step.set);
            moves.push(step);
        }
    }
    Some(moves)
}

struct Search<'s, 'r> {
    /// For each node set, the hosts that it accepts.
    accepted: &'s [Vec<usize>],
    /// The node set of each assigned host.
    owner: BTreeMap<usize, usize>,
    state: State<'r>,
    tried: usize,
}

impl Search<'_, '_> {
    /// Returns the shortest chain by which a host leaves its node set, in the order of its moves.
    fn shortest(&mut self, set: usize, host: usize) -> Option<Vec<HostMove>> {
        let mut queue = VecDeque::from([(set, host)]);
        // For each host that would move, the move that needs it.
        let mut needed_by: BTreeMap<usize, HostMove> = BTreeMap::new();
        while let Some((set, from)) = queue.pop_front() {
            for to in self.accepted[set].iter().copied() {
                self.tried += 1;
                if self.tried > MAX_TRIED {
                    return None;
                }
                let step = HostMove { set, from, to };
                if !self.state.allows(step) {
                    continue;
                }
                match self.owner.get(&to) {
                    None if !self.state.is_assigned(to) => return Some(chain(step, &needed_by)),
                    Some(other) if *other != set && !needed_by.contains_key(&to) => {
                        needed_by.insert(to, step);
                        queue.push_back((*other, to));
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
