//! Opens repos and their index by git's own rules. git runs hooks with environment variables that
//! name them.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};
use git2::{BranchType, ErrorCode, Index, Repository, RepositoryOpenFlags};

use super::GitError;
use crate::base::text::in_shell;

/// Environment variables that select the repo and its index, set by git for hooks or by users.
const VARIABLES: [&str; 4] =
    ["GIT_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"];
const INDEX_FILE: &str = "GIT_INDEX_FILE";
const WORK_TREE: &str = "GIT_WORK_TREE";

/// A repo, and the position of a directory in it. Paths are relative to that directory.
pub struct Checkout {
    pub(crate) repo: Repository,
    /// The directory, relative to the worktree; empty in a bare repo.
    pub(crate) prefix: Utf8PathBuf,
    /// Set if environment variables refer to this repo.
    pub(crate) is_from_environment: bool,
}

/// Finds the repo around a directory, with the worktree that git says: a `.git` file may lead to a
/// git directory elsewhere, which `Repository::discover` would open without its worktree.
fn discover(directory: impl AsRef<Path>) -> Result<Repository, git2::Error> {
    let no_ceilings: [&Path; 0] = [];
    Repository::open_ext(directory, RepositoryOpenFlags::CROSS_FS, no_ceilings)
}

/// The git repo around a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnclosingRepo {
    /// The top directory of its worktree; `None` in a bare repo.
    pub top: Option<Utf8PathBuf>,
    /// The repo's own directory.
    pub directory: Utf8PathBuf,
    /// The directory in question, relative to the worktree.
    pub place: Utf8PathBuf,
    /// The fetch URL.
    pub remote: Option<String>,
    /// Its branches.
    pub branches: KnownBranches,
}

/// The branches that a clone knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownBranches {
    /// The default branch of the remote `origin`, as set by the last clone or `git remote
    /// set-head`.
    pub default: Option<String>,
    /// The current branch.
    pub current: Option<String>,
    /// All branches, including those of remotes.
    pub all: BTreeSet<String>,
}

/// Returns the git repo around a directory, if any.
///
/// # Errors
///
/// If it cannot be opened, or has a path that is not UTF-8.
pub fn around(directory: &Utf8Path) -> Result<Option<EnclosingRepo>, GitError> {
    let Some(Checkout { repo, prefix, .. }) = Checkout::around(directory)? else { return Ok(None) };
    let top = repo.workdir().map(in_utf8).transpose()?;
    Ok(Some(EnclosingRepo {
        top: top.map(Utf8Path::to_owned),
        directory: in_utf8(repo.path())?.to_owned(),
        place: prefix,
        remote: remote(&repo),
        branches: branches(&repo),
    }))
}

fn branches(repo: &Repository) -> KnownBranches {
    let named = |reference: git2::Reference<'_>, prefix: &str| {
        let target = reference.symbolic_target().ok().flatten()?;
        Some(target.strip_prefix(prefix)?.to_owned())
    };
    let default = repo.find_reference("refs/remotes/origin/HEAD").ok();
    // HEAD is not resolved, because a new branch has no commit yet.
    let current = repo.find_reference("HEAD").ok();
    let all = repo.branches(None).into_iter().flatten().flatten().filter_map(|(branch, kind)| {
        let name = branch.name().ok()??.to_owned();
        // The name of a remote branch starts with the remote's name.
        if kind == BranchType::Remote {
            Some(name.split_once('/')?.1.to_owned())
        } else {
            Some(name)
        }
    });
    KnownBranches {
        default: default.and_then(|head| named(head, "refs/remotes/origin/")),
        current: current.and_then(|head| named(head, "refs/heads/")),
        all: all.collect(),
    }
}

pub(super) fn remote(repo: &Repository) -> Option<String> {
    // Without `origin`, the first remote counts.
    let origin = repo.find_remote("origin").or_else(|_| {
        let remotes = repo.remotes()?;
        let only = remotes.iter().flatten().flatten().next().unwrap_or_default();
        repo.find_remote(only)
    });
    Some(origin.ok()?.url().ok()?.to_owned())
}

/// Opens a repo again, for another thread.
pub(crate) fn again(git_dir: &Path, is_from_environment: bool) -> Result<Repository, git2::Error> {
    if is_from_environment { Repository::open_from_env() } else { Repository::open(git_dir) }
}

