//! The part of a repo's files that one site reads.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};

use super::files::Files;

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

impl Files {
    /// The same files, of which a site reads a part.
    #[must_use]
    pub fn of_part(&self, part: Part) -> Self {
        let mut files = self.clone();
        files.part = Some(part);
        files
    }

    /// The directory of the site that reads the files; the repo's root where it has no part of its own.
    pub fn site_directory(&self) -> &Utf8Path {
        self.part
            .as_ref()
            .map_or(Utf8Path::new(""), |part| &part.directory)
    }

    /// Returns whether a path that cannot be read may hold an input of the site.
    pub(super) fn may_be_in_part(&self, path: &Utf8Path) -> bool {
        self.part
            .as_ref()
            .is_none_or(|part| part.owns(path) || part.files.contains(path))
    }

    /// Returns whether a file is read only for what it tells agents.
    pub(crate) fn is_for_agents(&self, file: &Utf8Path) -> bool {
        self.part
            .as_ref()
            .is_some_and(|part| part.for_agents.contains(file))
    }

    /// Returns whether the site reads a file for more than what it tells agents.
    pub fn reads(&self, file: &Utf8Path) -> bool {
        self.part
            .as_ref()
            .is_none_or(|part| part.files.contains(file) && !part.for_agents.contains(file))
    }

    /// Returns whether a file lies outside of the site's directory, and no build of the site reaches it.
    pub(crate) fn is_out_of_reach(&self, file: &Utf8Path) -> bool {
        self.part
            .as_ref()
            .is_some_and(|part| !part.owns(file) && !part.files.contains(file))
    }
}
