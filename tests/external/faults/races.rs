//! Stops a run at each call that changes something, lets somebody else work meanwhile, and lets it go on.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use crate::faults::cases::giving_back;
use crate::faults::kill_points::in_parallel;
use crate::faults::state::{State, copy_of};
use crate::faults::traced::{Point, plain, points, stopped_at};
use crate::support::{Repo, Run, text};

/// How long somebody else gets before the stopped run goes on: whoever waits for it has to.
const TURN: Duration = Duration::from_millis(800);

/// Stops runs everywhere, and has `meanwhile` work and judge what comes of it.
fn disturbed(repo: &Repo, meanwhile: impl Fn(&Path, Race<'_>) -> Result<(), String> + Sync) {
    let counted = copy_of(repo.path());
    let points = points(counted.path(), &[]);
    let (failures, stopped) = (Mutex::new(Vec::new()), Mutex::new(0));
    in_parallel(&points, |point| {
        let copy = copy_of(repo.path());
        let race = Race { point, stopped: &stopped };
        if let Err(failure) = meanwhile(copy.path(), race) {
            failures.lock().unwrap().push(format!("stopped at {point:?}: {failure}"));
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(
        failures.is_empty(),
        "{} of {}:\n{}",
        failures.len(),
        points.len(),
        failures.join("\n")
    );
    let stopped = stopped.into_inner().unwrap();
    eprintln!("{} races, {stopped} stopped", points.len());
    assert!(stopped > 3, "no run was stopped");
}

/// A run that is to be stopped.
struct Race<'a> {
    point: &'a Point,
    stopped: &'a Mutex<usize>,
}

impl Race<'_> {
    /// Stops the run, has somebody else work, and lets it go on.
    fn run<T>(&self, repo: &Path, work: impl FnOnce() -> T) -> (Run, T) {
        let stopped = stopped_at(repo, self.point);
        *self.stopped.lock().unwrap() += usize::from(stopped.is_stopped());
        let done = work();
        (stopped.go_on(), done)
    }

    /// As [`Race::run`], of another sipgen, which may have to wait for this one.
    fn against(&self, repo: &Path, prepare: impl FnOnce()) -> (Run, Run) {
        let (one, other) = self.run(repo, || {
            prepare();
            let mut other =
                plain(repo, &[]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
            let pause = Duration::from_millis(20);
            for _ in 0..TURN.as_millis() / pause.as_millis() {
                if other.try_wait().unwrap().is_some() {
                    break;
                }
                thread::sleep(pause);
            }
            other
        });
        let output = other.wait_with_output().unwrap();
        let other = Run {
            code: output.status.code().unwrap_or(-1),
            stdout: String::new(),
            stderr: text(&output.stderr),
        };
        (one, other)
    }
}

/// Has the cluster want less, as somebody else's change.
fn want_less(repo: &Path) {
    let file = repo.join("clusters/alpha.one.yaml");
    fs::write(&file, fs::read_to_string(&file).unwrap().replace("active: 3", "active: 2")).unwrap();
}

/// Whether all hosts that had a cluster have one or are being given back, each in one place.
fn nothing_lost(state: &State) -> Result<(), String> {
    let hosts = state.hosts();
    let twice = hosts.iter().find(|(_, files)| files.len() > 1);
    match (hosts.len(), twice) {
        (6, None) => Ok(()),
        (_, None) => Err(format!("hosts are lost: {hosts:?}")),
        (_, Some(twice)) => Err(format!("a host is twice: {twice:?}")),
    }
}

/// Whether a run has done its work or said why not.
fn honest(run: &Run) -> Result<(), String> {
    let says_why = ["in use by", "changed after this run", "run the command again"];
    match run.code {
        0 => Ok(()),
        2 if says_why.iter().any(|why| run.stderr.contains(why)) => Ok(()),
        _ => Err(format!("exit code {}:\n{}", run.code, run.stderr)),
    }
}

/// What an undisturbed run makes of a repo.
fn undisturbed(repo: &Repo, change: impl FnOnce(&Path)) -> State {
    let copy = copy_of(repo.path());
    change(copy.path());
    crate::support::run(&mut plain(copy.path(), &[])).expect(0);
    State::of(copy.path())
}

#[test]
fn two_runs_that_write_lose_nothing() {
    let repo = giving_back();
    let after = undisturbed(&repo, want_less);
    disturbed(&repo, |path, race| {
        let (one, other) = race.against(path, || want_less(path));
        honest(&one)?;
        honest(&other)?;
        nothing_lost(&State::of(path))?;
        crate::support::run(&mut plain(path, &[])).expect(0);
        let state = State::of(path);
        if state == after { Ok(()) } else { Err(state.difference(&after)) }
    });
}

#[test]
fn an_editor_that_saves_a_generated_file_meanwhile_loses_nothing() {
    let repo = giving_back();
    let file = "overlays/hosts/observed/alpha.one/hosts.yaml";
    disturbed(&repo, |path, race| {
        let edited = fs::read_to_string(path.join(file)).unwrap() + "# edited\n";
        let (run, is_in_time) = race.run(path, || {
            // Before anything is read come the first lock and calls that open files; before the first file is replaced
            // comes the journal.
            let has_read = !matches!(race.point.call.as_str(), "flock" | "openat");
            let replaces = fs::read_dir(path.join("overlays"))
                .unwrap()
                .any(|entry| entry.unwrap().path().is_file());
            fs::write(path.join(file), &edited).unwrap();
            has_read && !replaces
        });
        honest(&run)?;
        let is_edited = fs::read_to_string(path.join(file)).unwrap() == edited;
        let is_left =
            State::of(path).files.keys().any(|path| path.to_string_lossy().contains(".sipgen-"));
        match run.code {
            _ if is_in_time && !is_edited => {
                Err(format!("the edit is lost; exit code {}:\n{}", run.code, run.stderr))
            }
            2 if is_left => Err("files are left behind".to_owned()),
            _ => Ok(()),
        }
    });
}
