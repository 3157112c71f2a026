//! The output directory: the previous run's files, and their replacement by new ones.
//!
//! - `state`: the previous run's assignments; `generated_host` parses one host
//! - `compare`: the difference between rendered files and the disk
//! - `write`: applies such a difference completely or not at all
//! - `lock`: excludes other writers of the same directory
//! - `git`: commits generated files

pub mod compare;
pub(crate) mod generated_host;
pub mod git;
pub mod lock;
pub mod state;
pub mod write;

use std::collections::BTreeMap;

use camino::Utf8PathBuf;

/// Generated texts by path relative to the output directory.
pub type Tree = BTreeMap<Utf8PathBuf, String>;
