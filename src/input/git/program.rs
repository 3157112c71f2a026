//! Runs the git program, which runs hooks, signs commits and knows the identity of the committer.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::sync::OnceLock;

use super::GitError;
use super::open::OpenedRepo;

/// Environment variables that locate a repo and its parts. Those of another repo must not affect
/// this one.
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

/// The git program in the worktree of a repo.
pub(crate) struct Program {
    workdir: PathBuf,
    /// Variables to set in its environment.
    places: Vec<(&'static str, PathBuf)>,
    /// Set if git has `git hook run`; empty until first needed.
    knows_hooks: OnceLock<bool>,
}

impl Program {
    pub(crate) fn new(opened: &OpenedRepo) -> Result<Self, GitError> {
        let workdir = opened.workdir()?.to_owned();
        let mut places: Vec<_> =
            opened.index_of_environment().map(|index| (INDEX, index)).into_iter().collect();
        if let Some(git_dir) = opened.named_by_environment() {
            places.extend([("GIT_DIR", git_dir.to_owned()), ("GIT_WORK_TREE", workdir.clone())]);
        }
        Ok(Self { workdir, places, knows_hooks: OnceLock::new() })
    }

    /// Runs git with `input` on its stdin, and returns its output without the final line break.
    pub(crate) fn output(&self, arguments: &[&str], input: &str) -> Result<String, GitError> {
        let mut command = self.command(arguments);
        stdout_of(&run(command.stdout(Stdio::piped()).stderr(Stdio::piped()), input)?)
    }

    /// Runs git as [`Program::output`] does, but on another index.
    pub(crate) fn output_of(
        &self,
        index: &Path,
        arguments: &[&str],
        input: &str,
    ) -> Result<String, GitError> {
        let mut command = self.command(arguments);
        let output =
            run(command.env(INDEX, index).stdout(Stdio::piped()).stderr(Stdio::piped()), input)?;
        stdout_of(&output)
    }

    /// Runs a hook as `git commit` does, but on another index. A missing hook succeeds. Its output
    /// goes to stderr.
    pub(crate) fn run_hook(
        &self,
        name: &str,
        arguments: &[&str],
        index: &Path,
    ) -> Result<ExitStatus, GitError> {
        let mut command = if self.knows_hooks()? {
            let mut command = self.command(&["hook", "run", "--ignore-missing", name, "--"]);
            command.args(arguments);
            command
        } else {
            // An older git cannot run a hook, so its file is run directly.
            let hook = self
                .workdir
                .join(self.output(&["rev-parse", "--git-path", &format!("hooks/{name}")], "")?);
            let is_there = hook
                .metadata()
                .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
            if !is_there {
                return Ok(ExitStatus::default());
            }
            let mut command = self.environment(Command::new(hook));
            command.args(arguments);
            command
        };
        // `git commit` sets the same editor for hooks if it opens none.
        command.env(INDEX, index).env("GIT_EDITOR", ":");
        command
            .stdin(Stdio::null())
            // stdout is for sipgen's own output.
            .stdout(io::stderr())
            .stderr(Stdio::inherit());
        command
            .status()
            .map_err(|error| GitError::new(format!("cannot run the hook {name}: {error}")))
    }

    /// Returns whether git is 2.36 or newer, which has `git hook run`.
    fn knows_hooks(&self) -> Result<bool, GitError> {
        if let Some(known) = self.knows_hooks.get() {
            return Ok(*known);
        }
        let version = self.output(&["version"], "")?;
        let mut numbers = version
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|part| part.parse::<u32>().ok());
        let knows = (numbers.next(), numbers.next()) >= (Some(2), Some(36));
        Ok(*self.knows_hooks.get_or_init(|| knows))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.environment(Command::new("git"));
        command.args(arguments);
        command
    }

    /// Sets the worktree and environment of a command, without variables of other repos.
    fn environment(&self, mut command: Command) -> Command {
        PLACES.iter().for_each(|variable| {
            command.env_remove(variable);
        });
        command.envs(self.places.iter().map(|(variable, place)| (OsStr::new(variable), place)));
        command.current_dir(&self.workdir).stdin(Stdio::piped());
        command
    }
}

/// Returns the output of git without the final line break, or its error.
fn stdout_of(output: &Output) -> Result<String, GitError> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(GitError::said(&text(&output.stderr)))
    }
}

fn run(command: &mut Command, input: &str) -> Result<Output, GitError> {
    let cannot =
        |error: io::Error| GitError::new(format!("cannot run git, which a commit needs: {error}"));
    let mut child = command.spawn().map_err(cannot)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A git that stops reading reports the reason itself.
        let _ = stdin.write_all(input.as_bytes());
    }
    child.wait_with_output().map_err(cannot)
}
