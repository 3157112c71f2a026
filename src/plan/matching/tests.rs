use proptest::prelude::*;

use super::*;

fn is_taken(problem: &MatchingProblem, demand: &FlowDemand, class: usize) -> bool {
    let taken = |value| demand.taken.get(value).is_some_and(|taken| *taken >= demand.limit);
    problem.values[class].iter().any(taken)
}

/// Returns the unevenness of the most even placement of all demands, by brute force; `None` without any.
fn least_unevenness(problem: &MatchingProblem, demands: &[usize]) -> Option<(usize, usize)> {
    fn place(
        problem: &MatchingProblem,
        units: &[usize],
        free: &mut [usize],
        load: &mut [BTreeMap<usize, usize>],
    ) -> Option<(usize, usize)> {
        let Some((demand, rest)) = units.split_first() else {
            return Some(unevenness(problem, load));
        };
        let own = &problem.demands[*demand];
        let mut least = None;
        for (domain, FlowDomain { limited, classes, .. }) in
            problem.pools[own.pool].domains.iter().enumerate()
        {
            let hosts = load[*demand].get(&domain).copied().unwrap_or_default();
            if *limited && hosts >= own.limit {
                continue;
            }
            for class in classes {
                let reserved = problem.reserved[*class].is_some_and(|group| group != own.group);
                if free[*class] == 0 || reserved || is_taken(problem, own, *class) {
                    continue;
                }
                free[*class] -= 1;
                *load[*demand].entry(domain).or_default() += 1;
                least = least.into_iter().chain(place(problem, rest, free, load)).min();
                take_one(&mut load[*demand], domain);
                free[*class] += 1;
            }
        }
        least
    }
    let units: Vec<usize> =
        demands.iter().flat_map(|demand| vec![*demand; problem.demands[*demand].missing]).collect();
    let mut load: Vec<_> = problem.demands.iter().map(|demand| demand.load.clone()).collect();
    place(problem, &units, &mut problem.capacities.clone(), &mut load)
}

/// Counts the hosts of demands beyond the even share of their domains, and sums the squares of the
/// numbers of hosts in domains.
fn unevenness(problem: &MatchingProblem, load: &[BTreeMap<usize, usize>]) -> (usize, usize) {
    let beyond = problem.demands.iter().zip(load).map(|(demand, load)| {
        let domains = problem.pools[demand.pool].domains.len();
        let share = load.values().sum::<usize>().div_ceil(domains);
        load.values().map(|hosts| hosts.saturating_sub(share)).sum::<usize>()
    });
    let squares = load.iter().flat_map(BTreeMap::values).map(|hosts| hosts * hosts);
    (beyond.sum(), squares.sum())
}

/// Tells whether all demands can be satisfied together, by brute force.
fn satisfiable(problem: &MatchingProblem, demands: &[usize]) -> bool {
    least_unevenness(problem, demands).is_some()
}

/// Checks a cut by counting, independently of the search.
fn proves(problem: &MatchingProblem, cut: &Cut) -> bool {
    let places = cut.domains.iter().map(|(demand, domain)| {
        let FlowDemand { limit, load, .. } = &problem.demands[*demand];
        limit - load.get(domain).copied().unwrap_or_default()
    });
    let mut most = places.sum::<usize>()
        + cut.classes.iter().map(|class| problem.capacities[*class]).sum::<usize>();
    let mut wanted = 0;
    for demand in &cut.demands {
        let own = &problem.demands[*demand];
        let FlowDemand { group, pool, missing, limit, load, .. } = own;
        wanted += missing;
        for (domain, FlowDomain { limited, classes, .. }) in
            problem.pools[*pool].domains.iter().enumerate()
        {
            let closed = *limited && load.get(&domain).is_some_and(|load| load >= limit);
            let counted = *limited && cut.domains.contains(&(*demand, domain));
            let leaks = classes.iter().any(|class| {
                let may_use = problem.reserved[*class].is_none_or(|reserved| reserved == *group);
                may_use && !is_taken(problem, own, *class) && !cut.classes.contains(class)
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
    let load = prop::collection::btree_map(0..3_usize, 1..=2_usize, 0..2);
    let demand = (0..3_usize, 0..=3_usize, 1..=2_usize, load, taken);
    let all = (
        prop::collection::vec(class, 1..=5),
        prop::collection::vec(pool, 3),
        prop::collection::vec(prop::collection::vec(demand, 1..=2), 1..=3),
    );
    all.prop_map(|(classes, pools, groups)| {
        let pools = pools.into_iter().map(|(limited, members, tiers)| {
            let mut domains = vec![FlowDomain { limited, ..FlowDomain::default() }; 3];
            let mut by_tier = vec![Vec::new(); 2];
            for (class, (_, _, domain, _)) in
                classes.iter().enumerate().filter(|(class, _)| members[*class])
            {
                domains[*domain].classes.push(class);
                by_tier[tiers[class]].push(EqualClasses {
                    domain: *domain,
                    classes: vec![class],
                    ..EqualClasses::default()
                });
            }
            Arc::new(HostPool { by_size: false, domains, tiers: by_tier })
        });
        let demands = groups.into_iter().enumerate().flat_map(|(group, demands)| {
            let demand = move |(pool, missing, limit, load, taken)| FlowDemand {
                group,
                reserving: None,
                pool,
                missing,
                limit,
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
        let own = &problem.demands[demand];
        let FlowDemand { group, pool, missing, limit, load, .. } = own;
        assert!(picks.iter().all(|pick| !is_taken(problem, own, pick.class)));
        assert_eq!(picks.len(), if accepted.contains(&demand) { *missing } else { 0 });
        for FlowUnit { domain, class } in picks {
            let in_domain = &problem.pools[*pool].domains[*domain];
            assert!(in_domain.classes.contains(class));
            assert!(problem.reserved[*class].is_none_or(|reserved| reserved == *group));
            let kept = load.get(domain).copied().unwrap_or_default();
            let picked = picks.iter().filter(|other| other.domain == *domain).count();
            assert!(!in_domain.limited || kept + picked <= *limit);
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
                    for cut in failed {
                        prop_assert!(proves(&problem, &cut), "{cut:?}");
                    }
                }
            }
            assert_valid(&problem, &matching, &accepted);
        }
    }

    #[test]
    fn balanced_picks_are_as_even_as_possible(problem in problems()) {
        let mut problem = problem;
        for pool in &mut problem.pools {
            let tiers = pool.tiers.concat();
            *pool = Arc::new(HostPool { tiers: vec![tiers], ..(**pool).clone() });
        }
        let mut matching = Matching::new(&problem);
        let all: Vec<usize> = (0..problem.demands.len()).collect();
        let groups = all.chunk_by(|a, b| problem.demands[*a].group == problem.demands[*b].group);
        let accepted: Vec<usize> =
            groups.filter(|group| matching.accept(group).is_ok()).flatten().copied().collect();
        matching.balance();
        assert_valid(&problem, &matching, &accepted);
        let cost = unevenness(&problem, &matching.load);
        prop_assert_eq!(Some(cost), least_unevenness(&problem, &accepted));
    }
}
