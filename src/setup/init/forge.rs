//! Forge of the repo, and its CI job.

use camino::Utf8Path;

use super::{FileAction, Proposal, entry_of_list};
use crate::base::text::repo_url;
use crate::base::text::visible::yaml_text;
use crate::input::load::{EntryKind, Files, read_by_others};

/// A git forge with a supported CI system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forge {
    /// GitHub Actions.
    Github,
    /// GitLab CI/CD.
    Gitlab,
}

const WORKFLOW: (&str, &str) =
    (".github/workflows/sipgen.yaml", include_str!("../../../examples/github/sipgen.yaml"));
const JOBS: (&str, &str) =
    (".gitlab/sipgen.yml", include_str!("../../../examples/gitlab/sipgen.yml"));
/// File that GitLab CI starts from.
const PIPELINE: &str = ".gitlab-ci.yml";
const INCLUDED: &str = "  - local: .gitlab/sipgen.yml\n";

impl Forge {
    /// Proposes the CI files for a repo with this default branch; `None` if the default branch is
    /// unknown.
    pub(super) fn propose(self, repo: &Files, branch: Option<&str>) -> Vec<Proposal> {
        let job = |path, note, text| Proposal::new(repo, path, note, text, |_| FileAction::Keep);
        match self {
            Forge::Github => {
                let note = "checks every pull request and comments with the plan";
                vec![job(WORKFLOW.0, note, on_branch(WORKFLOW.1, branch))]
            }
            Forge::Gitlab => {
                let note = "checks every merge request and comments with the plan";
                let lacks = |there: &str| match there.contains(JOBS.0) {
                    true => FileAction::Keep,
                    false => entry_of_list(there, "include", INCLUDED),
                };
                let text = format!("include:\n{INCLUDED}");
                vec![
                    job(JOBS.0, note, JOBS.1.to_owned()),
                    Proposal::new(repo, PIPELINE, "includes these jobs", text, lacks),
                ]
            }
        }
    }
}

/// Line of the workflow with its branch.
const ON_BRANCH: &str = "    branches: [main]\n";

/// Sets the default branch in the workflow.
fn on_branch(text: &str, branch: Option<&str>) -> String {
    let line = match branch {
        Some(branch) => format!("    branches: [{}]\n", plain_or_quoted(branch)),
        None => format!(
            "    # The repo does not decide its default branch; write it here.\n{ON_BRANCH}"
        ),
    };
    text.replacen(ON_BRANCH, &line, 1)
}

fn plain_or_quoted(branch: &str) -> String {
    let is_plain = branch.starts_with(|c: char| c.is_ascii_alphabetic())
        && branch.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/' | '.'))
        && read_by_others(branch).is_none();
    if is_plain { branch.to_owned() } else { yaml_text(branch) }
}

/// Recognises forges by the host name of `remote`, else by the repo's files.
pub fn forges(repo: &Files, remote: Option<&str>) -> Vec<Forge> {
    let host = remote.and_then(repo_url::host).unwrap_or_default();
    let names = |forge: &str| host.split('.').any(|label| label.contains(forge));
    match (names("github"), names("gitlab")) {
        (true, _) => vec![Forge::Github],
        (_, true) => vec![Forge::Gitlab],
        _ => {
            let has = |path: &str, kind: EntryKind| repo.kind(Utf8Path::new(path)) == Some(kind);
            let github = has(".github", EntryKind::Directory).then_some(Forge::Github);
            let gitlab = has(PIPELINE, EntryKind::File) || has(".gitlab", EntryKind::Directory);
            github.into_iter().chain(gitlab.then_some(Forge::Gitlab)).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workflow_is_for_the_default_branch() {
        assert_eq!(on_branch(WORKFLOW.1, Some("main")), WORKFLOW.1);
        for (branch, line) in [
            (Some("master"), "    branches: [master]\n"),
            (Some("release/1.x"), "    branches: [release/1.x]\n"),
            (Some("on"), "    branches: [\"on\"]\n"),
            (Some("a,b"), "    branches: [\"a,b\"]\n"),
            (
                None,
                "    # The repo does not decide its default branch; write it here.\n    branches: [main]\n",
            ),
        ] {
            assert!(on_branch(WORKFLOW.1, branch).contains(line), "{branch:?}");
        }
    }
}
