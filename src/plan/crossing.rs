//! Demands that want hosts apart by several topology keys which cross each other, such as rack and power feed.
//!
//! A flow knows one domain a host. So it is asked for hosts apart by one key, and where two of its picks share a
//! value of another key, the value is given to the hosts of one domain after the other, and the flow is asked
//! again: a search that finds a placement whenever there is one.

use std::collections::BTreeMap;

use super::classes::Instance;
use super::matching::{Cut, Matching, Pick, Problem};

/// How many flows a search may ask for. Real sites need a handful; what needs more than this is not decided.
const MOST_FLOWS: usize = 2000;

/// Why demands cannot be satisfied together.
#[derive(Debug)]
pub(super) enum Unsatisfied {
    /// Not even apart by one key each: the demands that found too few hosts, with how many and why.
    ByOneKey(Vec<(usize, usize, Cut)>),
    /// Apart by one key each, but not by all.
    Crossing,
    /// It takes too long to tell.
    Undecided,
}

/// Two picks of a demand share a value of a key.
struct Conflict {
    demand: usize,
    /// The place of the key in the values of classes.
    key: usize,
    value: String,
}

/// Satisfies all of some demands together: the picks of each demand of the problem.
pub(super) fn satisfy(instance: &Instance<'_>, demands: &[usize]) -> Result<Vec<Vec<Pick>>, Unsatisfied> {
    let mut pending: Vec<Problem> = vec![instance.problem.clone()];
    let mut flows = 0;
    while let Some(problem) = pending.pop() {
        flows += 1;
        if flows > MOST_FLOWS {
            return Err(Unsatisfied::Undecided);
        }
        let mut matching = Matching::new(&problem);
        match matching.accept(demands) {
            Ok(()) => {}
            Err(cuts) if flows == 1 => return Err(Unsatisfied::ByOneKey(cuts)),
            Err(_) => continue,
        }
        match conflict(instance, &matching.picks) {
            None => return Ok(matching.picks),
            // The search goes on with the way that was put last.
            Some(conflict) => pending.extend(ways_out(instance, &problem, &conflict).into_iter().rev()),
        }
    }
    Err(Unsatisfied::Crossing)
}

fn conflict(instance: &Instance<'_>, picks: &[Vec<Pick>]) -> Option<Conflict> {
    for (demand, picks) in picks.iter().enumerate() {
        for key in &instance.crossing[instance.problem.demands[demand].pool] {
            let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
            for value in picks.iter().filter_map(|pick| instance.values[pick.class][*key]) {
                let times = seen.entry(value).or_default();
                *times += 1;
                if *times > 1 {
                    return Some(Conflict { demand, key: *key, value: value.to_owned() });
                }
            }
        }
    }
    None
}

/// At most one pick may have the value; so at most one domain of the pool may provide it. One problem for each.
fn ways_out(instance: &Instance<'_>, problem: &Problem, conflict: &Conflict) -> Vec<Problem> {
    let Conflict { demand, key, value } = conflict;
    let domains = &problem.pools[problem.demands[*demand].pool].domains;
    let has_value = |class: &&usize| instance.values[**class][*key] == Some(value.as_str());
    let all: Vec<usize> = domains.iter().flat_map(|domain| domain.classes.iter().filter(has_value)).copied().collect();
    let mut ways = Vec::new();
    for class in &all {
        // Hosts without a domain of the pool's key are not limited by it: so each class is a way of its own there.
        let of_same_domain = |other: &usize| {
            domains
                .iter()
                .any(|domain| domain.limited && domain.classes.contains(class) && domain.classes.contains(other))
        };
        let barred: Vec<usize> = all.iter().copied().filter(|other| other != class && !of_same_domain(other)).collect();
        let mut way = problem.clone();
        let demand = &mut way.demands[*demand];
        let before = demand.barred.len();
        demand.barred.extend(barred);
        // A way that bars nothing new would lead here again.
        if demand.barred.len() > before {
            ways.push(way);
        }
    }
    ways.dedup_by(|a, b| a.demands[*demand].barred == b.demands[*demand].barred);
    ways
}
