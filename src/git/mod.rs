//! git, as far as several rooms have to do with it.
//!
//! * `open`: opens the repo around a directory, and its index, as git itself does.
//! * `program`: runs the git of the machine, for what hooks, signing and identity depend on.
//! * `committer`: commits generated files and nothing else; `content` says what such a commit would change, and
//!   `branch` which branch can take it.
//! * `head`: what the commit has that is checked out.
//! * `history`: what any commit has that somebody may have applied.
//! * `index`: puts entries into git's index so that a killed run leaves nothing behind.
//! * `attributes`: what `.gitattributes` says of generated files.

mod attributes;
mod branch;
mod committer;
mod content;
mod head;
mod history;
mod index;
pub(crate) mod open;
mod program;

pub use attributes::attributes;
pub use branch::{Branch, Standing};
pub use committer::{Committed, Committer, Inputs};
pub use content::{Content, Differs};
pub(crate) use head::Head;
pub(crate) use history::History;
pub use open::{Around, Branches, around};

/// Why git's files cannot be had, or why it takes no commit.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct GitError(String);

impl GitError {
    /// An error with a message of one line, whatever names are in it.
    pub(crate) fn new(message: impl AsRef<str>) -> Self {
        let escape = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
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

/// A name as one word of a shell's command line.
pub fn in_shell(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    if !name.is_empty() && name.chars().all(is_plain) {
        return name.to_owned();
    }
    format!("'{}'", name.replace('\'', r"'\''"))
}
