//! Runs sipgen under strace: counts the calls that change something, and kills or stops a run at one of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use tempfile::NamedTempFile;

use crate::support::{Run, run_tool, text};

/// The calls that change files or locks.
const CALLS: [&str; 20] = [
    "openat",
    "creat",
    "write",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "rmdir",
    "mkdir",
    "mkdirat",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "ftruncate",
    "fchmod",
    "chmod",
    "utimensat",
    "flock",
];

/// A call at which a run can be hit: the nth of its name in a thread.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Point {
    pub call: String,
    pub nth: usize,
}

/// The environment of every run: one thread that reads and writes.
pub(crate) fn prepare(command: &mut Command) -> &mut Command {
    command
        .env("RAYON_NUM_THREADS", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
}

/// An untraced run.
pub(crate) fn plain(repo: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sipgen"));
    prepare(command.arg("generate").args(arguments).current_dir(repo));
    command
}

fn traced(repo: &Path, arguments: &[&str], options: &[&str]) -> Command {
    let mut command = Command::new("strace");
    command.args(["-f", "-q"]);
    command
        .args(options)
        .arg(env!("CARGO_BIN_EXE_sipgen"))
        .arg("generate")
        .args(arguments)
        .current_dir(repo);
    prepare(&mut command);
    command
}

/// The points of a run, which is carried out.
pub(crate) fn points(repo: &Path, arguments: &[&str]) -> Vec<Point> {
    let log = tempfile::NamedTempFile::new().unwrap();
    let trace = format!("trace={}", CALLS.join(","));
    let options = ["-y", "-e", &trace, "-e", "signal=none", "-o", log.path().to_str().unwrap()];
    run_tool(&mut traced(repo, arguments, &options));
    let log = String::from_utf8_lossy(&fs::read(log.path()).unwrap()).into_owned();
    let repo = repo.canonicalize().unwrap();
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut points = BTreeSet::new();
    for line in log.lines() {
        let Some((thread, rest)) = line.split_once(' ') else {
            continue;
        };
        let Some((call, arguments)) = rest.trim_start().split_once('(') else {
            continue;
        };
        if !CALLS.contains(&call) {
            continue;
        }
        let count = counts.entry((thread, call)).or_default();
        *count += 1;
        let changes = match call {
            "openat" => arguments.contains("O_CREAT") || arguments.contains("O_TRUNC"),
            "write" => arguments
                .split_once(',')
                .is_some_and(|(file, _)| file.contains(repo.to_str().unwrap())),
            _ => true,
        };
        if changes {
            points.insert(Point { call: call.to_owned(), nth: *count });
        }
    }
    points.into_iter().collect()
}

/// Runs sipgen and kills it before the call. Returns whether it got there.
pub(crate) fn killed_at(repo: &Path, arguments: &[&str], point: &Point) -> bool {
    let trace = format!("trace={}", point.call);
    let inject = format!("inject={}:signal=KILL:when={}", point.call, point.nth);
    let log = tempfile::NamedTempFile::new().unwrap();
    let options = ["-e", &trace, "-e", &inject, "-o", log.path().to_str().unwrap()];
    run_tool(&mut traced(repo, arguments, &options));
    let log = fs::read(log.path()).unwrap();
    String::from_utf8_lossy(&log).contains("killed by SIGKILL")
}

/// Starts sipgen, which stops before the call, and waits until it has stopped or ended.
pub(crate) fn stopped_at(repo: &Path, point: &Point) -> Stopped {
    let trace = format!("trace={}", point.call);
    let inject = format!("inject={}:signal=STOP:when={}", point.call, point.nth);
    let log = tempfile::NamedTempFile::new().unwrap();
    let options = ["-e", &trace, "-e", &inject, "-o", log.path().to_str().unwrap()];
    let mut command = traced(repo, &[], &options);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = child
        .unwrap_or_else(|error| panic!("strace cannot be run ({error}); see tests/tools/install"));
    let mut process = None;
    while process.is_none() && child.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_millis(5));
        let log = fs::read(log.path()).unwrap();
        let log = String::from_utf8_lossy(&log);
        let stopped = log.lines().find(|line| line.contains("stopped by SIGSTOP"));
        process = stopped.and_then(|line| line.split_whitespace().next()).map(str::to_owned);
    }
    Stopped { child, process, _log: log }
}

/// A run that stands still.
pub(crate) struct Stopped {
    child: Child,
    /// The thread that was stopped, and the process with it; none when the run has ended before.
    process: Option<String>,
    _log: NamedTempFile,
}

impl Stopped {
    /// Lets the run go on to its end. Each of its threads stops at its own nth call.
    pub(crate) fn go_on(mut self) -> Run {
        while let Some(process) =
            self.process.as_ref().filter(|_| self.child.try_wait().unwrap().is_none())
        {
            run_tool(Command::new("kill").args(["-CONT", process]));
            thread::sleep(Duration::from_millis(20));
        }
        let output = self.child.wait_with_output().unwrap();
        Run {
            code: output.status.code().unwrap_or(-1),
            stdout: String::new(),
            stderr: text(&output.stderr),
        }
    }

    /// Whether it has stopped at all.
    pub(crate) fn is_stopped(&self) -> bool {
        self.process.is_some()
    }
}
