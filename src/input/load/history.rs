//! Earlier texts of files, from git's history.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8PathBuf;
use git2::Oid;

use super::encoding::lossy;
use super::files::Files;
use crate::input::git::{Checkout, GitError, entry_id};

/// The maximum number of commits to search.
const COMMITS: usize = 1000;

/// Earlier texts of files.
#[derive(Default)]
pub(crate) struct EarlierTexts {
    /// The last committed text of each file that is wanted.
    pub(crate) texts: BTreeMap<Utf8PathBuf, String>,
    /// Files whose history is not known: it is not in a shallow clone, and there is none outside of
    /// git.
    pub(crate) unknown: BTreeSet<Utf8PathBuf>,
}

impl Files {
    /// Returns the last committed text of each of `files` for which `is_wanted` is true. Files
    /// without such a text in the last [`COMMITS`] commits are omitted.
    pub(crate) fn earlier_texts(
        &self,
        files: &BTreeSet<Utf8PathBuf>,
        is_wanted: impl Fn(&[u8]) -> bool,
    ) -> EarlierTexts {
        if files.is_empty() {
            return EarlierTexts::default();
        }
        let unknown = |_| EarlierTexts { unknown: files.clone(), ..EarlierTexts::default() };
        self.texts_in_history(files, is_wanted).unwrap_or_else(unknown)
    }

    fn texts_in_history(
        &self,
        files: &BTreeSet<Utf8PathBuf>,
        is_wanted: impl Fn(&[u8]) -> bool,
    ) -> Result<EarlierTexts, GitError> {
        let opened = Checkout::expect(self.root())?;
        let repo = &opened.repo;
        let mut commit = match self.commit() {
            Some(id) => repo.find_commit(id)?,
            None => repo.head()?.peel_to_commit()?,
        };
        // The blob that was read last.
        let mut last: BTreeMap<&Utf8PathBuf, Option<Oid>> =
            files.iter().map(|file| (file, None)).collect();
        let mut earlier = EarlierTexts::default();
        for _ in 0..COMMITS {
            let tree = commit.tree()?;
            last.retain(|file, last| {
                let Some(id) = entry_id(&tree, &opened.prefix.join(file)) else { return false };
                if last.replace(id) == Some(id) {
                    return true;
                }
                let Ok(blob) = repo.find_blob(id) else { return false };
                let is_it = is_wanted(blob.content());
                if is_it {
                    earlier.texts.insert((*file).clone(), lossy(blob.content().to_vec()));
                }
                !is_it
            });
            if last.is_empty() {
                break;
            }
            let Ok(parent) = commit.parent(0) else {
                if repo.is_shallow() {
                    earlier.unknown = last.into_keys().cloned().collect();
                }
                break;
            };
            commit = parent;
        }
        Ok(earlier)
    }
}
