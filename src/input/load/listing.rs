//! Lists the files of a repo.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use ignore::{DirEntry, WalkBuilder};
use walkdir::WalkDir;

use super::files::{Files, ReadError};
use super::kind::EntryKind;
use super::worktree::Worktree;
use crate::base::layout;

/// A directory whose files are unknown, and the reason.
type UnknownDirectory = (Utf8PathBuf, String);

/// File extensions of manifests.
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

impl Files {
    /// Returns the error for a directory whose files are unknown.
    pub(crate) fn closed(&self, directory: &Utf8Path, reason: String) -> ReadError {
        ReadError::new(&self.root.join(directory), io::Error::other(reason))
    }

    /// Returns all files that can hold resources, sorted and relative to the root, and the
    /// directories whose files are unknown: submodules that are not checked out, and unreadable
    /// directories. Excluded are `.git`, the directory `skip`, files ignored by git, and other repos
    /// that are not submodules. Symbolic links are not followed.
    ///
    /// Ignored files are excluded because other clones lack them, so the output would differ
    /// between clones. A tracked file is read even if a `.gitignore` matches it, as in git.
    ///
    /// # Errors
    ///
    /// If a file or directory cannot be read.
    pub(crate) fn files_and_closed(
        &self,
        skip: &Utf8Path,
    ) -> Result<(Vec<Utf8PathBuf>, Vec<UnknownDirectory>), ReadError> {
        self.wanted_files(skip, may_hold_resources)
    }

    /// Returns the files of any name that git does not ignore.
    ///
    /// # Errors
    ///
    /// If a file or directory cannot be read.
    pub(crate) fn all_files(&self) -> Result<Vec<Utf8PathBuf>, ReadError> {
        Ok(self.wanted_files(Utf8Path::new(".git"), |_| true)?.0)
    }

    fn wanted_files(
        &self,
        skip: &Utf8Path,
        is_wanted: impl Fn(&Utf8Path) -> bool,
    ) -> Result<(Vec<Utf8PathBuf>, Vec<UnknownDirectory>), ReadError> {
        let (mut files, closed) = self.uncovered_files(skip)?;
        if let Some(cover) = &self.cover {
            files.retain(|file| !file.starts_with(&cover.directory));
            files.extend(cover.files.plain().map(Utf8Path::to_owned));
            files.sort();
        }
        files.retain(|file| is_wanted(file) && !file.starts_with(skip));
        Ok((files, closed))
    }

    /// Returns all files, except some of those in `skip`, regardless of the files that hide others.
    fn uncovered_files(
        &self,
        skip: &Utf8Path,
    ) -> Result<(Vec<Utf8PathBuf>, Vec<UnknownDirectory>), ReadError> {
        if let Some(part) = &self.part {
            return Ok((part.files.iter().cloned().collect(), part.closed.clone()));
        }
        if let Some(files) = &self.kept {
            let plain = files.plain().map(Utf8Path::to_owned);
            return Ok((plain.collect(), files.missing.clone()));
        }
        // Hosts in a file that a sparse checkout omits would look removed. `skip` is the output directory.
        // Its files must exist as well, because they record assignments.
        let matters = |file: &Utf8Path| may_hold_resources(file) || file.starts_with(skip);
        let worktree = self.worktree()?;
        worktree.expect_all(&self.root, matters).map_err(|error| self.refused(error))?;
        let mut files: Vec<Utf8PathBuf> = Vec::new();
        let unreadable = self.walk(skip, &worktree, |path, kind| {
            // A manifest cannot refer to a path that is not UTF-8.
            let path = Utf8Path::from_path(path).filter(|_| kind == EntryKind::File);
            files.extend(path.map(Utf8Path::to_owned));
        })?;
        // The walk skips ignored files and anything behind a link. git reads nothing behind links
        // either.
        let is_there =
            |file: &Utf8Path| self.kind(file) == Some(EntryKind::File) && !self.has_link(file);
        let known: HashSet<&str> = files.iter().map(|file| file.as_str()).collect();
        let tracked = worktree.tracked.iter();
        let missed: Vec<Utf8PathBuf> = tracked
            .filter(|file| !known.contains(file.as_str()) && !file.starts_with(skip))
            .filter(|file| is_there(file))
            .cloned()
            .collect();
        files.extend(missed);
        // As `Utf8Path` orders them, but several times as fast.
        files.sort_by(|a, b| a.as_std_path().cmp(b.as_std_path()));
        // In a merge, the index has a file up to three times.
        files.dedup();
        let closed = worktree.missing.iter().cloned().chain(unreadable);
        Ok((files, closed.collect()))
    }

