//! Directories that objects of the repo make Flux or Argo CD apply.
//!
//! An object may concern another repo or cluster with directories of the same names. The settings
//! name the source and the cluster of this site.

use camino::{Utf8Path, Utf8PathBuf};
use serde::de::IgnoredAny;

use super::agent_objects::{AgentObject, AgentObjectContent};
use super::applied::{AppliedDirectory, Exclusion, PlainDirectory};
use super::apply_options;
use super::build_changes::BuildChanges;
use super::clusters::ArgocdCluster;
use super::exclusion;
use super::generators;
use super::includes::{self, IncludeTarget};
use super::overrides::OverriddenSource;
use super::paths::{in_repo, matching_directories, plain_path, within_source};
use super::repo::DeliveryRepo;
use crate::base::api::flux::HelmRelease;
use crate::base::api::gitops::{
    AgentManifest, AgentObjectName, ApplicationDestination, ApplicationSource, ApplicationTemplate,
    DirectorySource, FluxKustomization, FluxKustomizationSpec, GitDirectory, GitopsAgent,
};
use crate::base::finding::{Origin, Place, RouteStep};
use crate::base::text::{expanded, non_empty};
use crate::input::kustomize::join;
use crate::input::load::EntryKind;
use crate::input::settings::gitops::SourceRef;

/// Kind of Flux's objects in messages.
pub(super) const FLUX: &str = "Flux Kustomization";

/// File that makes a directory a Helm chart.
const CHART: &str = "Chart.yaml";

/// Returns the directories that the objects make agents apply.
pub(super) fn directories(
    repo: &DeliveryRepo<'_>,
    objects: Vec<AgentObject>,
) -> Vec<AppliedDirectory> {
    let mut applied = Vec::new();
    let mut omitted = Vec::new();
    for AgentObject { origin, content, omitted_by } in
        objects.into_iter().filter(|object| !repo.builds.is_patch(&object.origin.file))
    {
        let known = applied.len();
        match content {
            AgentObjectContent::Flux(objects) => {
                let objects = objects.into_iter();
                applied.extend(objects.filter_map(|object| by_flux(repo, &origin, object)));
            }
            AgentObjectContent::Instance(made) => {
                let place = origin.at(["spec", "sync", "path"]);
                let found = by_flux(repo, &origin, made.kustomization);
                applied.extend(found.map(|applied| AppliedDirectory { place, ..applied }));
            }
            AgentObjectContent::HelmRelease(release) => {
                applied.extend(by_helm_release(repo, &origin, *release))
            }
            AgentObjectContent::Application(object) => {
                let by = named("Application", &object.metadata);
                let AgentManifest { metadata, spec, .. } = *object;
                let application = ApplicationTemplate { metadata, spec };
                applied.extend(by_argocd(repo, &origin, &["spec"], &by, &application));
            }
            AgentObjectContent::ApplicationSet(object) => {
                let route = ["spec", "template", "spec"];
                let by = named("ApplicationSet", &object.metadata);
                let mut made: Vec<(String, AppliedDirectory)> = Vec::new();
                for parameters in generators::parameters(repo, &object.spec.generators) {
                    let fill = |template: &mut _| generators::fill_value(template, &parameters);
                    let template = object.spec.filled_template(fill);
                    let Some(template) = template else { continue };
                    let found = by_argocd(repo, &origin, &route, &by, &template).into_iter();
                    made.extend(found.map(|applied| (template.metadata.name.clone(), applied)));
                }
                // Several clusters may get the same directory. The one for the base cluster is
                // kept.
                made.sort_by_cached_key(|(name, applied)| {
                    (applied.directory.clone(), applied.exclusion.is_some(), name.clone())
                });
                made.dedup_by(|(later_name, later), (name, kept)| {
                    let is_same = later.exclusion.is_some() || later_name == name;
                    is_same && later.directory == kept.directory && later.place == kept.place
                });
                let is_one_of_several =
                    made.windows(2).any(|two| two[0].1.directory != two[1].1.directory);
                let several = made.into_iter();
                applied.extend(
                    several.map(|(_, applied)| AppliedDirectory { is_one_of_several, ..applied }),
                );
            }
            AgentObjectContent::Source(_)
            | AgentObjectContent::Cluster(_)
            | AgentObjectContent::ArgocdSettings(_)
            | AgentObjectContent::ArgocdProject(_)
            | AgentObjectContent::Unreadable(_) => {}
        }
        let is_omitted = omitted_by.is_some();
        let beside = || repo.builds.kustomization_file(origin.file.parent()?);
        let is_listed = !repo.builds.reach(&origin.file).is_empty();
        let kustomization = if is_listed { None } else { omitted_by.or_else(beside) };
        omitted.extend(kustomization.map(|it| (known..applied.len(), it, is_omitted)));
    }
    for (objects, kustomization, is_omitted) in omitted {
        exclusion::exclude_omitted(repo.builds, &mut applied, objects, &kustomization, is_omitted);
    }
    exclusion::exclude_remote(repo, &mut applied);
    applied
}

