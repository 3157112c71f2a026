//! Repo setup for sipgen: settings, hook, CI job and Git attributes.
//!
//! * `agents`: recognises Flux or Argo CD by the manifests in the repo, and derives its settings.
//! * `base_clusters`: finds the directories of base clusters, each of which is a site.
//! * `forge`: recognises GitHub or GitLab, and proposes the CI job.
//! * `settings_file`, `hooks`, `attributes`: the other files.
//!
//! It never prompts and never overwrites: for an existing file, the missing lines are listed.
//! Nothing is written here either; see [`changes`].

mod agents;
mod attributes;
mod base_clusters;
mod forge;
mod hooks;
mod settings_file;

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};

use crate::base::layout;
use crate::input::git::KnownBranches;
use crate::input::load::{EntryKind, Files, ReadError};
use crate::input::settings::{self, Settings};
use crate::output::compare::{Change, OutputChanges};

pub use attributes::attributes;
pub use forge::{Forge, forges};

/// A file that a repo requires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// Path relative to the repo's root.
    pub path: Utf8PathBuf,
    /// Purpose of the file, and its source.
    pub note: String,
    /// Action to take.
    pub action: FileAction,
}

/// Action to take for a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileAction {
    /// Create the missing file with this text.
    Create(String),
    /// Add lines to an existing file.
    Add {
        /// Missing lines.
        lines: String,
        /// Position for the lines.
        place: String,
    },
    /// Keep an existing file that is complete.
    Keep,
    /// Do nothing, because this path on the way is not a regular file or directory.
    Blocked(Utf8PathBuf),
}

/// Proposes files for a repo with this remote, these branches and these forges.
///
/// # Errors
///
/// A file or directory cannot be read.
pub fn propose(
    repo: &Files,
    settings: &Settings,
    remote: Option<&str>,
    branches: &KnownBranches,
    forges: &[Forge],
) -> Result<Vec<Proposal>, ReadError> {
    let output = output(repo, settings)?;
    let agents = agents::find(repo, &output, remote, &branches.all)?;
    let clusters = base_clusters::find(repo, &output)?;

    let mut proposals = Vec::new();
    // If each site has settings of its own, the root needs none.
    if repo.kind(Utf8Path::new(settings::FILE)).is_some() || !clusters.are_known {
        proposals.push(settings_file::propose(repo, &output, &agents, &clusters));
    }
    proposals.extend([hooks::propose(repo), attributes::propose(repo, &clusters.outputs)]);
    // Agents may apply different branches.
    let applied: BTreeSet<&String> = agents.iter().filter_map(|it| it.branch.as_ref()).collect();
    let applied = agents::only(applied);
    let branch = branches.default.as_ref().or(applied).or(branches.current.as_ref());
    proposals
        .extend(forges.iter().flat_map(|forge| forge.propose(repo, branch.map(String::as_str))));
    Ok(proposals)
}

/// Returns the files to create.
pub fn changes(proposals: &[Proposal]) -> OutputChanges {
    let created = proposals.iter().filter_map(|proposal| match &proposal.action {
        FileAction::Create(text) => {
            Some((proposal.path.clone(), Change { before: None, after: Some(text.clone()) }))
        }
        _ => None,
    });
    OutputChanges { files: created.collect(), leftovers: Vec::new() }
}

/// Chooses the output directory. A repo without settings may have files of its own in the default
/// one, as many repos with kustomizations do; then it is another one.
fn output(repo: &Files, settings: &Settings) -> Result<Utf8PathBuf, ReadError> {
    const OTHER: &str = "sipgen";
    if repo.kind(Utf8Path::new(settings::FILE)).is_some() {
        return Ok(settings.output.clone());
    }
    for (file, kind) in repo.entries_below(&settings.output)? {
        let is_foreign = kind != EntryKind::Directory
            && !(kind == EntryKind::File && layout::is_ours(&repo.read(&file)?));
        if is_foreign {
            return Ok(Utf8PathBuf::from(OTHER));
        }
    }
    Ok(settings.output.clone())
}

impl FileAction {
    fn add_at_end(lines: String) -> Self {
        Self::Add { lines, place: "at the end".to_owned() }
    }
}

impl Proposal {
    /// Proposes a file: the whole text if it is missing, else the action that `lacks` returns for
    /// the existing text.
    fn new(
        repo: &Files,
        path: &str,
        note: impl Into<String>,
        text: String,
        lacks: impl FnOnce(&str) -> FileAction,
    ) -> Self {
        let path = Utf8PathBuf::from(path);
        let action = match (obstacle(repo, &path), repo.kind(&path)) {
            (Some(obstacle), _) => FileAction::Blocked(obstacle),
            (None, None) => FileAction::Create(text),
            (None, Some(EntryKind::File)) => repo
                .text(&path)
                .map_or_else(|| FileAction::Blocked(path.clone()), |there| lacks(&there)),
            (None, Some(_)) => FileAction::Blocked(path.clone()),
        };
        Self { path, note: note.into(), action }
    }
}

/// Returns the topmost path above `path` that is not a directory. It may be a symbolic link that
/// leads out of the repo.
fn obstacle(repo: &Files, path: &Utf8Path) -> Option<Utf8PathBuf> {
    let above = path.ancestors().skip(1).filter(|above| !above.as_str().is_empty());
    let blocks =
        |above: &&Utf8Path| repo.kind(above).is_some_and(|kind| kind != EntryKind::Directory);
    above.filter(blocks).last().map(Utf8Path::to_owned)
}

/// Adds an entry to the list under a top-level key of a YAML text, indented like the existing
/// entries; adds the key if it is missing.
fn entry_of_list(there: &str, key: &str, entry: &str) -> FileAction {
    let mut lines = there
        .lines()
        .skip_while(|line| !line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')));
    if lines.next().is_none() {
        return FileAction::add_at_end(format!("{key}:\n{entry}"));
    }
    let first = lines
        .map(str::trim_end)
        .find(|line| !line.trim_start().is_empty() && !line.trim_start().starts_with('#'));
    let indent =
        first.and_then(|line| Some(line.split_at_checked(line.find('-')?)?.0)).unwrap_or("  ");
    let indent = if indent.trim().is_empty() { indent } else { "  " };
    let lines = entry
        .lines()
        .map(|line| format!("{indent}{}\n", line.strip_prefix("  ").unwrap_or(line)))
        .collect();
    FileAction::Add { lines, place: format!("to its list `{key}:`") }
}
