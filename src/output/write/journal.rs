//! What a run that was killed in the middle has changed, for the next one to undo.
//!
//! The generated files of hosts are the only memory of who has which host, so a run that starts from half of another
//! one's changes chooses other hosts than that one did. A run therefore writes a journal before it changes the first file,
//! and deletes it behind the last. One that finds a journal puts the files of hosts back first:
//!
//! * Without a journal, all files of hosts are those of one whole run.
//! * With one, each file that is as the killed run wanted it, or gone, becomes what it was before. What somebody has
//!   changed or committed since is theirs, and stays.
//!
//! Services are not in it: they are made of the SIPClusters and of nothing that lies in the output directory.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Prepared, Staged, WriteError, above, handover, remove, remove_empty};
use crate::layout;
use crate::output::compare::Change;
use crate::output::git::Head;

/// The journal's name in the output directory; that of a leftover, so that nothing else ever takes it for a file of its
/// own.
const NAME: &str = ".sipgen-journal.tmp";

/// The files that a journal is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// The generated files of hosts in the output directory.
    Hosts,
    /// The files of a snapshot.
    Snapshot,
}

impl Of {
    /// Returns whether a journal is about a file, by its path relative to the directory.
    fn has(self, file: &Utf8Path) -> bool {
        match self {
            Of::Hosts => file.starts_with(layout::HOSTS),
            Of::Snapshot => true,
        }
    }

    /// Returns whether sipgen wrote a text, and may write it again.
    fn is_ours(self, text: &str) -> bool {
        text.is_empty()
            || match self {
                Of::Hosts => layout::is_ours(text.as_bytes()),
                Of::Snapshot => layout::is_snapshot(text.as_bytes()),
            }
    }
}

/// What a run is about to change.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Journal {
    /// The commit that was checked out.
    #[serde(default)]
    head: Option<String>,
    /// The files of hosts, by path relative to the output directory.
    hosts: BTreeMap<Utf8PathBuf, Entry>,
    /// The directories that go when they are empty in the end, relative to the output directory.
    directories: BTreeSet<Utf8PathBuf>,
}

/// What becomes of a file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// Its text before, if it was there.
    before: Option<String>,
    /// The hash of its text afterwards, if it is there then.
    after: Option<String>,
}

/// A journal that is in its place.
pub(super) struct Written<'a> {
    root: &'a Utf8Path,
    output: &'a Utf8Path,
}

/// Returns whether a run was killed in the middle of changing the output directory, or is in the middle of it.
pub fn is_interrupted(root: &Utf8Path, output: &Utf8Path) -> bool {
    fs::symlink_metadata(place(root, output)).is_ok()
}

/// Undoes what a run that was killed has changed in the files of hosts. Only for who has locked the root.
///
/// # Errors
///
/// When the journal or a file cannot be read or written.
pub fn undo_interrupted(root: &Utf8Path, output: &Utf8Path) -> Result<(), WriteError> {
    undo(root, output, Of::Hosts)
}

/// Undoes what a run that was killed has changed in the files of a snapshot. Only for who has locked the root.
///
/// # Errors
///
/// When the journal or a file cannot be read or written.
pub fn undo_interrupted_snapshot(root: &Utf8Path, directory: &Utf8Path) -> Result<(), WriteError> {
    undo(root, directory, Of::Snapshot)
}

fn undo(root: &Utf8Path, output: &Utf8Path, of: Of) -> Result<(), WriteError> {
    let path = place(root, output);
    let unusable = |reason: String| WriteError::Journal {
        path: path.clone(),
        reason,
    };
    let text = match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Ok(found) if found.is_file() => {
            fs::read(&path).map_err(|error| unusable(error.to_string()))?
        }
        Ok(_) => return Err(unusable("it is no plain file".to_owned())),
        Err(error) => return Err(unusable(error.to_string())),
    };
    let journal: Journal =
        serde_json::from_slice(&text).map_err(|error| unusable(error.to_string()))?;
    journal.check(root, output, of).map_err(unusable)?;
    let changes = journal.undoing(root, output)?;
    let steps = handover::steps(&changes, output);
    Prepared::new(root, &changes, &[])?.carry_out(&steps)?;
    remove_empty(
        &journal
            .directories
            .iter()
            .map(|path| root.join(output).join(path))
            .collect(),
    );
    Written { root, output }.delete()
}

fn place(root: &Utf8Path, output: &Utf8Path) -> Utf8PathBuf {
    root.join(output).join(NAME)
}

