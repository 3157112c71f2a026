//! The directories that objects of the repo tell Flux or Argo CD to apply.
//!
//! An object may be about another repo. One whose directory is here, with hosts in it, is about this one. Only every repo
//! has a root: there the source decides, which the settings name.

use std::collections::BTreeSet;

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use globset::GlobBuilder;

use super::Repo;
use crate::api::gitops::{
    APPLICATION, APPLICATION_SET, ARGOCD_GROUP, Agent, Application, ApplicationSet, ApplicationSource, ApplicationSpec,
    DirectorySource, FLUX_GROUP, FLUX_KIND, FluxKustomization, Generator, GitDirectory, Named,
};
use crate::source::{Document, Origin, Place};

/// An object of the repo that tells an agent what to apply.
pub(in crate::site) struct AgentObject {
    /// Where it stands.
    pub(in crate::site) origin: Origin,
    content: Content,
}

enum Content {
    Flux(FluxKustomization),
    Application(Application),
    ApplicationSet(Box<ApplicationSet>),
}

/// A directory that an agent applies.
pub(super) struct Applied {
    pub(super) agent: Agent,
    /// The object that says so: `Flux Kustomization flux-system/infra`.
    pub(super) by: String,
    /// Where it says so.
    pub(super) place: Place,
    /// Where it gives a namespace to all that it applies, and which.
    pub(super) namespace: Option<(String, Place)>,
    /// The directory, relative to the repo's root.
    pub(super) directory: Utf8PathBuf,
    /// How the directory is read when it is no kustomization; none when it is not read then.
    pub(super) plain: Option<Plain>,
}

/// How an agent reads a directory that is no kustomization.
#[derive(Debug, Clone)]
pub(super) enum Plain {
    /// Flux: every kustomization below it, and every YAML file beside those.
    Autodetect,
    /// Argo CD: the files in it, or all below it, that match.
    Files(DirectorySource),
}

impl AgentObject {
    /// The object in a document, if it is one that tells an agent what to apply. One that cannot be read is for the
    /// agent to judge.
    pub(in crate::site) fn read(document: &Document<'_>) -> Option<Self> {
        let content = match document.kind()? {
            FLUX_KIND if document.mentions(&[FLUX_GROUP]) => Content::Flux(document.parse().ok()?),
            APPLICATION if document.mentions(&[ARGOCD_GROUP]) => Content::Application(document.parse().ok()?),
            APPLICATION_SET if document.mentions(&[ARGOCD_GROUP]) => {
                Content::ApplicationSet(Box::new(document.parse().ok()?))
            }
            _ => return None,
        };
        Some(Self { origin: document.origin.clone(), content })
    }
}

/// The directories that the objects tell agents to apply.
pub(super) fn directories(repo: &Repo<'_>, objects: Vec<AgentObject>) -> Vec<Applied> {
    let mut applied = Vec::new();
    for AgentObject { origin, content } in
        objects.into_iter().filter(|object| !repo.builds.is_patch(&object.origin.file))
    {
        match content {
            Content::Flux(object) => applied.extend(by_flux(repo, &origin, object)),
            Content::Application(object) => {
                let by = named("Application", &object.metadata);
                applied.extend(by_argocd(repo, &origin, &["spec"], &by, &object.spec, &[]));
            }
            Content::ApplicationSet(object) => {
                let by = named("ApplicationSet", &object.metadata);
                let directories = generated(repo, &object.spec.generators);
                let route = ["spec", "template", "spec"];
                applied.extend(by_argocd(repo, &origin, &route, &by, &object.spec.template.spec, &directories));
            }
        }
    }
    applied
}

fn named(kind: &str, metadata: &Named) -> String {
    match &metadata.namespace {
        Some(namespace) => format!("{kind} {namespace}/{}", metadata.name),
        None => format!("{kind} {}", metadata.name),
    }
}

fn by_flux(repo: &Repo<'_>, origin: &Origin, object: FluxKustomization) -> Option<Applied> {
    let directory = in_repo(&object.spec.path.unwrap_or_default(), &repo.settings.flux.path)?;
    if directory.as_str().is_empty() && object.spec.source_ref.name != repo.settings.flux.source_ref.name.as_str() {
        return None;
    }
    let namespace = object.spec.target_namespace.filter(|namespace| !namespace.is_empty());
    Some(Applied {
        agent: Agent::Flux,
        by: named("Flux Kustomization", &object.metadata),
        place: origin.at(["spec", "path"]),
        namespace: namespace.map(|namespace| (namespace, origin.at(["spec", "targetNamespace"]))),
        directory,
        plain: Some(Plain::Autodetect),
    })
}

