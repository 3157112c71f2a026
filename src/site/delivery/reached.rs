//! The kustomizations, files and overlays that an agent applies from a directory.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};

use super::applied::{AppliedDirectory, PlainDirectory};
use super::repo::DeliveryRepo;
use crate::base::api::names::HostKey;
use crate::base::finding::{Origin, Place};
use crate::base::grouping::grouped;
use crate::input::kustomize::Builds;
use crate::input::settings::gitops::HostsForm;

/// Content of a directory that an agent applies.
pub(crate) struct ReachedContent<'a> {
    pub(super) applied: &'a AppliedDirectory,
    /// Kustomizations that its builds consist of.
    pub(super) kustomizations: BTreeSet<&'a Utf8Path>,
    /// Directories of the outermost ones.
    pub(super) tops: Vec<&'a Utf8Path>,
    /// Files that they reach.
    pub(super) built: BTreeSet<Utf8PathBuf>,
    /// Hosts in files that are applied as they are.
    pub(super) plain: Vec<&'a (HostKey, Origin)>,
    /// Roots whose overlays it applies.
    pub(super) overlays: BTreeSet<usize>,
}

/// Returns the components that objects of agents add to kustomizations, with the place and the
/// kustomization's directory. Listings depend on them.
pub(super) fn added_components(
    repo: &DeliveryRepo<'_>,
    applied: &[AppliedDirectory],
) -> Vec<(Utf8PathBuf, Place, Utf8PathBuf)> {
    let is_here =
        |applied: &&AppliedDirectory| applied.exclusion.is_none() && applied.is_build(repo.builds);
    let applied = applied.iter().filter(is_here);
    let added = applied.flat_map(|applied| {
        let added = applied.components.iter();
        added.map(|(listed, place)| (listed.clone(), place.clone(), applied.directory.clone()))
    });
    added.collect()
}

/// Overlays of declared hosts.
pub(super) struct Overlays {
    /// Root indices by directory.
    roots: BTreeMap<Utf8PathBuf, usize>,
    /// Directories of the kustomizations that list each overlay.
    listed_by: BTreeMap<Utf8PathBuf, Vec<Utf8PathBuf>>,
}

impl Overlays {
    /// Finds the overlays of all roots.
    pub(super) fn new(repo: &DeliveryRepo<'_>) -> Self {
        if repo.settings.hosts.form == HostsForm::Component {
            return Self { roots: BTreeMap::new(), listed_by: BTreeMap::new() };
        }
        let top = repo.patches_of("".into());
        let listings = repo.listings_below(&top).into_iter();
        let roots = repo.builds.roots().enumerate();
        Self {
            roots: roots.map(|(index, root)| (repo.patches_of(&root.directory), index)).collect(),
            listed_by: grouped(listings.map(|(listed, by)| (listed, by.directory.to_owned()))),
        }
    }
}

impl<'a> ReachedContent<'a> {
    pub(super) fn new(
        builds: &'a Builds,
        documents: &'a [(HostKey, Origin)],
        overlays: &Overlays,
        applied: &'a AppliedDirectory,
    ) -> Self {
        let directory = applied.directory.as_path();
        // Flux's autodetection finds a kustomization unless it is below another one.
        let is_detected = |path: &Utf8Path, is_kustomization: &dyn Fn(&Utf8Path) -> bool| {
            let above = path.ancestors().skip(1).take_while(|above| above.starts_with(directory));
            path.starts_with(directory) && !above.into_iter().any(is_kustomization)
        };
        let is_build = applied.is_build(builds);
        let autodetects = !is_build && matches!(applied.plain, PlainDirectory::Autodetect(_));
        let has_kustomization = |above: &Utf8Path| builds.has_kustomization(above);
        let tops: Vec<&Utf8Path> = if is_build {
            vec![directory]
        } else {
            let is_top = |top: &&Utf8Path| autodetects && is_detected(top, &has_kustomization);
            builds.directories().filter(is_top).collect()
        };
        let is_plain = |(_, origin): &&(HostKey, Origin)| {
            !is_build && applied.applies_plainly(builds, &origin.file)
        };
        let mut reached = Self {
            applied,
            kustomizations: tops.iter().flat_map(|top| builds.made_of(top)).collect(),
            built: tops.iter().flat_map(|top| builds.below(top).into_keys()).collect(),
            tops,
            plain: documents.iter().filter(is_plain).collect(),
            overlays: BTreeSet::new(),
        };
        let is_overlay = |above: &Utf8Path| overlays.roots.contains_key(above);
        for (overlay, index) in &overlays.roots {
            let is_found = autodetects && is_detected(overlay, &is_overlay);
            let listed_by = overlays.listed_by.get(overlay).into_iter().flatten();
            let is_listed =
                || listed_by.clone().any(|by| reached.kustomizations.contains(by.as_path()));
            let is_built = !matches!(applied.plain, PlainDirectory::Rendered(_));
            if overlay == directory && is_built || is_found || is_listed() {
                reached.overlays.insert(*index);
            }
        }
        reached
    }
}