/// Returns the directories of components, which are relative to the kustomization's directory.
fn components(
    directory: &Utf8Path,
    listed: Option<Vec<String>>,
    place: impl Fn(usize) -> Place,
) -> Vec<(Utf8PathBuf, Place)> {
    let listed = listed.into_iter().flatten().enumerate();
    listed.filter_map(|(index, path)| Some((join(directory, &path)?, place(index)))).collect()
}

fn named(kind: &str, metadata: &AgentObjectName) -> String {
    match &metadata.namespace {
        Some(namespace) => format!("{kind} {namespace}/{}", metadata.name),
        None => format!("{kind} {}", metadata.name),
    }
}

fn by_flux(
    repo: &DeliveryRepo<'_>,
    origin: &Origin,
    object: FluxKustomization,
) -> Option<AppliedDirectory> {
    let flux = &repo.settings.flux;
    let FluxKustomization { metadata, spec, .. } = &object;
    let by = named(FLUX, metadata);
    let source = includes::reference(&spec.source_ref, metadata);
    let path = within_source(spec.path.as_deref().unwrap_or_default());
    let target = includes::target(repo, &source, path.as_str());
    let (path, is_ours) = match &target {
        IncludeTarget::Here(path) => (path, true),
        IncludeTarget::Elsewhere | IncludeTarget::Itself => {
            (&path, flux.is_source(&source) || includes::is_same_repo(repo, &source))
        }
    };
    let (directory, above) = in_repo(path.as_str(), &flux.path)?;
    // Flux refuses a path that is no directory.
    if repo.files.kind(&directory) == Some(EntryKind::File) {
        return None;
    }
    // The settings need no source before sipgen writes Kustomizations, so the default proves
    // nothing. Root directories are excluded, because every repo has one.
    let is_unsaid =
        repo.settings.gitops != Some(GitopsAgent::Flux) && flux.source_ref == SourceRef::default();
    let exclusion = if is_root(&directory) && !is_ours {
        return None;
    } else if !is_ours && !is_unsaid {
        Some(Exclusion::OtherSource("flux.sourceRef"))
    } else if matches!(target, IncludeTarget::Elsewhere) {
        Some(Exclusion::Included)
    } else if spec.kube_config.is_some() {
        Some(Exclusion::OtherCluster("its `kubeConfig`"))
    } else {
        spec.suspend.then_some(Exclusion::Suspended)
    };
    let depends_on = spec.depends_on.iter().flatten().map(|needed| AgentObjectName {
        namespace: needed.namespace.clone().or(metadata.namespace.clone()),
        ..needed.clone()
    });
    Some(AppliedDirectory {
        agent: GitopsAgent::Flux,
        changes: Some(Box::new(BuildChanges::from_flux(
            by.clone(),
            directory.clone(),
            origin,
            &object,
        ))),
        by,
        place: origin.at(["spec", "path"]),
        exclusion,
        components: components(&directory, spec.components.clone(), |index| {
            origin.at(["spec".into(), "components".into(), RouteStep::from(index)])
        }),
        options: apply_options::from_flux(repo.settings, origin, spec),
        directory,
        depends_on: depends_on.map(|needed| named(FLUX, &needed)).collect(),
        is_generated: false,
        is_one_of_several: false,
        above,
        plain: PlainDirectory::Autodetect(repo.ignored.clone()),
        explicit: None,
        default_namespace: None,
        decryption: spec.decryption.clone(),
    })
}

