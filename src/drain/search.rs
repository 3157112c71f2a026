//! Search for the fewest moves when free hosts do not suffice: assigned hosts move as well.
//!
//! Hosts that no rule tells apart are one kind. The search is A* over the numbers of hosts of each
//! kind in each node set; the number of drained hosts that are assigned bounds the moves that are
//! left. It counts states, never time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};

use super::sequence::StepLimits;
use super::state::HostMove;
use crate::api::names::{ClusterKey, Role};
use crate::plan::relocation::Relocation;

/// Maximum number of states.
const MAX_STATES: usize = 200_000;
/// Maximum number of moves that are tried, for each state that the limits allow.
const MAX_TRIED: usize = 20;
/// Maximum number of values in all states together, 2 bytes each.
const MAX_VALUES: usize = 30_000_000;

/// The properties that hosts of a kind share: node sets, domains, quotas, duty.
type Alike<'r> = (Vec<usize>, Vec<(&'r str, &'r str)>, Vec<usize>, Duty);

/// What a plan of moves requires of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Duty {
    /// Nothing.
    None,
    /// It must leave its node set.
    Drained,
    /// Its node set already has another host in its place.
    Waiting,
}

/// The site as the search sees it.
pub(super) struct Problem<'r> {
    rules: &'r Relocation<'r>,
    /// For each kind, the node sets that accept it.
    accepted: Vec<BTreeSet<usize>>,
    /// For each kind and node set, the topology domains as numbers.
    domains: Vec<Vec<Vec<usize>>>,
    duties: Vec<Duty>,
    /// For each kind, the quotas that count it.
    quotas: Vec<Vec<usize>>,
    /// Unassigned hosts of each kind.
    free: Vec<Vec<usize>>,
    /// For each node set, its hosts by kind.
    places: Vec<BTreeMap<usize, Vec<usize>>>,
    /// Index of the cluster of each node set.
    clusters: Vec<usize>,
    /// Hosts of each cluster, and members of its control plane, that already leave.
    waiting: Vec<(u16, u16)>,
    /// For each quota, the number of hosts of frozen clusters that count.
    others: Vec<usize>,
    at_once: usize,
}

/// The result of a search.
pub(super) enum Found {
    /// Steps with the fewest moves, and of those the fewest steps if they were searched for.
    Steps(Vec<Vec<HostMove>>),
    /// No order of moves empties the hosts.
    Nothing,
    /// The search ended at its limit.
    Undecided,
}

#[derive(Debug, Clone, Copy)]
enum Action {
    Move { set: usize, from: usize, to: usize },
    NextStep,
}

struct Node {
    state: Vec<u16>,
    before: Option<(usize, Action)>,
    moves: usize,
    steps: usize,
}

/// Positions of values in a state.
struct Values {
    kinds: usize,
    sets: usize,
}

impl Values {
    fn place(&self, set: usize, kind: usize) -> usize {
        set * self.kinds + kind
    }

    fn free(&self, kind: usize) -> usize {
        self.sets * self.kinds + kind
    }

    fn released(&self, kind: usize) -> usize {
        (self.sets + 1) * self.kinds + kind
    }

    /// Hosts of a cluster that moved in the current step; its control plane's members follow.
    fn moved(&self, cluster: usize) -> usize {
        (self.sets + 2) * self.kinds + 2 * cluster
    }
}

