//! Changes that a commit of generated files would make.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use git2::{
    FileMode, Index, IndexEntry, IndexTime, ObjectType, Oid, Repository, Tree, TreeWalkMode,
    TreeWalkResult,
};

use crate::base::api::names::ClusterKey;
use crate::base::layout;
use crate::base::tree::Tree as FileTree;
use crate::input::git::GitError;
use crate::input::git::index::{self, Entries};
use crate::input::git::open::OpenedRepo;
use crate::output::compare::{Change, OutputChanges};

/// The difference between generated files and those of a commit.
pub struct CommitDifference {
    /// Changes by path from the worktree's top.
    changed: BTreeMap<Utf8PathBuf, Changed>,
    /// Generated files by path from the worktree's top.
    files: BTreeSet<Utf8PathBuf>,
    /// Output directories by path from the worktree's top.
    outputs: Vec<Utf8PathBuf>,
    /// Directory in the worktree that other paths are relative to.
    place: Utf8PathBuf,
    /// Clusters with files in the commit, by output directory.
    clusters: BTreeMap<Utf8PathBuf, BTreeSet<ClusterKey>>,
    /// Check for files that sipgen may delete.
    owns: IsGenerated,
    /// Tree of the new commit; `None` if there is nothing to commit.
    pub(super) tree: Option<Oid>,
}

/// Returns whether a file belongs to sipgen, by its content.
pub(super) type IsGenerated = fn(&[u8]) -> bool;

/// The extent of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DifferenceExtent {
    /// No difference.
    Not,
    /// Only comments that name the input of a file.
    InMarksOnly,
    /// Any other difference.
    Really,
}

struct Changed {
    mode: u32,
    change: Change,
}

impl CommitDifference {
    /// Compares the files below output directories, by path from `place`, with those of a commit.
    /// Files of other owners are ignored.
    pub(super) fn new(
        repo: &Repository,
        parent: Option<&Tree<'_>>,
        place: &Utf8Path,
        outputs: &[(&Utf8Path, &FileTree)],
        owns: IsGenerated,
    ) -> Result<Self, GitError> {
        let mut content = Self {
            changed: BTreeMap::new(),
            files: BTreeSet::new(),
            outputs: Vec::new(),
            place: place.to_owned(),
            clusters: BTreeMap::new(),
            owns,
            tree: None,
        };
        for (output, files) in outputs {
            content.add(repo, parent, output, files)?;
        }
        if content.differs() == DifferenceExtent::Really {
            content.tree = Some(content.write_tree(repo, parent)?);
        }
        Ok(content)
    }

    /// Adds the files of an output directory.
    fn add(
        &mut self,
        repo: &Repository,
        parent: Option<&Tree<'_>>,
        directory: &Utf8Path,
        files: &FileTree,
    ) -> Result<(), GitError> {
        let (output, owns, changed) = (self.place.join(directory), self.owns, &mut self.changed);
        let before = parent.map(|tree| blobs(repo, tree, &output)).transpose()?.unwrap_or_default();
        for (path, after) in files {
            let known = before.get(&**path);
            // Comparing blob ids avoids reading the files that are unchanged, which are most.
            if known.is_some_and(|(id, _)| {
                Oid::hash_object(ObjectType::Blob, after.as_bytes()).is_ok_and(|now| now == *id)
            }) {
                continue;
            }
            let text = known.map(|(id, _)| text(repo, *id)).transpose()?;
            if text.as_ref() == Some(after) {
                continue;
            }
            // An executable bit that someone set is kept.
            let mode = known.map_or(FileMode::Blob.into(), |(_, mode)| *mode);
            let after = after.clone();
            let change = match text {
                Some(before) => Change::Update { before, after },
                None => Change::Create { after },
            };
            changed.insert(output.join(path), Changed { mode, change });
        }
        for (path, (id, mode)) in
            before.iter().filter(|(path, _)| !files.contains_key(path.as_str()))
        {
            if owns(repo.find_blob(*id)?.content()) {
                let change = Change::Delete { before: text(repo, *id)? };
                changed.insert(output.join(path), Changed { mode: *mode, change });
            }
        }
        let clusters = before.keys().filter_map(|path| layout::cluster_of(path)).collect();
        self.clusters.insert(directory.to_owned(), clusters);
        self.files.extend(files.keys().map(|path| output.join(path)));
        self.outputs.push(output);
        Ok(())
    }

    /// Returns the extent of the difference.
    pub fn differs(&self) -> DifferenceExtent {
        match self.changed.values().all(|changed| changed.change.is_in_mark_only()) {
            _ if self.changed.is_empty() => DifferenceExtent::Not,
            true => DifferenceExtent::InMarksOnly,
            false => DifferenceExtent::Really,
        }
    }

    /// Returns the changed files.
    pub fn paths(&self) -> impl ExactSizeIterator<Item = &Utf8Path> {
        self.changed.keys().map(Utf8PathBuf::as_path)
    }