impl Journal {
    /// The journal of changes below `output`. `before` are the texts on the disk.
    pub(super) fn new(
        of: Of,
        root: &Utf8Path,
        output: &Utf8Path,
        changes: &BTreeMap<Utf8PathBuf, Change>,
        mut before: BTreeMap<&Utf8PathBuf, String>,
    ) -> Self {
        let hosts = changes.iter().filter_map(|(path, change)| {
            let below = path
                .strip_prefix(output)
                .ok()
                .filter(|below| of.has(below))?;
            Some((
                below.to_owned(),
                Entry {
                    before: before.remove(path),
                    after: change.texts().1.map(hash),
                },
            ))
        });
        let hosts = hosts.collect();
        let below = changes
            .keys()
            .filter_map(|path| path.strip_prefix(output).ok());
        let head = Head::around(root).map(|head| head.id());
        Self {
            head,
            hosts,
            directories: above(below).map(Utf8Path::to_owned).collect(),
        }
    }

    /// Puts the journal into its place: from here on the run counts.
    pub(super) fn write<'a>(
        &self,
        root: &'a Utf8Path,
        output: &'a Utf8Path,
    ) -> Result<Written<'a>, WriteError> {
        let path = place(root, output);
        let text = serde_json::to_string(self).map_err(|error| WriteError::Journal {
            path: path.clone(),
            reason: error.to_string(),
        })?;
        Staged::new(path.clone(), &text)?.rename()?;
        Ok(Written { root, output })
    }

    /// Returns whether all paths are those of files that a journal may be about: it may have come with a commit.
    fn check(&self, root: &Utf8Path, output: &Utf8Path, of: Of) -> Result<(), String> {
        for path in self.hosts.keys().chain(&self.directories) {
            let is_plain = path
                .components()
                .all(|component| matches!(component, Utf8Component::Normal(_)));
            if !is_plain || path.as_str().is_empty() {
                return Err(format!("{path:?} is no path below {output}"));
            }
        }
        for (path, entry) in &self.hosts {
            let is_ours = entry.before.as_ref().is_none_or(|text| of.is_ours(text));
            if !of.has(path) || !is_ours {
                return Err(format!("{path:?} is no file that sipgen wrote"));
            }
            let full = output.join(path);
            let is_link = |path: &Utf8Path| root.join(path).is_symlink();
            if full.ancestors().any(is_link) {
                return Err(format!("{path:?} is behind a symbolic link"));
            }
        }
        Ok(())
    }

    /// The changes by which the files of hosts become what they were.
    fn undoing(
        &self,
        root: &Utf8Path,
        output: &Utf8Path,
    ) -> Result<BTreeMap<Utf8PathBuf, Change>, WriteError> {
        let mut now: BTreeMap<Utf8PathBuf, Option<String>> = BTreeMap::new();
        for path in self.hosts.keys().map(|path| output.join(path)) {
            let full = root.join(&path);
            let text = match fs::read(&full) {
                Ok(content) => Some(String::from_utf8_lossy(&content).into_owned()),
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                    ) =>
                {
                    None
                }
                // A directory is somebody else's.
                Err(error) if error.kind() == io::ErrorKind::IsADirectory => Some(String::new()),
                Err(error) => return Err(WriteError::refused("read", full)(error)),
            };
            now.insert(path, text);
        }
        let mut changes = BTreeMap::new();
        let head = Head::around(root).filter(|head| Some(head.id()) != self.head);
        for (entry, (path, now)) in self.hosts.values().zip(&now) {
            let is_of_the_killed = now.is_none() || now.as_deref().map(hash) == entry.after;
            let is_committed = || {
                head.as_ref()
                    .is_some_and(|head| head.has(path, now.as_deref()))
            };
            if !is_of_the_killed || is_committed() {
                continue;
            }
            let change = match (now.clone(), entry.before.clone()) {
                (None, Some(after)) => Change::Create { after },
                (Some(before), Some(after)) if before != after => Change::Update { before, after },
                (Some(before), None) => Change::Delete { before },
                (Some(_), Some(_)) | (None, None) => continue,
            };
            changes.insert(path.clone(), change);
        }
        Ok(changes)
    }
}

impl Written<'_> {
    /// Ends the run: what it has changed stays.
    pub(super) fn delete(self) -> Result<(), WriteError> {
        let path = place(self.root, self.output);
        remove(&path)?;
        // The output directory itself goes with the last file in it.
        let above = self
            .output
            .ancestors()
            .filter(|path| !path.as_str().is_empty());
        remove_empty(&above.map(|path| self.root.join(path)).collect());
        Ok(())
    }
}

/// Tells texts apart whatever their line ends are.
fn hash(text: &str) -> String {
    format!(
        "{:x}",
        Sha256::digest(layout::with_line_feeds(text.as_bytes()))
    )
}
