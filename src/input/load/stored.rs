//! Files apart from the disk: those of a revision or of the index in git, or in memory.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};
use git2::{
    Commit, Config, ErrorCode, IndexEntry, IndexEntryExtendedFlag, ObjectType, Oid, Repository,
    Tree, TreeWalkMode, TreeWalkResult,
};

use super::kind::EntryKind;
use super::submodules::{self, GITLINK, NAMES, Submodules};
use crate::base::text::in_shell;
use crate::input::git::{Checkout, GitError, open};

/// The files of a tree or an index, submodules included, below one directory and relative to it; or
/// files in memory.
#[derive(Default)]
pub(super) struct StoredFiles {
    /// The repo, followed by those of its submodules.
    repos: Vec<GitContents>,
    entries: BTreeMap<Utf8PathBuf, StoredEntry>,
    /// Paths that are not UTF-8, with invalid parts replaced.
    pub(super) not_utf8: Vec<String>,
    /// Directories of submodules whose files are not available, with the reason.
    pub(super) missing: Vec<(Utf8PathBuf, String)>,
    /// The commit of a revision; `None` for other files.
    pub(super) commit: Option<Oid>,
}

struct StoredEntry {
    kind: EntryKind,
    content: EntryContent,
}

enum EntryContent {
    /// The index in [`StoredFiles::repos`], and the object's id.
    Blob(usize, Oid),
    Bytes(Vec<u8>),
}

impl fmt::Debug for StoredFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredFiles").field("entries", &self.entries.len()).finish_non_exhaustive()
    }
}

/// The bits of a git mode that hold the entry's type.
const KIND: u32 = 0o170_000;
const PLAIN: u32 = 0o100_000;
const LINK: u32 = 0o120_000;

impl StoredFiles {
    /// Returns the index below a directory of a worktree.
    pub(super) fn staged(root: &Utf8Path) -> Result<Self, GitError> {
        let opened = Checkout::expect(root)?;
        // A bare repo has no index.
        opened.workdir()?;
        let index = opened.index()?;
        if index.has_conflicts() {
            return Err(GitError::new(
                "git's index has conflicts: resolve them first, `git status` names them",
            ));
        }
        // `git add --intent-to-add` records a path without its content.
        let is_staged = |entry: &IndexEntry| {
            !IndexEntryExtendedFlag::from_bits_truncate(entry.flags_extended).is_intent_to_add()
        };
        let entries =
            index.iter().filter(is_staged).map(|entry| (entry.path, entry.mode, entry.id));
        let mut files = Self::default();
        files.add(&opened, Utf8Path::new(""), entries.collect())?;
        Ok(files)
    }

    /// Returns a revision below a directory of a repo.
    pub(super) fn at_revision(root: &Utf8Path, revision: &str) -> Result<Self, GitError> {
        let opened = Checkout::expect(root)?;
        let commit = commit(&opened.repo, revision)?;
        let mut files = Self { commit: Some(commit.id()), ..Self::default() };
        files.add(&opened, Utf8Path::new(""), blobs(&commit.tree()?)?)?;
        Ok(files)
    }

    /// Returns files in memory.
    pub(super) fn in_memory(files: impl IntoIterator<Item = (Utf8PathBuf, Vec<u8>)>) -> Self {
        let entry =
            |bytes| StoredEntry { kind: EntryKind::File, content: EntryContent::Bytes(bytes) };
        let entries = files.into_iter().map(|(path, bytes)| (path, entry(bytes)));
        Self { entries: entries.collect(), ..Self::default() }
    }

