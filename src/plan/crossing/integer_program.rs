//! Decides whether demands can be served together, as an integer program solved by branch and
//! bound.
//!
//! `microlp` was chosen by measurements on 150 sites of up to 100 hosts. About half of the sites
//! without a planted solution have no placement. Within 3 s per site, a SAT solver (`batsat`) left
//! 34 undecided, and a custom pseudo-Boolean solver 31. Counting arguments, such as ten hosts for
//! eleven racks, are long proofs for both but immediate for a linear relaxation. Most sites take
//! `microlp` some ms, and packed sites of 200 hosts up to 9 s.
//!
//! The license of `splr` is not permitted here, and HiGHS would add C++. `microlp` is Rust without
//! `unsafe` and limits its search by nodes instead of time. It checks a certificate before it
//! answers "infeasible". Its placements are checked here.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use microlp::{
    ComparisonOp, OptimizationDirection, Problem as Program, ResumeOptions, SolveOptions,
    SolveOutcome, Variable,
};

use super::super::skew::{DomainRule, SkewRule};
use super::super::topology::occurrences;
use super::candidates::{Candidates, Limit};
use crate::base::grouping::{grouped, grouped_in_order};

/// Maximum number of variables in a program.
const MOST_VARIABLES: usize = 40_000;

/// A question to the integer program.
pub(super) struct Question<'q> {
    pub(super) candidates: &'q Candidates<'q>,
    pub(super) demands: &'q [usize],
    /// Number of hosts that each demand lacks.
    pub(super) missing: &'q dyn Fn(usize) -> usize,
    /// Number of hosts of each class for these demands.
    pub(super) hosts: &'q [usize],
    /// Returns whether a domain keeps hosts apart.
    pub(super) limits: &'q dyn Fn(Limit) -> bool,
    /// Number of hosts that a quota leaves to these demands; `None` if it does not count.
    pub(super) quotas: &'q dyn Fn(usize) -> Option<usize>,
    /// Returns whether the constraints of a demand on domains count.
    pub(super) spreads: &'q dyn Fn(usize) -> bool,
}

/// The answer to a [`Question`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SolverAnswer {
    /// Pairs of demand and class, one for each host.
    Placed(Vec<(usize, usize)>),
    Impossible,
    Undecided,
}

/// The properties shared by classes that no demand tells apart: the exclusive group, quotas, and
/// domains by pool.
type ClassProperties = (Option<usize>, Vec<usize>, Vec<(usize, Vec<Limit>)>);

