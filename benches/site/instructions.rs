//! Counts the instructions of a command, with callgrind of valgrind. Unlike times, the counts are the same on a
//! slow and on a busy machine.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::measure::BASELINE_FLAG;

/// Instructions of one size, by program.
#[derive(Debug)]
pub(crate) struct Counted {
    /// Each program with its first generation and its check of an unchanged repo.
    pub(crate) programs: Vec<(String, u64, u64)>,
    /// `yaml_serde`, deserialising the inventory.
    pub(crate) yaml: u64,
    /// `serde_json`, deserialising the inventory as JSON, and its size in bytes.
    pub(crate) json: (u64, u64),
}

/// Counts the instructions of sipgen on a repo, on one thread.
pub(crate) fn of_sipgen(program: &Path, repo: &Path, arguments: &[&str]) -> io::Result<u64> {
    let arguments = arguments.iter().map(OsStr::new);
    count(program, None, arguments.chain(["--repo".as_ref(), repo.as_os_str()]))
        .map(|(count, _)| count)
}

/// Counts the instructions that deserialising a repo's inventory takes. Returns the bytes that are deserialised,
/// too.
pub(crate) fn of_baseline(format: &str, repo: &Path) -> io::Result<(u64, u64)> {
    let program = std::env::current_exe()?;
    let arguments = [BASELINE_FLAG.as_ref(), format.as_ref(), repo.as_os_str()];
    let (count, printed) = count(&program, Some("*measure::read_*"), arguments)?;
    let bytes = printed.split_whitespace().nth(1).and_then(|bytes| bytes.parse().ok());
    Ok((count, bytes.ok_or_else(|| io::Error::other(printed))?))
}

/// Runs a program under callgrind, and returns its instructions and what it printed. With `within`, only those
/// of functions count whose name has this pattern.
fn count<'a>(
    program: &Path,
    within: Option<&str>,
    arguments: impl IntoIterator<Item = &'a OsStr>,
) -> io::Result<(u64, String)> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.args(within.map(|pattern| format!("--toggle-collect={pattern}")));
    // Threads that wait for work would count, too.
    command.arg(program).args(arguments).env("RAYON_NUM_THREADS", "1").stdin(Stdio::null());
    let output = command.output().map_err(|error| {
        io::Error::other(format!(
            "valgrind cannot be run ({error}); Debian has it in the package valgrind"
        ))
    })?;
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said.lines().find_map(|line| line.split_once("Collected : "));
    match collected.and_then(|(_, count)| count.trim().parse().ok()) {
        Some(count) if output.status.success() => {
            Ok((count, String::from_utf8_lossy(&output.stdout).into_owned()))
        }
        _ => Err(io::Error::other(format!("{command:?} failed ({}):\n{said}", output.status))),
    }
}
