//! Generated files in git.
//!
//! - `committer`: commits generated files only; `content` lists the changes of such a commit, and
//!   `branch` finds the branch for it
//! - `head`: the files of the checked-out commit
//! - `history`: the files of all commits that an agent may have applied
//! - `attributes`: `.gitattributes` for generated files

mod attributes;
mod branch;
mod committer;
mod content;
mod head;
mod history;

pub use attributes::attributes;
pub use branch::{BranchPosition, TargetBranch};
pub use committer::{CommitInputs, Committer, NewCommit};
pub use content::{CommitDifference, DifferenceExtent};
pub(crate) use head::HeadCommit;
pub(crate) use history::History;
