//! The part of a repo's files that one site reads, in a repo with several sites.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};

/// The part of a repo's files that one site reads. All paths are relative to the repo's root.
#[derive(Debug, Clone, Default)]
pub struct SitePart {
    /// The site's directory.
    pub directory: Utf8PathBuf,
    /// The directory of its snapshot, which may be outside of the site's directory.
    pub snapshot: Option<Utf8PathBuf>,
    /// The files that the site reads: those in its directory, and those that its builds reach
    /// elsewhere.
    pub files: BTreeSet<Utf8PathBuf>,
    /// The files that are read only for the agents' objects in them.
    pub for_agents: BTreeSet<Utf8PathBuf>,
    /// The directories whose files are unknown and may belong to the site, with the reason.
    pub closed: Vec<(Utf8PathBuf, String)>,
    /// The directories of other sites within the site's directory.
    pub inner: Vec<Utf8PathBuf>,
}

impl SitePart {
    /// Returns whether a path is in a directory of the site, and not in one of another site.
    pub fn owns(&self, path: &Utf8Path) -> bool {
        let is_below = |directory: &Utf8PathBuf| path.starts_with(directory);
        (is_below(&self.directory) && !self.inner.iter().any(is_below))
            || self.snapshot.as_ref().is_some_and(is_below)
    }
}
