use proptest::prelude::*;

use super::*;

fn is_taken(problem: &MatchingProblem, taken: &BTreeMap<usize, usize>, class: usize) -> bool {
    problem.values[class].iter().any(|value| taken.contains_key(value))
}

/// Tells whether all demands can be satisfied together, by brute force.
fn satisfiable(problem: &MatchingProblem, demands: &[usize]) -> bool {
    fn place(
        problem: &MatchingProblem,
        units: &[usize],
        free: &mut [usize],
        used: &mut BTreeSet<(usize, usize)>,
    ) -> bool {
        let Some((demand, rest)) = units.split_first() else {
            return true;
        };
        let FlowDemand { group, pool, load, taken, .. } = &problem.demands[*demand];
        for (domain, FlowDomain { limited, classes }) in
            problem.pools[*pool].domains.iter().enumerate()
        {
            if *limited && (load.contains_key(&domain) || used.contains(&(*demand, domain))) {
                continue;
            }
            for class in classes {
                let reserved = problem.reserved[*class].is_some_and(|reserved| reserved != *group);
                if free[*class] == 0 || reserved || is_taken(problem, taken, *class) {
                    continue;
                }
                free[*class] -= 1;
                let added = *limited && used.insert((*demand, domain));
                if place(problem, rest, free, used) {
                    return true;
                }
                if added {
                    used.remove(&(*demand, domain));
                }
                free[*class] += 1;
            }
        }
        false
    }
    let units: Vec<usize> =
        demands.iter().flat_map(|demand| vec![*demand; problem.demands[*demand].missing]).collect();
    place(problem, &units, &mut problem.capacities.clone(), &mut BTreeSet::new())
}

/// Checks a cut by counting, independently of the search.
fn proves(problem: &MatchingProblem, cut: &Cut) -> bool {
    let mut most = cut.domains.len()
        + cut.classes.iter().map(|class| problem.capacities[*class]).sum::<usize>();
    let mut wanted = 0;
    for demand in &cut.demands {
        let FlowDemand { group, pool, missing, load, taken, .. } = &problem.demands[*demand];
        wanted += missing;
        for (domain, FlowDomain { limited, classes }) in
            problem.pools[*pool].domains.iter().enumerate()
        {
            let closed = *limited && load.contains_key(&domain);
            let counted = *limited && cut.domains.contains(&(*demand, domain));
            let leaks = classes.iter().any(|class| {
                let may_use = problem.reserved[*class].is_none_or(|reserved| reserved == *group);
                may_use && !is_taken(problem, taken, *class) && !cut.classes.contains(class)
            });
            if !closed && !counted && leaks {
                most = usize::MAX;
            }
        }
    }
    most < wanted
}

/// Generates small problems: classes in domains, pools of some classes, groups of one or two
/// demands.
fn problems() -> impl Strategy<Value = MatchingProblem> {
    let values = prop::collection::vec(0..4_usize, 0..3);
    let class = (1..=2_usize, prop::option::weighted(0.15, 0..3_usize), 0..3_usize, values);
    let pool = (
        any::<bool>(),
        prop::collection::vec(any::<bool>(), 5),
        prop::collection::vec(0..2_usize, 5),
    );
    let taken = prop::collection::btree_map(0..4_usize, 1..=2_usize, 0..2);
    let demand =
        (0..3_usize, 0..3_usize, prop::collection::btree_map(0..3_usize, 1..=1_usize, 0..2), taken);
    let all = (
        prop::collection::vec(class, 1..=5),
        prop::collection::vec(pool, 3),
        prop::collection::vec(prop::collection::vec(demand, 1..=2), 1..=3),
    );
    all.prop_map(|(classes, pools, groups)| {
        let pools = pools.into_iter().map(|(limited, members, tiers)| {
            let mut domains = vec![FlowDomain { limited, classes: Vec::new() }; 3];
            let mut by_tier = vec![Vec::new(); 2];
            for (class, (_, _, domain, _)) in
                classes.iter().enumerate().filter(|(class, _)| members[*class])
            {
                domains[*domain].classes.push(class);
                by_tier[tiers[class]].push(EqualClasses { domain: *domain, classes: vec![class] });
            }
            Arc::new(HostPool { by_size: false, domains, tiers: by_tier })
        });
        let demands = groups.into_iter().enumerate().flat_map(|(group, demands)| {
            let demand = move |(pool, missing, load, taken)| FlowDemand {
                group,
                pool,
                missing,
                load,
                taken,
                quotas: Vec::new(),
            };
            demands.into_iter().map(demand)
        });
        MatchingProblem {
            capacities: classes.iter().map(|(capacity, ..)| *capacity).collect(),
            reserved: classes.iter().map(|(_, reserved, ..)| *reserved).collect(),
            values: classes.iter().map(|(.., values)| values.clone()).collect(),
            pools: pools.collect(),
            demands: demands.collect(),
            quotas: Vec::new(),
            counts: Vec::new(),
        }
    })
}

fn assert_valid(problem: &MatchingProblem, matching: &Matching<'_>, accepted: &[usize]) {
    let mut used = vec![0; problem.capacities.len()];
    for (demand, picks) in matching.picks.iter().enumerate() {
        let FlowDemand { group, pool, missing, load, taken, .. } = &problem.demands[demand];
        assert!(picks.iter().all(|pick| !is_taken(problem, taken, pick.class)));
        assert_eq!(picks.len(), if accepted.contains(&demand) { *missing } else { 0 });
        for (at, FlowUnit { domain, class }) in picks.iter().enumerate() {
            let in_domain = &problem.pools[*pool].domains[*domain];
            assert!(in_domain.classes.contains(class));
            assert!(problem.reserved[*class].is_none_or(|reserved| reserved == *group));
            let again = picks[..at].iter().any(|other| other.domain == *domain);
            assert!(!(in_domain.limited && (again || load.contains_key(domain))));
            used[*class] += 1;
        }
    }
    assert!(used.iter().zip(&problem.capacities).all(|(used, capacity)| used <= capacity));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn a_group_is_accepted_exactly_when_it_can_be_satisfied_with_those_before(problem in problems()) {
        let mut matching = Matching::new(&problem);
        let mut accepted: Vec<usize> = Vec::new();
        let all: Vec<usize> = (0..problem.demands.len()).collect();
        for demands in all.chunk_by(|a, b| problem.demands[*a].group == problem.demands[*b].group) {
            let together: Vec<usize> = accepted.iter().chain(demands).copied().collect();
            match matching.accept(demands) {
                Ok(()) => {
                    prop_assert!(satisfiable(&problem, &together));
                    accepted = together;
                }
                Err(failed) => {
                    prop_assert!(!satisfiable(&problem, &together));
                    for (_, _, cut) in failed {
                        prop_assert!(proves(&problem, &cut), "{cut:?}");
                    }
                }
            }
            assert_valid(&problem, &matching, &accepted);
        }
    }
}
