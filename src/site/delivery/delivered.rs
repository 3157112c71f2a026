//! Directories of the output, except declared hosts, that the repo's own objects apply.
//!
//! sipgen writes an object for each directory that is not applied yet. A second object for the same
//! directory may differ in pruning.

use camino::{Utf8Path, Utf8PathBuf};

use super::applied::{AppliedDirectory, PlainDirectory};
use super::repo::DeliveryRepo;
use crate::base::finding::{Code, Finding, Place};
use crate::base::layout;

/// Directories of the output that the chosen agent applies by the repo's own objects.
#[derive(Debug, Default)]
pub struct DeliveredOutput(Vec<DeliveredDirectory>);

/// An output directory that is applied.
#[derive(Debug)]
pub(super) struct DeliveredDirectory {
    /// Path relative to the output directory.
    path: Utf8PathBuf,
    /// Set if directories below it are applied too.
    all_below: bool,
    /// Place in a kustomization of the repo that lists it, if it is applied as a part of that.
    listed: Option<Place>,
}

impl DeliveredOutput {
    /// Returns whether one of the repo's own objects applies a directory. The path is relative to
    /// the output directory.
    pub fn has(&self, directory: &Utf8Path) -> bool {
        self.0.iter().any(|delivered| delivered.contains(directory))
    }

    pub(super) fn add(&mut self, directories: Vec<DeliveredDirectory>) {
        self.0.extend(directories);
    }
}

impl DeliveredDirectory {
    fn contains(&self, directory: &Utf8Path) -> bool {
        self.path == directory || (self.all_below && directory.starts_with(&self.path))
    }

    /// Returns whether it is in the directory `kind`, or applies all of that.
    fn is_of(&self, kind: &Utf8Path) -> bool {
        self.path.starts_with(kind) || self.contains(kind)
    }

    fn has_observed_hosts(&self) -> bool {
        self.is_of(&layout::all_observed())
    }

    /// Returns whether it has more than declared hosts and agents' objects.
    pub(super) fn applies_more_than_declared_hosts(&self) -> bool {
        let others = [Utf8Path::new(layout::CLUSTERS), Utf8Path::new(layout::CRDS)];
        self.has_observed_hosts() || others.into_iter().any(|kind| self.is_of(kind))
    }
}

/// Returns whether an object applies the objects that sipgen writes for its agent. `directories` are
/// all that it applies.
pub(super) fn applies_agent_objects(
    applied: &AppliedDirectory,
    directories: &[DeliveredDirectory],
) -> bool {
    let own = layout::agent_directory(applied.agent);
    directories.iter().any(|directory| directory.contains(&own))
}

/// Returns the directories of the output that an object applies. `builds` tells which directories'
/// kustomizations it builds.
pub(super) fn delivered_directories(
    repo: &DeliveryRepo<'_>,
    applied: &AppliedDirectory,
    builds: impl Fn(&Utf8Path) -> bool,
) -> Vec<DeliveredDirectory> {
    let output = &repo.settings.output;
    let itself = applied.directory.strip_prefix(output).ok().map(|path| DeliveredDirectory {
        path: path.to_owned(),
        // Flux finds kustomizations in the whole tree. Argo CD builds only the directory.
        all_below: matches!(applied.plain, PlainDirectory::Autodetect),
        listed: None,
    });
    let listed = repo.builds.listings_below(output).into_iter().filter_map(|(listed, listing)| {
        let path = listed.strip_prefix(output).ok()?.to_owned();
        builds(listing.directory).then_some(DeliveredDirectory {
            path,
            all_below: false,
            listed: Some(listing.place),
        })
    });
    itself.into_iter().chain(listed).collect()
}

/// Warns about directories that an object applies already, for which sipgen writes no object.
pub(super) fn applied_already(
    repo: &DeliveryRepo<'_>,
    applied: &AppliedDirectory,
    directories: &[DeliveredDirectory],
) -> Vec<Finding> {
    let warn = |directory: &DeliveredDirectory| {
        let path = repo.settings.output.join(&directory.path);
        let finding = Finding::new(
            Code::DeliveredElsewhere,
            format!("{} applies {path}: sipgen writes no object for it", applied.by),
        )
        .at(applied.place.clone())
        .help(if directory.has_observed_hosts() {
            "it must never prune, because deleted hosts are powered off, and waits for services only with `dependsOn`; to use sipgen's own object, hand over as in docs/how-to/existing-repo.md"
        } else {
            "hosts are labelled without waiting for it; to use sipgen's own object, hand over as in docs/how-to/existing-repo.md"
        });
        finding.see_each(directory.listed.iter().map(|it| (it.clone(), "where it is listed")))
    };
    directories.iter().map(warn).collect()
}
