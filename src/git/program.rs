//! The git of the machine: it runs hooks, signs, and knows who commits.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};

use super::GitError;
use super::open::Opened;

/// The variables that say where a repo and its parts are. Those of another repo must not reach this one's git.
const PLACES: [&str; 8] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    INDEX,
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_WORK_TREE",
];
const INDEX: &str = "GIT_INDEX_FILE";

/// git, in the worktree of a repo.
pub(super) struct Program {
    workdir: PathBuf,
    /// What its environment says.
    places: Vec<(&'static str, PathBuf)>,
}

impl Program {
    pub(super) fn new(opened: &Opened) -> Result<Self, GitError> {
        let workdir = opened.workdir()?.to_owned();
        let mut places: Vec<_> = opened.index_of_environment().map(|index| (INDEX, index)).into_iter().collect();
        if let Some(git_dir) = opened.named_by_environment() {
            places.extend([("GIT_DIR", git_dir.to_owned()), ("GIT_WORK_TREE", workdir.clone())]);
        }
        Ok(Self { workdir, places })
    }

    /// What git prints when it reads `input`, without the line break at its end.
    pub(super) fn output(&self, arguments: &[&str], input: &str) -> Result<String, GitError> {
        let mut command = self.command(arguments);
        let output = run(command.stdout(Stdio::piped()).stderr(Stdio::piped()), input)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        if output.status.success() {
            return Ok(text(&output.stdout));
        }
        Err(GitError::said(&text(&output.stderr)))
    }

    /// Runs git on another index. git and its hooks speak for themselves, on stderr.
    pub(super) fn run_aloud(&self, arguments: &[&str], index: &Path, input: &str) -> Result<ExitStatus, GitError> {
        let mut command = self.command(arguments);
        command.env(INDEX, index).stdout(Stdio::null()).stderr(Stdio::inherit());
        Ok(run(&mut command, input)?.status)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        PLACES.iter().for_each(|variable| {
            command.env_remove(variable);
        });
        command.envs(self.places.iter().map(|(variable, place)| (OsStr::new(variable), place)));
        command.args(arguments).current_dir(&self.workdir).stdin(Stdio::piped());
        command
    }
}

fn run(command: &mut Command, input: &str) -> Result<Output, GitError> {
    let cannot = |error: io::Error| GitError::new(format!("cannot run git, which a commit needs: {error}"));
    let mut child = command.spawn().map_err(cannot)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A git that stops reading says why.
        let _ = stdin.write_all(input.as_bytes());
    }
    child.wait_with_output().map_err(cannot)
}
