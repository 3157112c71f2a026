//! The facts that decide how agents apply the output.

use camino::{Utf8Path, Utf8PathBuf};

use super::clusters::Cluster;
use crate::api::gitops::FluxSource;
use crate::api::names::HostKey;
use crate::finding::{Origin, Place};
use crate::inventory::Inventory;
use crate::kustomize::{Among, Builds, Listing};
use crate::layout;
use crate::load::Files;
use crate::settings::Settings;

/// The parts of a repo that decide what agents apply.
pub(super) struct Repo<'a> {
    pub(super) files: &'a Files,
    pub(super) settings: &'a Settings,
    pub(super) inventory: &'a Inventory,
    pub(super) builds: &'a Builds,
    /// All documents of hosts.
    pub(super) documents: &'a [(HostKey, Origin)],
    /// Further files whose directories generators may match.
    pub(super) paths: &'a [Utf8PathBuf],
    /// Sources of Flux.
    pub(super) sources: Vec<(Origin, FluxSource)>,
    /// Clusters that Secrets of the repo register in Argo CD.
    pub(super) clusters: Vec<Cluster>,
    /// Components that agents add to kustomizations: component, place, and the kustomization's
    /// directory.
    pub(super) added: Vec<(Utf8PathBuf, Place, Utf8PathBuf)>,
}

impl Repo<'_> {
    /// Returns the places that list directories below one: in kustomizations of the repo, and in
    /// agents' objects that add components.
    pub(super) fn listings_below<'b>(
        &'b self,
        top: &'b Utf8Path,
    ) -> Vec<(&'b Utf8Path, Listing<'b>)> {
        let added = self
            .added
            .iter()
            .filter(|(listed, ..)| listed.starts_with(top));
        let added = added.map(|(listed, place, directory)| {
            let (place, among) = (place.clone(), Among::Components(usize::MAX));
            (
                listed.as_path(),
                Listing {
                    directory,
                    place,
                    among,
                },
            )
        });
        self.builds
            .listings_below(top)
            .into_iter()
            .chain(added)
            .collect()
    }

    /// Returns the directory of a root's patches, relative to the repo's root.
    pub(super) fn patches_of(&self, root: &Utf8Path) -> Utf8PathBuf {
        self.settings.output.join(layout::declared_directory(root))
    }
}

/// Formats a directory for messages.
pub(super) fn shown(directory: &Utf8Path) -> String {
    if directory.as_str().is_empty() {
        "the repo's root".to_owned()
    } else {
        directory.to_string()
    }
}
