//! What the tests of `validating` begin with.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Repo, Run, run};

pub const RACK_A: &str = "sites/lab/hosts/rack-a.yaml";

pub fn validate(repo: &Repo, arguments: &[&str]) -> Run {
    run(&mut repo.sipgen(&[&["validate"], arguments].concat()))
}

pub fn json(repo: &Repo, arguments: &[&str]) -> Value {
    let run = validate(repo, &[&["--format", "json"], arguments].concat());
    serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", run.stdout, run.stderr))
}

/// The quickstart with a warning: two hosts behind one BMC.
pub fn with_a_warning() -> Repo {
    let repo = Repo::of_fixture("quickstart");
    repo.replace(RACK_A, "203.0.113.12", "203.0.113.11");
    repo
}

pub fn schema_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/findings.schema.json")
}
