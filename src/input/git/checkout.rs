//! Directories of a worktree as git sees them: tracked, ignored, changed, and last committed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};
use git2::{DiffOptions, ErrorCode, Oid, Repository, StatusOptions, Tree};

use super::GitError;
use super::open::Checkout;
use crate::base::api::date::Date;

/// The last change of paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastChange {
    /// The checked-out commit has none of the paths.
    Uncommitted,
    /// The day on which a commit was made.
    At(Date),
    /// It is beyond the end of a shallow clone, or before the newest commits.
    Unknown,
}

/// A git hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// The file that git runs.
    pub file: PathBuf,
    /// The content of that file.
    pub text: String,
}

impl Checkout {
    /// Returns whether git ignores the directory itself.
    pub fn is_ignored(&self) -> bool {
        let prefix = &self.prefix;
        !prefix.as_str().is_empty() && self.repo.is_path_ignored(prefix).unwrap_or_default()
    }

    /// Returns the number of files of a directory that differ from the checked-out commit, including
    /// new ones, and whether the index has a file of it.
    ///
    /// # Errors
    ///
    /// If the index or the worktree cannot be read.
    pub fn changes(&self, directory: &Utf8Path) -> Result<(usize, bool), GitError> {
        let directory = self.prefix.join(directory);
        let index = self.index()?;
        let mut options = StatusOptions::new();
        options
            .pathspec(directory.as_str())
            .disable_pathspec_match(true)
            .include_untracked(true)
            .recurse_untracked_dirs(true);
        let changes = self.repo.statuses(Some(&mut options))?.len();
        Ok((changes, index.find_prefix(format!("{directory}/")).is_ok()))
    }

    /// Returns the files in which the worktree differs from a revision, including new ones. Returns
    /// `None` if the repo does not have the revision.
    ///
    /// # Errors
    ///
    /// If the index or the worktree cannot be read.
    pub fn changed_since(&self, revision: &str) -> Result<Option<BTreeSet<Utf8PathBuf>>, GitError> {
        let repo = &self.repo;
        let tree = repo.revparse_single(revision);
        let Ok(tree) = tree.and_then(|object| object.peel_to_tree()) else { return Ok(None) };
        let mut options = DiffOptions::new();
        options.include_untracked(true).recurse_untracked_dirs(true);
        let diff = repo.diff_tree_to_workdir_with_index(Some(&tree), Some(&mut options))?;
        let files = diff.deltas().flat_map(|delta| {
            [delta.old_file().path(), delta.new_file().path()].map(|path| {
                let path = Utf8Path::from_path(path?)?;
                path.strip_prefix(&self.prefix).ok().map(Utf8Path::to_owned)
            })
        });
        Ok(Some(files.flatten().collect()))
    }

    /// Returns the first of some files that git ignores. Tracked files are never ignored.
    ///
    /// # Errors
    ///
    /// If the index cannot be read.
    pub fn ignored<'a>(
        &self,
        files: impl IntoIterator<Item = &'a Utf8Path>,
    ) -> Result<Option<&'a Utf8Path>, GitError> {
        let index = self.index()?;
        for file in files {
            let path = self.prefix.join(file);
            let is_tracked = index.get_path(path.as_std_path(), 0).is_some();
            if !is_tracked && self.repo.is_path_ignored(&path)? {
                return Ok(Some(file));
            }
        }
        Ok(None)
    }

    /// Returns the last change of paths, of which the checked-out branch may have at most `commits`
    /// newer commits. The author's time counts, because a rebase renews that of the committer.
    ///
    /// # Errors
    ///
    /// If a commit cannot be read.
    pub fn last_change(
        &self,
        paths: &[Utf8PathBuf],
        commits: usize,
    ) -> Result<LastChange, GitError> {
        let repo = &self.repo;
        let paths: Vec<Utf8PathBuf> = paths.iter().map(|path| self.prefix.join(path)).collect();
        let head = match repo.head() {
            Ok(head) => head.peel_to_commit()?,
            Err(error) if matches!(error.code(), ErrorCode::UnbornBranch | ErrorCode::NotFound) => {
                return Ok(LastChange::Uncommitted);
            }
            Err(error) => return Err(error.into()),
        };
        let current = entries(&head.tree()?, &paths);
        if current.iter().all(Option::is_none) {
            return Ok(LastChange::Uncommitted);
        }
        let mut commit = head;
        for _ in 0..commits {
            // As in `git log`, a merge leads to a parent with the same content.
            let mut unchanged = None;
            for parent in commit.parents() {
                if unchanged.is_none() && entries(&parent.tree()?, &paths) == current {
                    unchanged = Some(parent);
                }
            }
            // The parents of the last commits of a shallow clone are missing.
            let is_cut = commit.parent_count() == 0 && repo.is_shallow();
            match unchanged {
                Some(parent) => commit = parent,
                None if is_cut => break,
                None => {
                    let seconds = u64::try_from(commit.author().when().seconds());
                    let day = Date::from_unix_seconds(seconds.unwrap_or_default());
                    return Ok(LastChange::At(day));
                }
            }
        }
        Ok(LastChange::Unknown)
    }

    /// Returns a hook, if git would run it.
    ///
    /// # Errors
    ///
    /// If git's configuration cannot be read.
    pub fn hook(&self, name: &str) -> Result<Option<Hook>, GitError> {
        let file = hooks(&self.repo)?.join(name);
        // git skips a file that is not executable.
        let text = is_executable(&file).then(|| std::fs::read(&file).ok());
        let hook = |text: Vec<u8>| Hook { text: String::from_utf8_lossy(&text).into_owned(), file };
        Ok(text.flatten().map(hook))
    }
}

/// Returns the ids of paths in a tree.
fn entries(tree: &Tree<'_>, paths: &[Utf8PathBuf]) -> Vec<Option<Oid>> {
    paths.iter().map(|path| entry_id(tree, path)).collect()
}

/// Returns the id of what a tree has at a path.
pub(crate) fn entry_id(tree: &Tree<'_>, path: &Utf8Path) -> Option<Oid> {
    Some(tree.get_path(path.as_std_path()).ok()?.id())
}

/// Returns the directory of hooks. A relative `core.hooksPath` starts where git runs hooks.
fn hooks(repo: &Repository) -> Result<PathBuf, GitError> {
    match repo.config()?.get_path("core.hooksPath") {
        Ok(path) => Ok(repo.workdir().unwrap_or(repo.path()).join(path)),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(repo.commondir().join("hooks")),
        Err(error) => Err(error.into()),
    }
}

/// Returns whether a file can be run.
#[cfg(unix)]
pub(crate) fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Returns whether a file can be run.
#[cfg(not(unix))]
pub(crate) fn is_executable(file: &Path) -> bool {
    file.with_extension("exe").is_file() || file.is_file()
}
