//! `.pre-commit-config.yaml`: refuses commits with stale output.

use super::{FileAction, Proposal, entry_of_list};
use crate::input::load::Files;

/// The configuration of pre-commit.
const FILE: &str = ".pre-commit-config.yaml";

/// The hook always runs, because pre-commit passes no file if a commit only deletes a SIPCluster.
const ENTRY: &str = "  - repo: local
    hooks:
      - id: sipgen-check
        name: generated overlays are up to date
        entry: sipgen generate --from-index --check --diff
        language: system
        pass_filenames: false
        always_run: true
        require_serial: true
";

/// Returns whether a configuration of pre-commit has a hook of sipgen.
fn has_hook(there: &str) -> bool {
    there.lines().any(|line| line.trim_start_matches(['-', ' ', '\t']).starts_with("id: sipgen-"))
}

pub(super) fn propose(repo: &Files) -> Proposal {
    let lacks = |there: &str| {
        if has_hook(there) { FileAction::Keep } else { entry_of_list(there, "repos", ENTRY) }
    };
    let text = || {
        format!("# `pre-commit install` makes git run these before every commit.\nrepos:\n{ENTRY}")
    };
    Proposal::new(repo, FILE, "pre-commit hook that refuses commits with stale output", text, lacks)
}