    /// Returns the index entries of generated files for a HEAD with `tree`. Generated files that
    /// only the index has are removed.
    pub(super) fn entries_of(
        &self,
        opened: &OpenedRepo,
        tree: &Tree<'_>,
    ) -> Result<Entries, GitError> {
        let known = self.files.iter().chain(self.changed.keys());
        let mut entries: Entries = known.map(|path| (path.clone(), entry_of(tree, path))).collect();
        for entry in index::current(opened)?.iter() {
            let Ok(path) = std::str::from_utf8(&entry.path) else {
                continue;
            };
            let path = Utf8Path::new(path);
            let may_be_older = self.outputs.iter().any(|output| path.starts_with(output))
                && !entries.contains_key(path);
            if may_be_older
                && entry_of(tree, path).is_none()
                && opened.repo.find_blob(entry.id).is_ok_and(|blob| (self.owns)(blob.content()))
            {
                entries.insert(path.to_owned(), None);
            }
        }
        Ok(entries)
    }

    /// Returns the changes by path relative to the run's directory.
    pub fn changes(&self) -> OutputChanges {
        let below = |path: &Utf8PathBuf| {
            path.strip_prefix(&self.place).map_or_else(|_| path.clone(), Utf8Path::to_owned)
        };
        let files =
            self.changed.iter().map(|(path, changed)| (below(path), changed.change.clone()));
        OutputChanges { files: files.collect(), leftovers: Vec::new() }
    }

    /// Returns the clusters with generated files below an output directory in the parent commit.
    pub fn clusters(&self, output: &Utf8Path) -> BTreeSet<ClusterKey> {
        self.clusters.get(output).cloned().unwrap_or_default()
    }

    /// Writes the parent's tree with the changes applied.
    fn write_tree(&self, repo: &Repository, parent: Option<&Tree<'_>>) -> Result<Oid, GitError> {
        let mut index = Index::new()?;
        if let Some(parent) = parent {
            index.read_tree(parent)?;
        }
        for (path, Changed { mode, change }) in &self.changed {
            match change.texts() {
                (_, Some(after)) => index.add(&entry(path, *mode, repo.blob(after.as_bytes())?))?,
                (_, None) => index.remove_path(path.as_std_path())?,
            }
        }
        let tree = index.write_tree_to(repo)?;
        // libgit2 silently removes a file or submodule at the path of a new directory.
        let diff = repo.diff_tree_to_tree(parent, Some(&repo.find_tree(tree)?), None)?;
        let paths = diff.deltas().filter_map(|delta| {
            Utf8Path::from_path(delta.old_file().path()?).map(Utf8Path::to_owned)
        });
        match paths.into_iter().find(|path| !self.changed.contains_key(path)) {
            Some(path) => Err(GitError::new(format!(
                "`{path}` is not generated, but would have to go to commit the generated files; move it away \
                 and commit that first"
            ))),
            None => Ok(tree),
        }
    }
}

/// Returns mode and id of a tree's entry at a path.
pub(super) fn entry_of(tree: &Tree<'_>, path: &Utf8Path) -> Option<(u32, Oid)> {
    let entry = tree.get_path(path.as_std_path()).ok()?;
    Some((entry.filemode().cast_unsigned(), entry.id()))
}

fn entry(path: &Utf8Path, mode: u32, id: Oid) -> IndexEntry {
    let never = IndexTime::new(0, 0);
    let path = path.as_str().as_bytes().to_vec();
    IndexEntry {
        ctime: never,
        mtime: never,
        dev: 0,
        ino: 0,
        mode,
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: 0,
        flags_extended: 0,
        path,
    }
}

/// Returns the regular files below a directory of a tree, by relative path, with ids and modes.
fn blobs(
    repo: &Repository,
    tree: &Tree<'_>,
    directory: &Utf8Path,
) -> Result<BTreeMap<Utf8PathBuf, (Oid, u32)>, GitError> {
    let mut blobs = BTreeMap::new();
    let below = tree
        .get_path(directory.as_std_path())
        .and_then(|entry| entry.to_object(repo))
        .and_then(|object| object.peel_to_tree());
    let Ok(below) = below else { return Ok(blobs) };
    below.walk(TreeWalkMode::PreOrder, |above, entry| {
        let mode = entry.filemode().cast_unsigned();
        if entry.kind() == Some(ObjectType::Blob)
            && mode != u32::from(FileMode::Link)
            && let Ok(name) = entry.name()
        {
            blobs.insert(Utf8Path::new(above).join(name), (entry.id(), mode));
        }
        TreeWalkResult::Ok
    })?;
    Ok(blobs)
}

/// Returns a blob's text with normalized line ends.
fn text(repo: &Repository, id: Oid) -> Result<String, GitError> {
    Ok(layout::text_of(repo.find_blob(id)?.content()))
}
