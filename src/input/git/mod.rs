//! git operations that several rooms use.
//!
//! * `open`: opens the repo around a directory, and its index, by git's own rules.
//! * `commits`: the files of the checked-out commit, and of all commits that an agent may have applied.
//! * `version`: the commit that files have.
//! * `checkout`: directories of a worktree as git sees them.

mod checkout;
mod commits;
pub(crate) mod open;
mod version;

pub use checkout::{Hook, LastChange};
pub(crate) use checkout::{entry_id, is_executable};
pub(crate) use commits::{Commits, head_id};
pub use open::{Checkout, EnclosingRepo, KnownBranches, around};
pub use version::{RepoVersion, version};

/// The reason why git's files cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct GitError(String);

impl GitError {
    /// Creates an error with a one-line message. Control characters, for example in names, are
    /// escaped.
    pub(crate) fn new(message: impl AsRef<str>) -> Self {
        let escape = |c: char| {
            if c.is_control() { c.escape_default().to_string() } else { c.to_string() }
        };
        Self(message.as_ref().chars().map(escape).collect())
    }
}

impl From<git2::Error> for GitError {
    /// Creates an error with git's own message, which may have several lines.
    fn from(error: git2::Error) -> Self {
        let lines: Vec<String> = error.message().lines().map(|line| Self::new(line).0).collect();
        Self(format!("git says: {}", lines.join("\n")))
    }
}
