//! The kustomizations, files and overlays that an agent applies from a directory.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};

use super::applied::{AppliedDirectory, PlainDirectory};
use super::paths::{IGNORE_FILE, SourcePatterns, source_contains};
use super::repo::DeliveryRepo;
use crate::base::api::names::HostKey;
use crate::base::finding::{Origin, Place};
use crate::base::grouping::grouped;
use crate::input::kustomize::{BuildRoot, Builds};
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

impl AppliedDirectory {
    /// Returns whether its directory is built as a kustomization, so that other files below it are
    /// ignored.
    pub(super) fn is_build(&self, builds: &Builds) -> bool {
        if self.explicit.is_some() || matches!(self.plain, PlainDirectory::Rendered(_)) {
            return false;
        }
        let is_here =
            self.above.as_str().is_empty() || matches!(self.plain, PlainDirectory::Autodetect);
        is_here && builds.has_kustomization(&self.directory)
    }
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
    /// Finds the overlays of some roots, by index.
    pub(super) fn new(repo: &DeliveryRepo<'_>, roots: &BTreeMap<usize, BuildRoot>) -> Self {
        if repo.settings.hosts.form == HostsForm::Component {
            return Self { roots: BTreeMap::new(), listed_by: BTreeMap::new() };
        }
        let top = repo.patches_of("".into());
        let listings = repo.listings_below(&top).into_iter();
        let overlay =
            |(index, root): (&usize, &BuildRoot)| (repo.patches_of(&root.directory), *index);
        Self {
            roots: roots.iter().map(overlay).collect(),
            listed_by: grouped(listings.map(|(listed, by)| (listed, by.directory.to_owned()))),
        }
    }
}

impl<'a> ReachedContent<'a> {
    pub(super) fn new(
        repo: &DeliveryRepo<'_>,
        builds: &'a Builds,
        documents: &'a [(HostKey, Origin)],
        overlays: &Overlays,
        applied: &'a AppliedDirectory,
    ) -> Self {
        let directory = applied.directory.as_path();
        let mut reached = Self {
            applied,
            kustomizations: BTreeSet::new(),
            tops: Vec::new(),
            built: BTreeSet::new(),
            plain: Vec::new(),
            overlays: BTreeSet::new(),
        };
        // Flux's autodetection finds a kustomization unless it is below another one.
        let is_detected = |path: &Utf8Path, is_kustomization: &dyn Fn(&Utf8Path) -> bool| {
            let above = path.ancestors().skip(1).take_while(|above| above.starts_with(directory));
            path.starts_with(directory) && !above.into_iter().any(is_kustomization)
        };
        let mut tops = Vec::new();
        if applied.is_build(builds) {
            tops.push(directory);
        } else {
            let below = |(_, origin): &&(HostKey, Origin)| origin.file.starts_with(directory);
            match &applied.plain {
                PlainDirectory::Autodetect => {
                    let has_kustomization = |above: &Utf8Path| builds.has_kustomization(above);
                    let directories = builds.directories();
                    tops.extend(directories.filter(|top| is_detected(top, &has_kustomization)));
                    // Flux's autodetection takes every YAML file that its source has.
                    let ignored = repo.files.text(IGNORE_FILE.into()).unwrap_or_default();
                    let ignored = SourcePatterns::new(&ignored);
                    let is_plain = |(_, origin): &&(HostKey, Origin)| {
                        origin.file.extension() != Some("json")
                            && !tops.iter().any(|top| origin.file.starts_with(top))
                            && ignored.excludes(&origin.file) != Some(true)
                    };
                    reached.plain.extend(documents.iter().filter(below).filter(is_plain));
                }
                PlainDirectory::Files(source) => {
                    let is_taken = |(_, origin): &&(HostKey, Origin)| {
                        origin
                            .file
                            .strip_prefix(directory)
                            .is_ok_and(|file| source_contains(source, &applied.above.join(file)))
                    };
                    reached.plain.extend(documents.iter().filter(is_taken));
                }
                PlainDirectory::Rendered(_) => {}
            }
        }
        for top in &tops {
            reached.built.extend(builds.below(top).into_keys());
            reached.kustomizations.extend(builds.made_of(top));
        }
        reached.tops = tops;
        let autodetects =
            matches!(applied.plain, PlainDirectory::Autodetect) && !applied.is_build(builds);
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
