//! Objects that seem to apply this repo's files to the base cluster but do not.

use std::ops::Range;
use std::sync::Arc;

use camino::Utf8Path;

use super::applied::{AppliedDirectory, Exclusion};
use super::repo::{DeliveryRepo, shown};
use crate::base::api::gitops::{ApplicationDestination, GitopsAgent};
use crate::base::finding::{Code, Finding};
use crate::base::grouping::grouped;
use crate::input::kustomize::Builds;
use crate::input::settings::gitops::IN_CLUSTER;

/// Excludes the objects of a file that a kustomization does not list, although it lists others beside
/// it, for which `is_sure` is set, or an agent applies it.
pub(super) fn exclude_omitted(
    builds: &Builds,
    applied: &mut [AppliedDirectory],
    objects: Range<usize>,
    kustomization: &Arc<Utf8Path>,
    is_sure: bool,
) {
    let applies_it = |it: &AppliedDirectory| {
        it.is_of_site()
            && Some(it.directory.as_path()) == kustomization.parent()
            && it.is_build(builds)
    };
    if !is_sure && !applied.iter().any(applies_it) {
        return;
    }
    for index in objects {
        let object = &applied[index];
        // An object may be what applies the kustomization, after somebody applied its file.
        let is_root = kustomization.starts_with(&object.directory)
            || kustomization
                .parent()
                .is_some_and(|directory| builds.made_of(&object.directory).contains(directory));
        let is_read = || {
            let mut all = applied.iter();
            all.any(|it| it.is_of_site() && it.applies_plainly(builds, object.file()))
        };
        if object.is_of_site() && !is_root && !is_read() {
            applied[index].exclusion = Some(Exclusion::Omitted(kustomization.clone()));
        }
    }
}

/// Excludes objects that are only applied to other clusters: without a destination of their own, they
/// apply their directories there.
pub(super) fn exclude_remote(repo: &DeliveryRepo<'_>, applied: &mut [AppliedDirectory]) {
    if !applied.iter().any(AppliedDirectory::is_elsewhere) {
        return;
    }
    let own = ApplicationDestination {
        server: Some(IN_CLUSTER.0.to_owned()),
        ..ApplicationDestination::default()
    };
    let is_own = repo.settings.argocd.destination.is(&own);
    let moves_along =
        |it: &AppliedDirectory| it.is_of_site() && (it.agent == GitopsAgent::Flux || is_own);
    let in_file = applied.iter().enumerate().map(|(index, it)| (it.file().clone(), index));
    let in_file = grouped(in_file);
    let delivering = applied.iter().enumerate().flat_map(|(by, it)| {
        let built = it.is_build(repo.builds).then(|| repo.builds.below(&it.directory));
        // An object may apply its own file, after somebody applied that.
        let others = in_file.keys().filter(|file| *file != it.file() || it.is_of_site());
        let delivered: Vec<&Arc<Utf8Path>> = match &built {
            Some(built) => others.filter(|file| built.contains_key(&***file)).collect(),
            None => others.filter(|file| it.applies_unbuilt(repo.builds, file)).collect(),
        };
        delivered.into_iter().map(move |file| (file, by))
    });
    let delivering = grouped(delivering);
    loop {
        let is_here = |by: &usize| {
            let exclusion = applied[*by].exclusion.as_ref();
            matches!(exclusion, None | Some(Exclusion::Suspended | Exclusion::Undecided))
        };
        let remote = delivering.iter().filter_map(|(file, by)| {
            let parent = by.iter().find(|by| applied[**by].is_elsewhere())?;
            let mut moved = in_file[*file].iter().filter(|it| moves_along(&applied[**it]));
            (!by.iter().any(is_here) && moved.next().is_some())
                .then(|| (*file, applied[*parent].by.clone()))
        });
        // What they apply may have further objects.
        let remote: Vec<(&Arc<Utf8Path>, String)> = remote.collect();
        if remote.is_empty() {
            return;
        }
        for (file, parent) in remote {
            for index in &in_file[file] {
                if moves_along(&applied[*index]) {
                    applied[*index].exclusion = Some(Exclusion::InOtherCluster(parent.clone()));
                }
            }
        }
    }
}

/// Warns about an object that applies directories with the names of this repo's, but from another
/// source or to another cluster. A suspended object needs no warning.
pub(super) fn excluded(applied: &AppliedDirectory) -> Option<Finding> {
    let (here, by, place) = (shown(&applied.directory), &applied.by, &applied.place);
    let ignored = |what: String| {
        format!("{by} {what}: it is ignored as belonging to another repo or cluster")
    };
    let (message, help) = match applied.exclusion.as_ref()? {
        Exclusion::Omitted(kustomization) => {
            let file = place.file();
            (
                format!("{kustomization} does not list {file}: {by} does not apply {here}"),
                format!("list {file} in `resources` of {kustomization}, or delete the object"),
            )
        }
        Exclusion::OtherSource(setting) => (
            ignored(format!("applies {here} of a source other than the one in `{setting}`")),
            format!(
                "if it is {here} of this repo, write its source into `{setting}`: otherwise the same hosts are applied twice"
            ),
        ),
        Exclusion::OtherCluster(cluster) => (
            ignored(format!("applies {here} to another cluster, by {cluster}")),
            format!("if it is the base cluster, name it as in {cluster}"),
        ),
        Exclusion::InOtherCluster(parent) => (
            ignored(format!(
                "applies {here} to another cluster, to which {parent} applies the object"
            )),
            format!(
                "if {here} is for the base cluster, let an object of that cluster apply {}",
                place.file()
            ),
        ),
        Exclusion::Included => (
            ignored(format!("applies {here} of another repo, which its source includes there")),
            format!(
                "if it is {here} of this repo, set the `toPath` of the include to another directory"
            ),
        ),
        Exclusion::Undecided => (
            ignored(format!(
                "may apply {here}: its path has a parameter that sipgen cannot evaluate"
            )),
            format!(
                "if it is {here} of this repo, name the path in a list or git generator, or mute this warning"
            ),
        ),
        Exclusion::Suspended => return None,
    };
    Some(Finding::new(Code::SetAside, message).at(place.clone()).help(help))
}