impl Checkout {
    /// Opens the repo around a directory. Returns `None` outside git.
    ///
    /// # Errors
    ///
    /// If the repo cannot be opened.
    pub fn around(root: &Utf8Path) -> Result<Option<Self>, GitError> {
        // git itself does not hash objects that it reads: their compression has a checksum. Hashing
        // takes three quarters of the time to read an object.
        git2::opts::strict_hash_verification(false);
        let found = match discover(root) {
            Ok(repo) => Some(repo),
            Err(error) if error.code() == ErrorCode::NotFound => None,
            Err(error) if error.code() == ErrorCode::Owner => return Err(foreign(root)),
            Err(error) => return Err(error.into()),
        };
        let named = environment_repo(root, found.as_ref());
        let is_from_environment = named.is_some();
        let Some(repo) = named.or(found) else { return Ok(None) };
        let prefix = prefix(&repo, root)?;
        Ok(Some(Self { repo, prefix, is_from_environment }))
    }

    /// Opens the repo around a directory, which must be in one.
    pub(crate) fn expect(root: &Utf8Path) -> Result<Self, GitError> {
        Self::around(root)?.ok_or_else(|| GitError::new(format!("`{root}` is not in a git repo")))
    }

    /// Returns the index: the one that the environment sets for this repo, if any. `git commit -a`
    /// and `git commit FILE` run hooks with an index of the files to commit.
    pub(crate) fn index(&self) -> Result<Index, GitError> {
        let opened = match self.index_of_environment() {
            Some(path) => Index::open(&path),
            None => self.repo.index(),
        };
        opened.map_err(unreadable_index)
    }

    /// Returns the index file that the environment sets for this repo. Its path is relative to the
    /// worktree's top, where git runs hooks.
    pub(crate) fn index_of_environment(&self) -> Option<PathBuf> {
        let file = env::var_os(INDEX_FILE).filter(|_| self.is_from_environment)?;
        Some(self.repo.workdir().unwrap_or(Path::new("")).join(file))
    }

    /// Returns the worktree's top directory.
    pub(crate) fn workdir(&self) -> Result<&Path, GitError> {
        let directory = self.repo.path().display();
        let message = || format!("{directory} is a bare repo, without a worktree and an index");
        self.repo.workdir().ok_or_else(|| GitError::new(message()))
    }
}

/// Returns the repo that the environment sets, if it is the repo around `root`. A hook may also
/// work in another repo.
fn environment_repo(root: &Utf8Path, found: Option<&Repository>) -> Option<Repository> {
    if VARIABLES.iter().all(|variable| env::var_os(variable).is_none()) {
        return None;
    }
    let named = Repository::open_from_env().ok()?;
    let is_it = match found {
        Some(found) => {
            // With `GIT_DIR` alone, libgit2 takes the directory around it for the worktree.
            let workdir = found.workdir().filter(|_| env::var_os(WORK_TREE).is_none());
            found.path() == named.path()
                && workdir.is_none_or(|top| named.set_workdir(top, false).is_ok())
        }
        // The worktree of a repo elsewhere, which only the environment refers to.
        None => prefix(&named, root).is_ok(),
    };
    is_it.then_some(named)
}

/// Returns the path of a directory relative to the worktree.
fn prefix(repo: &Repository, root: &Utf8Path) -> Result<Utf8PathBuf, GitError> {
    let Some(workdir) = repo.workdir() else { return Ok(Utf8PathBuf::new()) };
    // Either path may contain symbolic links.
    let canonical = |path: &Utf8Path| {
        path.canonicalize_utf8()
            .map_err(|error| GitError::new(format!("cannot read {path}: {error}")))
    };
    let workdir = canonical(in_utf8(workdir)?)?;
    let prefix = canonical(root)?.strip_prefix(workdir).map(Utf8Path::to_owned);
    prefix.map_err(|_| GitError::new(format!("{root} is not in the worktree of its git repo")))
}

fn in_utf8(path: &Path) -> Result<&Utf8Path, GitError> {
    Utf8Path::from_path(path).ok_or_else(|| GitError::new("the repo's path is not UTF-8"))
}

fn foreign(root: &Utf8Path) -> GitError {
    let top = root.ancestors().find(|path| path.join(".git").exists()).unwrap_or(root);
    let top = top.canonicalize_utf8().unwrap_or_else(|_| top.to_owned());
    GitError::new(format!(
        "the git repo {top} belongs to another user, and git does not trust it; if you do, say \
         `git config --global --add safe.directory {}`",
        in_shell(top.as_str())
    ))
}

/// Converts libgit2's error for an index in a format that only git supports.
fn unreadable_index(error: git2::Error) -> GitError {
    let only_git = |what: &str, remedy: &str| {
        GitError::new(format!("git's index is {what}, which cannot be read; say `{remedy}`"))
    };
    match error.message() {
        message if message.contains("'sdir'") => {
            only_git("a sparse one", "git sparse-checkout reapply --no-sparse-index")
        }
        message if message.contains("'link'") => only_git(
            "split",
            "git config core.splitIndex false && git update-index --no-split-index",
        ),
        _ => error.into(),
    }
}
