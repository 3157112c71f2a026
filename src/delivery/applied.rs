//! The directories that objects of the repo tell Flux or Argo CD to apply.
//!
//! An object may be about another repo or another cluster, whose directories have the names that ours have: the settings
//! name the source and the cluster that are ours.

use std::collections::BTreeSet;

use crate::kustomize::Builds;
use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use globset::GlobBuilder;

use super::aside::Aside;
use super::clusters::Cluster;
use super::includes::{self, Target};
use super::{Repo, generators};
use crate::api::gitops::{
    APP_PROJECT, APPLICATION, APPLICATION_SET, ARGOCD_GROUP, Agent, AppProject, Application,
    ApplicationDestination, ApplicationSet, ApplicationSource, ApplicationSpec, BUCKET,
    DirectorySource, FLUX_GROUP, FLUX_KIND, FLUX_SOURCE_GROUP, FluxKustomization, FluxSource,
    GIT_REPOSITORY, GitDirectory, Named, OCI_REPOSITORY, SECRET_TYPE,
};
use crate::finding::{Origin, Place, Step};
use crate::kustomize::join;
use crate::load::Document;
use crate::settings::gitops::SourceRef;

/// An object of the repo that tells an agent what to apply.
#[derive(Clone)]
pub(crate) struct AgentObject {
    /// Where it stands.
    pub(crate) origin: Origin,
    content: Content,
}

#[derive(Clone)]
enum Content {
    Flux(FluxKustomization),
    Application(Application),
    ApplicationSet(Box<ApplicationSet>),
    Project(Box<AppProject>),
    Source(Box<FluxSource>),
    Cluster(Box<Cluster>),
}

impl AgentObject {
    /// Returns the Kustomization that it is, if it is one of Flux.
    pub(crate) fn flux(&self) -> Option<&FluxKustomization> {
        match &self.content {
            Content::Flux(kustomization) => Some(kustomization),
            _ => None,
        }
    }
}

/// The objects on which the meaning of others depends.
#[derive(Default)]
pub(super) struct Context {
    pub(super) projects: Vec<(Origin, AppProject)>,
    pub(super) sources: Vec<(Origin, FluxSource)>,
    pub(super) clusters: Vec<Cluster>,
}

impl Context {
    /// Takes those among objects that are no patches.
    pub(super) fn of(objects: &[AgentObject], builds: &Builds) -> Self {
        let mut context = Self::default();
        for AgentObject { origin, content } in objects
            .iter()
            .filter(|object| !builds.is_patch(&object.origin.file))
        {
            match content {
                Content::Project(project) => {
                    context.projects.push((origin.clone(), (**project).clone()))
                }
                Content::Source(source) => {
                    context.sources.push((origin.clone(), (**source).clone()))
                }
                Content::Cluster(cluster) => context.clusters.push((**cluster).clone()),
                Content::Flux(_) | Content::Application(_) | Content::ApplicationSet(_) => {}
            }
        }
        context
    }
}

