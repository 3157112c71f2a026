//! Runs sipgen under strace: counts the calls that change something, and kills or stops a run at one of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::run_tool;

/// The calls that change files, refs or locks.
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

/// Whose calls count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Those of sipgen.
    Own,
    /// Those of the git that it runs as well.
    All,
}

/// The environment of every run: one thread that reads and writes, and commits that are the same every time.
pub(crate) fn prepare(command: &mut Command) -> &mut Command {
    let date = "2026-01-01T00:00:00Z";
    command.env("RAYON_NUM_THREADS", "1").env("GIT_AUTHOR_DATE", date).env("GIT_COMMITTER_DATE", date);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1")
}

/// An untraced run.
pub(crate) fn plain(repo: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sipgen"));
    prepare(command.arg("generate").args(arguments).current_dir(repo));
    command
}

fn traced(repo: &Path, arguments: &[&str], whose: Whose, options: &[&str]) -> Command {
    let mut command = Command::new("strace");
    command.args(["-f", "-q"]);
    if whose == Whose::Own {
        command.args(["-b", "execve"]);
    }
    command.args(options).arg(env!("CARGO_BIN_EXE_sipgen")).arg("generate").args(arguments).current_dir(repo);
    prepare(&mut command);
    command
}

/// The points of a run, which is carried out.
pub(crate) fn points(repo: &Path, arguments: &[&str], whose: Whose) -> Vec<Point> {
    let log = tempfile::NamedTempFile::new().unwrap();
    let trace = format!("trace={}", CALLS.join(","));
    let options = ["-y", "-e", &trace, "-e", "signal=none", "-o", log.path().to_str().unwrap()];
    run_tool(&mut traced(repo, arguments, whose, &options));
    let log = String::from_utf8_lossy(&fs::read(log.path()).unwrap()).into_owned();
    let repo = repo.canonicalize().unwrap();
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut points = BTreeSet::new();
    for line in log.lines() {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let Some((call, arguments)) = rest.trim_start().split_once('(') else { continue };
        if !CALLS.contains(&call) {
            continue;
        }
        let count = counts.entry((thread, call)).or_default();
        *count += 1;
        let changes = match call {
            "openat" => arguments.contains("O_CREAT") || arguments.contains("O_TRUNC"),
            "write" => arguments.split_once(',').is_some_and(|(file, _)| file.contains(repo.to_str().unwrap())),
            _ => true,
        };
        if changes {
            points.insert(Point { call: call.to_owned(), nth: *count });
        }
    }
    points.into_iter().collect()
}

/// Runs sipgen and kills it, or git, before the call. Returns whether it got there.
pub(crate) fn killed_at(repo: &Path, arguments: &[&str], whose: Whose, point: &Point) -> bool {
    let trace = format!("trace={}", point.call);
    let inject = format!("inject={}:signal=KILL:when={}", point.call, point.nth);
    let log = tempfile::NamedTempFile::new().unwrap();
    let options = ["-e", &trace, "-e", "signal=none", "-e", &inject, "-o", log.path().to_str().unwrap()];
    run_tool(&mut traced(repo, arguments, whose, &options));
    let log = fs::read(log.path()).unwrap();
    String::from_utf8_lossy(&log).contains("killed by SIGKILL")
}

/// Starts sipgen, which stops before the call.
pub(crate) fn stopping_at(repo: &Path, arguments: &[&str], point: &Point, log: &Path) -> Child {
    let trace = format!("trace={}", point.call);
    let inject = format!("inject={}:signal=STOP:when={}", point.call, point.nth);
    let options = ["-e", &trace, "-e", "signal=none", "-e", &inject, "-o", log.to_str().unwrap()];
    let mut command = traced(repo, arguments, Whose::Own, &options);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().unwrap_or_else(|error| panic!("strace cannot be run ({error}); see tests/tools/install"))
}
