//! git, as far as several rooms have to do with it.
//!
//! * `open`: opens the repo around a directory, and its index, as git itself does.
//! * `program`: runs the git of the machine, for what hooks, signing and identity depend on.
//! * `committer`: commits generated files and nothing else; `content` says what such a commit would change, and
//!   `branch` which branch can take it.
//! * `attributes`: what `.gitattributes` says of generated files.

mod attributes;
mod branch;
mod committer;
mod content;
pub(crate) mod open;
mod program;

pub use attributes::attributes;
pub use committer::{Committed, Committer, Inputs};
pub use content::{Content, Differs};
pub use open::{Around, around};

/// Why git's files cannot be had, or why it takes no commit.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct GitError(String);

impl GitError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl From<git2::Error> for GitError {
    fn from(error: git2::Error) -> Self {
        Self(format!("git says: {}", error.message()))
    }
}