/// A directory that an agent applies.
pub(crate) struct Applied {
    pub(crate) agent: Agent,
    /// The object that says so: `Flux Kustomization flux-system/infra`.
    pub(crate) by: String,
    /// Where it says so.
    pub(crate) place: Place,
    /// Why it is not taken to apply this repo's files to the base cluster.
    pub(crate) aside: Option<Aside>,
    /// Where it gives a namespace to all that it applies, and which.
    pub(crate) namespace: Option<(String, Place)>,
    /// Where it changes the names of all that it applies, and the field that does.
    pub(crate) renamed: Option<(&'static str, Place)>,
    /// The directory, relative to the repo's root.
    pub(crate) directory: Utf8PathBuf,
    /// The way to the repo from the directory that it names, when this is above the repo.
    pub(crate) above: Utf8PathBuf,
    /// How the directory is read when it is no kustomization; none when it is not read then.
    pub(crate) plain: Option<Plain>,
    /// Where it says `directory`, for which Argo CD reads plain files even where there is a kustomization.
    pub(crate) explicit: Option<Place>,
    /// The namespace of the object itself, where it says one.
    pub(crate) own_namespace: Option<String>,
    /// The directories of components that it adds to the kustomization, with the places that say so.
    pub(crate) components: Vec<(Utf8PathBuf, Place)>,
    /// How Flux decrypts Secrets for it.
    pub(crate) decryption: Option<yaml_serde::Value>,
}

/// How an agent reads a directory that is no kustomization.
#[derive(Debug, Clone)]
pub(crate) enum Plain {
    /// Flux: every kustomization below it, and every YAML file beside those.
    Autodetect,
    /// Argo CD: the files in it, or all below it, that match.
    Files(DirectorySource),
}

impl AgentObject {
    /// The object in a document, if it is one that tells an agent what to apply. One that cannot be read is for the
    /// agent to judge.
    pub(crate) fn read(document: &Document<'_>) -> Option<Self> {
        let content = match document.kind()? {
            FLUX_KIND if document.mentions(&[FLUX_GROUP]) => Content::Flux(document.parse().ok()?),
            APPLICATION if document.mentions(&[ARGOCD_GROUP]) => {
                Content::Application(document.parse().ok()?)
            }
            APPLICATION_SET if document.mentions(&[ARGOCD_GROUP]) => {
                Content::ApplicationSet(Box::new(document.parse().ok()?))
            }
            APP_PROJECT if document.mentions(&[ARGOCD_GROUP]) => {
                Content::Project(Box::new(document.parse().ok()?))
            }
            GIT_REPOSITORY | OCI_REPOSITORY | BUCKET if document.mentions(&[FLUX_SOURCE_GROUP]) => {
                Content::Source(Box::new(document.parse().ok()?))
            }
            "Secret" if document.mentions(&[SECRET_TYPE]) => {
                Content::Cluster(Box::new(Cluster::of(document.parse().ok()?)?))
            }
            _ => return None,
        };
        Some(Self {
            origin: document.origin.clone(),
            content,
        })
    }

