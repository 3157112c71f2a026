//! Journal of a run's changes, for the next run to undo if the run is killed.
//!
//! The generated files of hosts are the only record of assignments. A run that starts from half of
//! another run's changes would choose other hosts. So a run writes a journal before its first
//! change and deletes it after the last. A run that finds a journal restores the files of hosts
//! first:
//!
//! - Without a journal, all files of hosts come from one whole run.
//! - With a journal, each file that is as the killed run wanted it, or is missing, gets its
//!   previous text. Files that were edited or committed since belong to their author and stay.
//!
//! Services are not in the journal, because they are derived from the inputs and not from the
//! output directory.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{
    PreparedChanges, WriteError, above, handover, is_absent, put_in_place, remove, remove_empty,
    staged_file,
};
use crate::base::layout;
use crate::input::git::{Commits, head_id};
use crate::output::compare::{Change, OutputChanges};

/// File name of the journal. It matches the pattern of temporary files, so no other code treats it
/// as a file of its own.
const NAME: &str = ".sipgen-journal.tmp";

/// The files of a directory that a journal covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalScope {
    /// Generated files of hosts in the output directory.
    Hosts,
    /// Files of a snapshot.
    Snapshot,
}

impl JournalScope {
    /// Returns whether the journal covers a file, by path relative to the directory.
    fn has(self, file: &Utf8Path) -> bool {
        match self {
            JournalScope::Hosts => file.starts_with(layout::HOSTS),
            JournalScope::Snapshot => true,
        }
    }

    /// Returns whether sipgen wrote a text and may write it again.
    fn is_ours(self, text: &str) -> bool {
        text.is_empty()
            || match self {
                JournalScope::Hosts => layout::is_ours(text.as_bytes()),
                JournalScope::Snapshot => layout::is_snapshot(text.as_bytes()),
            }
    }
}

/// The planned changes of a run.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Journal {
    /// The commit that was checked out.
    head: Option<String>,
    /// Files of hosts, by path relative to the output directory.
    hosts: BTreeMap<Utf8PathBuf, JournalEntry>,
    /// Directories to remove if they are empty in the end, relative to the output directory.
    directories: BTreeSet<Utf8PathBuf>,
}

/// The change of a file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JournalEntry {
    /// Previous text, if the file existed.
    before: Option<String>,
    /// Hash of the new text, if the file is to exist.
    after: Option<String>,
}

/// Returns whether a run was killed while changing the output directory, or is changing it now.
pub fn is_interrupted(root: &Utf8Path, output: &Utf8Path) -> bool {
    fs::symlink_metadata(place(root, output)).is_ok()
}

/// Undoes the changes of a killed run. The caller must hold the lock on the root.
///
/// # Errors
///
/// Fails if the journal or a file cannot be read or written.
pub fn undo_interrupted(
    root: &Utf8Path,
    output: &Utf8Path,
    scope: JournalScope,
) -> Result<(), WriteError> {
    let path = place(root, output);
    let unusable = |reason: String| WriteError::Journal { path: path.clone(), reason };
    let text = match fs::symlink_metadata(&path) {
        Err(error) if is_absent(&error) => return Ok(()),
        Ok(found) if found.is_file() => {
            fs::read(&path).map_err(|error| unusable(error.to_string()))?
        }
        Ok(_) => return Err(unusable("it is not a regular file".to_owned())),
        Err(error) => return Err(unusable(error.to_string())),
    };
    let journal: Journal =
        serde_json::from_slice(&text).map_err(|error| unusable(error.to_string()))?;
    journal.check(root, output, scope).map_err(unusable)?;
    // Undone in the order of a handover as well, so that no host is ever in two files.
    let changes = journal.undoing(root, output)?;
    let steps = handover::steps(&changes.files, output);
    PreparedChanges::new(root, &changes)?.carry_out(&steps)?;
    remove_empty(&journal.directories.iter().map(|path| root.join(output).join(path)).collect());
    delete(root, output)
}

fn place(root: &Utf8Path, output: &Utf8Path) -> Utf8PathBuf {
    root.join(output).join(NAME)
}

