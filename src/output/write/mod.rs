//! Writes changes to the disk: new texts are staged beside their paths first, then renamed over
//! them.
//!
//! - `handover`: an order of changes in which no host is ever in two files
//! - `journal`: a record of an interrupted run's changes, for the next run to undo
//!
//! A failure during staging leaves every file unchanged. A run that is killed later leaves whole
//! files and a journal. The next run restores the files of hosts, so it reads what the killed run
//! read and gets the same result.

mod handover;
mod journal;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;

use camino::{Utf8Path, Utf8PathBuf};
use rayon::prelude::*;
use tempfile::{NamedTempFile, TempPath};

use super::compare::{Change, OutputChanges};
use crate::base::layout;
use crate::base::tree::above;
use handover::WriteStep;
use journal::Journal;

pub use journal::{JournalScope, is_interrupted, undo_interrupted};

/// The reason why changes could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// A system error.
    #[error("cannot {verb} {path}: {source}")]
    Refused {
        /// The failed action.
        verb: &'static str,
        /// The file or directory.
        path: Utf8PathBuf,
        /// The system error.
        source: io::Error,
    },
    /// A file changed after it was read.
    #[error("`{0}` changed after this run read it, so nothing was written; run the command again")]
    Changed(Utf8PathBuf),
    /// The journal of an interrupted run cannot be undone.
    #[error(
        "cannot undo an interrupted run by its journal `{path}`: {reason}; restore the generated files with \
         `git checkout`, delete the journal, and run the command again"
    )]
    Journal {
        /// The journal.
        path: Utf8PathBuf,
        /// The problem with the journal.
        reason: String,
    },
}

impl WriteError {
    fn refused(verb: &'static str, path: Utf8PathBuf) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Refused { verb, path, source }
    }
}

/// Applies changes below a repo's root on the disk.
///
/// # Errors
///
/// Fails if a file cannot be staged; then nothing has changed.
///
/// Renaming or deleting rarely fails once staging succeeded. If it does, some files are new, and
/// another run completes the rest.
pub fn write(root: &Utf8Path, changes: &OutputChanges) -> Result<(), WriteError> {
    let steps = handover::puts_and_removals(&changes.files);
    PreparedChanges::new(root, changes)?.carry_out(&steps)
}

/// Applies changes of the output directory, or of the directory of a snapshot.
///
/// The order keeps every host in at most one file at any time. A journal lets the next run undo the
/// changes if this run is killed, so a host that moves to another file is never in none.
///
/// # Errors
///
/// Fails if a file changed after it was read; then nothing has changed. Otherwise fails as
/// [`write()`] does, and the next run undoes the changes.
pub fn write_output(
    root: &Utf8Path,
    output: &Utf8Path,
    changes: &OutputChanges,
    scope: JournalScope,
) -> Result<(), WriteError> {
    let steps = handover::steps(&changes.files, output);
    let prepared = PreparedChanges::new(root, changes)?;
    if changes.files.is_empty() {
        return prepared.carry_out(&steps);
    }
    // Checked as late as possible. A change by another program after this point is lost.
    let before = expect_unchanged(root, &changes.files)?;
    Journal::new(scope, root, output, &changes.files, &before).write(root, output)?;
    prepared.carry_out(&steps)?;
    journal::delete(root, output)
}

/// Returns the texts on the disk, with their line ends, of the files to change. Fails if one
/// differs from the change's old text.
fn expect_unchanged<'a>(
    root: &Utf8Path,
    changes: &'a BTreeMap<Utf8PathBuf, Change>,
) -> Result<BTreeMap<&'a Utf8PathBuf, String>, WriteError> {
    let read = |(path, change): (&'a Utf8PathBuf, &Change)| {
        let full = root.join(path);
        let content = match fs::symlink_metadata(&full) {
            Err(error) if is_absent(&error) => None,
            Err(error) => return Err(WriteError::refused("read", full)(error)),
            Ok(found) if !found.is_file() => return Err(WriteError::Changed(path.clone())),
            Ok(_) => Some(fs::read(&full).map_err(WriteError::refused("read", full))?),
        };
        if content.as_deref().map(layout::text_of).as_deref() != change.texts().0 {
            return Err(WriteError::Changed(path.clone()));
        }
        Ok(content.map(|content| (path, String::from_utf8_lossy(&content).into_owned())))
    };
    let texts: Vec<_> = changes.par_iter().map(read).collect::<Result<_, WriteError>>()?;
    Ok(texts.into_iter().flatten().collect())
}

