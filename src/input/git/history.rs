//! The commits that an agent may have applied. Files in none of them were never applied.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use git2::{Oid, Repository};

use super::open::{self, OpenedRepo};

/// The commits of local and remote branches and tags, and those that were checked out.
pub(crate) struct History {
    repo: Repository,
    commits: BTreeSet<Oid>,
    prefix: Utf8PathBuf,
}

impl History {
    /// Reads the history around a directory. Returns `None` without a repo or commit, or if refs
    /// cannot be read.
    pub(crate) fn around(root: &Utf8Path) -> Option<Self> {
        let OpenedRepo { repo, prefix, .. } = open::open(root).ok()??;
        let mut commits = BTreeSet::new();
        // Agents follow branches or tags, or commits that were once checked out.
        for reference in repo.references().ok()? {
            commits.extend(reference.ok()?.peel_to_commit().ok().map(|commit| commit.id()));
        }
        commits.extend(
            repo.head().ok().and_then(|head| head.peel_to_commit().ok()).map(|commit| commit.id()),
        );
        // Without commits there is no reflog, and libgit2 would create its directory.
        let log =
            repo.path().join("logs/HEAD").is_file().then(|| repo.reflog("HEAD").ok()).flatten();
        commits.extend(
            log.iter().flat_map(|log| log.iter().map(|entry| entry.id_new()).collect::<Vec<_>>()),
        );
        (!commits.is_empty()).then_some(Self { repo, commits, prefix })
    }

    /// Returns whether a commit has a file that contains a text.
    pub(crate) fn has(&self, file: &Utf8Path, text: &str) -> bool {
        let path = self.prefix.join(file);
        self.commits.iter().any(|commit| {
            let tree = self.repo.find_commit(*commit).and_then(|commit| commit.tree());
            let entry = tree.and_then(|tree| tree.get_path(path.as_std_path()));
            let blob = entry.and_then(|entry| self.repo.find_blob(entry.id()));
            blob.is_ok_and(|blob| memchr::memmem::find(blob.content(), text.as_bytes()).is_some())
        })
    }
}
