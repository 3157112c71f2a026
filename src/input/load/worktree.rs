//! git's view of files on the disk.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};
use git2::{IndexEntryExtendedFlag, Repository};

use super::submodules::{self, GITLINK, NAMES, Submodules};
use crate::input::git::{Checkout, GitError};

/// git's view of the files in a directory on the disk. All paths are relative to the directory.
#[derive(Debug, Default)]
pub(super) struct Worktree {
    /// Set if the directory is in a repo.
    pub(super) has_repo: bool,
    /// The files that git tracks, submodules included, even if they do not exist on the disk.
    pub(super) tracked: Vec<Utf8PathBuf>,
    /// The tracked files that a sparse checkout excludes. They may exist all the same.
    excluded: Vec<Utf8PathBuf>,
    /// Directories of submodules that are not checked out, with the message for each.
    pub(super) missing: Vec<(Utf8PathBuf, String)>,
    /// The directories of submodules.
    submodules: BTreeSet<Utf8PathBuf>,
}

impl Worktree {
    /// Queries git about a directory.
    pub(super) fn around(root: &Utf8Path) -> Result<Self, GitError> {
        // A bare repo tracks no files on the disk.
        let Some(opened) = Checkout::around(root)?.filter(|opened| !opened.repo.is_bare()) else {
            return Ok(Self::default());
        };
        let mut worktree = Self { has_repo: true, ..Self::default() };
        let (index, workdir) = (opened.index()?, opened.workdir()?);
        worktree.add(&opened.prefix, &opened.repo, &index, workdir, Utf8Path::new(""))?;
        Ok(worktree)
    }

    /// Checks that a sparse checkout omits no file for which `matters` is true.
    pub(super) fn expect_all(
        &self,
        root: &Utf8Path,
        matters: impl Fn(&Utf8Path) -> bool,
    ) -> Result<(), GitError> {
        let is_left_out =
            |file: &&Utf8PathBuf| matters(file) && fs::symlink_metadata(root.join(file)).is_err();
        let mut left_out = self.excluded.iter().filter(is_left_out);
        match left_out.next() {
            Some(first) => Err(self::left_out(first, 1 + left_out.count())),
            None => Ok(()),
        }
    }

    /// Returns whether a directory is a separate repo, whose files git does not add to this one.
    pub(super) fn is_foreign_repo(&self, root: &Utf8Path, directory: &Path) -> bool {
        let is_repo = || directory.join(".git").exists() && Repository::open(directory).is_ok();
        let below = || Utf8Path::from_path(directory).and_then(|path| path.strip_prefix(root).ok());
        self.has_repo
            && is_repo()
            && below()
                .is_none_or(|below| !below.as_str().is_empty() && !self.submodules.contains(below))
    }

    /// Adds the tracked files of a repo at `at` within the outermost repo, if they are below
    /// `prefix`.
    fn add(
        &mut self,
        prefix: &Utf8Path,
        repo: &Repository,
        index: &git2::Index,
        workdir: &Path,
        at: &Utf8Path,
    ) -> Result<(), GitError> {
        let mut links = Vec::new();
        for entry in index.iter() {
            // A manifest cannot refer to a path that is not UTF-8.
            let Ok(path) = String::from_utf8(entry.path).map(Utf8PathBuf::from) else { continue };
            let full = at.join(&path);
            let Ok(below) = full.strip_prefix(prefix) else { continue };
            if entry.mode == GITLINK {
                links.push((path, below.to_owned()));
                continue;
            }
            let is_skipped =
                IndexEntryExtendedFlag::from_bits_truncate(entry.flags_extended).is_skip_worktree();
            if is_skipped {
                self.excluded.push(below.to_owned());
            }
            self.tracked.push(below.to_owned());
        }
        if links.is_empty() {
            return Ok(());
        }
        let names = Submodules::read(&fs::read(workdir.join(NAMES)).unwrap_or_default())?;
        for (path, below) in links {
            let directory = workdir.join(&path);
            if !submodules::is_checked_out(&directory) {
                if names.wants(repo, &path) {
                    self.missing.push((below.clone(), submodules::missing(&below).to_string()));
                }
            } else if let Ok(submodule) = Repository::open(&directory) {
                self.add(prefix, &submodule, &submodule.index()?, &directory, &at.join(&path))?;
            }
            self.submodules.insert(below);
        }
        Ok(())
    }
}

fn left_out(first: &Utf8Path, count: usize) -> GitError {
    let others =
        if count == 1 { String::new() } else { format!(" and {} more files are", count - 1) };
    let is = if count == 1 { " is" } else { "" };
    GitError::new(format!(
        "{first}{others}{is} left out of this sparse checkout, so their content is unknown: run \
         `git sparse-checkout disable`, or add the directories with `git sparse-checkout add`"
    ))
}
