//! Commits of a repo, and the texts of their files.

use std::collections::BTreeSet;

use camino::Utf8Path;
use git2::{Oid, Reference};

use super::open::Checkout;
use crate::base::layout;

/// Commits of the repo around a directory.
pub(crate) struct Commits {
    checkout: Checkout,
    ids: BTreeSet<Oid>,
}

/// Returns the id of the checked-out commit. Returns `None` without a repo or commit.
pub(crate) fn head_id(root: &Utf8Path) -> Option<String> {
    Commits::checked_out(root)?.ids.first().map(Oid::to_string)
}

impl Commits {
    /// Opens the checked-out commit around a directory. Returns `None` without a repo or commit.
    pub(crate) fn checked_out(root: &Utf8Path) -> Option<Self> {
        let checkout = Checkout::around(root).ok()??;
        let id = commit_id(checkout.repo.head().ok()?)?;
        Some(Self { checkout, ids: [id].into() })
    }

    /// Opens the commits that an agent may have applied: those of local and remote branches and tags,
    /// and those that were checked out. Files in none of them were never applied. Returns `None`
    /// without a repo or commit, or if refs cannot be read.
    pub(crate) fn maybe_applied(root: &Utf8Path) -> Option<Self> {
        let checkout = Checkout::around(root).ok()??;
        let repo = &checkout.repo;
        let mut ids = BTreeSet::new();
        for reference in repo.references().ok()? {
            ids.extend(commit_id(reference.ok()?));
        }
        ids.extend(repo.head().ok().and_then(commit_id));
        // Without commits there is no reflog, and libgit2 would create its directory.
        if repo.path().join("logs/HEAD").is_file()
            && let Ok(log) = repo.reflog("HEAD")
        {
            ids.extend(log.iter().map(|entry| entry.id_new()));
        }
        (!ids.is_empty()).then_some(Self { checkout, ids })
    }

    /// Returns whether a commit has this text at a path; `None` asks for a missing file.
    pub(crate) fn have(&self, path: &Utf8Path, text: Option<&str>) -> bool {
        let text = text.map(|text| layout::with_line_feeds(text.as_bytes()));
        self.any_content(path, |content| content.map(layout::with_line_feeds) == text)
    }

    /// Returns whether a commit has a file that contains a text.
    pub(crate) fn mention(&self, file: &Utf8Path, text: &str) -> bool {
        let contains = |content: &[u8]| memchr::memmem::find(content, text.as_bytes()).is_some();
        self.any_content(file, |content| content.is_some_and(contains))
    }

    /// Returns whether the content at a path is accepted in a commit.
    fn any_content(&self, path: &Utf8Path, accepts: impl Fn(Option<&[u8]>) -> bool) -> bool {
        let Checkout { repo, prefix, .. } = &self.checkout;
        let path = prefix.join(path);
        self.ids.iter().any(|id| {
            let tree = repo.find_commit(*id).and_then(|commit| commit.tree());
            let entry = tree.and_then(|tree| tree.get_path(path.as_std_path()));
            let blob = entry.and_then(|entry| repo.find_blob(entry.id())).ok();
            accepts(blob.as_ref().map(|blob| blob.content()))
        })
    }
}

fn commit_id(reference: Reference<'_>) -> Option<Oid> {
    Some(reference.peel_to_commit().ok()?.id())
}
