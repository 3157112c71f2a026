//! What the tests of `diffing::json` begin with.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::Repo;

pub fn json(repo: &Repo, arguments: &[&str]) -> Value {
    let run = repo.diff(&[&["--format", "json"], arguments].concat());
    serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", run.stdout, run.stderr))
}

/// The file of the schema of `sipgen diff`.
pub fn schema_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/diff.schema.json")
}
