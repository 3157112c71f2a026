//! The files of one site in a repo with several sites.

use camino::Utf8Path;

use super::files::Files;
use super::part::SitePart;

impl Files {
    /// Limits the files to the part that one site reads.
    #[must_use]
    pub fn limited_to(&self, part: SitePart) -> Self {
        Self { part: Some(part), ..self.clone() }
    }

    /// Returns the files of all sites.
    #[must_use]
    pub(crate) fn whole_repo(&self) -> Self {
        Self { part: None, ..self.clone() }
    }

    /// Returns the site's directory; the repo's root if the repo is one site.
    pub fn site_directory(&self) -> &Utf8Path {
        self.part.as_ref().map_or(Utf8Path::new(""), |part| &part.directory)
    }

    /// Returns whether a file is read only for the agents' objects in it.
    pub(crate) fn is_for_agents(&self, file: &Utf8Path) -> bool {
        self.part.as_ref().is_some_and(|part| part.for_agents.contains(file))
    }

    /// Returns whether the site reads a file for more than agents' objects.
    pub fn reads(&self, file: &Utf8Path) -> bool {
        self.part
            .as_ref()
            .is_none_or(|part| part.files.contains(file) && !part.for_agents.contains(file))
    }

    /// Returns whether a file is outside the site's directory, and no build of the site reaches it.
    pub(crate) fn is_out_of_reach(&self, file: &Utf8Path) -> bool {
        self.part.as_ref().is_some_and(|part| !part.owns(file) && !part.files.contains(file))
    }
}