    /// Adds the entries of a repo at `at` within the outermost repo, limited to the requested
    /// directory. Paths that are not UTF-8 are only recorded, because a manifest cannot refer to
    /// them.
    fn add(
        &mut self,
        opened: &Checkout,
        at: &Utf8Path,
        entries: Vec<ListedFile>,
    ) -> Result<(), GitError> {
        // `.gitmodules` is in the root of each repo, even if that is outside of the requested
        // directory.
        let names = entries.iter().find(|(path, ..)| path == NAMES.as_bytes()).map(|(.., id)| *id);
        let mut links = Vec::new();
        for (path, mode, id) in entries {
            let path = match String::from_utf8(path) {
                Ok(path) => Utf8PathBuf::from(path),
                Err(error) => {
                    self.not_utf8.push(String::from_utf8_lossy(error.as_bytes()).into_owned());
                    continue;
                }
            };
            let full = at.join(&path);
            let Ok(below) = full.strip_prefix(&opened.prefix) else { continue };
            let kind = match mode & KIND {
                PLAIN => EntryKind::File,
                LINK => EntryKind::Link,
                GITLINK => {
                    links.push((path, id));
                    EntryKind::Directory
                }
                _ => EntryKind::Other,
            };
            let content = EntryContent::Blob(self.repos.len(), id);
            self.entries.insert(below.to_owned(), StoredEntry { kind, content });
        }
        self.repos.push(GitContents {
            git_dir: opened.repo.path().to_owned(),
            is_from_environment: opened.is_from_environment,
            spare: Mutex::default(),
        });
        if links.is_empty() { Ok(()) } else { self.add_submodules(opened, at, names, links) }
    }

    /// Adds the files of submodules, each at its recorded commit.
    fn add_submodules(
        &mut self,
        Checkout { repo, prefix, .. }: &Checkout,
        at: &Utf8Path,
        names: Option<Oid>,
        links: Vec<(Utf8PathBuf, Oid)>,
    ) -> Result<(), GitError> {
        let names = names.map(|id| repo.find_blob(id)).transpose()?;
        let submodules = Submodules::read(names.as_ref().map_or(&[], |names| names.content()))?;
        for (path, recorded) in links {
            let full = at.join(&path);
            let below = full.strip_prefix(prefix).unwrap_or(&full).to_owned();
            let Some(submodule) = submodules.open(repo, &path) else {
                // A submodule with `update = none` is omitted without an error.
                if submodules.wants(repo, &path) {
                    let reason = submodules::missing(&below).to_string();
                    self.missing.push((below, reason));
                }
                continue;
            };
            let entries = match submodule.find_commit(recorded) {
                Ok(commit) => blobs(&commit.tree()?)?,
                Err(_) => {
                    self.missing.push((below, not_fetched(&full, recorded).to_string()));
                    continue;
                }
            };
            let opened = Checkout {
                repo: submodule,
                prefix: prefix.clone(),
                // The environment refers to the outermost repo only.
                is_from_environment: false,
            };
            self.add(&opened, &full, entries)?;
        }
        Ok(())
    }

    pub(super) fn kind(&self, path: &Utf8Path) -> Option<EntryKind> {
        // Paths are ordered by component, so the first entry below a directory follows it.
        let (first, entry) = self.entries.range(path.to_owned()..).next()?;
        let is_directory = first != path && first.starts_with(path);
        if first == path { Some(entry.kind) } else { is_directory.then_some(EntryKind::Directory) }
    }

    pub(super) fn content(&self, file: &Utf8Path) -> io::Result<Vec<u8>> {
        match &self.entries.get(file).ok_or(io::ErrorKind::NotFound)?.content {
            EntryContent::Blob(repo, id) => {
                self.repos[*repo].content(*id).map_err(io::Error::other)
            }
            EntryContent::Bytes(bytes) => Ok(bytes.clone()),
        }
    }

    /// Returns the target of the symbolic link at a path; `None` if there is no link, or its target
    /// is not UTF-8.
    pub(super) fn target(&self, path: &Utf8Path) -> Option<Utf8PathBuf> {
        self.entries.get(path).filter(|entry| entry.kind == EntryKind::Link)?;
        String::from_utf8(self.content(path).ok()?).ok().map(Utf8PathBuf::from)
    }

    /// Returns the size in bytes of a file in git.
    pub(super) fn size(&self, file: &Utf8Path) -> Option<u64> {
        match self.entries.get(file)?.content {
            EntryContent::Blob(repo, id) => self.repos[repo].size(id).ok(),
            EntryContent::Bytes(_) => None,
        }
    }

    /// Returns all regular files.
    pub(super) fn plain(&self) -> impl Iterator<Item = &Utf8Path> {
        self.entries
            .iter()
            .filter(|(_, entry)| entry.kind == EntryKind::File)
            .map(|(path, _)| path.as_path())
    }