impl<'r> Problem<'r> {
    /// Groups hosts by kind. `acceptable` has the node sets that accept each host.
    pub(super) fn new(
        rules: &'r Relocation<'r>,
        acceptable: &[Vec<usize>],
        drained: &BTreeSet<usize>,
        limits: StepLimits<'_>,
    ) -> Self {
        let owners = rules.owners();
        let mut set_of: BTreeMap<usize, usize> = BTreeMap::new();
        for (index, set) in rules.node_sets.iter().enumerate() {
            set_of.extend(set.hosts.iter().map(|host| (*host, index)));
        }
        let mut known: BTreeMap<Alike<'_>, usize> = BTreeMap::new();
        let mut numbers: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        let mut problem = Self {
            rules,
            accepted: Vec::new(),
            domains: Vec::new(),
            duties: Vec::new(),
            others: Vec::new(),
            quotas: Vec::new(),
            free: Vec::new(),
            places: vec![BTreeMap::new(); rules.node_sets.len()],
            clusters: Vec::new(),
            waiting: Vec::new(),
            at_once: limits.at_once,
        };
        for (host, accepted) in acceptable.iter().enumerate() {
            let set = set_of.get(&host).copied();
            let duty = match (limits.waiting.contains_key(&host), drained.contains(&host)) {
                (true, _) => Duty::Waiting,
                (false, true) => Duty::Drained,
                (false, false) => Duty::None,
            };
            let is_free = !owners.contains_key(&host) && duty == Duty::None && !accepted.is_empty();
            if set.is_none() && !is_free {
                continue;
            }
            let all = 0..rules.node_sets.len();
            let domains: BTreeSet<(&str, &str)> = all
                .clone()
                .flat_map(|set| rules.domains(set, host))
                .collect();
            let counting = rules.limits.iter().enumerate();
            let counting = counting.filter(|(_, limit)| limit.hosts[host]);
            let quotas: Vec<usize> = counting.map(|(index, _)| index).collect();
            let alike = (
                accepted.clone(),
                domains.into_iter().collect(),
                quotas,
                duty,
            );
            let next = known.len();
            let kind = *known.entry(alike.clone()).or_insert(next);
            if kind == next {
                let (accepted, _, quotas, _) = alike;
                problem.accepted.push(accepted.into_iter().collect());
                problem.quotas.push(quotas);
                problem.duties.push(duty);
                problem.free.push(Vec::new());
                let of_set = |set: usize| {
                    let own = rules.domains(set, host).into_iter();
                    own.map(|domain| {
                        let next = numbers.len();
                        *numbers.entry(domain).or_insert(next)
                    })
                    .collect()
                };
                problem.domains.push(all.map(of_set).collect());
            }
            match set {
                Some(set) => problem.places[set].entry(kind).or_default().push(host),
                None => problem.free[kind].push(host),
            }
        }
        let mut clusters: BTreeMap<&ClusterKey, usize> = BTreeMap::new();
        for set in &rules.node_sets {
            let next = clusters.len();
            let cluster = *clusters.entry(&set.cluster.key).or_insert(next);
            problem.clusters.push(cluster);
        }
        problem.waiting = vec![(0, 0); clusters.len()];
        for set in limits.waiting.values() {
            let is_member = problem.is_control_plane(*set);
            let of = &mut problem.waiting[problem.clusters[*set]];
            of.0 += 1;
            of.1 += u16::from(is_member);
        }
        let start = problem.start();
        problem.others = rules
            .limits
            .iter()
            .enumerate()
            // Hosts of frozen clusters count as well, and never move.
            .map(|(quota, limit)| limit.used - problem.counted(&start, quota))
            .collect();
        problem
    }

    /// Finds the fewest moves after which no drained host has to leave, and with `by_step` the
    /// fewest steps of those.
    pub(super) fn search(&self, by_step: bool) -> Found {
        let values = self.values();
        let start = self.start();
        let left = |state: &[u16]| self.drained(state);
        let mut queue = BinaryHeap::new();
        queue.push(Reverse((left(&start), 0, 0)));
        let mut best: HashMap<Vec<u16>, (usize, usize)> = HashMap::new();
        best.insert(start.clone(), (0, 0));
        let mut nodes = vec![Node {
            state: start,
            before: None,
            moves: 0,
            steps: 0,
        }];
        let limit = MAX_STATES.min(MAX_VALUES / values.moved(self.waiting.len()).max(1));
        let mut tried = 0;
        while let Some(Reverse((_, _, at))) = queue.pop() {
            let Node {
                state,
                moves,
                steps,
                ..
            } = &nodes[at];
            let (state, moves, steps) = (state.clone(), *moves, *steps);
            if best
                .get(&state)
                .is_some_and(|known| *known < (moves, steps))
            {
                continue;
            }
            if left(&state) == 0 {
                return Found::Steps(self.hosts_of(&nodes, at, by_step));
            }
            let successors = self.successors(&state, by_step);
            tried += successors.len();
            if tried > limit * MAX_TRIED {
                return Found::Undecided;
            }
            for (action, next) in successors {
                let (moves, steps) = match action {
                    Action::Move { .. } => (moves + 1, steps),
                    Action::NextStep => (moves, steps + 1),
                };
                let is_known = best
                    .get(&next)
                    .is_some_and(|known| *known <= (moves, steps));
                if is_known {
                    continue;
                }
                if nodes.len() >= limit {
                    return Found::Undecided;
                }
                best.insert(next.clone(), (moves, steps));
                queue.push(Reverse((moves + left(&next), steps, nodes.len())));
                nodes.push(Node {
                    state: next,
                    before: Some((at, action)),
                    moves,
                    steps,
                });
            }
        }
        Found::Nothing
    }

    fn values(&self) -> Values {
        Values {
            kinds: self.accepted.len(),
            sets: self.places.len(),
        }
    }

    fn start(&self) -> Vec<u16> {
        let values = self.values();
        let mut state = vec![0; values.moved(self.waiting.len())];
        for (set, kinds) in self.places.iter().enumerate() {
            for (kind, hosts) in kinds {
                state[values.place(set, *kind)] = number(hosts.len());
            }
        }
        for (kind, hosts) in self.free.iter().enumerate() {
            state[values.free(kind)] = number(hosts.len());
        }
        for (cluster, (hosts, members)) in self.waiting.iter().enumerate() {
            state[values.moved(cluster)] = *hosts;
            state[values.moved(cluster) + 1] = *members;
        }
        state
    }

