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

pub(super) fn propose(repo: &Files) -> Proposal {
    let is_hook = |line: &str| line.trim_start_matches(['-', ' ', '\t']).starts_with("id: sipgen-");
    let lacks = |there: &str| match there.lines().any(is_hook) {
        true => FileAction::Keep,
        false => entry_of_list(there, "repos", ENTRY),
    };
    let text =
        format!("# `pre-commit install` makes git run these before every commit.\nrepos:\n{ENTRY}");
    Proposal::new(repo, FILE, "pre-commit hook that refuses commits with stale output", text, lacks)
}
