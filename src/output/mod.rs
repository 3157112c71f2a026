//! The output directory: the previous run's files, and how they are replaced by new ones.
//!
//! * `state`: the previous run's assignments; `generated_host` parses one host of it.
//! * `compare`: the difference between rendered files and the disk.
//! * `write`: applies such a difference as a whole or not at all.
//! * `lock`: excludes other writers of the same directory.
//! * `git`: commits generated files.

pub mod compare;
pub(crate) mod generated_host;
pub mod git;
pub mod lock;
pub mod state;
pub mod write;

use std::collections::BTreeMap;

use camino::Utf8PathBuf;

/// The generated files: their paths relative to the output directory, and their texts.
pub type Tree = BTreeMap<Utf8PathBuf, String>;
