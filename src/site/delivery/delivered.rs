//! Directories of the output, except declared hosts, that the repo's own objects apply.
//!
//! sipgen writes an object for each directory that is not applied yet. A second object for the same
//! directory may differ in pruning.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};

use super::applied::{AppliedDirectory, ObjectOption, PlainDirectory};
use super::apply_options;
use super::repo::{DeliveryRepo, shown};
use crate::base::api::names::HostKey;
use crate::base::finding::{Code, Finding, Place};
use crate::base::layout;
use crate::base::layout::outputs::SITE;

/// Directories of the output that the repo's own objects apply, by object.
#[derive(Debug, Default)]
pub struct DeliveredOutput {
    appliers: Vec<OutputApplier>,
    /// Directories that objects of the chosen agent apply; set if those below are applied too.
    by_chosen: BTreeMap<Utf8PathBuf, bool>,
}

/// An object of the repo that applies directories of the output.
#[derive(Debug)]
pub(super) struct OutputApplier {
    by: String,
    place: Place,
    /// Set if its agent is that of the settings.
    is_chosen: bool,
    options: Vec<ObjectOption>,
    directories: Vec<DeliveredDirectory>,
}

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
    /// Returns whether the chosen agent applies a directory by one of the repo's own objects. The
    /// path is relative to the output directory.
    pub fn has(&self, directory: &Utf8Path) -> bool {
        let is_applied = |above: &Utf8Path| {
            self.by_chosen.get(above).is_some_and(|all_below| *all_below || above == directory)
        };
        directory.ancestors().any(is_applied)
    }

    /// Returns whether none of the repo's own objects applies a directory.
    pub(crate) fn is_empty(&self) -> bool {
        self.appliers.is_empty()
    }

    /// Adds what an object applies.
    pub(super) fn add(
        &mut self,
        applied: &AppliedDirectory,
        is_chosen: bool,
        directories: Vec<DeliveredDirectory>,
    ) {
        if is_chosen {
            for DeliveredDirectory { path, all_below, .. } in &directories {
                *self.by_chosen.entry(path.clone()).or_default() |= all_below;
            }
        }
        if !directories.is_empty() {
            let (by, place) = (applied.by.clone(), applied.place.clone());
            let options = applied.options.clone();
            self.appliers.push(OutputApplier { by, place, is_chosen, options, directories });
        }
    }

    /// Reports the objects that apply directories which sipgen writes. `written` are these, relative
    /// to the output directory, with the observed hosts in them.
    pub(crate) fn findings(
        &self,
        output: &Utf8Path,
        mut written: WrittenDirectories<'_>,
    ) -> Vec<Finding> {
        let kinds = kinds();
        written.retain(|directory, _| kinds.iter().any(|kind| directory.starts_with(kind)));
        let mut findings = Vec::new();
        let mut renderers: BTreeMap<&Utf8Path, &OutputApplier> = BTreeMap::new();
        for applier in &self.appliers {
            let applied =
                applier.directories.iter().flat_map(|directory| directory.among(&written));
            // A kustomization may list one twice.
            let applied: BTreeMap<&Utf8Path, &[&HostKey]> = applied.collect();
            let hosts: Vec<&HostKey> = applied.values().flat_map(|it| it.iter().copied()).collect();
            findings.extend(apply_options::findings(&applier.by, &applier.options, &hosts));
            if applier.is_chosen {
                let is_written = |it: &&DeliveredDirectory| it.among(&written).next().is_some();
                let directories = applier.directories.iter().filter(is_written);
                findings.extend(directories.map(|directory| applier.warning(output, directory)));
            }
            let observed = applied.iter().filter(|(_, hosts)| !hosts.is_empty());
            let other = observed.clone().find_map(|(it, _)| Some((*it, *renderers.get(it)?)));
            findings.extend(other.map(|(directory, other)| {
                let (one, other) = ((&applier.by, &applier.place), (&other.by, &other.place));
                two_appliers(one, other, &output.join(directory))
            }));
            renderers.extend(observed.map(|(directory, _)| (*directory, applier)));
        }
        findings
    }
}

/// Directories that sipgen writes, with the observed hosts in them.
pub(crate) type WrittenDirectories<'a> = BTreeMap<&'a Utf8Path, Vec<&'a HostKey>>;

/// Returns the directories with more than declared hosts and agents' objects.
fn kinds() -> [Utf8PathBuf; 4] {
    [layout::CLUSTERS.into(), layout::CRDS.into(), SITE.into(), layout::all_observed()]
}

/// Reports two objects that render the same hosts.
pub(super) fn two_appliers(
    (by, place): (&String, &Place),
    (other, other_place): (&String, &Place),
    directory: &Utf8Path,
) -> Finding {
    let here = shown(directory);
    let message =
        format!("{by} applies {here}, and {other} applies hosts of it: each reverts the other");
    Finding::new(Code::TwoAppliers, message)
        .at(place.clone())
        .see(other_place.clone(), "the other one")
        .help(
            "remove one of them, after you disabled its pruning as in docs/how-to/existing-repo.md",
        )
}

impl OutputApplier {
    /// Warns about a directory for which sipgen writes no object.
    fn warning(&self, output: &Utf8Path, directory: &DeliveredDirectory) -> Finding {
        let path = output.join(&directory.path);
        let is_service =
            directory.path.starts_with(layout::CLUSTERS) && directory.path.components().count() > 3;
        let what = match is_service {
            true => "so does sipgen's object of the cluster",
            false => "sipgen writes no object for it",
        };
        let message = format!("{} applies {path}: {what}", self.by);
        let finding = Finding::new(Code::DeliveredElsewhere, message).at(self.place.clone()).help(if is_service {
            "apply the directory of the whole cluster instead, or nothing of it"
        } else if directory.is_of(&layout::all_observed()) {
            "it must never prune, because deleted hosts are powered off, and waits for services only by `dependsOn` or sync waves; to use sipgen's own object, hand over as in docs/how-to/existing-repo.md"
        } else {
            "hosts are labelled without waiting for it; to use sipgen's own object, hand over as in docs/how-to/existing-repo.md"
        });
        finding.see_each(directory.listed.iter().map(|it| (it.clone(), "where it is listed")))
    }
}

impl DeliveredDirectory {
    pub(super) fn contains(&self, directory: &Utf8Path) -> bool {
        self.path == directory || (self.all_below && directory.starts_with(&self.path))
    }

    /// Returns those of some directories that it applies.
    fn among<'w>(
        &'w self,
        written: &'w WrittenDirectories<'w>,
    ) -> impl Iterator<Item = (&'w Utf8Path, &'w [&'w HostKey])> {
        // Directories below a directory follow it.
        let from = written.range(self.path.as_path()..);
        let applied = from.take_while(|(directory, _)| self.contains(directory));
        applied.map(|(directory, hosts)| (*directory, hosts.as_slice()))
    }

    /// Returns whether it is in the directory `kind`, or applies all of that.
    fn is_of(&self, kind: &Utf8Path) -> bool {
        self.path.starts_with(kind) || self.contains(kind)
    }

    /// Returns whether it has more than declared hosts and agents' objects.
    pub(super) fn applies_more_than_declared_hosts(&self) -> bool {
        kinds().iter().any(|kind| self.is_of(kind))
    }
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
        all_below: matches!(applied.plain, PlainDirectory::Autodetect(_)),
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