impl Journal {
    /// Creates the journal of changes below `output`. `before` has the texts on the disk.
    pub(super) fn new(
        scope: JournalScope,
        root: &Utf8Path,
        output: &Utf8Path,
        changes: &BTreeMap<Utf8PathBuf, Change>,
        before: &BTreeMap<&Utf8PathBuf, String>,
    ) -> Self {
        let hosts = changes.par_iter().filter_map(|(path, change)| {
            let below = path.strip_prefix(output).ok().filter(|below| scope.has(below))?;
            let (before, after) = (before.get(path).cloned(), change.texts().1.map(hash));
            Some((below.to_owned(), JournalEntry { before, after }))
        });
        let hosts = hosts.collect();
        let below = changes.keys().filter_map(|path| path.strip_prefix(output).ok());
        let directories = above(below).into_iter().map(Utf8Path::to_owned).collect();
        Self { head: head_id(root), hosts, directories }
    }

    /// Writes the journal. From here on, an interrupted run is undone.
    pub(super) fn write(&self, root: &Utf8Path, output: &Utf8Path) -> Result<(), WriteError> {
        let path = place(root, output);
        let text = serde_json::to_string(self).map_err(|error| WriteError::Journal {
            path: path.clone(),
            reason: error.to_string(),
        })?;
        put_in_place(staged_file(&path, &text)?, &path)
    }

    /// Checks that all paths are permitted for a journal, which may come from a commit.
    fn check(&self, root: &Utf8Path, output: &Utf8Path, scope: JournalScope) -> Result<(), String> {
        for path in self.hosts.keys().chain(&self.directories) {
            let is_plain =
                path.components().all(|component| matches!(component, Utf8Component::Normal(_)));
            if !is_plain || path.as_str().is_empty() {
                return Err(format!("{path:?} is not a path below {output}"));
            }
        }
        for (path, entry) in &self.hosts {
            let is_ours = entry.before.as_ref().is_none_or(|text| scope.is_ours(text));
            if !scope.has(path) || !is_ours {
                return Err(format!("{path:?} is not a file that sipgen wrote"));
            }
            let full = output.join(path);
            // A journal in a commit must not write outside the repo.
            let is_link = |path: &Utf8Path| root.join(path).is_symlink();
            if full.ancestors().any(is_link) {
                return Err(format!("{path:?} is behind a symbolic link"));
            }
        }
        Ok(())
    }

    /// Returns the changes that restore the files of hosts.
    fn undoing(&self, root: &Utf8Path, output: &Utf8Path) -> Result<OutputChanges, WriteError> {
        let head = Commits::checked_out(root).filter(|_| head_id(root) != self.head);
        let mut changes = OutputChanges::default();
        for (path, JournalEntry { before, after }) in &self.hosts {
            let path = output.join(path);
            let full = root.join(&path);
            let now = match fs::read(&full) {
                Ok(content) => Some(String::from_utf8_lossy(&content).into_owned()),
                Err(error) if is_absent(&error) => None,
                // sipgen never creates a directory at the path of a file.
                Err(error) if error.kind() == io::ErrorKind::IsADirectory => Some(String::new()),
                Err(error) => return Err(WriteError::refused("read", full)(error)),
            };
            // Files that someone else changed since are left alone.
            let is_of_the_killed = now.is_none() || now.as_deref().map(hash) == *after;
            let is_committed =
                || head.as_ref().is_some_and(|head| head.have(&path, now.as_deref()));
            if is_of_the_killed && !is_committed() {
                let change = Change::between(now, before.clone());
                changes.files.extend(change.map(|change| (path, change)));
            }
        }
        Ok(changes)
    }
}

/// Deletes the journal, which makes the run's changes final.
pub(super) fn delete(root: &Utf8Path, output: &Utf8Path) -> Result<(), WriteError> {
    remove(&place(root, output))?;
    // The output directory is removed with its last file.
    let above = output.ancestors().filter(|path| !path.as_str().is_empty());
    remove_empty(&above.map(|path| root.join(path)).collect());
    Ok(())
}

/// Hashes a text regardless of its line ends.
fn hash(text: &str) -> String {
    format!("{:x}", Sha256::digest(layout::with_line_feeds(text.as_bytes())))
}
