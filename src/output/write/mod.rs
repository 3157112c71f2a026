//! Writes changes to the disk: all of them staged beside their places first, then renamed over them.
//!
//! * `handover`: the order in which files of hosts change, so that no host is in two of them at any time.
//! * `journal`: what a run that is killed in the middle has changed, for the next one to undo.
//!
//! A failure while staging leaves every file as it was. A run that is killed later leaves whole files and a journal, and
//! the next run puts the files of hosts back to what they were: it reads what the killed run read, and comes to the same.

mod handover;
mod journal;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;

use camino::{Utf8Path, Utf8PathBuf};
use rayon::prelude::*;
use tempfile::{NamedTempFile, TempPath};

use super::compare::{Change, Changes, STAGED};
use crate::layout;
use handover::Step;
use journal::{Journal, Of};

pub use journal::{is_interrupted, undo_interrupted, undo_interrupted_snapshot};

/// The reason why something could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The system refuses.
    #[error("cannot {verb} {path}: {source}")]
    Refused {
        /// What was to be done.
        verb: &'static str,
        /// The file or directory.
        path: Utf8PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Somebody else has changed a file since it was read.
    #[error("{0} has changed since this run has read it, and nothing was written; run this again")]
    Changed(Utf8PathBuf),
    /// The journal of a killed run says nothing that could be undone.
    #[error(
        "cannot undo what a run that was killed has changed, by {path}: {reason}; restore the generated files by \
         `git checkout`, delete the journal, and run this again"
    )]
    Journal {
        /// The journal.
        path: Utf8PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl WriteError {
    fn refused(verb: &'static str, path: Utf8PathBuf) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Refused { verb, path, source }
    }
}

/// Carries changes out, below a repo's root on the disk.
///
/// # Errors
///
/// When a file cannot be staged; then nothing has changed. Or when one cannot be renamed or deleted, which has
/// no usual cause once staging succeeded; then some files are new, and another run does the rest.
pub fn write(root: &Utf8Path, changes: &Changes) -> Result<(), WriteError> {
    let (written, removed): (Vec<_>, Vec<_>) = changes
        .files
        .iter()
        .partition(|(_, change)| change.texts().1.is_some());
    let written = written.into_iter().map(|(path, _)| Step::Put(path));
    let steps: Vec<Step<'_>> = written
        .chain(removed.into_iter().map(|(path, _)| Step::Remove(path)))
        .collect();
    Prepared::new(root, &changes.files, &changes.leftovers)?.carry_out(&steps)
}

/// Carries changes of the output directory out, in an order in which no host is in two files at any time, and with a
/// journal by which the next run undoes what this one has done if it is killed.
///
/// # Errors
///
/// When a file is not what it was when it was read; then nothing has changed. Otherwise as [`write()`], but that the next
/// run undoes what was done.
pub fn write_output(
    root: &Utf8Path,
    output: &Utf8Path,
    changes: &Changes,
) -> Result<(), WriteError> {
    write_with_journal(root, output, changes, Of::Hosts)
}

/// Carries changes of a snapshot's files out, with a journal as [`write_output`]: a host that moves from one file to
/// another is never in none.
///
/// # Errors
///
/// As [`write_output`].
pub fn write_snapshot(
    root: &Utf8Path,
    directory: &Utf8Path,
    changes: &Changes,
) -> Result<(), WriteError> {
    write_with_journal(root, directory, changes, Of::Snapshot)
}

fn write_with_journal(
    root: &Utf8Path,
    output: &Utf8Path,
    changes: &Changes,
    of: Of,
) -> Result<(), WriteError> {
    if changes.files.is_empty() {
        return write(root, changes);
    }
    let steps = handover::steps(&changes.files, output);
    let prepared = Prepared::new(root, &changes.files, &changes.leftovers)?;
    // As late as can be: whoever changes a file between this and its turn, loses that change.
    let before = expect_unchanged(root, &changes.files);
    let journal = before.and_then(|before| {
        Journal::new(of, root, output, &changes.files, before).write(root, output)
    });
    let journal = match journal {
        Ok(journal) => journal,
        Err(error) => {
            prepared.abandon();
            return Err(error);
        }
    };
    prepared.carry_out(&steps)?;
    journal.delete()
}

/// The texts on the disk, line ends included, of files that are to change; none may be another than the change says.
fn expect_unchanged<'a>(
    root: &Utf8Path,
    changes: &'a BTreeMap<Utf8PathBuf, Change>,
) -> Result<BTreeMap<&'a Utf8PathBuf, String>, WriteError> {
    let read = |(path, change): (&'a Utf8PathBuf, &Change)| {
        let full = root.join(path);
        let content = match fs::symlink_metadata(&full) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(WriteError::refused("read", full)(error)),
            Ok(found) if !found.is_file() => return Err(WriteError::Changed(path.clone())),
            Ok(_) => Some(fs::read(&full).map_err(WriteError::refused("read", full))?),
        };
        if content.as_deref().map(layout::text_of).as_deref() != change.texts().0 {
            return Err(WriteError::Changed(path.clone()));
        }
        Ok(content.map(|content| (path, String::from_utf8_lossy(&content).into_owned())))
    };
    let texts: Vec<_> = changes
        .par_iter()
        .map(read)
        .collect::<Result<_, WriteError>>()?;
    Ok(texts.into_iter().flatten().collect())
}

