//! The part of a repo's files that one site reads.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};

/// The part of a repo's files that one site reads; all paths are relative to the repo's root.
#[derive(Debug, Clone, Default)]
pub struct Part {
    /// The site's directory.
    pub directory: Utf8PathBuf,
    /// The directory of its snapshot, which may lie elsewhere.
    pub snapshot: Option<Utf8PathBuf>,
    /// The files that it reads: those in its directory, and what its builds reach elsewhere.
    pub files: BTreeSet<Utf8PathBuf>,
    /// The files that are read only for what they tell agents.
    pub for_agents: BTreeSet<Utf8PathBuf>,
    /// The directories whose files are not known, and may be the site's, with the reason.
    pub closed: Vec<(Utf8PathBuf, String)>,
    /// The directories of other sites inside of its own.
    pub inner: Vec<Utf8PathBuf>,
}

impl Part {
    /// Returns whether a path is in the site's own directories, and in none of another site.
    pub fn owns(&self, path: &Utf8Path) -> bool {
        let is_below = |directory: &Utf8PathBuf| path.starts_with(directory);
        (is_below(&self.directory) && !self.inner.iter().any(is_below))
            || self.snapshot.as_ref().is_some_and(is_below)
    }
}
