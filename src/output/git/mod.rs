//! Generated files in git.
//!
//! * `committer`: commits generated files and nothing else; `content` lists what such a commit would change, and
//!   `branch` finds the branch that can take it.
//! * `head`: the files of the commit that is checked out.
//! * `history`: the files of all commits that an agent may have applied.
//! * `attributes`: attributes that `.gitattributes` gives to generated files.

mod attributes;
mod branch;
mod committer;
mod content;
mod head;
mod history;

pub use attributes::attributes;
pub use branch::{Branch, Standing};
pub use committer::{Committed, Committer, Inputs};
pub use content::{Content, Differs};
pub(crate) use head::Head;
pub(crate) use history::History;
