//! Measures one run: the program as a process of its own, or the baseline it is held against.

use std::fs;
use std::hint::black_box;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;
use sipgen::base::api::host::BareMetalHost;
use wait4::Wait4;

/// The argument by which this program runs itself as the baseline.
pub(crate) const BASELINE_FLAG: &str = "--baseline";

/// What one run of the program took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    /// Time from its start to its end, by the clock on the wall.
    pub(crate) wall: Duration,
    /// The most memory that it had resident.
    pub(crate) peak_bytes: u64,
}

/// The program that was built with this benchmark.
pub(crate) const SIPGEN: &str = env!("CARGO_BIN_EXE_sipgen");

/// Runs sipgen on a repo; any exit code but 0 is an error that carries what sipgen said.
pub(crate) fn sipgen(repo: &Path, arguments: &[&str]) -> io::Result<Run> {
    let mut command = Command::new(SIPGEN);
    command.args(arguments).arg("--repo").arg(repo);
    // To a file: nobody reads a pipe while wait4 waits, and a full pipe would stop sipgen for ever.
    let mut stderr = tempfile::tempfile()?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr.try_clone()?);
    let start = Instant::now();
    let used = command.spawn()?.wait4()?;
    let wall = start.elapsed();
    if !used.status.success() {
        let mut said = String::new();
        stderr.rewind()?;
        stderr.read_to_string(&mut said)?;
        return Err(io::Error::other(format!("{command:?} failed ({}):\n{said}", used.status)));
    }
    Ok(Run { wall, peak_bytes: used.rusage.maxrss })
}

/// How long it takes to merely deserialise the repo's inventory, measured by [`deserialise_inventory`] in a
/// process of its own.
///
/// The process that starts sipgen must stay small: Linux counts what it has resident into the child's peak.
pub(crate) fn baseline(repo: &Path) -> io::Result<Duration> {
    let output = Command::new(std::env::current_exe()?)
        .args([BASELINE_FLAG, "yaml"])
        .arg(repo)
        .stderr(Stdio::inherit())
        .output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let time = printed.split_whitespace().next().unwrap_or_default();
    match time.parse() {
        Ok(nanoseconds) if output.status.success() => Ok(Duration::from_nanos(nanoseconds)),
        _ => Err(io::Error::other(format!("the baseline failed ({})", output.status))),
    }
}

/// Deserialises every file of the repo's inventory on one thread, as it is or converted to JSON. Returns the time that
/// took, without the reading and converting of the files, and their bytes.
pub(crate) fn deserialise_inventory(format: &str, repo: &Path) -> io::Result<(Duration, usize)> {
    let (mut total, mut bytes) = (Duration::ZERO, 0);
    for file in files_below(&repo.join("inventory"))? {
        let failed = |error: &dyn std::error::Error| {
            io::Error::other(format!("{}: {error}", file.display()))
        };
        let mut text = fs::read_to_string(&file)?;
        if format == "json" {
            text = as_json(&text).map_err(|error| failed(&error))?;
        }
        bytes += text.len();
        let start = Instant::now();
        let list = if format == "json" {
            read_json(&text).map_err(|error| failed(&error))?
        } else {
            read_yaml(&text).map_err(|error| failed(&error))?
        };
        total += start.elapsed();
        black_box(list.items);
    }
    Ok((total, bytes))
}

/// A list as kubectl prints it. A Secret passes as a host without spec and status, all its data skipped.
#[derive(Deserialize)]
struct List {
    items: Vec<BareMetalHost>,
}

/// The work that everything is measured against. Its instructions are counted by its name.
#[inline(never)]
fn read_yaml(text: &str) -> Result<List, yaml_serde::Error> {
    yaml_serde::from_str(text)
}

#[inline(never)]
fn read_json(text: &str) -> Result<List, serde_json::Error> {
    serde_json::from_str(text)
}

/// Converts YAML to JSON. Hexadecimal numbers of any length become texts, as in kubectl's JSON.
fn as_json(yaml: &str) -> Result<String, yaml_serde::Error> {
    let quoted = |line: &str| match line.split_once(": 0x") {
        Some((key, digits)) => format!("{key}: \"0x{digits}\"\n"),
        None => format!("{line}\n"),
    };
    let yaml: String = yaml.lines().map(quoted).collect();
    yaml_serde::from_str(&yaml).map(|value: serde_json::Value| value.to_string())
}

/// All files below a directory, in order of their paths.
pub(crate) fn files_below(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in walkdir::WalkDir::new(dir).sort_by_file_name() {
        let entry = entry?;
        if entry.file_type().is_file() {
            files.push(entry.into_path());
        }
    }
    Ok(files)
}
