//! Commits of a repo, and the texts of their files.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use git2::{Oid, Repository};

use super::open::{self, OpenedRepo};
use crate::base::layout;

/// Commits of the repo around a directory.
pub(crate) struct Commits {
    repo: Repository,
    ids: BTreeSet<Oid>,
    prefix: Utf8PathBuf,
}

/// Returns the id of the checked-out commit. Returns `None` without a repo or commit.
pub(crate) fn head_id(root: &Utf8Path) -> Option<String> {
    Commits::checked_out(root)?.ids.first().map(Oid::to_string)
}

impl Commits {
    /// Opens the checked-out commit around a directory. Returns `None` without a repo or commit.
    pub(crate) fn checked_out(root: &Utf8Path) -> Option<Self> {
        let OpenedRepo { repo, prefix, .. } = open::open(root).ok()??;
        let id = repo.head().ok()?.peel_to_commit().ok()?.id();
        Some(Self { repo, ids: [id].into(), prefix })
    }

    /// Opens the commits that an agent may have applied: those of local and remote branches and tags,
    /// and those that were checked out. Files in none of them were never applied. Returns `None`
    /// without a repo or commit, or if refs cannot be read.
    pub(crate) fn maybe_applied(root: &Utf8Path) -> Option<Self> {
        let OpenedRepo { repo, prefix, .. } = open::open(root).ok()??;
        let mut ids = BTreeSet::new();
        for reference in repo.references().ok()? {
            ids.extend(reference.ok()?.peel_to_commit().ok().map(|commit| commit.id()));
        }
        ids.extend(
            repo.head().ok().and_then(|head| head.peel_to_commit().ok()).map(|commit| commit.id()),
        );
        // Without commits there is no reflog, and libgit2 would create its directory.
        let log =
            repo.path().join("logs/HEAD").is_file().then(|| repo.reflog("HEAD").ok()).flatten();
        ids.extend(
            log.iter().flat_map(|log| log.iter().map(|entry| entry.id_new()).collect::<Vec<_>>()),
        );
        (!ids.is_empty()).then_some(Self { repo, ids, prefix })
    }

    /// Returns whether a commit has this text at a path; `None` asks for a missing file.
    pub(crate) fn have(&self, path: &Utf8Path, text: Option<&str>) -> bool {
        self.any_content(path, |content| match (content, text) {
            (Some(content), Some(text)) => {
                layout::differ_in_line_ends_only(content, text.as_bytes())
            }
            (content, text) => content.is_none() && text.is_none(),
        })
    }

    /// Returns whether a commit has a file that contains a text.
    pub(crate) fn mention(&self, file: &Utf8Path, text: &str) -> bool {
        let contains = |content: &[u8]| memchr::memmem::find(content, text.as_bytes()).is_some();
        self.any_content(file, |content| content.is_some_and(contains))
    }

    /// Returns whether the content at a path is accepted in a commit.
    fn any_content(&self, path: &Utf8Path, accepts: impl Fn(Option<&[u8]>) -> bool) -> bool {
        let path = self.prefix.join(path);
        self.ids.iter().any(|id| {
            let tree = self.repo.find_commit(*id).and_then(|commit| commit.tree());
            let entry = tree.and_then(|tree| tree.get_path(path.as_std_path()));
            let blob = entry.and_then(|entry| self.repo.find_blob(entry.id())).ok();
            accepts(blob.as_ref().map(|blob| blob.content()))
        })
    }
}
