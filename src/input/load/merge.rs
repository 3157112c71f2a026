//! Merges of two revisions in memory.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use git2::{Commit, IndexAddOption, IndexEntry, Oid, Repository, Tree};

use super::git::{GitFiles, commit};
use crate::input::git::GitError;
use crate::input::git::open::{self, OpenedRepo};

/// The result of a merge.
#[derive(Debug)]
pub struct MergeResult<F> {
    /// All files without conflicts.
    pub files: F,
    /// Files with conflicts, in the order of their paths.
    pub conflicts: Vec<Utf8PathBuf>,
}

/// The reason why a branch has nothing to compare with a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redundancy {
    /// It is the base, or was merged into it.
    InBase,
    /// It was merged into the change, or is the change.
    InChange,
}

/// Priority of the object store in memory. It must exceed those of the stores on the disk, 1 and 2.
const PRIORITY: i32 = 1_000;

/// Bits of a git mode that an entry with content has, a regular file or a symbolic link.
const WITH_CONTENT: [u32; 2] = [0o100_000, 0o120_000];
const KIND: u32 = 0o170_000;

/// Returns why `branch` has nothing that `base` or the change `head` does not have, if so. Without
/// `head`, the change is on the disk.
///
/// # Errors
///
/// If a revision does not exist.
pub fn redundancy(
    root: &Utf8Path,
    base: &str,
    head: Option<&str>,
    branch: &str,
) -> Result<Option<Redundancy>, GitError> {
    let OpenedRepo { repo, .. } = open::expect(root)?;
    let branch = commit(&repo, branch)?.id();
    let contains = |revision: &str| -> Result<bool, GitError> {
        let id = commit(&repo, revision)?.id();
        Ok(id == branch || repo.graph_descendant_of(id, branch)?)
    };
    if contains(base)? {
        return Ok(Some(Redundancy::InBase));
    }
    Ok(contains(head.unwrap_or("HEAD"))?.then_some(Redundancy::InChange))
}

pub(super) fn merge(
    root: &Utf8Path,
    ours: Option<&str>,
    theirs: &str,
) -> Result<MergeResult<GitFiles>, GitError> {
    let opened = open::expect(root)?;
    let repo = &opened.repo;
    let head = commit(repo, ours.unwrap_or("HEAD"))?;
    let other = commit(repo, theirs)?;
    let ancestor = ancestor(repo, &head, &other, theirs)?;
    let odb = repo.odb()?;
    // Nothing is written to the repo.
    let _memory = odb.add_new_mempack_backend(PRIORITY)?;
    let tree = match ours {
        Some(_) => head.tree()?,
        None => worktree(&opened)?,
    };
    let index = repo.merge_trees(&ancestor.tree()?, &tree, &other.tree()?, None)?;

    let mut conflicts = Vec::new();
    for conflict in index.conflicts()? {
        let conflict = conflict?;
        let sides = [conflict.our, conflict.their, conflict.ancestor];
        if let Some(side) = sides.into_iter().flatten().next()
            && let Ok(path) = String::from_utf8(side.path)
            && let Ok(path) = Utf8Path::new(&path).strip_prefix(&opened.prefix)
        {
            conflicts.push(path.to_owned());
        }
    }
    conflicts.sort();
    conflicts.dedup();
    let is_merged = |entry: &IndexEntry| entry.flags & STAGE == 0;
    let entries: Vec<_> =
        index.iter().filter(is_merged).map(|entry| (entry.path, entry.mode, entry.id)).collect();
    let ids = entries
        .iter()
        .filter(|(_, mode, _)| WITH_CONTENT.contains(&(mode & KIND)))
        .map(|(.., id)| *id);
    let made = made(&opened, ids)?;
    Ok(MergeResult { files: GitFiles::in_memory(&opened, entries, made)?, conflicts })
}

/// Bits of an index entry's flags that are set on the sides of a conflict.
const STAGE: u16 = 0x3000;

fn ancestor<'a>(
    repo: &'a Repository,
    head: &Commit<'_>,
    other: &Commit<'_>,
    name: &str,
) -> Result<Commit<'a>, GitError> {
    let id = repo.merge_base(head.id(), other.id()).map_err(|_| {
        GitError::new(format!(
            "`{name}` has no common ancestor with this change: fetch more commits, in CI by `fetch-depth: 0` (GitHub) \
             or `GIT_DEPTH: 0` (GitLab)"
        ))
    })?;
    Ok(repo.find_commit(id)?)
}

/// Returns the tree that `git add --all` and `git commit` would make.
fn worktree(opened: &OpenedRepo) -> Result<Tree<'_>, GitError> {
    opened.workdir()?;
    let mut index = opened.index()?;
    // The repo's own index belongs to it already, and libgit2 would detach it.
    if opened.index_of_environment().is_some() {
        opened.repo.set_index(&mut index)?;
    }
    index.add_all(["*"], IndexAddOption::DEFAULT, None)?;
    let tree = index.write_tree_to(&opened.repo)?;
    Ok(opened.repo.find_tree(tree)?)
}

/// Returns the blobs that are only in memory.
fn made(
    opened: &OpenedRepo,
    ids: impl Iterator<Item = Oid>,
) -> Result<BTreeMap<Oid, Vec<u8>>, GitError> {
    let on_disk = open::again(opened.repo.path(), opened.is_from_environment)?;
    let odb = on_disk.odb()?;
    ids.filter(|id| !odb.exists(*id))
        .map(|id| Ok((id, opened.repo.find_blob(id)?.content().to_vec())))
        .collect()
}
