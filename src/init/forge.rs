//! Where the repo is hosted, and the CI job for that.

use camino::Utf8Path;

use super::{Action, Proposal, entry_of_list, urls};
use crate::load::{Files, Kind};

/// A host of git repos whose CI sipgen knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forge {
    /// GitHub, with Actions.
    Github,
    /// GitLab, with its CI.
    Gitlab,
}

const WORKFLOW: (&str, &str) = (".github/workflows/sipgen.yaml", include_str!("../../examples/github/sipgen.yaml"));
const JOBS: (&str, &str) = (".gitlab/sipgen.yml", include_str!("../../examples/gitlab/sipgen.yml"));
/// The file that GitLab starts from.
const PIPELINE: &str = ".gitlab-ci.yml";
const INCLUDED: &str = "  - local: .gitlab/sipgen.yml\n";

impl Forge {
    /// The files of its CI.
    pub(super) fn propose(self, repo: &Files) -> Vec<Proposal> {
        let whole =
            |(path, text): (&str, &str), note| Proposal::new(repo, path, note, || text.to_owned(), |_| Action::Keep);
        match self {
            Forge::Github => vec![whole(WORKFLOW, "checks every pull request, and comments with its plan")],
            Forge::Gitlab => vec![
                whole(JOBS, "checks every merge request, and comments with its plan"),
                Proposal::new(
                    repo,
                    PIPELINE,
                    "includes those jobs",
                    || format!("include:\n{INCLUDED}"),
                    |there| {
                        if there.contains(JOBS.0) { Action::Keep } else { entry_of_list(there, "include", INCLUDED) }
                    },
                ),
            ],
        }
    }
}

/// The forges that a repo is made for: the one that it is fetched from by `remote`; else those that it has files for.
pub fn forges(repo: &Files, remote: Option<&str>) -> Vec<Forge> {
    let host = remote.and_then(urls::host_of).unwrap_or_default();
    let names = |forge: &str| host.split('.').any(|label| label.contains(forge));
    match (names("github"), names("gitlab")) {
        (true, _) => vec![Forge::Github],
        (_, true) => vec![Forge::Gitlab],
        _ => {
            let has = |path: &str, kind: Kind| repo.kind(Utf8Path::new(path)) == Some(kind);
            let github = has(".github", Kind::Directory).then_some(Forge::Github);
            let gitlab = has(PIPELINE, Kind::File) || has(".gitlab", Kind::Directory);
            github.into_iter().chain(gitlab.then_some(Forge::Gitlab)).collect()
        }
    }
}
