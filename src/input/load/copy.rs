//! A modified copy of a repo's files, to compute the result of a change.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;

use camino::{Utf8Path, Utf8PathBuf};
use tempfile::TempDir;

use super::files::{Files, ReadError};
use super::kind::EntryKind;
use super::listing::may_hold_resources;

/// A temporary copy of a repo's files. It is deleted on drop.
#[derive(Debug)]
pub struct TemporaryCopy {
    _directory: TempDir,
    files: Files,
}

impl TemporaryCopy {
    /// Copies all files that git does not ignore, then writes the changed texts. `None` removes a
    /// file.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or copied.
    pub fn with<'a>(
        repo: &Files,
        changed: impl IntoIterator<Item = (&'a Utf8PathBuf, Option<&'a str>)>,
    ) -> Result<Self, ReadError> {
        let directory = tempfile::tempdir().map_err(|error| ReadError::new(repo.root(), error))?;
        let root = Utf8PathBuf::from_path_buf(directory.path().to_owned());
        let root = root
            .map_err(|_| ReadError::new(repo.root(), io::Error::other("the path is not UTF-8")))?;
        let put = |path: &Utf8Path, write: &dyn Fn(&Utf8Path) -> io::Result<()>| {
            let to = root.join(path);
            let above = to.parent().map_or(Ok(()), fs::create_dir_all);
            above.and_then(|()| write(&to)).map_err(|error| ReadError::new(path, error))
        };
        for path in everything(repo)? {
            let from = repo.root().join(&path);
            match repo.kind(&path) {
                Some(EntryKind::File) => put(&path, &|to| fs::copy(&from, to).map(|_| ()))?,
                Some(EntryKind::Link) => put(&path, &|to| symlink(fs::read_link(&from)?, to))?,
                _ => {}
            }
        }
        for (path, text) in changed {
            match text {
                Some(text) => put(path, &|to| fs::write(to, text))?,
                None => put(path, &|to| fs::remove_file(to))?,
            }
        }
        Ok(Self { _directory: directory, files: Files::on_disk(root) })
    }

    /// Returns the copied files.
    pub fn files(&self) -> &Files {
        &self.files
    }
}

/// Returns the paths of all files that git tracks or does not ignore.
fn everything(repo: &Files) -> Result<Vec<Utf8PathBuf>, ReadError> {
    // `walk` requires a directory to skip, and skips `.git` anyway.
    let nowhere = Utf8Path::new(".git");
    let worktree = repo.complete_worktree(may_hold_resources)?;
    let mut paths = worktree.tracked.clone();
    repo.walk(nowhere, &worktree, |entry| {
        let relative = entry.path().strip_prefix(repo.root()).ok().and_then(Utf8Path::from_path);
        paths.extend(relative.filter(|path| !path.as_str().is_empty()).map(Utf8Path::to_owned));
    })?;
    paths.sort();
    paths.dedup();
    Ok(paths)
}
