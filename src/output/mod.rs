//! The output directory: the previous run's files, and their replacement by new ones.
//!
//! - `state`: the previous run's assignments; `generated_host` parses one host
//! - `compare`: the difference between rendered files and the disk
//! - `tree`: generated files in memory
//! - `write`: applies such a difference completely or not at all
//! - `lock`: excludes other writers of the same directory
//! - `git`: commits generated files

pub mod compare;
pub(crate) mod generated_host;
pub mod git;
pub mod lock;
pub mod state;
mod tree;
pub mod write;

pub(crate) use tree::files_below;
pub use tree::{Tree, TreePath};
