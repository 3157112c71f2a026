//! `.pre-commit-config.yaml`: refuses commits with stale output.

use super::{Action, Proposal, entry_of_list};
use crate::load::Files;

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
    let lacks = |there: &str| {
        let has_hook = there.lines().any(|line| {
            line.trim_start_matches(['-', ' ', '\t'])
                .starts_with("id: sipgen-")
        });
        if has_hook {
            Action::Keep
        } else {
            entry_of_list(there, "repos", ENTRY)
        }
    };
    let text = || {
        format!("# `pre-commit install` makes git run these before every commit.\nrepos:\n{ENTRY}")
    };
    Proposal::new(
        repo,
        FILE,
        "pre-commit hook that refuses commits with stale output",
        text,
        lacks,
    )
}
