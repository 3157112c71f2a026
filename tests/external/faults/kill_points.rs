//! Kills runs at each call that changes something, and lets the next run heal what is left.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::faults::cases::{self, Case};
use crate::faults::state::{State, copy_of};
use crate::faults::traced::{Point, killed_at, plain, points};
use crate::support::run;

/// One in how many points is tried by default.
const SAMPLE: usize = 5;

/// How many points were tried, and at how many a process was killed.
#[derive(Debug, Default)]
struct Tried {
    points: AtomicUsize,
    killed: AtomicUsize,
}

/// Carries a task out for each of the items, on two threads.
pub(crate) fn in_parallel<T: Sync>(items: &[T], task: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    task(item);
                }
            });
        }
    });
}

/// The part of the points that is tried.
fn sample<T>(points: Vec<T>) -> Vec<T> {
    let one_in = if std::env::var_os("SIPGEN_ALL_FAULTS").is_some() { 1 } else { SAMPLE };
    points
        .into_iter()
        .enumerate()
        .filter(|(index, _)| index % one_in == 0)
        .map(|(_, point)| point)
        .collect()
}

fn heals(cases: &[Case]) -> Tried {
    let mut attempts = Vec::new();
    for case in cases {
        let undisturbed = copy_of(case.repo.path());
        let before = State::of(undisturbed.path());
        run(&mut plain(undisturbed.path(), case.arguments)).expect(0);
        let after = State::of(undisturbed.path());
        assert!(after.files != before.files, "{}: nothing changes", case.name);
        assert_eq!(after.torn(&before, &after), None, "{}", case.name);
        // With --rebalance, hosts may move in several steps.
        if !case.arguments.contains(&"--rebalance") {
            run(&mut plain(undisturbed.path(), case.arguments)).expect(0);
            let later = State::of(undisturbed.path());
            assert!(
                later == after,
                "{}: a second run changes\n{}",
                case.name,
                later.difference(&after)
            );
        }
        let counted = copy_of(case.repo.path());
        for point in points(counted.path(), case.arguments) {
            attempts.push((case, point, before.clone(), after.clone()));
        }
    }
    let attempts = sample(attempts);
    let (tried, failures) = (Tried::default(), Mutex::new(Vec::new()));
    in_parallel(&attempts, |(case, point, before, after)| {
        if let Err(failure) = heals_at(case, point, before, after, &tried) {
            failures.lock().unwrap().push(format!("{} killed at {point:?}: {failure}", case.name));
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(
        failures.is_empty(),
        "{} of {}:\n{}",
        failures.len(),
        attempts.len(),
        failures.join("\n")
    );
    eprintln!("{tried:?}");
    tried
}

fn heals_at(
    case: &Case,
    point: &Point,
    before: &State,
    after: &State,
    tried: &Tried,
) -> Result<(), String> {
    let copy = copy_of(case.repo.path());
    let repo = copy.path();
    tried.points.fetch_add(1, Ordering::Relaxed);
    if killed_at(repo, case.arguments, point) {
        tried.killed.fetch_add(1, Ordering::Relaxed);
    }
    let killed = State::of(repo);
    if let Some(reason) = killed.torn(before, after) {
        return Err(reason);
    }
    if killed == *after {
        return Ok(());
    }
    let healing = run(&mut plain(repo, case.arguments));
    if healing.code != 0 {
        return Err(format!("the next run fails:\n{}", healing.stderr));
    }
    let healed = State::of(repo);
    if healed == *after {
        Ok(())
    } else {
        Err(format!("another result:\n{}", healed.difference(after)))
    }
}

#[test]
fn a_run_that_is_killed_anywhere_is_healed_by_the_next_one() {
    let tried = heals(&cases::generating());
    assert!(tried.killed.load(Ordering::Relaxed) > 100, "{tried:?}");
}
