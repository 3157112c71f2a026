//! Hosts of node sets while moves are made.

use std::collections::BTreeSet;

use crate::plan::relocation::Relocation;

/// The replacement of a host of a node set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HostMove {
    /// Index of the node set.
    pub(super) set: usize,
    /// The host that leaves.
    pub(super) from: usize,
    /// The host that takes its place.
    pub(super) to: usize,
}

/// The hosts of all node sets at one point of a plan of moves.
pub(super) struct MoveState<'r> {
    rules: &'r Relocation<'r>,
    hosts: Vec<BTreeSet<usize>>,
    assigned: BTreeSet<usize>,
    /// Number of hosts that count for each quota.
    used: Vec<usize>,
}

impl<'r> MoveState<'r> {
    pub(super) fn new(rules: &'r Relocation<'r>) -> Self {
        Self {
            rules,
            hosts: rules
                .node_sets
                .iter()
                .map(|set| set.hosts.clone())
                .collect(),
            assigned: rules.owners().into_keys().collect(),
            used: rules.limits.iter().map(|limit| limit.used).collect(),
        }
    }

    /// Makes a move if every constraint holds afterwards, and returns whether it did. The caller
    /// knows that the node set accepts the host.
    pub(super) fn make(&mut self, step: HostMove) -> bool {
        let is_possible = self.hosts[step.set].contains(&step.from)
            && !self.is_assigned(step.to)
            && self.allows(step, None);
        if is_possible {
            self.apply(step);
        }
        is_possible
    }

    /// Returns whether topology and quotas allow a move once another node set, if it has the new host,
    /// has left it.
    pub(super) fn allows(&self, step: HostMove, owner: Option<usize>) -> bool {
        self.is_apart(step) && self.is_within_quotas(step, owner)
    }

    /// Returns whether a cluster has the host.
    pub(super) fn is_assigned(&self, host: usize) -> bool {
        self.assigned.contains(&host)
    }

    /// Reverts a move.
    pub(super) fn revert(&mut self, step: HostMove) {
        self.apply(HostMove {
            from: step.to,
            to: step.from,
            ..step
        });
    }

    fn apply(&mut self, HostMove { set, from, to }: HostMove) {
        self.hosts[set].remove(&from);
        self.hosts[set].insert(to);
        self.assigned.remove(&from);
        self.assigned.insert(to);
        for (limit, used) in self.rules.limits.iter().zip(&mut self.used) {
            if limit.node_sets[set] {
                *used = *used + usize::from(limit.hosts[to]) - usize::from(limit.hosts[from]);
            }
        }
    }

    /// Returns whether the new host shares no topology domain with a host that stays.
    fn is_apart(&self, HostMove { set, from, to }: HostMove) -> bool {
        let own = self.rules.domains(set, to);
        own.is_empty()
            || self.hosts[set]
                .iter()
                .filter(|host| **host != from)
                .all(|host| {
                    let others = self.rules.domains(set, *host);
                    !others.iter().any(|domain| own.contains(domain))
                })
    }

    fn is_within_quotas(&self, step: HostMove, owner: Option<usize>) -> bool {
        let HostMove { set, from, to } = step;
        let limits = self.rules.limits.iter().zip(&self.used);
        let mut binding = limits.filter(|(limit, _)| limit.node_sets[set] && limit.hosts[to]);
        binding.all(|(limit, used)| {
            let is_left = owner.is_some_and(|owner| limit.node_sets[owner]);
            used - usize::from(limit.hosts[from]) - usize::from(is_left) < limit.most
        })
    }
}