impl Question<'_> {
    /// Answers within a share of the remaining steps: simplex iterations, weighted with the size of the
    /// program.
    pub(super) fn answer(&self, budget: &mut u64, share: u64) -> SolverAnswer {
        let problem = &self.candidates.instance.problem;
        let groups = self.groups();
        let size = |(_, classes): &(_, Vec<usize>)| classes.iter().map(|it| self.hosts[*it]).sum();
        let sizes: Vec<usize> = groups.iter().map(size).collect();
        let mut program = LinearRows::default();
        // Demand and group of each variable: the number of hosts that a demand takes of a group.
        let mut takes: Vec<(usize, usize)> = Vec::new();
        let mut limited: BTreeMap<(usize, Limit), (Vec<usize>, usize)> = BTreeMap::new();
        let mut counted: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for &demand in self.demands {
            let of = &problem.demands[demand];
            let taken = occurrences(self.candidates.taken[demand].iter().copied());
            // Number of further hosts of the demand in a domain.
            let room = |limit: &Limit| match (self.limits)(*limit) {
                true => {
                    let taken = taken.get(limit).copied().unwrap_or_default();
                    self.candidates.most(demand, *limit).saturating_sub(taken)
                }
                false => usize::MAX,
            };
            for (group, ((_, quotas, pools), classes)) in groups.iter().enumerate() {
                let Some((_, limits)) = pools.iter().find(|(pool, _)| *pool == of.pool) else {
                    continue;
                };
                let single = self.candidates.single(demand).filter(|_| (self.spreads)(demand));
                if single.is_some_and(|spread| spread.domain(limits).is_none()) {
                    continue;
                }
                let most = sizes[group].min((self.missing)(demand));
                let most = limits.iter().map(room).min().unwrap_or(most).min(most);
                if most == 0 || !problem.may_have(demand, classes[0]) {
                    continue;
                }
                let take = program.variable(most);
                for limit in limits {
                    let (takes_of, most) = limited.entry((demand, *limit)).or_default();
                    takes_of.push(take);
                    *most = room(limit);
                }
                for quota in of.quotas.iter().filter(|quota| quotas.contains(quota)) {
                    counted.entry(*quota).or_default().push(take);
                }
                takes.push((demand, group));
            }
        }
        let by_demand = grouped(takes.iter().enumerate().map(|(at, (demand, _))| (*demand, at)));
        let by_group = grouped(takes.iter().enumerate().map(|(at, (_, group))| (*group, at)));
        let bounds = program.bounds.clone();
        let most = |takes_of: &[usize]| takes_of.iter().map(|at| bounds[*at]).sum::<usize>();
        let missing = self.missing;
        // Too few candidates need no search.
        let all_of = |demand: &usize| by_demand.get(demand).map_or(0, |takes_of| most(takes_of));
        if self.demands.iter().any(|demand| all_of(demand) < missing(*demand)) {
            return SolverAnswer::Impossible;
        }
        for (demand, of) in &by_demand {
            program.add(of, ComparisonOp::Ge, missing(*demand));
        }
        let host_rows = by_group.iter().map(|(group, of)| (of, sizes[*group]));
        let domain_rows = limited.values().map(|(of, most)| (of, *most));
        let quota_rows =
            counted.iter().filter_map(|(quota, of)| Some((of, (self.quotas)(*quota)?)));
        // Rows that no choice can violate are left out.
        let most_rows = host_rows.chain(domain_rows).chain(quota_rows);
        for (of, bound) in most_rows.filter(|(of, bound)| most(of) > *bound) {
            program.add(of, ComparisonOp::Le, bound);
        }
        for &demand in self.demands.iter().filter(|demand| (self.spreads)(**demand)) {
            let taken = occurrences(self.candidates.taken[demand].iter().copied());
            for spread in &self.candidates.spreads[demand] {
                let domains = spread.domains.iter().map(|domain| {
                    let takes_of =
                        limited.get(&(demand, *domain)).map(|(takes, _)| takes.as_slice());
                    let kept = taken.get(domain).copied().unwrap_or_default();
                    (takes_of.unwrap_or_default(), kept)
                });
                let domains: Vec<TakesInDomain<'_>> = domains.collect();
                match spread.rule {
                    DomainRule::Skew(rule) => program.add_skew(rule, &domains, missing(demand)),
                    DomainRule::Same => program.add_choice(&domains, missing(demand)),
                }
            }
        }

        match program.solve(budget, share) {
            Ok(values) => SolverAnswer::Placed(self.hosts_of(&takes, &values, &groups)),
            Err(answer) => answer,
        }
    }

    /// Groups equal classes.
    fn groups(&self) -> Vec<(ClassProperties, Vec<usize>)> {
        let problem = &self.candidates.instance.problem;
        let pools: BTreeSet<usize> =
            self.demands.iter().map(|demand| problem.demands[*demand].pool).collect();
        let mut class_pools: BTreeMap<usize, Vec<(usize, Vec<Limit>)>> = BTreeMap::new();
        for pool in pools {
            for candidate in self.candidates.pool(pool) {
                let limits = candidate
                    .limits
                    .iter()
                    .copied()
                    .filter(|limit| (self.limits)(*limit) || self.candidates.is_spread(*limit))
                    .collect();
                class_pools.entry(candidate.class).or_default().push((pool, limits));
            }
        }
        grouped_in_order(class_pools.into_iter().map(|(class, pools)| {
            let quotas = problem.counts(class).to_vec();
            ((problem.reserved[class], quotas, pools), class)
        }))
    }

    /// Translates the values of variables into classes.
    fn hosts_of(
        &self,
        takes: &[(usize, usize)],
        values: &[usize],
        groups: &[(ClassProperties, Vec<usize>)],
    ) -> Vec<(usize, usize)> {
        let mut free = self.hosts.to_vec();
        let mut missing: HashMap<usize, usize> = HashMap::new();
        let mut placed = Vec::new();
        for ((demand, group), value) in takes.iter().zip(values) {
            let missing = missing.entry(*demand).or_insert_with(|| (self.missing)(*demand));
            let mut wanted = (*value).min(*missing);
            *missing -= wanted;
            for class in &groups[*group].1 {
                let count = wanted.min(free[*class]);
                free[*class] -= count;
                wanted -= count;
                placed.extend(std::iter::repeat_n((*demand, *class), count));
            }
        }
        placed
    }
}

/// The variables of the hosts that a demand may take in a domain, and the number of its retained hosts
/// there.
type TakesInDomain<'t> = (&'t [usize], usize);

/// A row: the sum of some variables, each with a factor, is compared with a bound.
struct LinearRow {
    terms: Vec<(usize, i64)>,
    comparison: ComparisonOp,
    bound: i64,
}

/// An integer program without objective: variables from 0 to a bound, and rows.
#[derive(Default)]
struct LinearRows {
    bounds: Vec<usize>,
    rows: Vec<LinearRow>,
}

impl LinearRows {
    fn variable(&mut self, most: usize) -> usize {
        self.bounds.push(most);
        self.bounds.len() - 1
    }

    fn add(&mut self, variables: &[usize], comparison: ComparisonOp, bound: usize) {
        self.add_row(variables.iter().map(|at| (*at, 1)), comparison, factor(bound));
    }

