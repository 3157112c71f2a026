//! Kills runs at each call that changes something, and lets the next run heal what is left.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::faults::cases::{self, Case};
use crate::faults::state::{State, copy_of, git};
use crate::faults::traced::{Point, Whose, killed_at, plain, points};
use crate::support::run;

/// One in how many points is tried by default.
const SAMPLE: usize = 5;

/// How many points were tried, and at how many a process was killed.
#[derive(Debug, Default)]
struct Tried {
    points: AtomicUsize,
    killed: AtomicUsize,
    /// At how many git has left a lock of its own, which nobody but its user can tell for a dead one.
    locked: AtomicUsize,
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
pub(crate) fn sample<T>(points: Vec<T>, one_in: usize) -> Vec<T> {
    let one_in = if std::env::var_os("SIPGEN_ALL_FAULTS").is_some() { 1 } else { one_in };
    points
        .into_iter()
        .enumerate()
        .filter(|(index, _)| index % one_in == 0)
        .map(|(_, point)| point)
        .collect()
}

fn heals(cases: &[Case], whose: Whose, one_in: usize) -> Tried {
    let mut attempts = Vec::new();
    for case in cases {
        let undisturbed = copy_of(case.repo.path());
        let before = State::of(undisturbed.path());
        run(&mut plain(undisturbed.path(), case.arguments)).expect(0);
        let after = State::of(undisturbed.path());
        assert!(
            after.files != before.files || after.refs != before.refs,
            "{}: nothing changes",
            case.name
        );
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
        for point in points(counted.path(), case.arguments, whose) {
            attempts.push((case, point, before.clone(), after.clone()));
        }
    }
    let attempts = sample(attempts, one_in);
    let (tried, failures) = (Tried::default(), Mutex::new(Vec::new()));
    in_parallel(&attempts, |(case, point, before, after)| {
        if let Err(failure) = heals_at(case, point, whose, before, after, &tried) {
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
    whose: Whose,
    before: &State,
    after: &State,
    tried: &Tried,
) -> Result<(), String> {
    let copy = copy_of(case.repo.path());
    let repo = copy.path();
    tried.points.fetch_add(1, Ordering::Relaxed);
    if killed_at(repo, case.arguments, whose, point) {
        tried.killed.fetch_add(1, Ordering::Relaxed);
    }
    let killed = State::of(repo);
    if let Some(reason) = killed.torn(before, after) {
        return Err(reason);
    }
    undoes_nothing(repo, before, &killed)?;
    if killed == *after {
        return Ok(());
    }
    let mut healing = run(&mut plain(repo, case.arguments));
    if whose == Whose::All && healing.code == 2 {
        let locks: Vec<_> =
            State::of(repo).leftovers.into_iter().filter(|path| path.ends_with_lock()).collect();
        if locks.is_empty() || !healing.stderr.contains(".lock") {
            return Err(format!("the next run fails:\n{}", healing.stderr));
        }
        tried.locked.fetch_add(1, Ordering::Relaxed);
        for lock in locks {
            fs::remove_file(repo.join(lock)).unwrap();
        }
        healing = run(&mut plain(repo, case.arguments));
    }
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

trait IsLock {
    fn ends_with_lock(&self) -> bool;
}

impl IsLock for Path {
    fn ends_with_lock(&self) -> bool {
        self.extension().is_some_and(|extension| extension == "lock")
    }
}

/// Whoever commits the index as it is, undoes nothing that a run has committed.
fn undoes_nothing(repo: &Path, before: &State, killed: &State) -> Result<(), String> {
    if killed.refs == before.refs {
        return Ok(());
    }
    let staged = git(repo, &["diff", "--cached", "--name-status", "HEAD"])?;
    let undone: Vec<&str> = staged.lines().filter(|line| line.contains("overlays/")).collect();
    if undone.is_empty() { Ok(()) } else { Err(format!("the next commit undoes {undone:?}")) }
}

#[test]
fn a_run_that_is_killed_anywhere_is_healed_by_the_next_one() {
    let tried = heals(&cases::generating(), Whose::Own, SAMPLE);
    assert!(tried.killed.load(Ordering::Relaxed) > 100, "{tried:?}");
}

#[test]
fn a_commit_that_is_killed_anywhere_is_healed_by_the_next_run() {
    let tried = heals(&cases::committing(), Whose::Own, 2 * SAMPLE);
    assert!(tried.killed.load(Ordering::Relaxed) > 50, "{tried:?}");
}

#[test]
fn a_commit_whose_git_is_killed_anywhere_is_healed_by_the_next_run() {
    let cases: Vec<Case> =
        cases::committing().into_iter().filter(|case| !case.name.contains("creation")).collect();
    let tried = heals(&cases, Whose::All, 3 * SAMPLE);
    assert!(tried.killed.load(Ordering::Relaxed) > 20, "{tried:?}");
}