    /// Returns the entries outside `skip` that may hold resources or lead to some, but are not part
    /// of [`Files::files_and_closed`], each with the reason. Entries ignored by git are excluded.
    ///
    /// # Errors
    ///
    /// If a directory cannot be read.
    pub(crate) fn unread(
        &self,
        skip: &Utf8Path,
    ) -> Result<Vec<(Utf8PathBuf, &'static str)>, ReadError> {
        let mut unread = Vec::new();
        match &self.kept {
            None => {
                // [`Files::files_and_closed`] reports files that a sparse checkout omits.
                let closed = self.walk(skip, &self.worktree()?, |path, kind| {
                    unread.extend(match Utf8Path::from_path(path) {
                        Some(path) => self.why_unread(path, kind),
                        None if kind == EntryKind::Directory => None,
                        None => not_utf8(&path.to_string_lossy()),
                    });
                })?;
                let directories = closed.into_iter().map(|(directory, _)| directory);
                unread.extend(directories.map(|directory| (directory, "it cannot be read")));
            }
            Some(files) => {
                let entries = files
                    .below(Utf8Path::new(""))
                    .into_iter()
                    .filter(|(path, _)| !path.starts_with(skip));
                unread.extend(entries.filter_map(|(path, kind)| self.why_unread(&path, kind)));
                unread.extend(files.not_utf8.iter().filter_map(|path| not_utf8(path)));
            }
        }
        if let Some(part) = &self.part {
            unread.retain(|(path, _)| part.owns(path) || part.files.contains(path));
        }
        unread.sort();
        Ok(unread)
    }

    fn why_unread(&self, path: &Utf8Path, kind: EntryKind) -> Option<(Utf8PathBuf, &'static str)> {
        let why = match kind {
            EntryKind::File | EntryKind::Directory => return None,
            EntryKind::Other => {
                may_hold_resources(path).then_some("it is a pipe, a device or a socket")
            }
            // A target in the repo is read under its own path.
            EntryKind::Link => match self.resolve(path) {
                None => Some("it is a symbolic link that leads out of the repo or to nothing"),
                Some(target)
                    if self.kind(&target) == Some(EntryKind::Directory)
                        || may_hold_resources(&target) =>
                {
                    None
                }
                Some(_) => may_hold_resources(path)
                    .then_some("it is a symbolic link to a file that is not read"),
            },
        }?;
        Some((path.to_owned(), why))
    }

    /// Calls `visit` for every entry on the disk that git does not ignore, with its path from the
    /// root. Returns unreadable directories with the reason.
    pub(super) fn walk(
        &self,
        skip: &Utf8Path,
        worktree: &Arc<Worktree>,
        mut visit: impl FnMut(&Path, EntryKind),
    ) -> Result<Vec<UnknownDirectory>, ReadError> {
        let (root, skipped) = (self.root.clone(), self.root.join(skip));
        let worktree = worktree.clone();
        let is_foreign = move |entry: &DirEntry| {
            entry.file_type().is_some_and(|kind| kind.is_dir())
                && worktree.is_foreign_repo(&root, entry.path())
        };
        let walk = WalkBuilder::new(&self.root)
            // Hidden files are inputs. Only git's ignore rules apply, not those in `.ignore` files.
            .hidden(false)
            .ignore(false)
            .filter_entry(move |entry| {
                entry.file_name() != ".git"
                    && entry.path() != skipped.as_std_path()
                    && !is_foreign(entry)
            })
            .build();
        let mut closed = Vec::new();
        for entry in walk {
            match entry {
                Ok(entry) => {
                    let path = entry.path().strip_prefix(&self.root).unwrap_or(entry.path());
                    visit(path, entry.file_type().map_or(EntryKind::Other, EntryKind::new));
                }
                Err(error) => match self.closed_by(&error) {
                    Some(directory) => closed.push((directory, error.to_string())),
                    None => return Err(ReadError::new(&self.root, io::Error::other(error))),
                },
            }
        }
        Ok(closed)
    }

