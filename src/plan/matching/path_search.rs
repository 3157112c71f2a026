//! Searches for augmenting paths.

use std::collections::{BTreeSet, HashMap, VecDeque};

use super::{Cut, FlowUnit, Matching};

/// A step of an augmenting path: a demand takes a host of a class, and may leave one of another
/// class.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathStep {
    pub(super) demand: usize,
    pub(super) pick: FlowUnit,
    /// The host that it leaves, over whose class the search came to it.
    pub(super) instead_of: Option<FlowUnit>,
}

/// A breadth-first search for an augmenting path.
pub(super) struct PathSearch<'a, 'm> {
    matching: &'m Matching<'a>,
    start: usize,
    /// The step that reached each class.
    reached: HashMap<usize, PathStep>,
    queue: VecDeque<usize>,
    /// Demands all of whose open domains were tried.
    expanded: BTreeSet<usize>,
    /// Limited domains of demands that were tried although the demand has a host there.
    slots: BTreeSet<(usize, usize)>,
    /// Domains of each pool with unreached classes.
    untried: HashMap<usize, Vec<usize>>,
    /// A demand that topology does not limit.
    unlimited: Option<usize>,
}

impl<'a, 'm> PathSearch<'a, 'm> {
    pub(super) fn new(matching: &'m Matching<'a>, start: usize) -> Self {
        Self {
            matching,
            start,
            reached: HashMap::new(),
            queue: VecDeque::new(),
            expanded: BTreeSet::new(),
            slots: BTreeSet::new(),
            untried: HashMap::new(),
            unlimited: None,
        }
    }

    /// Searches as if topology did not limit the demand that starts.
    pub(super) fn without_limits(matching: &'m Matching<'a>, start: usize) -> Self {
        Self { unlimited: Some(start), ..Self::new(matching, start) }
    }

    /// Returns whether a demand may have another host in a domain.
    fn is_open(&self, demand: usize, domain: usize) -> bool {
        self.unlimited == Some(demand) || self.matching.is_open(demand, domain)
    }

    fn may_use(&self, demand: usize, class: usize) -> bool {
        if self.unlimited == Some(demand) {
            return self.matching.problem.may_have(demand, class);
        }
        self.matching.may_use(demand, class)
    }

    /// Returns the first class reached that has a free host.
    pub(super) fn run(&mut self) -> Option<usize> {
        if let Some(class) = self.expand(self.start, None) {
            return Some(class);
        }
        while let Some(class) = self.queue.pop_front() {
            // A set, because a demand may use several hosts of the class; ordered, for equal plans
            // from equal sites.
            let users: BTreeSet<(usize, usize)> =
                self.matching.users[class].iter().copied().collect();
            for (user, domain) in users {
                let left = Some(FlowUnit { domain, class });
                // The user may take another host of the same domain, or of any open domain.
                let is_new = self.slots.insert((user, domain));
                let found = is_new.then(|| self.reach_in(user, domain, left)).flatten();
                let found = found.or_else(|| self.expand(user, left));
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }

    /// Reaches the classes in all open domains of a demand.
    fn expand(&mut self, demand: usize, left: Option<FlowUnit>) -> Option<usize> {
        if !self.expanded.insert(demand) {
            return None;
        }
        let problem = self.matching.problem;
        let pool = problem.demands[demand].pool;
        let domains = &problem.pools[pool].domains;
        let untried = self.untried.remove(&pool).unwrap_or_else(|| (0..domains.len()).collect());
        let mut kept = Vec::new();
        for domain in untried {
            if self.is_open(demand, domain) {
                let found = self.reach_in(demand, domain, left);
                if found.is_some() {
                    return found;
                }
                // A class that is reserved for another group may still be reached by that group.
                let mut classes = domains[domain].classes.iter();
                if classes.all(|class| self.reached.contains_key(class)) {
                    continue;
                }
            }
            kept.push(domain);
        }
        self.untried.insert(pool, kept);
        None
    }

    /// Reaches the classes in a domain.
    fn reach_in(&mut self, demand: usize, domain: usize, left: Option<FlowUnit>) -> Option<usize> {
        let problem = self.matching.problem;
        let pool = problem.demands[demand].pool;
        let step = |class| {
            let pick = FlowUnit { domain, class };
            PathStep { demand, pick, instead_of: left }
        };
        // A free class ends the search, so the others do not matter.
        if let Some(class) = self.matching.first_free(demand, pool, domain) {
            return self.reach(step(class));
        }
        let mut classes = problem.pools[pool].domains[domain].classes.iter();
        classes.find_map(|class| self.reach(step(*class)))
    }

    fn reach(&mut self, step: PathStep) -> Option<usize> {
        let class = step.pick.class;
        if self.reached.contains_key(&class) || !self.may_use(step.demand, class) {
            return None;
        }
        self.reached.insert(class, step);
        self.queue.push_back(class);
        (self.matching.free[class] > 0).then_some(class)
    }

    /// Returns the steps from a class back to the start.
    pub(super) fn steps_to(&self, class: usize) -> Vec<PathStep> {
        let mut steps = Vec::new();
        let mut next = Some(class);
        while let Some(step) = next.and_then(|class| self.reached.get(&class)) {
            steps.push(*step);
            next = step.instead_of.map(|left| left.class);
        }
        steps
    }

    pub(super) fn cut(&self) -> Cut {
        let problem = self.matching.problem;
        let closed = self.expanded.iter().flat_map(|demand| {
            let picked = self.matching.picks[*demand].iter().map(|pick| pick.domain);
            let pool = &problem.pools[problem.demands[*demand].pool];
            let limited = picked.filter(|domain| pool.domains[*domain].limited);
            limited
                .filter(|domain| !self.slots.contains(&(*demand, *domain)))
                .filter(|domain| !self.is_open(*demand, *domain))
                .map(|domain| (*demand, domain))
        });
        let domains: BTreeSet<(usize, usize)> = closed.collect();
        let closed = domains.iter().filter(|(demand, _)| *demand == self.start);
        Cut {
            demand: self.start,
            found: self.matching.picks[self.start].len(),
            closed: closed.map(|(_, domain)| *domain).collect(),
            domains,
            classes: self.reached.keys().copied().collect(),
            demands: self.expanded.clone(),
            is_limited: false,
        }
    }
}
