//! The facts that decide how agents apply the output.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use camino::{Utf8Path, Utf8PathBuf};

use super::agent_objects::AgentContext;
use super::paths::{IGNORE_FILE, SourcePatterns};
use crate::base::api::flux::FluxSource;
use crate::base::api::gitops::FluxSourceRef;
use crate::base::api::names::ClusterKey;
use crate::base::api::service_kind::ServiceKind;
use crate::base::finding::Place;
use crate::base::layout;
use crate::base::layout::outputs::site_directory;
use crate::input::kustomize::{Builds, ListField, Listing};
use crate::input::load::Files;
use crate::input::settings::Settings;
use crate::input::settings::outputs::OutputScope;
use crate::site::inventory::{Host, Inventory};

/// The files of a repo, with any name, that generators may match. They are listed when one first
/// needs them.
#[derive(Default)]
pub(crate) struct RepoListing {
    /// Requested clusters.
    clusters: BTreeSet<ClusterKey>,
    files: OnceLock<Vec<Utf8PathBuf>>,
}

impl RepoListing {
    /// Returns the same files with other clusters.
    pub(crate) fn with_clusters(&self, clusters: BTreeSet<ClusterKey>) -> Self {
        Self { clusters, files: self.files.clone() }
    }

    fn files(&self, repo: &Files) -> &[Utf8PathBuf] {
        // A repo that cannot be listed has failed before.
        self.files.get_or_init(|| repo.all_files().unwrap_or_default())
    }
}

/// The parts of a repo that decide what agents apply.
pub(super) struct DeliveryRepo<'a> {
    pub(super) files: &'a Files,
    pub(super) settings: &'a Settings,
    pub(super) inventory: &'a Inventory,
    pub(super) builds: &'a Builds,
    pub(super) listing: &'a RepoListing,
    /// Files that Flux's source excludes.
    pub(super) ignored: Arc<SourcePatterns>,
    /// Objects that those of agents depend on.
    pub(super) context: &'a AgentContext,
    /// Components that agents add to kustomizations: component, place, and the kustomization's
    /// directory.
    pub(super) added: Vec<(Utf8PathBuf, Place, Utf8PathBuf)>,
    /// Kustomizations of the output.
    planned: OnceCell<Vec<Utf8PathBuf>>,
    all_directories: OnceCell<Vec<Utf8PathBuf>>,
}

impl<'a> DeliveryRepo<'a> {
    pub(super) fn new(
        files: &'a Files,
        settings: &'a Settings,
        inventory: &'a Inventory,
        builds: &'a Builds,
        context: &'a AgentContext,
        listing: &'a RepoListing,
    ) -> Self {
        let ignored = files.text(IGNORE_FILE.into()).unwrap_or_default();
        Self {
            files,
            settings,
            ignored: Arc::new(SourcePatterns::new(&ignored)),
            inventory,
            builds,
            listing,
            context,
            added: Vec::new(),
            planned: OnceCell::new(),
            all_directories: OnceCell::new(),
        }
    }

    /// Returns whether a host's manifest or its builds set its namespace.
    pub(super) fn has_namespace(&self, host: &Host) -> bool {
        let reaches = match &host.file {
            Some(file) if host.origin.is_rendered() => self.builds.reach(file).into(),
            _ => self.builds.reach_of(&host.origin),
        };
        host.own_namespace.is_some() || reaches.iter().any(|reach| reach.namespace.is_some())
    }

    /// Returns the files that generators may match.
    pub(super) fn generator_files(&self) -> impl Iterator<Item = &Utf8PathBuf> {
        // Whether the output is there already makes no difference.
        let files = self.listing.files(self.files).iter();
        let files = files.filter(|file| !file.starts_with(&self.settings.output));
        let clusters = self.listing.clusters.iter();
        let planned = || kustomizations_of_output(self.settings, self.builds, clusters).collect();
        files.chain(self.planned.get_or_init(planned))
    }

    /// Returns the directories of Argo CD's source. Like Argo CD, this ignores hidden ones.
    pub(super) fn source_directories(&self) -> &[Utf8PathBuf] {
        self.all_directories.get_or_init(|| {
            // `-` is a placeholder for any file, so that `ancestors` includes the directory.
            let known: Vec<Utf8PathBuf> =
                self.builds.directories().map(|built| built.join("-")).collect();
            let all = known.iter().chain(self.generator_files());
            let directories: BTreeSet<&Utf8Path> =
                all.flat_map(|file| file.ancestors().skip(1)).collect();
            let in_source =
                directories.into_iter().map(|directory| self.settings.argocd.path.join(directory));
            let is_hidden = |path: &Utf8PathBuf| path.iter().any(|part| part.starts_with('.'));
            in_source.filter(|directory| !is_hidden(directory)).collect()
        })
    }

    /// Returns the places that list directories below one: in kustomizations of the repo, and in
    /// agents' objects that add components.
    pub(super) fn listings_below<'b>(
        &'b self,
        top: &'b Utf8Path,
    ) -> Vec<(Utf8PathBuf, Listing<'b>)> {
        let mut listings = self.builds.listings_below(top);
        let added = self.added.iter().filter(|(listed, ..)| listed.starts_with(top));
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
        self.settings.flux.is_source(&reference)
    }

    /// Returns the directory of a root's patches, relative to the repo's root.
    pub(super) fn patches_of(&self, root: &Utf8Path) -> Utf8PathBuf {
        self.settings.output.join(layout::declared_directory(root))
    }
}

/// Returns the kustomizations of the output that sipgen may write, without those in the directories
/// of clusters' services.
pub(crate) fn kustomizations_of_output<'a>(
    settings: &'a Settings,
    builds: &'a Builds,
    clusters: impl Iterator<Item = &'a ClusterKey>,
) -> impl Iterator<Item = Utf8PathBuf> {
    let Settings { output, hosts, gitops, outputs, .. } = settings;
    let clusters = clusters.flat_map(|cluster| {
        let tenant = layout::tenant_directory(cluster);
        [
            layout::cluster_directory(cluster),
            layout::observed_directory(cluster),
            tenant.join(layout::CLUSTER_API),
            tenant.join(layout::ENDPOINTS).with_file_name(""),
        ]
    });
    let definitions = ServiceKind::all().iter().filter_map(|kind| kind.definitions.clone());
    let site_outputs = outputs.iter().filter(|output| output.scope == OutputScope::Site);
    let declared = builds.roots().map(|root| layout::declared_directory(&root.directory));
    let directories = clusters
        .chain(definitions.map(Utf8PathBuf::from))
        .chain(site_outputs.map(|output| site_directory(&output.name)))
        .chain(gitops.map(layout::agent_directory))
        .chain([layout::released_directory()]);
    let files = directories.map(|directory| directory.join(layout::KUSTOMIZATION));
    let files = files.chain(declared.map(|directory| directory.join(hosts.form.file_name())));
    files.map(|file| output.join(file))
}

/// Formats a directory for messages.
pub(super) fn shown(directory: &Utf8Path) -> String {
    if directory.as_str().is_empty() { "the repo's root".to_owned() } else { directory.to_string() }
}
