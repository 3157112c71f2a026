//! What a repo needs so that sipgen is run in it: settings, a hook, a CI job, attributes, a page for its readers.
//!
//! * `agents`: whether Flux or Argo CD applies the repo, as its manifests tell.
//! * `base_clusters`: the directories of the repo's base clusters, each of which is a site.
//! * `forge`: where the repo is hosted, and the CI job for that.
//! * `settings_file`, `hooks`, `attributes`, `page`: the other files.
//!
//! Nothing is asked and nothing is overwritten: of a file that is there already, the lines are named that it lacks.
//! Nothing is written here either; see [`changes`].

mod agents;
mod attributes;
mod base_clusters;
mod forge;
mod hooks;
mod page;
mod settings_file;
mod urls;

use camino::{Utf8Path, Utf8PathBuf};

use crate::git::Branches;
use crate::layout;
use crate::load::{Files, Kind, ReadError};
use crate::output::compare::{Change, Changes};
use crate::settings::{self, Settings};

pub use forge::{Forge, forges};

/// One file that a repo needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// Its path, relative to the repo's root.
    pub path: Utf8PathBuf,
    /// What it is for, and what it was made from.
    pub note: String,
    /// What there is to do.
    pub action: Action,
}

/// What there is to do for a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// It is not there; this is its text.
    Create(String),
    /// It is there, and lacks these lines.
    Add {
        /// The lines.
        lines: String,
        /// Where they belong.
        place: String,
    },
    /// It is there, with all it needs.
    Keep,
    /// Something that is no plain file is in its place, or above it.
    Blocked(Utf8PathBuf),
}

/// Proposes the files of a repo, which is fetched from `remote`, has these branches and the CI of `forges`, file by file.
///
/// # Errors
///
/// When a file or directory cannot be read.
pub fn propose(
    repo: &Files,
    settings: &Settings,
    remote: Option<&str>,
    branches: &Branches,
    forges: &[Forge],
) -> Result<Vec<Proposal>, ReadError> {
    let output = output(repo, settings)?;
    let agents = agents::find(repo, &output, remote)?;
    let agent = agents.only();
    let clusters = base_clusters::find(repo, &output)?;
    let shown = clusters.shown_output(&output);

    let mut proposals = Vec::new();
    if repo.kind(Utf8Path::new(settings::FILE)).is_some() || !clusters.have_settings() {
        proposals.push(settings_file::propose(repo, &output, &agents, &clusters));
    }
    proposals.extend([
        hooks::propose(repo),
        attributes::propose(repo, &clusters.outputs(&output)),
    ]);
    let branch = branches
        .default
        .clone()
        .or_else(|| agents.branch(&branches.all))
        .or_else(|| branches.current.clone());
    proposals.extend(
        forges
            .iter()
            .flat_map(|forge| forge.propose(repo, branch.as_deref())),
    );
    proposals.push(page::propose(repo, &shown, agent));
    Ok(proposals)
}

/// The files to create.
pub fn changes(proposals: &[Proposal]) -> Changes {
    let created = proposals
        .iter()
        .filter_map(|proposal| match &proposal.action {
            Action::Create(text) => Some((
                proposal.path.clone(),
                Change::Create {
                    after: text.clone(),
                },
            )),
            _ => None,
        });
    Changes {
        files: created.collect(),
        leftovers: Vec::new(),
    }
}

/// The directory that sipgen is to write: another one than by default, where a repo without settings has files of its
/// own in that one, as many repos with kustomizations do.
fn output(repo: &Files, settings: &Settings) -> Result<Utf8PathBuf, ReadError> {
    const OTHER: &str = "sipgen";
    if repo.kind(Utf8Path::new(settings::FILE)).is_some() {
        return Ok(settings.output.clone());
    }
    for (file, kind) in repo.entries_below(&settings.output)? {
        let is_foreign =
            kind != Kind::Directory && !(kind == Kind::File && layout::is_ours(&repo.read(&file)?));
        if is_foreign {
            return Ok(Utf8PathBuf::from(OTHER));
        }
    }
    Ok(settings.output.clone())
}

impl Proposal {
    /// Proposes a file: all of it where it is missing; else what `lacks` says of the text that is there.
    fn new(
        repo: &Files,
        path: &str,
        note: impl Into<String>,
        text: impl FnOnce() -> String,
        lacks: impl FnOnce(&str) -> Action,
    ) -> Self {
        let path = Utf8PathBuf::from(path);
        let action = match (obstacle(repo, &path), repo.kind(&path)) {
            (Some(obstacle), _) => Action::Blocked(obstacle),
            (None, None) => Action::Create(text()),
            (None, Some(Kind::File)) => repo
                .text(&path)
                .map_or_else(|| Action::Blocked(path.clone()), |there| lacks(&there)),
            (None, Some(_)) => Action::Blocked(path.clone()),
        };
        Self {
            path,
            note: note.into(),
            action,
        }
    }
}

/// What is above a path and is no directory: a link may lead out of the repo.
fn obstacle(repo: &Files, path: &Utf8Path) -> Option<Utf8PathBuf> {
    let above = path
        .ancestors()
        .skip(1)
        .filter(|above| !above.as_str().is_empty());
    let blocks = |above: &&Utf8Path| repo.kind(above).is_some_and(|kind| kind != Kind::Directory);
    above.filter(blocks).last().map(Utf8Path::to_owned)
}

/// Adds an entry to the list under a top-level key of a YAML text: the lines, indented as the entries there are; with
/// the key where there is none.
fn entry_of_list(there: &str, key: &str, entry: &str) -> Action {
    let mut lines = there.lines().skip_while(|line| {
        !line
            .strip_prefix(key)
            .is_some_and(|rest| rest.starts_with(':'))
    });
    if lines.next().is_none() {
        return Action::Add {
            lines: format!("{key}:\n{entry}"),
            place: "at its end".to_owned(),
        };
    }
    let first = lines
        .map(str::trim_end)
        .find(|line| !line.trim_start().is_empty() && !line.trim_start().starts_with('#'));
    let indent = first
        .and_then(|line| Some(line.split_at_checked(line.find('-')?)?.0))
        .unwrap_or("  ");
    let indent = if indent.trim().is_empty() {
        indent
    } else {
        "  "
    };
    let lines = entry
        .lines()
        .map(|line| format!("{indent}{}\n", line.strip_prefix("  ").unwrap_or(line)))
        .collect();
    Action::Add {
        lines,
        place: format!("to its list `{key}:`"),
    }
}