/// Changes that can be made: new texts are staged, and what goes may go.
struct Prepared<'a> {
    root: &'a Utf8Path,
    staged: BTreeMap<&'a Utf8Path, Staged>,
    leftovers: &'a [Utf8PathBuf],
    /// The directories that were made for it.
    created: BTreeSet<Utf8PathBuf>,
}

impl<'a> Prepared<'a> {
    /// Changes nothing but that directories are made and files staged.
    fn new(
        root: &'a Utf8Path,
        changes: &'a BTreeMap<Utf8PathBuf, Change>,
        leftovers: &'a [Utf8PathBuf],
    ) -> Result<Self, WriteError> {
        let written: Vec<(&Utf8Path, &str)> = changes
            .iter()
            .filter_map(|(path, change)| Some((path.as_path(), change.texts().1?)))
            .collect();
        let stale = changes
            .iter()
            .filter(|(_, change)| matches!(change, Change::Delete { .. }));
        let stale: Vec<&Utf8PathBuf> = stale.map(|(path, _)| path).chain(leftovers).collect();
        let created =
            create_directories(root, written.iter().filter_map(|(path, _)| path.parent()))?;
        let staged: Result<Vec<_>, WriteError> = written
            .par_iter()
            .map(|(path, text)| Ok((*path, Staged::new(root.join(path), text)?)))
            .collect();
        let staged = staged.and_then(|staged| may_delete(root, &stale).map(|()| staged));
        let staged = staged.inspect_err(|_| remove_empty(&created))?;
        Ok(Self {
            root,
            staged: staged.into_iter().collect(),
            leftovers,
            created,
        })
    }

    /// Leaves everything as it was.
    fn abandon(self) {
        let Self {
            staged, created, ..
        } = self;
        drop(staged);
        remove_empty(&created);
    }

    fn carry_out(mut self, steps: &[Step<'a>]) -> Result<(), WriteError> {
        let mut removed = Vec::new();
        for step in steps {
            match *step {
                Step::Put(path) => {
                    if let Some(staged) = self.staged.remove(path) {
                        staged.rename()?;
                    }
                }
                Step::Remove(path) => {
                    remove(&self.root.join(path))?;
                    removed.push(path);
                }
            }
        }
        for path in self.leftovers {
            remove(&self.root.join(path))?;
            removed.push(path);
        }
        remove_empty(&above(removed).map(|path| self.root.join(path)).collect());
        Ok(())
    }
}

/// Creates the directories that are missing, and returns them.
fn create_directories<'a>(
    root: &Utf8Path,
    wanted: impl Iterator<Item = &'a Utf8Path>,
) -> Result<BTreeSet<Utf8PathBuf>, WriteError> {
    let mut created = BTreeSet::new();
    for directory in wanted.collect::<BTreeSet<_>>() {
        let missing = directory
            .ancestors()
            .map(|path| root.join(path))
            .take_while(|path| !path.exists());
        created.extend(missing);
        let path = root.join(directory);
        if let Err(source) = fs::create_dir_all(&path) {
            remove_empty(&created);
            return Err(WriteError::refused("create the directory", path)(source));
        }
    }
    Ok(created)
}

/// A file that is written, but not yet at its place.
struct Staged {
    file: TempPath,
    path: Utf8PathBuf,
}

impl Staged {
    /// Writes a text into a new file beside its place.
    fn new(path: Utf8PathBuf, text: &str) -> Result<Self, WriteError> {
        let staged = new_file_beside(&path).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            // A file of the user's that is migrated stays readable to whom it was.
            if let Ok(there) = fs::symlink_metadata(&path) {
                file.as_file().set_permissions(there.permissions())?;
            }
            // Closed at once: there may be more files than a process can have open.
            Ok(file.into_temp_path())
        });
        match staged {
            Ok(file) => Ok(Self { file, path }),
            Err(source) => Err(WriteError::refused("write", path)(source)),
        }
    }

    fn rename(self) -> Result<(), WriteError> {
        let Self { file, path } = self;
        file.persist(&path)
            .map_err(|error| WriteError::refused("write", path)(error.error))
    }
}

fn new_file_beside(path: &Utf8Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(STAGED.0)
        .suffix(STAGED.1)
        // As for any new file: the umask takes away what it takes away.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(path.parent().unwrap_or(Utf8Path::new(".")))
}

/// Returns whether files can be deleted, found out before anything changes: it takes the same right in their
/// directories as making a new file.
fn may_delete(root: &Utf8Path, files: &[&Utf8PathBuf]) -> Result<(), WriteError> {
    let mut asked = BTreeSet::new();
    for file in files.iter().filter(|file| asked.insert(file.parent())) {
        let path = root.join(file);
        new_file_beside(&path).map_err(WriteError::refused("delete", path))?;
    }
    Ok(())
}

/// Removes a file, if it is there.
fn remove(path: &Utf8Path) -> Result<(), WriteError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(WriteError::refused("delete", path.to_owned())(error))
        }
        _ => Ok(()),
    }
}

/// The directories above some paths, but for the root.
fn above<'a>(paths: impl IntoIterator<Item = &'a Utf8Path>) -> impl Iterator<Item = &'a Utf8Path> {
    let above = paths.into_iter().flat_map(|path| path.ancestors().skip(1));
    above.filter(|path| !path.as_str().is_empty())
}

/// Removes those of the directories that are empty, the innermost first. One that is not, stays.
fn remove_empty(directories: &BTreeSet<Utf8PathBuf>) {
    for directory in directories.iter().rev() {
        // Fails on a directory with files, which is what is wanted.
        let _ = fs::remove_dir(directory);
    }
}