    /// Returns every entry below a directory except directories.
    pub(super) fn below(&self, directory: &Utf8Path) -> Vec<(Utf8PathBuf, EntryKind)> {
        let from = self.entries.range(directory.to_owned()..);
        let below = from
            .take_while(|(path, _)| path.starts_with(directory))
            .filter(|(path, _)| *path != directory);
        below.map(|(path, entry)| (path.clone(), entry.kind)).collect()
    }
}

/// The contents in a repo. `Repository` is not `Sync`, so each reading thread has its own.
struct GitContents {
    git_dir: PathBuf,
    is_from_environment: bool,
    spare: Mutex<Vec<Repository>>,
}

impl GitContents {
    fn content(&self, id: Oid) -> Result<Vec<u8>, GitError> {
        self.with_repo(|repo| {
            repo.find_blob(id).map(|blob| blob.content().to_vec()).map_err(|error| {
                match error.code() {
                    ErrorCode::NotFound if is_partial(repo) => GitError::new(
                        "this is a partial clone, and the file's content has not been fetched; say \
                     `git fetch --refetch --no-filter`",
                    ),
                    _ => error.into(),
                }
            })
        })
    }

    fn size(&self, id: Oid) -> Result<u64, GitError> {
        self.with_repo(|repo| Ok(repo.odb()?.read_header(id)?.0 as u64))
    }

    fn with_repo<T>(
        &self,
        read: impl FnOnce(&Repository) -> Result<T, GitError>,
    ) -> Result<T, GitError> {
        // The lock is held to take or return a repository, but not while reading.
        let spare = || self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let repo = spare().pop();
        let repo = repo.map_or_else(|| open::again(&self.git_dir, self.is_from_environment), Ok)?;
        let read = read(&repo);
        spare().push(repo);
        read
    }
}

/// Returns whether the repo is a partial clone: a remote is configured to supply missing objects.
fn is_partial(repo: &Repository) -> bool {
    let has_any =
        |config: Config| Ok(config.entries(Some(r"^remote\..*\.promisor$"))?.next().is_some());
    repo.config().and_then(has_any).unwrap_or_default()
}

/// A git entry: path, mode and id.
type ListedFile = (Vec<u8>, u32, Oid);

/// Returns all entries of a tree, recursively.
fn blobs(tree: &Tree<'_>) -> Result<Vec<ListedFile>, GitError> {
    let mut entries = Vec::new();
    tree.walk(TreeWalkMode::PreOrder, |directory, entry| {
        if entry.kind() != Some(ObjectType::Tree) {
            let path = [directory.as_bytes(), entry.name_bytes()].concat();
            entries.push((path, entry.filemode().cast_unsigned(), entry.id()));
        }
        TreeWalkResult::Ok
    })?;
    Ok(entries)
}

/// Returns the commit that a revision names.
///
/// Paths in a tree within a commit are relative to that tree, so only commits are accepted.
fn commit<'a>(repo: &'a Repository, revision: &str) -> Result<Commit<'a>, GitError> {
    if revision.trim().is_empty() {
        return Err(GitError::new(
            "the name of a revision is empty: name a commit, such as origin/main",
        ));
    }
    let found =
        repo.revparse_single(revision).map_err(|error| no_such_revision(repo, revision, &error))?;
    found.peel_to_commit().map_err(|_| no_commit(revision, found.kind()))
}

/// Returns the error for an unknown revision, with advice.
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

fn no_commit(revision: &str, kind: Option<ObjectType>) -> GitError {
    let kind = kind.map_or("something else", |kind| kind.str());
    GitError::new(format!(
        "`{revision}` is no commit but a {kind}: name a commit, a branch or a tag; --repo names a directory in it"
    ))
}

fn not_fetched(submodule: &Utf8Path, commit: Oid) -> GitError {
    GitError::new(format!(
        "the submodule {submodule} is recorded at {commit}, which has not been fetched; say \
         `git -C {} fetch origin {commit}`",
        in_shell(submodule.as_str())
    ))
}
