//! Writes changes to the disk: all of them staged beside their places first, then renamed over them.
//!
//! A failure while staging leaves every file as it was. A run that is killed while renaming leaves whole files,
//! some old and some new; the next run does the rest.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;

use camino::{Utf8Path, Utf8PathBuf};
use rayon::prelude::*;
use tempfile::{NamedTempFile, TempPath};

use crate::compare::{Change, Changes, STAGED};
use crate::layout;

/// Why something could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {verb} {path}: {source}")]
pub struct WriteError {
    verb: &'static str,
    path: Utf8PathBuf,
    source: io::Error,
}

/// Carries changes out, below a repo's root on the disk.
///
/// # Errors
///
/// When a file cannot be staged; then nothing has changed. Or when one cannot be renamed or deleted, which has
/// no usual cause once staging succeeded; then some files are new, and another run does the rest.
pub fn write(root: &Utf8Path, changes: &Changes) -> Result<(), WriteError> {
    let written = changes.files.iter().filter_map(|(path, change)| Some((path, change.texts().1?)));
    let mut written: Vec<(&Utf8PathBuf, &str)> = written.collect();
    written.sort_by_key(|(path, _)| !layout::is_released(path));
    let stale = changes.files.iter().filter(|(_, change)| matches!(change, Change::Delete { .. }));
    let stale: Vec<&Utf8PathBuf> = stale.map(|(path, _)| path).chain(&changes.leftovers).collect();

    let created = create_directories(root, written.iter().filter_map(|(path, _)| path.parent()))?;
    let staged: Result<Vec<Staged>, WriteError> =
        written.par_iter().map(|(path, text)| Staged::new(root.join(path), text)).collect();
    let staged = staged.and_then(|staged| may_delete(root, &stale).map(|()| staged));
    for file in staged.inspect_err(|_| remove_empty(&created))? {
        file.rename()?;
    }
    delete(root, &stale)
}

/// Creates the directories that are missing, and returns them.
fn create_directories<'a>(
    root: &Utf8Path,
    wanted: impl Iterator<Item = &'a Utf8Path>,
) -> Result<BTreeSet<Utf8PathBuf>, WriteError> {
    let mut created = BTreeSet::new();
    for directory in wanted.collect::<BTreeSet<_>>() {
        let missing = directory.ancestors().map(|path| root.join(path)).take_while(|path| !path.exists());
        created.extend(missing);
        let path = root.join(directory);
        if let Err(source) = fs::create_dir_all(&path) {
            remove_empty(&created);
            return Err(WriteError { verb: "create the directory", path, source });
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
            Err(source) => Err(WriteError { verb: "write", path, source }),
        }
    }

    fn rename(self) -> Result<(), WriteError> {
        let Self { file, path } = self;
        file.persist(&path).map_err(|error| WriteError { verb: "write", path, source: error.error })
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

/// Whether files can be deleted, found out before anything changes: it takes the same right in their
/// directories as making a new file.
fn may_delete(root: &Utf8Path, files: &[&Utf8PathBuf]) -> Result<(), WriteError> {
    let mut asked = BTreeSet::new();
    for file in files.iter().filter(|file| asked.insert(file.parent())) {
        let path = root.join(file);
        new_file_beside(&path).map_err(|source| WriteError { verb: "delete", path, source })?;
    }
    Ok(())
}

/// Deletes files, and the directories that are empty without them.
fn delete(root: &Utf8Path, files: &[&Utf8PathBuf]) -> Result<(), WriteError> {
    for file in files {
        let path = root.join(file);
        if let Err(source) = fs::remove_file(&path)
            && source.kind() != io::ErrorKind::NotFound
        {
            return Err(WriteError { verb: "delete", path, source });
        }
    }
    let above = files.iter().flat_map(|file| file.ancestors().skip(1)).filter(|path| !path.as_str().is_empty());
    remove_empty(&above.map(|path| root.join(path)).collect());
    Ok(())
}

/// Removes those of the directories that are empty, the innermost first. One that is not, stays.
fn remove_empty(directories: &BTreeSet<Utf8PathBuf>) {
    for directory in directories.iter().rev() {
        // Fails on a directory with files, which is what is wanted.
        let _ = fs::remove_dir(directory);
    }
}