    fn drained(&self, state: &[u16]) -> usize {
        let values = self.values();
        let kinds = (0..values.kinds).filter(|kind| self.duties[*kind] == Duty::Drained);
        let hosts = kinds.flat_map(|kind| (0..values.sets).map(move |set| (set, kind)));
        hosts
            .map(|(set, kind)| usize::from(state[values.place(set, kind)]))
            .sum()
    }

    fn is_control_plane(&self, set: usize) -> bool {
        self.rules.node_sets[set].part.role == Role::ControlPlane
    }

    /// Returns all states after one move, or after the begin of the next step.
    fn successors(&self, state: &[u16], by_step: bool) -> Vec<(Action, Vec<u16>)> {
        let values = self.values();
        let mut next = Vec::new();
        for set in 0..values.sets {
            let moved = values.moved(self.clusters[set]);
            let is_at_limit = usize::from(state[moved]) >= self.at_once
                || self.is_control_plane(set) && state[moved + 1] > 0;
            if self.rules.node_sets[set].is_bound() || by_step && is_at_limit {
                continue;
            }
            let has = |kind: &usize| {
                self.duties[*kind] != Duty::Waiting && state[values.place(set, *kind)] > 0
            };
            let own: Vec<usize> = (0..values.kinds).filter(has).collect();
            let used = |quota: usize| self.others[quota] + self.counted(state, quota);
            let is_available = |kind: &usize| {
                let released = if by_step {
                    state[values.released(*kind)]
                } else {
                    0
                };
                self.duties[*kind] == Duty::None
                    && self.accepted[*kind].contains(&set)
                    && state[values.free(*kind)] > released
            };
            for to in (0..values.kinds).filter(is_available) {
                for from in own.iter().copied().filter(|from| *from != to) {
                    let is_within = self.quotas[to].iter().all(|quota| {
                        let limit = &self.rules.limits[*quota];
                        let leaves = usize::from(self.quotas[from].contains(quota));
                        !limit.node_sets[set] || used(*quota) - leaves < limit.most
                    });
                    if !is_within || !self.is_apart(state, set, from, to) {
                        continue;
                    }
                    let mut after = state.to_vec();
                    after[values.place(set, from)] -= 1;
                    after[values.place(set, to)] += 1;
                    after[values.free(to)] -= 1;
                    after[values.free(from)] += 1;
                    if by_step {
                        after[values.released(from)] += 1;
                        after[moved] += 1;
                        after[moved + 1] += u16::from(self.is_control_plane(set));
                    }
                    next.push((Action::Move { set, from, to }, after));
                }
            }
        }
        if by_step {
            let mut after = state.to_vec();
            after[values.released(0)..].fill(0);
            next.push((Action::NextStep, after));
        }
        next
    }

    /// Returns the number of hosts in a state that count for a quota.
    fn counted(&self, state: &[u16], quota: usize) -> usize {
        let values = self.values();
        let limit = &self.rules.limits[quota];
        let kinds = (0..values.kinds).filter(|kind| self.quotas[*kind].contains(&quota));
        let kinds: Vec<usize> = kinds.collect();
        let sets = (0..values.sets).filter(|set| limit.node_sets[*set]);
        let places = sets.flat_map(|set| kinds.iter().map(move |kind| (set, *kind)));
        places
            .map(|(set, kind)| usize::from(state[values.place(set, kind)]))
            .sum()
    }

    fn is_apart(&self, state: &[u16], set: usize, from: usize, to: usize) -> bool {
        let values = self.values();
        let own = &self.domains[to][set];
        own.is_empty()
            || (0..values.kinds).all(|kind| {
                let hosts = state[values.place(set, kind)] - u16::from(kind == from);
                hosts == 0
                    || !self.domains[kind][set]
                        .iter()
                        .any(|domain| own.contains(domain))
            })
    }

    /// Returns the moves to a node with hosts in the place of kinds. Hosts that were free the
    /// longest are taken first.
    fn hosts_of(&self, nodes: &[Node], end: usize, by_step: bool) -> Vec<Vec<HostMove>> {
        let mut actions = Vec::new();
        let mut at = end;
        while let Some((before, action)) = nodes[at].before {
            actions.push(action);
            at = before;
        }
        let mut free: Vec<Vec<usize>> = self.free.clone();
        let mut places = self.places.clone();
        let mut steps = vec![Vec::new()];
        for action in actions.into_iter().rev() {
            match action {
                Action::NextStep => steps.push(Vec::new()),
                Action::Move { set, from, to } => {
                    let leaves = places[set].get_mut(&from).map(|hosts| hosts.remove(0));
                    let joins = free[to].remove(0);
                    let Some(leaves) = leaves else { continue };
                    free[from].push(leaves);
                    places[set].entry(to).or_default().push(joins);
                    let step = HostMove {
                        set,
                        from: leaves,
                        to: joins,
                    };
                    match steps.last_mut().filter(|_| by_step) {
                        Some(last) => last.push(step),
                        None => steps.push(vec![step]),
                    }
                }
            }
        }
        steps
    }
}

/// Converts a number of hosts, which is below the limit of compared pairs.
fn number(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}