fn by_argocd(
    repo: &Repo<'_>,
    origin: &Origin,
    route: &[&str],
    by: &str,
    spec: &ApplicationSpec,
    directories: &[Utf8PathBuf],
) -> Vec<Applied> {
    let one = spec.source.iter().map(|source| (None, source));
    let several = spec.sources.iter().flatten().enumerate().map(|(index, source)| (Some(index), source));
    let mut applied = Vec::new();
    for (index, source) in one.chain(several) {
        let place = |fields: &[&str]| {
            let mut steps: Vec<crate::source::Step> = route.iter().map(|key| (*key).into()).collect();
            match index {
                Some(index) => steps.extend(["sources".into(), index.into()]),
                None => steps.push("source".into()),
            }
            steps.extend(fields.iter().map(|key| (*key).into()));
            origin.at(steps)
        };
        for path in paths(source, directories) {
            let Some(directory) = in_repo(&path, &repo.settings.argocd.path) else { continue };
            let is_here = || repo.settings.argocd.repo_url.as_ref().is_some_and(|url| url.is(&source.repo_url));
            if directory.as_str().is_empty() && !is_here() {
                continue;
            }
            let namespace = source.kustomize.as_ref().and_then(|kustomize| kustomize.namespace.clone());
            // A Helm chart is somebody else's to render.
            let is_chart = repo.files.kind(&directory.join("Chart.yaml")).is_some();
            applied.push(Applied {
                agent: Agent::Argocd,
                by: format!("Argo CD's {by}"),
                place: place(&["path"]),
                namespace: namespace
                    .filter(|namespace| !namespace.is_empty())
                    .map(|namespace| (namespace, place(&["kustomize", "namespace"]))),
                directory,
                plain: (!is_chart).then(|| Plain::Files(source.directory.clone().unwrap_or_default())),
            });
        }
    }
    applied
}

/// The paths of a source: its own, or for one with a parameter in it, that of each directory which takes its place.
fn paths(source: &ApplicationSource, directories: &[Utf8PathBuf]) -> Vec<String> {
    let Some(path) = &source.path else { return Vec::new() };
    let Some((before, rest)) = path.split_once("{{") else { return vec![path.clone()] };
    let Some((parameter, after)) = rest.split_once("}}") else { return Vec::new() };
    if !["path", ".path.path"].contains(&parameter.trim()) || after.contains("{{") {
        return Vec::new();
    }
    directories.iter().map(|directory| format!("{before}{directory}{after}")).collect()
}

/// The directories of the repo that generators name; Argo CD leaves out hidden ones.
fn generated(repo: &Repo<'_>, generators: &[Generator]) -> Vec<Utf8PathBuf> {
    let mut globs: Vec<&GitDirectory> = Vec::new();
    let mut pending: Vec<&Generator> = generators.iter().collect();
    while let Some(generator) = pending.pop() {
        globs.extend(generator.git.iter().flat_map(|git| &git.directories));
        let inner = [&generator.matrix, &generator.merge].into_iter().flatten();
        pending.extend(inner.flat_map(|inner| &inner.generators));
    }
    if globs.is_empty() {
        return Vec::new();
    }
    let files = repo.documents.iter().map(|(_, origin)| &*origin.file);
    let overlays: Vec<Utf8PathBuf> =
        repo.inventory.roots.values().map(|root| repo.patches_of(&root.directory).join("-")).collect();
    let roots: Vec<Utf8PathBuf> = repo.builds.directories().map(|directory| directory.join("-")).collect();
    let all = files.chain(overlays.iter().chain(&roots).map(Utf8PathBuf::as_path));
    let directories: BTreeSet<&Utf8Path> = all.flat_map(|file| file.ancestors().skip(1)).collect();
    let prefix = &repo.settings.argocd.path;
    let in_source = directories.into_iter().map(|directory| prefix.join(directory));
    let shown = in_source.filter(|directory| !directory.iter().any(|part| part.starts_with('.')));
    let matching = |directory: &Utf8PathBuf, exclude: bool| {
        globs.iter().any(|glob| glob.exclude == exclude && matches_path(&glob.path, directory))
    };
    shown.filter(|directory| matching(directory, false) && !matching(directory, true)).collect()
}

/// Go's `path.Match`: no wildcard matches a slash, and `**` is no more than `*`.
fn matches_path(glob: &str, directory: &Utf8Path) -> bool {
    let glob = plain_path(glob).replace("**", "*");
    let built = GlobBuilder::new(&glob).literal_separator(true).build();
    built.is_ok_and(|glob| glob.compile_matcher().is_match(directory.as_str()))
}

/// Whether Argo CD takes a file of a directory, whose path is relative to it.
pub(super) fn takes(source: &DirectorySource, file: &Utf8Path) -> bool {
    let matches = |glob: &String| {
        // A glob that cannot be read is taken to match nothing; what is not excluded, counts.
        GlobBuilder::new(glob).build().is_ok_and(|glob| glob.compile_matcher().is_match(file.as_str()))
    };
    let is_below = file.parent().is_some_and(|parent| !parent.as_str().is_empty());
    let include = source.include.as_ref().filter(|glob| !glob.is_empty());
    let exclude = source.exclude.as_ref().filter(|glob| !glob.is_empty());
    (source.recurse || !is_below) && include.is_none_or(matches) && !exclude.is_some_and(matches)
}

/// A path in an agent's source as one in the repo, which lies at `prefix` there; none where it leads elsewhere.
fn in_repo(path: &str, prefix: &Utf8Path) -> Option<Utf8PathBuf> {
    let mut plain = Utf8PathBuf::new();
    for component in Utf8Path::new(path).components() {
        match component {
            Utf8Component::Normal(name) => plain.push(name),
            Utf8Component::ParentDir => plain.pop().then_some(())?,
            Utf8Component::CurDir | Utf8Component::RootDir | Utf8Component::Prefix(_) => {}
        }
    }
    // What is above the repo has files that sipgen does not know.
    plain.strip_prefix(prefix).ok().map(Utf8Path::to_owned)
}

fn plain_path(path: &str) -> String {
    path.trim_start_matches("./").trim_end_matches('/').to_owned()
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
            assert_eq!(in_repo(path, prefix.into()).as_deref(), directory.map(Utf8Path::new), "{path}");
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
            assert_eq!(matches_path(glob, directory.into()), matches, "{glob} {directory}");
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
