//! Serves demands whose topology keys cross each other, such as rack and power feed, and those that
//! could exceed a quota or a required skew, or must be in a single domain.
//!
//! A flow handles one domain per host, counts no hosts across demands, and compares no domains, so
//! flows alone cannot serve them. In general, the problem is as hard as three-dimensional matching. A cluster is decided by
//! the first of these that can:
//!
//! 1. `local_search` finds hosts, moving others if necessary.
//! 2. `relaxations` proves by a flow for each key that there are none.
//! 3. `integer_program` decides for the cluster and some served before, then for more of them,
//!    finally for all.
//!
//! If there is no placement, `minimal_conflict` reduces the conflict to its necessary parts. Limits
//! count steps instead of time, so that the result depends on the site alone.

mod candidates;
mod domain_choice;
mod excess;
mod integer_program;
mod local_search;
mod minimal_conflict;
mod relaxations;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::flow_network::Instance;
use super::matching::MatchingProblem;
use super::search_result::{
    ConflictCore, DemandConflict, HostBounds, SearchResult, ShortDemand, ShortageProof,
    replace_each,
};
use super::topology::occurrences;
use candidates::{Candidates, Limit};
use integer_program::{Question, SolverAnswer};
use local_search::LocalSearch;
use minimal_conflict::Relaxed;
use relaxations::Relaxations;

/// Maximum number of steps of `integer_program` for a plan; about 5,000,000 take 1 s.
pub(super) const STEPS: u64 = 200_000_000;
/// Maximum number of steps for a question about a plan, of which there may be many.
pub(super) const STEPS_OF_QUESTION: u64 = 20_000_000;
/// Maximum number of steps for the reasons of a refusal that is proven already.
const STEPS_OF_EXPLANATION: u64 = 1_000_000;
/// Maximum number of steps for one neighborhood.
const STEPS_OF_SOME: u64 = 4_000_000;
/// Maximum number of steps for all demands together.
const STEPS_OF_ALL: u64 = 100_000_000;
/// Number of demands that are rearranged first, and the factor by which it grows.
const FIRST_NEIGHBORS: usize = 2;
const MORE_NEIGHBORS: usize = 3;

/// Serves clusters one by one and then replaces hosts by spare ones. Adds the result to that of other
/// clusters.
pub(super) fn serve(
    instance: &Instance<'_>,
    clusters: &[&[usize]],
    steps: u64,
    served: &mut SearchResult,
) {
    let candidates = Candidates::new(instance, &clusters.concat());
    let problems = OnceCell::new();
    let mut search = CrossingSearch {
        instance,
        placing: LocalSearch::new(&candidates),
        problems: &problems,
        bounds: None,
        accepted: Vec::new(),
        refused: HashMap::new(),
        budget: steps,
    };
    for &cluster in clusters {
        match search.accept(cluster) {
            Ok(()) => search.accepted.extend(cluster),
            Err(cluster_demands) => served.unserved.extend(cluster_demands),
        }
    }
    let CrossingSearch { mut placing, mut accepted, .. } = search;
    accepted.sort_unstable();
    let hosts = instance.classes.hosts;
    for &index in &accepted {
        let demand = &instance.demands[index];
        let mut replaceable = demand.replaceable.clone();
        replaceable.retain(|host| !demand.uneven.contains_key(host));
        let replace = |host| placing.replace(index, &hosts[host]);
        served.replaced[index] = replace_each(replaceable, replace);
    }
    accepted.iter().for_each(|demand| placing.settle(*demand));
    for &index in &accepted {
        if let Some(key) = instance.pool(index).evenness {
            let label = instance.classes.topology[key];
            let kept = instance.demands[index].kept.iter();
            let retained = kept.filter(|host| !served.replaced[index].contains(host));
            let domains = retained.filter_map(|host| hosts[*host].domain(label));
            placing.level(index, key, &occurrences(domains));
        }
    }
    placing.matching.settle(|pool| instance.pools[pool].counted.is_empty());
    for (picks, placed) in served.picks.iter_mut().zip(placing.matching.picks) {
        picks.extend(placed);
    }
}

/// The request of a demand: its group if hosts are reserved for it, its pool, its missing hosts, the
/// domains of its retained ones, and its quotas.
type CrossingRequest = (Option<usize>, usize, usize, Vec<Limit>, Vec<usize>);

