//! git, as far as several rooms have to do with it.
//!
//! * `open`: opens the repo around a directory, and its index, as git itself does.
//! * `program`: runs the git of the machine, for what hooks, signing and identity depend on.
//! * `index`: puts entries into git's index so that a killed run leaves nothing behind.

pub(crate) mod index;
pub(crate) mod open;
pub(crate) mod program;

pub use open::{Around, Branches, around};

/// Why git's files cannot be had, or why it takes no commit.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct GitError(String);

impl GitError {
    /// An error with a message of one line, whatever names are in it.
    pub(crate) fn new(message: impl AsRef<str>) -> Self {
        let escape = |c: char| {
            if c.is_control() {
                c.escape_default().to_string()
            } else {
                c.to_string()
            }
        };
        Self(message.as_ref().chars().map(escape).collect())
    }

    /// An error with what git says, line by line.
    fn said(text: &str) -> Self {
        let lines: Vec<String> = text.lines().map(|line| Self::new(line).0).collect();
        Self(format!("git says: {}", lines.join("\n")))
    }
}

impl From<git2::Error> for GitError {
    fn from(error: git2::Error) -> Self {
        Self::said(error.message())
    }
}