    /// Returns the directory that an error is about, if permission to read it was denied.
    fn closed_by(&self, error: &ignore::Error) -> Option<Utf8PathBuf> {
        if error.io_error()?.kind() != io::ErrorKind::PermissionDenied {
            return None;
        }
        let mut inner = error;
        let path = loop {
            match inner {
                ignore::Error::WithPath { path, .. } => break path,
                ignore::Error::WithDepth { err, .. }
                | ignore::Error::WithLineNumber { err, .. } => inner = err,
                _ => return None,
            }
        };
        let directory = Utf8Path::from_path(path)?.strip_prefix(&self.root).ok()?;
        // Without the root there is nothing to read, so that is an error.
        (!directory.as_str().is_empty()).then(|| directory.to_owned())
    }

    /// Returns all regular files below a directory, sorted and relative to the root; none if there
    /// is no such directory. Unlike `files_and_closed`, it returns files of any name, and files
    /// ignored by git.
    ///
    /// # Errors
    ///
    /// If a directory cannot be read.
    pub fn files_below(&self, directory: &Utf8Path) -> Result<Vec<Utf8PathBuf>, ReadError> {
        let mut entries = self.entries_below(directory)?;
        entries.retain(|(_, kind)| *kind == EntryKind::File);
        Ok(entries.into_iter().map(|(path, _)| path).collect())
    }

    /// Returns every entry below a directory, sorted and relative to the root. Links are not
    /// followed.
    ///
    /// # Errors
    ///
    /// If a directory cannot be read.
    pub fn entries_below(
        &self,
        directory: &Utf8Path,
    ) -> Result<Vec<(Utf8PathBuf, EntryKind)>, ReadError> {
        if let Some(files) = self.stored(directory) {
            return Ok(files.below(directory));
        }
        let top = self.root.join(directory);
        if fs::metadata(&top).is_err() {
            return Ok(Vec::new());
        }
        let mut entries = Vec::new();
        for entry in WalkDir::new(&top).min_depth(1).sort_by_file_name() {
            let entry = entry.map_err(|error| ReadError::new(&top, error.into()))?;
            // sipgen never writes a path that is not UTF-8.
            if let Some(path) = Utf8Path::from_path(entry.path())
                && let Ok(relative) = path.strip_prefix(&self.root)
            {
                entries.push((relative.to_owned(), EntryKind::new(entry.file_type())));
            }
        }
        Ok(entries)
    }
}

/// Returns whether a file can hold resources, judged by its name. Case does not matter, because
/// kustomize reads any file that it lists.
pub(crate) fn may_hold_resources(path: &Utf8Path) -> bool {
    let is_known =
        |extension: &str| EXTENSIONS.iter().any(|known| extension.eq_ignore_ascii_case(known));
    (path.extension().is_some_and(is_known) || path.file_name() == Some("Kustomization"))
        && !layout::is_leftover(path)
}

/// Returns the reason why a file with a name that is not UTF-8 is not read, if it may hold
/// resources. Invalid parts of the name are replaced.
fn not_utf8(shown: &str) -> Option<(Utf8PathBuf, &'static str)> {
    let path = Utf8PathBuf::from(shown);
    may_hold_resources(&path).then_some((path, "its name is not UTF-8"))
}