struct CrossingSearch<'a> {
    instance: &'a Instance<'a>,
    placing: LocalSearch<'a>,
    problems: &'a OnceCell<Vec<MatchingProblem>>,
    /// Created on first use.
    bounds: Option<Relaxations<'a>>,
    accepted: Vec<usize>,
    /// Refused clusters by their requests. A later cluster with equal ones is refused as well.
    refused: HashMap<Vec<CrossingRequest>, (Vec<usize>, Vec<ShortDemand>)>,
    /// Remaining steps of the integer program.
    budget: u64,
}

impl CrossingSearch<'_> {
    /// Satisfies all demands of a cluster or none. Accepted demands stay satisfied.
    fn accept(&mut self, cluster: &[usize]) -> Result<(), Vec<ShortDemand>> {
        let problem = &self.instance.problem;
        let requests = cluster.iter().map(|index| {
            let of = &problem.demands[*index];
            let mut taken = self.placing.candidates.taken[*index].clone();
            taken.sort_unstable();
            (of.reserving, of.pool, of.missing, taken, of.quotas.clone())
        });
        let requests: Vec<CrossingRequest> = requests.collect();
        if let Some((others, refused)) = self.refused.get(&requests) {
            let refused = refused.iter();
            return Err(refused.map(|unserved| unserved.translated(others, cluster)).collect());
        }
        let mut refused = self.decide(cluster);
        if let Err(refused) = &mut refused {
            self.refuse_others(cluster, refused);
            self.confirm(cluster, refused);
            self.refused.insert(requests, (cluster.to_vec(), refused.clone()));
        }
        refused
    }

    /// Adds the demands of a refused cluster that could not be served without those in `refused`
    /// either, and that have no part in their conflicts.
    fn refuse_others(&mut self, cluster: &[usize], refused: &mut Vec<ShortDemand>) {
        let budget = std::mem::replace(&mut self.budget, STEPS_OF_EXPLANATION);
        loop {
            let has_part = |short: &ShortDemand, demand: &usize| match &short.why {
                // A quota is for all of them.
                ShortageProof::Crossing(DemandConflict { core, .. })
                    if !core.quotas.is_empty() || core.demands.contains(demand) =>
                {
                    true
                }
                _ => short.index == *demand,
            };
            let mut others = cluster.to_vec();
            others.retain(|demand| !refused.iter().any(|short| has_part(short, demand)));
            let mut found = self.decide(&others).err().unwrap_or_default();
            found.retain(|short| !matches!(short.why, ShortageProof::Undecided));
            if found.is_empty() {
                others.iter().for_each(|demand| self.placing.release(*demand));
                self.bounds.iter_mut().for_each(|bounds| bounds.release(&others));
                break;
            }
            refused.extend(found);
        }
        self.budget = budget;
    }

    /// Searches for as many hosts as the demands of a refused cluster could have at most.
    fn confirm(&mut self, cluster: &[usize], refused: &mut [ShortDemand]) {
        for demand in cluster {
            self.placing.fill(*demand);
        }
        for demand in cluster {
            let hosts = self.placing.matching.picks[*demand].len();
            self.placing.release(*demand);
            for refused in refused.iter_mut().filter(|refused| refused.index == *demand) {
                refused.found.least = hosts.min(refused.found.most);
            }
        }
    }

    /// Searches for hosts if no equal cluster was refused.
    fn decide(&mut self, cluster: &[usize]) -> Result<(), Vec<ShortDemand>> {
        let constrained: Vec<ShortDemand> =
            cluster.iter().filter_map(|demand| self.constraint_excess(*demand)).collect();
        if !constrained.is_empty() {
            return Err(constrained);
        }
        if let Some(short) = cluster.iter().find_map(|demand| self.domain_shortage(*demand)) {
            return Err(vec![short]);
        }
        if let Some(excess) = self.quota_excess(cluster) {
            let by_count = self.bound(cluster).err().unwrap_or_default();
            if by_count.is_empty() {
                self.bounds.iter_mut().for_each(|bounds| bounds.release(cluster));
            }
            return Err(self.tighter(excess, by_count));
        }
        // Relaxations are created when the local search fails for the first time, which few sites
        // need.
        let is_bounded = self.bounds.is_some();
        if is_bounded && let Err(by_count) = self.bound(cluster) {
            return Err(self.tightest(cluster, by_count));
        }
        if cluster.iter().all(|demand| self.placing.fill(*demand)) {
            return Ok(());
        }
        cluster.iter().for_each(|demand| self.placing.release(*demand));
        if !is_bounded && let Err(by_count) = self.bound(cluster) {
            return Err(self.tightest(cluster, by_count));
        }
        let refused = match self.rearrange(cluster) {
            SolverAnswer::Placed(_) => return Ok(()),
            SolverAnswer::Impossible => self.refusal(cluster, Relaxed::Nothing),
            SolverAnswer::Undecided => self.undecided(cluster),
        };
        // Refused demands must not restrict later clusters.
        self.bounds.iter_mut().for_each(|bounds| bounds.release(cluster));
        Err(refused)
    }

    /// Explains a cluster that cannot be served even without its quotas. If it lacks fewer hosts
    /// without them, they are a cause.
    fn tightest(&mut self, cluster: &[usize], mut by_count: Vec<ShortDemand>) -> Vec<ShortDemand> {
        let (problem, candidates) = (&self.instance.problem, self.placing.candidates);
        let is_counted = |demand: &usize| {
            let mut classes = candidates.pool(problem.demands[*demand].pool).iter();
            classes.any(|of| problem.counted_by(*demand, of.class).next().is_some())
        };
        // With a single domain for all hosts, a further host helps in the right one only.
        let mut is_by_topology = false;
        if cluster.iter().any(|demand| candidates.single(*demand).is_some()) {
            if let Some(explained) = self.explained(cluster) {
                return explained;
            }
        } else if cluster.iter().any(is_counted) {
            let found = self.most(cluster, Relaxed::Nothing);
            let most: usize = found.iter().map(|found| found.most).sum();
            let mut is_by = |relaxed| {
                let found = self.most(cluster, relaxed);
                found.iter().map(|found| found.least).sum::<usize>() > most
            };
            let is_by_quotas = is_by(Relaxed::Quotas);
            is_by_topology = is_by(Relaxed::Topology);
            if is_by_quotas {
                let relaxed = if is_by_topology { Relaxed::Nothing } else { Relaxed::Topology };
                return self.refusal(cluster, relaxed);
            }
        } else {
            return by_count;
        }
        for unserved in &mut by_count {
            if let ShortageProof::Counted(count) = &mut unserved.why {
                count.is_limited &= is_by_topology;
            }
        }
        by_count
    }

    /// Proves that a cluster cannot be served. Returns the demands of the conflict that lack hosts.
    fn refusal(&mut self, cluster: &[usize], relaxed: Relaxed) -> Vec<ShortDemand> {
        let core = self.core(cluster, relaxed);
        self.refusal_by(core, cluster).unwrap_or_else(|| self.undecided(cluster))
    }

    /// Explains a cluster with a demand for a single domain by a minimal conflict; `None` if the number
    /// of hosts refuses it.
    fn explained(&mut self, cluster: &[usize]) -> Option<Vec<ShortDemand>> {
        let budget = std::mem::replace(&mut self.budget, STEPS_OF_EXPLANATION);
        let core = self.core(cluster, Relaxed::Nothing);
        let is_by_hosts =
            core.limits.is_empty() && core.quotas.is_empty() && core.constrained.is_empty();
        let is_explained = core.is_minimal && !is_by_hosts;
        let explained = is_explained.then(|| self.refusal_by(core, cluster)).flatten();
        self.budget = budget;
        explained
    }

    /// Returns the demands of a conflict that lack hosts; `None` if none is proven to.
    fn refusal_by(&mut self, core: ConflictCore, cluster: &[usize]) -> Option<Vec<ShortDemand>> {
        let found = self.most(cluster, Relaxed::Nothing);
        let problem = &self.instance.problem;
        let is_short = |(index, found): &(&usize, HostBounds)| {
            found.most < problem.demands[**index].missing && core.demands.contains(index)
        };
        let short: Vec<(&usize, HostBounds)> = cluster.iter().zip(found).filter(is_short).collect();
        if short.is_empty() {
            return None;
        }
        let why = ShortageProof::Crossing(self.conflict(core));
        let short = short.into_iter();
        let short =
            short.map(|(index, found)| ShortDemand { index: *index, found, why: why.clone() });
        Some(short.collect())
    }

    fn undecided(&self, cluster: &[usize]) -> Vec<ShortDemand> {
        let open =
            cluster.iter().filter(|demand| self.instance.problem.demands[**demand].missing > 0);
        open.map(|index| ShortDemand::at_most(*index, 0, ShortageProof::Undecided)).collect()
    }

    /// Satisfies a cluster by one key at a time.
    fn bound(&mut self, cluster: &[usize]) -> Result<(), Vec<ShortDemand>> {
        let problems = self.problems.get_or_init(|| relaxations::by_one_key(self.instance));
        let bounds = self.bounds.get_or_insert_with(|| Relaxations::new(problems, &self.accepted));
        bounds.accept(cluster)
    }

    /// Places a cluster together with others that were served before: some, then more, then all.
    fn rearrange(&mut self, cluster: &[usize]) -> SolverAnswer {
        let problem = &self.instance.problem;
        let neighbors = self.neighbors(cluster);
        let mut count = FIRST_NEIGHBORS;
        loop {
            let is_all = count >= neighbors.len();
            let some = &neighbors[..count.min(neighbors.len())];
            let demands: Vec<usize> = cluster.iter().chain(some).copied().collect();
            let mut hosts = self.placing.matching.free.clone();
            let mut left = self.placing.left.clone();
            // The hosts and quotas of neighbors count as free, because neighbors are placed again.
            for &demand in some {
                for pick in &self.placing.matching.picks[demand] {
                    hosts[pick.class] += 1;
                    problem.counted_by(demand, pick.class).for_each(|quota| left[quota] += 1);
                }
            }
            let question = Question {
                candidates: self.placing.candidates,
                demands: &demands,
                missing: &|demand| problem.demands[demand].missing,
                hosts: &hosts,
                limits: &|_| true,
                quotas: &|quota| Some(left[quota]),
                spreads: &|_| true,
            };
            let steps = if is_all { STEPS_OF_ALL } else { STEPS_OF_SOME };
            let answer = question.answer(&mut self.budget, steps);
            if let SolverAnswer::Placed(picks) = &answer {
                some.iter().for_each(|demand| self.placing.release(*demand));
                picks.iter().for_each(|(demand, class)| self.placing.put(*demand, *class));
                return answer;
            }
            if is_all {
                return answer;
            }
            if self.budget == 0 {
                return SolverAnswer::Undecided;
            }
            count *= MORE_NEIGHBORS;
        }
    }

    /// Returns the accepted demands, those first that have most hosts that the cluster could use.
    fn neighbors(&self, cluster: &[usize]) -> Vec<usize> {
        let (problem, candidates) = (&self.instance.problem, self.placing.candidates);
        let pools: HashSet<usize> =
            cluster.iter().map(|demand| problem.demands[*demand].pool).collect();
        let useful = |demand: &usize| {
            let picks = self.placing.matching.picks[*demand].iter();
            let is_useful =
                |class| pools.iter().any(|pool| candidates.candidate(*pool, class).is_some());
            picks.filter(|pick| is_useful(pick.class)).count()
        };
        let mut neighbors = self.accepted.clone();
        neighbors.retain(|demand| problem.demands[*demand].missing > 0);
        neighbors.sort_by_cached_key(|demand| (std::cmp::Reverse(useful(demand)), *demand));
        neighbors
    }

    fn conflict(&self, core: ConflictCore) -> DemandConflict {
        let (problem, topology) = (&self.instance.problem, &self.instance.classes.topology);
        let candidates = self.placing.candidates;
        let limits: BTreeSet<Limit> = core.limits.iter().copied().collect();
        let mut usable: HashMap<usize, bool> = HashMap::new();
        for demand in &core.demands {
            let taken: Vec<&Limit> =
                candidates.taken[*demand].iter().filter(|limit| limits.contains(limit)).collect();
            for candidate in candidates.pool(problem.demands[*demand].pool) {
                if problem.may_have(*demand, candidate.class)
                    && !candidate.limits.iter().any(|limit| taken.contains(&limit))
                {
                    let is_inside = candidate.limits.iter().any(|limit| limits.contains(limit));
                    *usable.entry(candidate.class).or_default() |= is_inside;
                }
            }
        }
        let hosts = |(class, _): (&usize, &bool)| problem.capacities[*class];
        let outside = usable.iter().filter(|(_, is_inside)| !**is_inside);
        let mut domains: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for limit in &limits {
            let (key, value) = candidates.limits[*limit];
            domains.entry(topology[key].to_owned()).or_default().insert(value.to_owned());
        }
        DemandConflict {
            hosts: usable.iter().map(hosts).sum(),
            outside: outside.map(hosts).sum(),
            core,
            domains,
            has_no_more_hosts: false,
        }
    }
}
