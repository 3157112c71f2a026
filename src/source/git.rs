//! Files that git has, whatever is on the disk: those of a revision, or those that are staged.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::{Mutex, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};
use git2::{ObjectType, Oid, Repository, TreeWalkMode, TreeWalkResult};

use super::files::Kind;

/// Why git's files cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct GitError(String);

impl GitError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl From<git2::Error> for GitError {
    fn from(error: git2::Error) -> Self {
        Self(format!("git says: {}", error.message()))
    }
}

/// The files of a tree of git, or of its index, below one directory and relative to it.
pub(super) struct GitFiles {
    // A repository is for one thread at a time.
    repo: Mutex<Repository>,
    entries: BTreeMap<Utf8PathBuf, (Kind, Oid)>,
}

impl fmt::Debug for GitFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GitFiles").field("entries", &self.entries.len()).finish_non_exhaustive()
    }
}

/// The bits of a mode that say what an entry is.
const KIND: u32 = 0o170_000;
const PLAIN: u32 = 0o100_000;
const LINK: u32 = 0o120_000;

impl GitFiles {
    /// What is staged, below a directory of a worktree.
    pub(super) fn staged(root: &Utf8Path) -> Result<Self, GitError> {
        let (repo, prefix) = open(root)?;
        let index = repo.index()?;
        if index.has_conflicts() {
            return Err(GitError::new("git's index has conflicts: resolve them first, `git status` names them"));
        }
        let mut entries = BTreeMap::new();
        for entry in index.iter() {
            add(&mut entries, &prefix, &entry.path, entry.mode, entry.id);
        }
        Ok(Self { repo: Mutex::new(repo), entries })
    }

    /// What a revision has, below a directory of a repo.
    pub(super) fn at_revision(root: &Utf8Path, revision: &str) -> Result<Self, GitError> {
        let (repo, prefix) = open(root)?;
        let mut entries = BTreeMap::new();
        let tree = repo
            .revparse_single(revision)
            .and_then(|object| object.peel_to_tree())
            .map_err(|error| no_such_revision(&repo, revision, &error))?;
        tree.walk(TreeWalkMode::PreOrder, |directory, entry| {
            if entry.kind() != Some(ObjectType::Tree) {
                let path = [directory.as_bytes(), entry.name_bytes()].concat();
                add(&mut entries, &prefix, &path, entry.filemode().cast_unsigned(), entry.id());
            }
            TreeWalkResult::Ok
        })?;
        drop(tree);
        Ok(Self { repo: Mutex::new(repo), entries })
    }

    pub(super) fn kind(&self, path: &Utf8Path) -> Option<Kind> {
        match self.entries.get(path) {
            Some((kind, _)) => Some(*kind),
            None => self.is_directory(path).then_some(Kind::Directory),
        }
    }

    fn is_directory(&self, path: &Utf8Path) -> bool {
        self.entries.range(path.to_owned()..).map(|(entry, _)| entry).find(|entry| *entry != path).is_some_and(
            // Paths are ordered by their parts, so what is below a directory follows it.
            |next| next.starts_with(path),
        )
    }

    pub(super) fn content(&self, file: &Utf8Path) -> io::Result<Vec<u8>> {
        let (_, id) = self.entries.get(file).ok_or(io::ErrorKind::NotFound)?;
        let repo = self.repo.lock().unwrap_or_else(PoisonError::into_inner);
        let blob = repo.find_blob(*id).map_err(|error| io::Error::other(format!("git says: {}", error.message())))?;
        Ok(blob.content().to_vec())
    }

    /// All plain files.
    pub(super) fn plain(&self) -> impl Iterator<Item = &Utf8Path> {
        self.entries.iter().filter(|(_, (kind, _))| *kind == Kind::File).map(|(path, _)| path.as_path())
    }

    /// Everything below a directory, directories excepted.
    pub(super) fn below(&self, directory: &Utf8Path) -> Vec<(Utf8PathBuf, Kind)> {
        let from = self.entries.range(directory.to_owned()..);
        let below = from.take_while(|(path, _)| path.starts_with(directory)).filter(|(path, _)| *path != directory);
        below.map(|(path, (kind, _))| (path.clone(), *kind)).collect()
    }
}

/// Opens the repo around a directory, and says where in the repo's files that directory is.
fn open(root: &Utf8Path) -> Result<(Repository, Utf8PathBuf), GitError> {
    let repo = Repository::discover(root)?;
    let Some(workdir) = repo.workdir() else { return Ok((repo, Utf8PathBuf::new())) };
    let canonical = |path: &Utf8Path| {
        path.canonicalize_utf8().map_err(|error| GitError::new(format!("cannot read {path}: {error}")))
    };
    let workdir = Utf8Path::from_path(workdir).ok_or_else(|| GitError::new("the repo's path is not UTF-8"))?;
    let prefix = canonical(root)?.strip_prefix(canonical(workdir)?).map(Utf8Path::to_owned);
    let prefix = prefix.map_err(|_| GitError::new(format!("{root} is not in the worktree of its git repo")))?;
    Ok((repo, prefix))
}

/// Says what to do about a revision that cannot be found.
fn no_such_revision(repo: &Repository, revision: &str, error: &git2::Error) -> GitError {
    let help = if repo.is_empty().unwrap_or_default() {
        "the repo has no commits yet"
    } else if repo.is_shallow() {
        "this is a shallow clone, which has only the last commits: fetch the others by `git fetch --unshallow`, or in \
         CI by `fetch-depth: 0` (GitHub) or `GIT_DEPTH: 0` (GitLab)"
    } else {
        "`git branch --all` lists the branches there are; `git fetch` gets those of others"
    };
    GitError::new(format!("there is no revision `{revision}` here ({}): {help}", error.message()))
}

/// Adds an entry, unless it lies outside of `prefix`. A path that is not UTF-8 is none that a manifest can name.
fn add(entries: &mut BTreeMap<Utf8PathBuf, (Kind, Oid)>, prefix: &Utf8Path, path: &[u8], mode: u32, id: Oid) {
    let kind = match mode & KIND {
        PLAIN => Kind::File,
        LINK => Kind::Link,
        // A submodule.
        _ => Kind::Directory,
    };
    if let Ok(path) = std::str::from_utf8(path)
        && let Ok(below) = Utf8Path::new(path).strip_prefix(prefix)
    {
        entries.insert(below.to_owned(), (kind, id));
    }
}
