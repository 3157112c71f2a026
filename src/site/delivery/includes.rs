//! Flux GitRepositories that copy other repos into their checkout.
//!
//! The rules are those of source-controller 1.7: `reconcileInclude` copies the included artifacts
//! into the checkout before `.sourceignore` and `spec.ignore` apply. `Storage.CopyToPath` renames
//! the copy to its target, which fails if that is a directory with files.

use camino::{Utf8Path, Utf8PathBuf};

use super::paths::plain_path;
use super::repo::DeliveryRepo;
use crate::base::api::flux::{FluxSource, Include};
use crate::base::api::gitops::{AgentObjectName, FluxSourceRef, GIT_REPOSITORY};
use crate::base::finding::{Code, Finding, Origin, RouteStep};
use crate::base::text::repo_url;
use crate::input::settings::gitops::SourceRef;

/// The target of a path in a source.
pub(super) enum IncludeTarget {
    /// A file of this repo, by its path in the source of the settings.
    Here(Utf8PathBuf),
    /// A path in another repo, which is copied into this one.
    Elsewhere,
    /// The source's own file, without an include.
    Itself,
}

/// Returns an object's reference to a source, with the namespace that it means.
pub(super) fn reference(source: &FluxSourceRef, object: &AgentObjectName) -> FluxSourceRef {
    let namespace = source.namespace.clone().or(object.namespace.clone());
    FluxSourceRef { namespace, ..source.clone() }
}

/// Resolves a path of a source through includes.
pub(super) fn target(repo: &DeliveryRepo<'_>, source: &FluxSourceRef, path: &str) -> IncludeTarget {
    let flux = &repo.settings.flux;
    let path = in_source(path);
    let is_ours = flux.is_source(source);
    let Some(object) = named_source(repo, source) else { return IncludeTarget::Itself };
    let below = |include: &'_ Include| {
        Utf8Path::new(&path).strip_prefix(in_source(include.target())).ok().map(Utf8Path::to_owned)
    };
    for include in object.spec.include.iter().flatten() {
        let Some(rest) = below(include) else { continue };
        if is_ours {
            // The settings may name a source that includes this repo.
            let is_this_repo = flux.path.starts_with(in_source(include.target()));
            return if is_this_repo { IncludeTarget::Itself } else { IncludeTarget::Elsewhere };
        }
        let included = FluxSourceRef {
            kind: Some(GIT_REPOSITORY.to_owned()),
            name: include.repository.name.clone(),
            namespace: object.metadata.namespace.clone().or(source.namespace.clone()),
        };
        if flux.is_source(&included) {
            return IncludeTarget::Here(
                Utf8PathBuf::from(in_source(&include.from_path)).join(rest),
            );
        }
    }
    IncludeTarget::Itself
}

/// Returns whether a source has the repo of the settings' source by another name, according to
/// their URLs. Without settings, the source of the repo's FluxInstance is this repo.
pub(super) fn is_same_repo(repo: &DeliveryRepo<'_>, source: &FluxSourceRef) -> bool {
    let context = repo.context;
    let find = |is_it: &dyn Fn(&FluxSource) -> bool| {
        let mut sources = context.sources.iter().chain(&context.instance_sources);
        sources.find(|(_, source)| is_it(source)).map(|(_, source)| source)
    };
    let is_it = |object: &FluxSource| is_named(object, source);
    let Some(own) = find(&|object| repo.is_source_of_settings(object)) else {
        return repo.settings.flux.source_ref == SourceRef::default()
            && context.instance_sources.iter().any(|(_, source)| is_it(source));
    };
    let url = |source: &'_ FluxSource| source.spec.url.clone();
    let urls = url(own).zip(find(&is_it).and_then(url));
    urls.is_some_and(|(own, other)| repo_url::is_same_repo(&own, &other))
}

/// Returns the source of the repo that a reference names.
pub(super) fn named_source<'a>(
    repo: &DeliveryRepo<'a>,
    source: &FluxSourceRef,
) -> Option<&'a FluxSource> {
    let mut sources = repo.context.sources.iter().map(|(_, object)| object);
    sources.find(|object| is_named(object, source))
}

/// Returns a path relative to the root of a source.
fn in_source(path: &str) -> String {
    plain_path(path.trim_start_matches('/'))
}

/// Returns whether a Kustomization's source reference names an object.
fn is_named(object: &FluxSource, source: &FluxSourceRef) -> bool {
    let is_there = match (&object.metadata.namespace, &source.namespace) {
        (Some(own), Some(named)) => own == named,
        _ => true,
    };
    object.kind == source.kind.as_deref().unwrap_or(GIT_REPOSITORY)
        && object.metadata.name == source.name
        && is_there
}

/// Reports an include of the repo's own source whose target is in the output.
pub(super) fn over_output(
    repo: &DeliveryRepo<'_>,
    origin: &Origin,
    source: &FluxSource,
) -> Option<Finding> {
    let flux = &repo.settings.flux;
    let output = flux.path.join(&repo.settings.output);
    let includes = source.spec.include.iter().flatten().enumerate();
    let (index, include, target) = includes
        .map(|(index, include)| (index, include, Utf8PathBuf::from(in_source(include.target()))))
        .find(|(_, _, target)| {
            let overlaps = output.starts_with(target) || target.starts_with(&output);
            overlaps && !flux.path.starts_with(target)
        })?;
    let message = format!(
        "the GitRepository `{}` copies `{}` to `{target}`, where sipgen writes: source-controller cannot put the copy in \
         the place of a directory, and fetches nothing",
        source.metadata.name, include.repository.name
    );
    let field = if include.to_path.is_empty() { "repository" } else { "toPath" };
    let route: [RouteStep; 4] = ["spec".into(), "include".into(), index.into(), field.into()];
    Some(
        Finding::new(Code::OutputNotInSource, message)
            .at(origin.at(route))
            .help("set `toPath` to a directory that this repo does not have, or another `output` in sipgen.yaml"),
    )
}
