//! The facts that decide how agents apply the output.

use std::cell::OnceCell;

use camino::{Utf8Path, Utf8PathBuf};

use super::agent_objects::AgentContext;
use super::paths::source_directories;
use crate::base::api::gitops::{FluxSource, FluxSourceRef};
use crate::base::finding::Place;
use crate::base::layout;
use crate::input::kustomize::{Builds, ListField, Listing};
use crate::input::load::Files;
use crate::input::settings::Settings;
use crate::site::inventory::Inventory;

/// The parts of a repo that decide what agents apply.
pub(super) struct DeliveryRepo<'a> {
    pub(super) files: &'a Files,
    pub(super) settings: &'a Settings,
    pub(super) inventory: &'a Inventory,
    pub(super) builds: &'a Builds,
    /// Further files whose directories generators may match.
    pub(super) paths: &'a [Utf8PathBuf],
    /// Objects that those of agents depend on.
    pub(super) context: &'a AgentContext,
    /// Components that agents add to kustomizations: component, place, and the kustomization's
    /// directory.
    pub(super) added: Vec<(Utf8PathBuf, Place, Utf8PathBuf)>,
    all_files: OnceCell<Vec<Utf8PathBuf>>,
    all_directories: OnceCell<Vec<Utf8PathBuf>>,
}

impl<'a> DeliveryRepo<'a> {
    pub(super) fn new(
        files: &'a Files,
        settings: &'a Settings,
        inventory: &'a Inventory,
        builds: &'a Builds,
        context: &'a AgentContext,
        paths: &'a [Utf8PathBuf],
    ) -> Self {
        let (all_files, all_directories) = (OnceCell::new(), OnceCell::new());
        let added = Vec::new();
        Self {
            files,
            settings,
            inventory,
            builds,
            paths,
            context,
            added,
            all_files,
            all_directories,
        }
    }

    /// Returns the files that generators may match.
    pub(super) fn generator_files(&self) -> &[Utf8PathBuf] {
        // A repo that cannot be listed has failed before.
        let list = || self.files.files_outside(&self.settings.output).unwrap_or_default();
        self.all_files.get_or_init(list)
    }

    /// Returns the directories of Argo CD's source.
    pub(super) fn source_directories(&self) -> &[Utf8PathBuf] {
        self.all_directories.get_or_init(|| source_directories(self))
    }

    /// Returns the places that list directories below one: in kustomizations of the repo, and in
    /// agents' objects that add components.
    pub(super) fn listings_below<'b>(
        &'b self,
        top: &'b Utf8Path,
    ) -> Vec<(Utf8PathBuf, Listing<'b>)> {
        let mut listings = self.builds.listings_below(top);
        let added = self.added.iter();
        let added = added.filter(|(listed, ..)| listed.starts_with(top));
        listings.extend(added.map(|(listed, place, directory)| {
            let (place, among) = (place.clone(), ListField::Components(usize::MAX));
            let listing = Listing { directory, place, among };
            (listed.clone(), listing)
        }));
        listings
    }

    /// Returns whether a source is the one in the settings.
    pub(super) fn is_source_of_settings(&self, source: &FluxSource) -> bool {
        let reference = FluxSourceRef {
            kind: Some(source.kind.clone()),
            name: source.metadata.name.clone(),
            namespace: source.metadata.namespace.clone(),
        };
        self.settings.flux.is_source(&reference, None)
    }

    /// Returns the directory of a root's patches, relative to the repo's root.
    pub(super) fn patches_of(&self, root: &Utf8Path) -> Utf8PathBuf {
        self.settings.output.join(layout::declared_directory(root))
    }
}

/// Formats a directory for messages.
pub(super) fn shown(directory: &Utf8Path) -> String {
    if directory.as_str().is_empty() { "the repo's root".to_owned() } else { directory.to_string() }
}