/// Staged changes that are known to be permitted. Without being carried out, they leave nothing.
struct PreparedChanges<'a> {
    root: &'a Utf8Path,
    staged: HashMap<&'a str, TempPath>,
    leftovers: &'a [Utf8PathBuf],
    /// Directories that were created for them.
    created: BTreeSet<Utf8PathBuf>,
}

impl Drop for PreparedChanges<'_> {
    fn drop(&mut self) {
        self.staged.clear();
        remove_empty(&self.created);
    }
}

impl<'a> PreparedChanges<'a> {
    /// Stages the changes. Only directories and temporary files are created.
    fn new(root: &'a Utf8Path, changes: &'a OutputChanges) -> Result<Self, WriteError> {
        let OutputChanges { files, leftovers } = changes;
        let mut prepared =
            Self { root, staged: HashMap::new(), leftovers, created: BTreeSet::new() };
        let written: Vec<(&Utf8Path, &str)> = files
            .iter()
            .filter_map(|(path, change)| Some((path.as_path(), change.texts().1?)))
            .collect();
        let directories = written.iter().filter_map(|(path, _)| path.parent());
        for directory in directories.collect::<BTreeSet<_>>() {
            let above = directory.ancestors().map(|path| root.join(path));
            prepared.created.extend(above.take_while(|path| !path.exists()));
            let path = root.join(directory);
            fs::create_dir_all(&path).map_err(WriteError::refused("create the directory", path))?;
        }
        prepared.staged = written
            .par_iter()
            .map(|(path, text)| Ok((path.as_str(), staged_file(&root.join(path), text)?)))
            .collect::<Result<_, WriteError>>()?;
        let stale = files.iter().filter(|(_, change)| change.after.is_none());
        may_delete(root, stale.map(|(path, _)| path).chain(leftovers))?;
        Ok(prepared)
    }

    fn carry_out(mut self, steps: &[WriteStep<'a>]) -> Result<(), WriteError> {
        let mut removed = Vec::new();
        for step in steps {
            match *step {
                WriteStep::Put(path) => {
                    if let Some(staged) = self.staged.remove(path.as_str()) {
                        put_in_place(staged, &self.root.join(path))?;
                    }
                }
                WriteStep::Remove(path) => {
                    remove(&self.root.join(path))?;
                    removed.push(path);
                }
            }
        }
        for path in self.leftovers {
            remove(&self.root.join(path))?;
            removed.push(path);
        }
        // Git has no empty directories, so none is left behind.
        remove_empty(&above(removed).into_iter().map(|path| self.root.join(path)).collect());
        Ok(())
    }
}

/// Writes a text to a temporary file beside its path.
fn staged_file(path: &Utf8Path, text: &str) -> Result<TempPath, WriteError> {
    let staged = new_file_beside(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        // A migrated file of a user keeps its permissions.
        if let Ok(there) = fs::symlink_metadata(path) {
            file.as_file().set_permissions(there.permissions())?;
        }
        // Closed at once, because there may be more files than a process can have open.
        Ok(file.into_temp_path())
    });
    staged.map_err(WriteError::refused("write", path.to_owned()))
}

/// Moves a complete temporary file to its path.
fn put_in_place(staged: TempPath, path: &Utf8Path) -> Result<(), WriteError> {
    staged.persist(path).map_err(|error| WriteError::refused("write", path.to_owned())(error.error))
}

fn new_file_beside(path: &Utf8Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(layout::STAGED.0)
        .suffix(layout::STAGED.1)
        // As for any new file, restricted by the umask.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(path.parent().unwrap_or(Utf8Path::new(".")))
}

/// Checks that files can be deleted, before anything changes. Deleting requires the same permission
/// on the directory as creating a file.
fn may_delete<'a>(
    root: &Utf8Path,
    files: impl Iterator<Item = &'a Utf8PathBuf>,
) -> Result<(), WriteError> {
    let mut asked = BTreeSet::new();
    for file in files.filter(|file| asked.insert(file.parent())) {
        let path = root.join(file);
        new_file_beside(&path).map_err(WriteError::refused("delete", path))?;
    }
    Ok(())
}

/// Returns whether an error says that a path does not exist, even because a file is in place of a
/// directory above it.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Removes a file if it exists.
fn remove(path: &Utf8Path) -> Result<(), WriteError> {
    match fs::remove_file(path) {
        Err(error) if !is_absent(&error) => {
            Err(WriteError::refused("delete", path.to_owned())(error))
        }
        _ => Ok(()),
    }
}

/// Removes the empty directories among the given ones, innermost first.
fn remove_empty(directories: &BTreeSet<Utf8PathBuf>) {
    for directory in directories.iter().rev() {
        // Fails on a directory with files, as intended.
        let _ = fs::remove_dir(directory);
    }
}