    /// Returns whether it applies nothing, and decides what others apply.
    pub(crate) fn is_context(&self) -> bool {
        matches!(self.content, Content::Source(_) | Content::Cluster(_))
    }
}

/// The directories that the objects tell agents to apply.
pub(super) fn directories(repo: &Repo<'_>, objects: Vec<AgentObject>) -> Vec<Applied> {
    let mut applied = Vec::new();
    for AgentObject { origin, content } in objects
        .into_iter()
        .filter(|object| !repo.builds.is_patch(&object.origin.file))
    {
        match content {
            Content::Flux(object) => applied.extend(by_flux(repo, &origin, object)),
            Content::Application(object) => {
                let by = named("Application", &object.metadata);
                applied.extend(by_argocd(repo, &origin, &["spec"], &by, &object.spec));
            }
            Content::ApplicationSet(object) => {
                let by = named("ApplicationSet", &object.metadata);
                let route = ["spec", "template", "spec"];
                let mut made: Vec<Applied> = Vec::new();
                for parameters in generators::parameters(repo, &object.spec.generators, 0) {
                    let spec = generators::filled(&object.spec.template.spec, &parameters);
                    made.extend(by_argocd(repo, &origin, &route, &by, &spec));
                }
                // One for each cluster may apply one directory: that to the base cluster counts.
                made.sort_by(|one, other| {
                    let order =
                        |applied: &Applied| (applied.directory.clone(), applied.aside.is_some());
                    order(one).cmp(&order(other))
                });
                made.dedup_by(|later, kept| {
                    later.directory == kept.directory && later.place == kept.place
                });
                applied.extend(made);
            }
            Content::Project(_) | Content::Source(_) | Content::Cluster(_) => {}
        }
    }
    applied
}

/// The directories of components, which are relative to the directory of the kustomization.
fn components(
    directory: &Utf8Path,
    listed: Option<Vec<String>>,
    place: impl Fn(usize) -> Place,
) -> Vec<(Utf8PathBuf, Place)> {
    let listed = listed.into_iter().flatten().enumerate();
    listed
        .filter_map(|(index, path)| Some((join(directory, &path)?, place(index))))
        .collect()
}

fn named(kind: &str, metadata: &Named) -> String {
    match &metadata.namespace {
        Some(namespace) => format!("{kind} {namespace}/{}", metadata.name),
        None => format!("{kind} {}", metadata.name),
    }
}

fn by_flux(repo: &Repo<'_>, origin: &Origin, object: FluxKustomization) -> Option<Applied> {
    let flux = &repo.settings.flux;
    let FluxKustomization { metadata, spec } = object;
    let path = spec.path.unwrap_or_default();
    let target = includes::target(repo, &spec.source_ref, metadata.namespace.as_deref(), &path);
    let (path, is_ours) = match &target {
        Target::Here(path) => (path.as_str(), true),
        Target::Elsewhere | Target::Itself => (
            path.as_str(),
            flux.is_source(&spec.source_ref, metadata.namespace.as_deref()),
        ),
    };
    let (directory, above) = in_repo(path, &flux.path)?;
    // Nobody has to name the source before sipgen writes Kustomizations. Every repo has a root, though.
    let is_unsaid =
        repo.settings.gitops != Some(Agent::Flux) && flux.source_ref == SourceRef::default();
    let aside = if is_root(&directory) && !is_ours {
        return None;
    } else if !is_ours && !is_unsaid {
        Some(Aside::OtherSource("flux.sourceRef"))
    } else if matches!(target, Target::Elsewhere) {
        Some(Aside::Included)
    } else if spec.kube_config.is_some() {
        Some(Aside::OtherCluster("its `kubeConfig`"))
    } else {
        spec.suspend.then_some(Aside::Suspended)
    };
    let namespace = spec
        .target_namespace
        .filter(|namespace| !namespace.is_empty());
    let renamed = changed_names("namePrefix", &spec.name_prefix)
        .or(changed_names("nameSuffix", &spec.name_suffix));
    Some(Applied {
        agent: Agent::Flux,
        by: named("Flux Kustomization", &metadata),
        place: origin.at(["spec", "path"]),
        aside,
        namespace: namespace.map(|namespace| (namespace, origin.at(["spec", "targetNamespace"]))),
        renamed: renamed.map(|field| (field, origin.at(["spec", field]))),
        components: components(&directory, spec.components, |index| {
            origin.at(["spec".into(), "components".into(), Step::from(index)])
        }),
        directory,
        above,
        plain: Some(Plain::Autodetect),
        explicit: None,
        own_namespace: metadata.namespace,
        decryption: spec.decryption,
    })
}

/// The field, if it changes names.
fn changed_names(field: &'static str, value: &Option<String>) -> Option<&'static str> {
    value
        .as_ref()
        .is_some_and(|value| !value.is_empty())
        .then_some(field)
}

fn is_root(directory: &Utf8Path) -> bool {
    directory.as_str().is_empty()
}

fn by_argocd(
    repo: &Repo<'_>,
    origin: &Origin,
    route: &[&str],
    by: &str,
    spec: &ApplicationSpec,
) -> Vec<Applied> {
    let argocd = &repo.settings.argocd;
    let one = spec.source.iter().map(|source| (None, source));
    let several = spec
        .sources
        .iter()
        .flatten()
        .enumerate()
        .map(|(index, source)| (Some(index), source));
    let mut applied = Vec::new();
    for (index, source) in one.chain(several) {
        let place = |fields: &[&str]| {
            let mut steps: Vec<Step> = route.iter().map(|key| (*key).into()).collect();
            match index {
                Some(index) => steps.extend(["sources".into(), index.into()]),
                None => steps.push("source".into()),
            }
            steps.extend(fields.iter().map(|key| (*key).into()));
            origin.at(steps)
        };
        let is_url = argocd
            .repo_url
            .as_ref()
            .map(|url| url.is(&source.repo_url) || source.repo_url.contains("{{"));
        let aside = if is_url == Some(false) {
            Some(Aside::OtherSource("argocd.repoURL"))
        } else {
            (!is_base_cluster(repo, &spec.destination))
                .then_some(Aside::OtherCluster("`argocd.destination`"))
        };
        let is_undecided = source.path.as_ref().is_some_and(|path| path.contains("{{"));
        let aside = aside.or(is_undecided.then_some(Aside::Undecided));
        for path in paths(repo, source) {
            let Some((directory, above)) = in_repo(&path, &argocd.path) else {
                continue;
            };
            if is_root(&directory) && is_url != Some(true) {
                continue;
            }
            // Argo CD reads no deeper than it is told to.
            let recurses = source
                .directory
                .as_ref()
                .is_some_and(|directory| directory.recurse);
            if !is_root(&above) && !recurses {
                continue;
            }
            let kustomize = source.kustomize.clone().unwrap_or_default();
            let renamed = changed_names("namePrefix", &kustomize.name_prefix)
                .or(changed_names("nameSuffix", &kustomize.name_suffix));
            // As `ExplicitType` of Argo CD has it, `directory` counts before any file that is there.
            let is_explicit = source.directory.is_some() && source.kustomize.is_none();
            // A Helm chart is somebody else's to render.
            let is_chart = !is_explicit && repo.files.kind(&directory.join("Chart.yaml")).is_some();
            applied.push(Applied {
                agent: Agent::Argocd,
                by: format!("Argo CD's {by}"),
                place: place(&["path"]),
                aside,
                namespace: kustomize
                    .namespace
                    .filter(|namespace| !namespace.is_empty())
                    .map(|namespace| (namespace, place(&["kustomize", "namespace"]))),
                renamed: renamed.map(|field| (field, place(&["kustomize", field]))),
                components: components(&directory, kustomize.components, |_| {
                    place(&["kustomize", "components"])
                }),
                directory,
                above,
                explicit: is_explicit.then(|| place(&["directory"])),
                own_namespace: None,
                decryption: None,
                plain: (!is_chart)
                    .then(|| Plain::Files(source.directory.clone().unwrap_or_default())),
            });
        }
    }
    applied
}

/// Returns whether a destination is the base cluster, by either of the names that Secrets of the repo say it has.
fn is_base_cluster(repo: &Repo<'_>, destination: &ApplicationDestination) -> bool {
    let own = &repo.settings.argocd.destination;
    let renamed = |cluster: &Cluster| {
        cluster
            .renamed(destination)
            .is_some_and(|other| own.is(&other))
    };
    own.is(destination) || repo.clusters.iter().any(renamed)
}

/// The paths of a source: its own, or for one with an unknown parameter in it, all directories that it may be.
fn paths(repo: &Repo<'_>, source: &ApplicationSource) -> Vec<String> {
    let Some(path) = &source.path else {
        return Vec::new();
    };
    let (mut glob, mut rest) = (String::new(), path.as_str());
    while let Some((before, behind)) = rest.split_once("{{") {
        let Some((_, after)) = behind.split_once("}}") else {
            return Vec::new();
        };
        glob.push_str(before);
        glob.push('*');
        rest = after;
    }
    if glob.is_empty() {
        return vec![path.clone()];
    }
    glob.push_str(rest);
    let directories = matching_directories(
        repo,
        &[GitDirectory {
            path: glob,
            exclude: false,
        }],
    );
    directories
        .into_iter()
        .map(Utf8PathBuf::into_string)
        .collect()
}

/// The directories of the repo that globs name; Argo CD leaves out hidden ones.
pub(crate) fn matching_directories(repo: &Repo<'_>, globs: &[GitDirectory]) -> Vec<Utf8PathBuf> {
    let files = repo.documents.iter().map(|(_, origin)| &*origin.file);
    let overlays: Vec<Utf8PathBuf> = repo
        .inventory
        .roots
        .values()
        .map(|root| repo.patches_of(&root.directory).join("-"))
        .collect();
    let roots: Vec<Utf8PathBuf> = repo
        .builds
        .directories()
        .map(|directory| directory.join("-"))
        .collect();
    let all = files.chain(
        overlays
            .iter()
            .chain(&roots)
            .chain(repo.paths)
            .map(Utf8PathBuf::as_path),
    );
    let directories: BTreeSet<&Utf8Path> = all.flat_map(|file| file.ancestors().skip(1)).collect();
    let prefix = &repo.settings.argocd.path;
    let in_source = directories
        .into_iter()
        .map(|directory| prefix.join(directory));
    let shown = in_source.filter(|directory| !directory.iter().any(|part| part.starts_with('.')));
    let matching = |directory: &Utf8PathBuf, exclude: bool| {
        globs
            .iter()
            .any(|glob| glob.exclude == exclude && matches_path(&glob.path, directory))
    };
    shown
        .filter(|directory| matching(directory, false) && !matching(directory, true))
        .collect()
}

/// Go's `path.Match`: no wildcard matches a slash, and `**` is no more than `*`.
fn matches_path(glob: &str, directory: &Utf8Path) -> bool {
    let glob = plain_path(glob).replace("**", "*");
    let built = GlobBuilder::new(&glob).literal_separator(true).build();
    built.is_ok_and(|glob| glob.compile_matcher().is_match(directory.as_str()))
}

/// Whether Argo CD takes a file of a directory, whose path is relative to it.
pub(crate) fn takes(source: &DirectorySource, file: &Utf8Path) -> bool {
    let matches = |glob: &String| {
        // A glob that cannot be read is taken to match nothing; what is not excluded, counts.
        GlobBuilder::new(glob)
            .build()
            .is_ok_and(|glob| glob.compile_matcher().is_match(file.as_str()))
    };
    let is_below = file
        .parent()
        .is_some_and(|parent| !parent.as_str().is_empty());
    let include = source.include.as_ref().filter(|glob| !glob.is_empty());
    let exclude = source.exclude.as_ref().filter(|glob| !glob.is_empty());
    (source.recurse || !is_below) && include.is_none_or(matches) && !exclude.is_some_and(matches)
}

/// A path in an agent's source as one in the repo, which lies at `prefix` there, and for a path above the repo the way
/// from it to the repo's root, which it has with everything else; none where it leads elsewhere.
pub(crate) fn in_repo(path: &str, prefix: &Utf8Path) -> Option<(Utf8PathBuf, Utf8PathBuf)> {
    let mut plain = Utf8PathBuf::new();
    for component in Utf8Path::new(path).components() {
        match component {
            Utf8Component::Normal(name) => plain.push(name),
            Utf8Component::ParentDir => plain.pop().then_some(())?,
            Utf8Component::CurDir | Utf8Component::RootDir | Utf8Component::Prefix(_) => {}
        }
    }
    match plain.strip_prefix(prefix) {
        Ok(directory) => Some((directory.to_owned(), Utf8PathBuf::new())),
        Err(_) => prefix
            .strip_prefix(&plain)
            .ok()
            .map(|above| (Utf8PathBuf::new(), above.to_owned())),
    }
}

pub(super) fn plain_path(path: &str) -> String {
    path.trim_start_matches("./")
        .trim_end_matches('/')
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_of_the_repo_however_it_is_written() {
        for (path, prefix, directory) in [
            ("./sites/lab/", "", Some("sites/lab")),
            ("/sites/lab", "", Some("sites/lab")),
            ("sites/../infra/./hosts", "", Some("infra/hosts")),
            ("", "", Some("")),
            ("./", "", Some("")),
            ("fleet/sites", "fleet", Some("sites")),
            ("fleet", "fleet", Some("")),
            ("other/sites", "fleet", None),
            ("../x", "", None),
        ] {
            let found = in_repo(path, prefix.into());
            assert_eq!(
                found,
                directory.map(|directory| (directory.into(), "".into())),
                "{path}"
            );
        }
        for (path, above) in [("./", "fleet/base"), ("fleet", "base"), ("", "fleet/base")] {
            assert_eq!(
                in_repo(path, "fleet/base".into()),
                Some(("".into(), above.into())),
                "{path}"
            );
        }
    }

    #[test]
    fn a_glob_of_directories_is_one_of_go() {
        for (glob, directory, matches) in [
            ("sites/*", "sites/lab", true),
            ("sites/*", "sites/lab/hosts", false),
            ("sites/**", "sites/lab/hosts", false),
            ("./sites/*/", "sites/lab", true),
            ("*", "sites", true),
            ("sites/l[ao]b", "sites/lab", true),
        ] {
            assert_eq!(
                matches_path(glob, directory.into()),
                matches,
                "{glob} {directory}"
            );
        }
    }

    #[test]
    fn a_directory_is_read_as_its_options_say() {
        let source = |recurse, include: &str, exclude: &str| DirectorySource {
            recurse,
            include: Some(include.to_owned()),
            exclude: Some(exclude.to_owned()),
        };
        for (source, file, takes_it) in [
            (source(false, "", ""), "hosts.yaml", true),
            (source(false, "", ""), "lab/hosts.yaml", false),
            (source(true, "", ""), "lab/hosts.yaml", true),
            (source(true, "*.yml", ""), "lab/hosts.yaml", false),
            (source(true, "{*.yml,*.yaml}", ""), "lab/hosts.yaml", true),
            (source(true, "", "lab/*"), "lab/hosts.yaml", false),
        ] {
            assert_eq!(takes(&source, file.into()), takes_it, "{source:?} {file}");
        }
    }
}
