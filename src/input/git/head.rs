//! The checked-out commit and its files.

use camino::{Utf8Path, Utf8PathBuf};
use git2::{Oid, Repository};

use super::open::{self, OpenedRepo};
use crate::base::layout;

/// The checked-out commit of the repo around a directory.
pub(crate) struct HeadCommit {
    repo: Repository,
    id: Oid,
    prefix: Utf8PathBuf,
}

impl HeadCommit {
    /// Opens the checked-out commit around a directory. Returns `None` without a repo or commit.
    pub(crate) fn around(root: &Utf8Path) -> Option<Self> {
        let OpenedRepo { repo, prefix, .. } = open::open(root).ok()??;
        let id = repo.head().ok()?.peel_to_commit().ok()?.id();
        Some(Self { repo, id, prefix })
    }

    pub(crate) fn id(&self) -> String {
        self.id.to_string()
    }

    /// Returns whether it has this text at a path; `None` asks for a missing file.
    pub(crate) fn has(&self, path: &Utf8Path, text: Option<&str>) -> bool {
        let tree = self.repo.find_commit(self.id).and_then(|commit| commit.tree());
        let entry = tree.and_then(|tree| tree.get_path(self.prefix.join(path).as_std_path()));
        let blob = entry.ok().and_then(|entry| self.repo.find_blob(entry.id()).ok());
        match (blob, text) {
            (Some(blob), Some(text)) => {
                layout::differ_in_line_ends_only(blob.content(), text.as_bytes())
            }
            (blob, text) => blob.is_none() && text.is_none(),
        }
    }
}