    /// Adds a variable for each domain with enough hosts: 1 if it is the only one with hosts.
    fn add_choice(&mut self, domains: &[TakesInDomain<'_>], missing: usize) {
        let mut choices = Vec::new();
        for (takes, _) in domains {
            let most = takes.iter().map(|take| self.bounds[*take]).sum::<usize>();
            let is_chosen = self.variable(usize::from(most >= missing));
            let hosts = takes.iter().map(|take| (*take, 1));
            self.add_row(hosts.chain([(is_chosen, -factor(missing))]), ComparisonOp::Le, 0);
            choices.push(is_chosen);
        }
        self.add(&choices, ComparisonOp::Le, 1);
    }

    /// Adds a variable for the number of hosts in the emptiest domain.
    fn add_skew(&mut self, rule: SkewRule, domains: &[TakesInDomain<'_>], missing: usize) {
        let all = domains.iter().map(|(_, kept)| kept).sum::<usize>() + missing;
        let even = all.checked_div(domains.len()).unwrap_or_default();
        let fewest = self.variable(if rule.counts_from_zero { 0 } else { even });
        let (skew, missing) = (factor(rule.max_skew.min(all)), factor(missing));
        for (takes, kept) in domains {
            let kept = factor(*kept);
            let hosts = takes.iter().map(|take| (*take, 1));
            if !rule.counts_from_zero {
                self.add_row(hosts.clone().chain([(fewest, -1)]), ComparisonOp::Ge, -kept);
            }
            if kept <= skew {
                self.add_row(hosts.chain([(fewest, -1)]), ComparisonOp::Le, skew - kept);
                continue;
            }
            // Retained hosts may exceed the skew if no other is added.
            let grows = self.variable(1);
            self.add_row(hosts.clone().chain([(grows, -missing)]), ComparisonOp::Le, 0);
            let slack = missing + kept;
            let row = hosts.chain([(fewest, -1), (grows, slack)]);
            self.add_row(row, ComparisonOp::Le, skew - kept + slack);
        }
    }

    fn add_row(
        &mut self,
        terms: impl Iterator<Item = (usize, i64)>,
        comparison: ComparisonOp,
        bound: i64,
    ) {
        self.rows.push(LinearRow { terms: terms.collect(), comparison, bound });
    }

    /// Searches for values that satisfy all rows.
    ///
    /// # Errors
    ///
    /// Returns the answer if there are none, or none are found.
    fn solve(&self, budget: &mut u64, share: u64) -> Result<Vec<usize>, SolverAnswer> {
        let Self { bounds, rows } = self;
        let size = (bounds.len() + rows.len()) as u64;
        let share = share.min(*budget);
        if bounds.len() > MOST_VARIABLES || share < size {
            return Err(SolverAnswer::Undecided);
        }
        let mut program = Program::new(OptimizationDirection::Minimize);
        let bound = |most: &usize| (0, i32::try_from(*most).unwrap_or(i32::MAX));
        let variables: Vec<Variable> =
            bounds.iter().map(|most| program.add_integer_var(0.0, bound(most))).collect();
        for LinearRow { terms, comparison, bound } in rows {
            let terms: Vec<(Variable, f64)> =
                terms.iter().map(|(at, factor)| (variables[*at], *factor as f64)).collect();
            program.add_constraint(terms, *comparison, *bound as f64);
        }
        let mut nodes = 1;
        let mut options = SolveOptions::default();
        options.node_limit = Some(nodes);
        let mut outcome = program.solve_with(options);
        let mut left = share;
        // An infeasible program does not report its number of nodes, so they are granted in growing
        // portions.
        let solution = loop {
            let steps = size.saturating_mul(ITERATIONS_PER_NODE).saturating_mul(nodes).min(left);
            *budget -= steps;
            left -= steps;
            let unsolved = match outcome {
                Ok(SolveOutcome::Solution(solution)) => break solution,
                Ok(unsolved) => unsolved,
                Err(microlp::Error::Infeasible) => return Err(SolverAnswer::Impossible),
                Err(_) => return Err(SolverAnswer::Undecided),
            };
            if left == 0 {
                return Err(SolverAnswer::Undecided);
            }
            nodes *= 2;
            let mut options = ResumeOptions::default();
            options.node_limit = Some(nodes);
            outcome = unsolved.resume_with(options);
        };
        // Values are floats, so the rounded ones are checked below.
        let values: Vec<usize> = variables
            .iter()
            .map(|variable| solution.var_value(*variable).round() as usize)
            .collect();
        let holds = |row: &LinearRow| {
            let terms = row.terms.iter();
            let sum: i64 = terms.map(|(at, factor)| factor * values[*at] as i64).sum();
            if matches!(row.comparison, ComparisonOp::Ge) {
                sum >= row.bound
            } else {
                sum <= row.bound
            }
        };
        let is_valid =
            rows.iter().all(holds) && values.iter().zip(bounds).all(|(value, most)| value <= most);
        if is_valid { Ok(values) } else { Err(SolverAnswer::Undecided) }
    }
}

/// Returns a number of hosts as a factor or bound of a row.
fn factor(hosts: usize) -> i64 {
    i64::try_from(hosts).unwrap_or(i64::MAX / 4)
}

/// Approximate number of simplex iterations for a node.
const ITERATIONS_PER_NODE: u64 = 100;