/// Returns the directory of a chart that Flux installs.
fn by_helm_release(
    repo: &DeliveryRepo<'_>,
    origin: &Origin,
    release: HelmRelease,
) -> Option<AppliedDirectory> {
    let HelmRelease { kind, metadata, spec } = release;
    let place = match spec.chart {
        Some(_) => origin.at(["spec", "chart", "spec", "chart"]),
        None => origin.at(["spec", "chartRef"]),
    };
    let find = || {
        let source = includes::reference(spec.chart_ref.as_ref()?, &metadata);
        includes::named_source(repo, &source)
    };
    let chart = spec.chart.as_ref().or_else(find)?;
    let source_ref = chart.spec.source_ref.clone()?;
    // A chart of a Helm repository has a name in the place of a path.
    if source_ref.kind.as_deref() == Some("HelmRepository") {
        return None;
    }
    let object = FluxKustomization {
        kind,
        metadata: metadata.clone(),
        spec: FluxKustomizationSpec {
            path: chart.spec.chart.clone(),
            source_ref,
            suspend: spec.suspend,
            kube_config: spec.kube_config.map(|_| IgnoredAny),
            ..FluxKustomizationSpec::default()
        },
    };
    Some(AppliedDirectory {
        by: named("HelmRelease", &object.metadata),
        place,
        plain: PlainDirectory::Rendered("Helm"),
        options: Vec::new(),
        changes: None,
        ..by_flux(repo, origin, object)?
    })
}

fn is_root(directory: &Utf8Path) -> bool {
    directory.as_str().is_empty()
}

