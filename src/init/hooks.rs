//! `.pre-commit-config.yaml`: a commit has what its inputs make.

use super::{Action, Proposal, entry_of_list};
use crate::load::Files;

const FILE: &str = ".pre-commit-config.yaml";

/// The hook. It runs whatever a commit changes: one that only deletes a SIPCluster has no file to give to a hook.
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
        "a hook for pre-commit that refuses a stale commit",
        text,
        lacks,
    )
}