/// Returns the directories of an Application, for which the object `by` stands in messages.
fn by_argocd(
    repo: &DeliveryRepo<'_>,
    origin: &Origin,
    route: &[&str],
    by: &str,
    application: &ApplicationTemplate,
) -> Vec<AppliedDirectory> {
    let ApplicationTemplate { metadata, spec } = application;
    let argocd = &repo.settings.argocd;
    let one = spec.source.iter().map(|source| (vec!["source".into()], source));
    let several = spec.sources.as_deref().unwrap_or_default().iter().enumerate();
    let several = several.map(|(index, source)| (vec!["sources".into(), index.into()], source));
    let hydrated = spec
        .source_hydrator
        .iter()
        .map(|hydrator| (vec!["sourceHydrator".into(), "drySource".into()], &hydrator.dry_source));
    // As in Argo CD, one of these fields replaces those after it.
    let all: [Vec<(Vec<RouteStep>, &ApplicationSource)>; 3] =
        [hydrated.collect(), several.collect(), one.collect()];
    let sources = all.into_iter().find(|sources| !sources.is_empty()).unwrap_or_default();
    let default_namespace = spec.destination.namespace.clone();
    let default_namespace = default_namespace
        .filter(|namespace| !namespace.is_empty() && !namespace.contains("{{"))
        .map(|namespace| (namespace, origin.at([route, &["destination", "namespace"]].concat())));
    let project = spec.project.as_deref().unwrap_or("default");
    let options = [
        apply_options::from_argocd(repo.settings, origin, route, spec),
        apply_options::from_argocd_settings(repo, project),
    ]
    .concat();
    let mut applied = Vec::new();
    for (at, source) in sources {
        let steps = |fields: &[&str]| -> Vec<RouteStep> {
            let keys = |keys: &[&str]| keys.iter().map(|key| RouteStep::from(*key)).collect();
            [keys(route), at.clone(), keys(fields)].concat()
        };
        let place = |fields: &[&str]| origin.at(steps(fields));
        // Without `argocd.repoURL`, every source counts. A parameter may resolve to this repo.
        let is_url = argocd
            .repo_url
            .as_ref()
            .map(|url| url.is_same_repo(&source.repo_url) || source.repo_url.contains("{{"));
        let exclusion = if is_url == Some(false) {
            Some(Exclusion::OtherSource("argocd.repoURL"))
        } else {
            (!is_base_cluster(repo, &spec.destination))
                .then_some(Exclusion::OtherCluster("`argocd.destination`"))
        };
        let is_undecided = source.path.as_ref().is_some_and(|path| path.contains("{{"));
        let exclusion = exclusion.or(is_undecided.then_some(Exclusion::Undecided));
        // Argo CD refuses an absolute path.
        for path in paths(repo, source).into_iter().filter(|path| !path.starts_with('/')) {
            let Some((directory, above)) = in_repo(&path, &argocd.path) else { continue };
            // Argo CD follows links within the repo.
            let directory = repo.files.resolve(&directory).unwrap_or(directory);
            if is_root(&directory) && is_url != Some(true) {
                continue;
            }
            let read = || OverriddenSource::read(repo.files, &directory, &metadata.name, source);
            let overridden = is_root(&above).then(read).flatten();
            let source = overridden.as_ref().map_or(source, |overridden| &overridden.source);
            // Without `recurse`, Argo CD does not reach the repo below a directory above it.
            let recurses = source.directory.as_ref().is_some_and(|directory| directory.recurse);
            if !is_root(&above) && !recurses {
                continue;
            }
            let kustomize = source.kustomize.clone().unwrap_or_default();
            let by = match &overridden {
                Some(overridden) => format!("Argo CD's {by} (with `{}`)", overridden.file),
                None => format!("Argo CD's {by}"),
            };
            let changes = source.kustomize.as_ref().map(|options| {
                let (by, directory) = (by.clone(), directory.clone());
                let (route, overridden) = (steps(&["kustomize"]), overridden.as_ref());
                BuildChanges::from_argocd(by, directory, origin, &route, overridden, options)
            });
            // As in Argo CD's `ExplicitType`, `directory` wins over files that suggest another
            // type.
            let is_explicit = source.directory.is_some() && source.kustomize.is_none();
            // A directory with both is a kustomization to Argo CD.
            let is_chart = || {
                repo.files.kind(&directory.join(CHART)).is_some()
                    && repo.builds.kustomization_file(&directory).is_none()
            };
            let plain = if is_explicit {
                PlainDirectory::Files(source.directory.clone().unwrap_or_default())
            } else if source.plugin.is_some() {
                PlainDirectory::Rendered("a config management plugin")
            } else if source.helm.is_some() || source.kustomize.is_none() && is_chart() {
                PlainDirectory::Rendered("Helm")
            } else {
                PlainDirectory::Files(DirectorySource::default())
            };
            applied.push(AppliedDirectory {
                agent: GitopsAgent::Argocd,
                by,
                place: place(&["path"]),
                exclusion: exclusion.clone(),
                components: components(&directory, kustomize.components, |_| {
                    place(&["kustomize", "components"])
                }),
                directory,
                depends_on: Vec::new(),
                is_generated: route.len() > 1,
                is_one_of_several: false,
                above,
                explicit: is_explicit.then(|| place(&["directory"])),
                default_namespace: default_namespace
                    .clone()
                    .filter(|_| non_empty(&kustomize.namespace).is_none()),
                options: options.clone(),
                changes: changes.map(Box::new),
                decryption: None,
                plain,
            });
        }
    }
    applied
}

/// Returns whether a destination is the base cluster, by name or by URL. Secrets of the repo relate
/// the two.
fn is_base_cluster(repo: &DeliveryRepo<'_>, destination: &ApplicationDestination) -> bool {
    let own = &repo.settings.argocd.destination;
    let renamed =
        |cluster: &ArgocdCluster| cluster.renamed(destination).is_some_and(|other| own.is(&other));
    own.is(destination) || repo.context.clusters.iter().any(renamed)
}

/// Returns the path of a source, or all directories that match if it contains an unknown parameter.
fn paths(repo: &DeliveryRepo<'_>, source: &ApplicationSource) -> Vec<String> {
    let Some(path) = &source.path else { return Vec::new() };
    let Some(glob) = expanded(path, "{{", "}}", |_| Some("*".to_owned())) else {
        return Vec::new();
    };
    if glob == *path {
        return vec![glob];
    }
    let matching = matching_directories(
        repo.source_directories(),
        &[GitDirectory { path: plain_path(&glob), exclude: false }],
    );
    matching.into_iter().map(Utf8PathBuf::to_string).collect()
}
