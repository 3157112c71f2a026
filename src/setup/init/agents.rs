//! GitOps agents of the repo, Flux or Argo CD, detected by their manifests, with the settings for them.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};

use crate::base::api::flux::FluxSourceSpec;
use crate::base::api::gitops::{
    APPLICATION, APPLICATION_SET, AgentObjectName, ApplicationSetGenerator, ApplicationSpec,
    FluxSourceRef, GIT_REPOSITORY, GitopsAgent,
};
use crate::base::text::repo_url;
use crate::base::text::visible::yaml_text;
use crate::input::load::{Document, Files, ReadError, mentions};
use crate::site::delivery::{AgentObject, AgentObjectContent, GROUPS};

/// File names and the source name that `flux bootstrap` uses.
const FLUX_COMPONENTS: &str = "gotk-components.yaml";
const FLUX_SYSTEM: &str = "flux-system";
/// Usual namespace of Argo CD and its Applications.
const ARGOCD_NAMESPACE: &str = "argocd";
/// Settings for a source of Argo CD beside its URL, with their defaults.
const ARGOCD_SETTINGS: [(&str, &str); 3] =
    [("targetRevision", "HEAD"), ("project", "default"), ("namespace", ARGOCD_NAMESPACE)];

/// An agent with manifests in the repo.
#[derive(Debug)]
pub(super) struct DetectedAgent {
    pub(super) agent: GitopsAgent,
    /// A file with such manifests.
    pub(super) seen_in: Utf8PathBuf,
    /// Its settings as lines of `sipgen.yaml`, or the reason why a person has to write them.
    pub(super) settings: Result<String, String>,
    /// The branch of this repo that it applies, if known.
    pub(super) branch: Option<String>,
}

/// Flux's objects in the repo.
#[derive(Default)]
struct FluxObjects {
    /// GitRepositories.
    sources: Vec<(FluxSourceRef, FluxSourceSpec)>,
    /// Sources that Kustomizations use.
    used: BTreeSet<FluxSourceRef>,
    /// Decryption settings of Kustomizations, as JSON.
    decryptions: BTreeSet<String>,
}

/// A source of Argo CD.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct ArgocdSource {
    repo_url: String,
    /// Values of [`ARGOCD_SETTINGS`].
    settings: [Option<String>; 3],
}

/// Finds the agents of a repo with this remote and these branches.
///
/// # Errors
///
/// A file or directory cannot be read.
pub(super) fn find(
    repo: &Files,
    output: &Utf8Path,
    remote: Option<&str>,
    branches: &BTreeSet<String>,
) -> Result<Vec<DetectedAgent>, ReadError> {
    let (files, _) = repo.files_and_closed(output)?;
    let has_groups = mentions(&GROUPS);
    let look = |_: &Utf8Path, content: &[u8]| has_groups(content);
    let read = |document: Document<'_>| AgentObject::read(&document);
    let components = files.iter().find(|file| file.file_name() == Some(FLUX_COMPONENTS));
    let mut seen: BTreeMap<GitopsAgent, Utf8PathBuf> =
        components.map(|file| (GitopsAgent::Flux, file.clone())).into_iter().collect();
    let (mut flux, mut applied) = (FluxObjects::default(), BTreeSet::new());
    for AgentObject { origin, content, .. } in repo.scan(&files, look, read)? {
        let agent = match content {
            AgentObjectContent::Application(object) => {
                applied.extend(argocd_sources(&object.spec, &[], object.metadata));
                GitopsAgent::Argocd
            }
            AgentObjectContent::ApplicationSet(set) => {
                let template = set.spec.filled_template(|_| {}).unwrap_or_default();
                let generators = &set.spec.generators;
                applied.extend(argocd_sources(&template.spec, generators, set.metadata));
                GitopsAgent::Argocd
            }
            AgentObjectContent::Source(source) if source.kind == GIT_REPOSITORY => {
                let AgentObjectName { name, namespace } = source.metadata;
                let reference = FluxSourceRef { kind: Some(source.kind), name, namespace };
                flux.sources.push((reference, source.spec));
                GitopsAgent::Flux
            }
            AgentObjectContent::Flux(objects) => {
                for object in objects {
                    let mut source = object.spec.source_ref;
                    source.namespace = source.namespace.or(object.metadata.namespace);
                    flux.used.extend((!source.name.is_empty()).then_some(source));
                    let decryption = object.spec.decryption.filter(|it| it.is_mapping());
                    flux.decryptions
                        .extend(decryption.and_then(|it| serde_json::to_string(&it).ok()));
                }
                GitopsAgent::Flux
            }
            AgentObjectContent::Cluster(_)
            | AgentObjectContent::ArgocdSettings(_)
            | AgentObjectContent::ArgocdProject(_)
            | AgentObjectContent::Unreadable(APPLICATION | APPLICATION_SET) => GitopsAgent::Argocd,
            AgentObjectContent::Instance(_)
            | AgentObjectContent::HelmRelease(_)
            | AgentObjectContent::Source(_)
            | AgentObjectContent::Unreadable(_) => GitopsAgent::Flux,
        };
        seen.entry(agent).or_insert_with(|| origin.file.to_path_buf());
    }
    let detected = seen.into_iter().map(|(agent, seen_in)| {
        let (settings, branch) = match agent {
            GitopsAgent::Flux => flux.settings(remote),
            GitopsAgent::Argocd => argocd_settings(&applied, remote, branches),
        };
        DetectedAgent { agent, seen_in, settings, branch }
    });
    Ok(detected.collect())
}

impl FluxObjects {
    /// Derives Flux's settings and the branch of this repo that it applies.
    ///
    /// The source with this repo is that with its URL, else the bootstrapped one, else the only one.
    /// If the repo has no sources, it is the only one in use.
    fn settings(&self, remote: Option<&str>) -> (Result<String, String>, Option<String>) {
        let Self { sources, used, decryptions } = self;
        let has_url = |(_, spec): &&(_, FluxSourceSpec)| is_same_repo(spec.url.as_deref(), remote);
        let is_bootstrapped = |(source, _): &&(FluxSourceRef, _)| source.name == FLUX_SYSTEM;
        let own = sources.iter().find(has_url);
        let own = own.or_else(|| sources.iter().find(is_bootstrapped)).or_else(|| only(sources));
        if sources.is_empty() && used.len() > 1 {
            let names = used.iter().map(|source| format!("{} {}", kind_of(source), source.name));
            let names = one_of(names);
            let open = format!(
                "Flux was detected; the repo leaves sourceRef: the source with this repo: {names} open."
            );
            return (Err(open), None);
        }
        let in_use = || only(used).filter(|_| sources.is_empty());
        let source = own.map(|(source, _)| source).or_else(in_use);
        let mut lines = String::new();
        if let Some(FluxSourceRef { kind, name, namespace }) = source {
            let fields = [
                ("kind", kind.as_deref()),
                ("name", Some(name.as_str())),
                ("namespace", namespace.as_deref()),
            ];
            lines.push_str("  sourceRef:\n");
            lines.extend(fields.map(|(key, value)| entry("    ", key, value)));
        }
        if let Some(decryption) = only(decryptions) {
            lines.push_str(&format!("  decryption: {decryption}\n"));
        }
        if source.is_some_and(|source| kind_of(source) != GIT_REPOSITORY) {
            let meaning =
                "the path of this repo's root in the artifact, unless it is the artifact's root";
            lines.push_str(&left_open("path", meaning));
        }
        if decryptions.len() > 1 {
            lines.push_str(&left_open("decryption", &one_of(decryptions.iter().cloned())));
        }
        let group = if lines.is_empty() { "" } else { "flux:\n" };
        let branch = own.and_then(|(_, spec)| spec.reference.branch.clone());
        (Ok(format!("gitops: flux\n{group}{lines}")), branch)
    }
}

/// Derives Argo CD's settings and the branch of this repo that it applies. A revision may also be a
/// tag, so it has to be a known branch.
///
/// The source with this repo is that with its URL, else the remote, else the only one. Settings in
/// which Applications of this repo differ are left open.
fn argocd_settings(
    applied: &BTreeSet<ArgocdSource>,
    remote: Option<&str>,
    branches: &BTreeSet<String>,
) -> (Result<String, String>, Option<String>) {
    let has_url = |source: &&ArgocdSource| is_same_repo(Some(&source.repo_url), remote);
    let mut own: Vec<&ArgocdSource> = applied.iter().filter(has_url).collect();
    let remote_url = remote.and_then(repo_url::without_credentials);
    let by_remote = remote_url.map(|repo_url| ArgocdSource { repo_url, ..ArgocdSource::default() });
    if own.is_empty() {
        own.extend(by_remote.as_ref().or_else(|| only(applied)));
    }
    let Some(first) = own.first() else {
        return (Err("Argo CD was detected, but not its URL of this repo.".to_owned()), None);
    };
    let mut lines = entry("  ", "repoURL", Some(&first.repo_url));
    let (mut open, mut branch) = (String::new(), None);
    for (index, (field, usual)) in ARGOCD_SETTINGS.into_iter().enumerate() {
        let values: BTreeSet<Option<&str>> =
            own.iter().map(|source| source.settings[index].as_deref()).collect();
        match only(&values) {
            Some(value) => {
                lines.push_str(&entry("  ", field, *value));
                let name = value.map(|name| name.strip_prefix("refs/heads/").unwrap_or(name));
                branch = branch.or(name.filter(|name| index == 0 && branches.contains(*name)));
            }
            None => {
                let values = values.iter().map(|value| value.unwrap_or(usual).to_owned());
                open.push_str(&left_open(field, &one_of(values)));
            }
        }
    }
    (Ok(format!("gitops: argocd\nargocd:\n{lines}{open}")), branch.map(str::to_owned))
}

/// Returns the sources of an Application, and those of an ApplicationSet's generators, except
/// charts. Values with parameters are unknown.
fn argocd_sources(
    spec: &ApplicationSpec,
    generators: &[ApplicationSetGenerator],
    metadata: AgentObjectName,
) -> Vec<ArgocdSource> {
    let known = |text: &String| !text.is_empty() && !text.contains("{{");
    let sources = spec.source.iter().chain(spec.sources.iter().flatten());
    let directories = sources
        .filter(|source| source.path.is_some())
        .map(|source| (&source.repo_url, &source.target_revision));
    let generated = generators
        .iter()
        .filter_map(|generator| generator.git.as_ref())
        .map(|git| (&git.repo_url, &git.revision));
    let namespace = metadata.namespace.filter(|namespace| namespace != ARGOCD_NAMESPACE);
    let project = spec.project.clone().filter(|name| known(name) && name != "default");
    let source = |(url, revision): (&String, &Option<String>)| {
        Some(ArgocdSource {
            repo_url: repo_url::without_credentials(Some(url).filter(|url| known(url))?)?,
            settings: [revision.clone().filter(known), project.clone(), namespace.clone()],
        })
    };
    directories.chain(generated).filter_map(source).collect()
}

/// Formats a line of a mapping; empty without a value.
fn entry(indent: &str, key: &str, value: Option<&str>) -> String {
    value.map_or(String::new(), |value| format!("{indent}{key}: {}\n", yaml_text(value)))
}

/// Formats a comment about a setting that the repo leaves open.
fn left_open(setting: &str, values: &str) -> String {
    format!("  # The repo leaves this open; set it here.\n  # {setting}: {values}\n")
}

/// Joins values of which a person has to choose one.
fn one_of(values: impl Iterator<Item = String>) -> String {
    values.collect::<Vec<_>>().join(" or ")
}

/// Returns the kind of a source.
fn kind_of(source: &FluxSourceRef) -> &str {
    source.kind.as_deref().unwrap_or(GIT_REPOSITORY)
}

fn is_same_repo(url: Option<&str>, remote: Option<&str>) -> bool {
    url.zip(remote).is_some_and(|(url, remote)| repo_url::is_same_repo(url, remote))
}

/// Returns the item of a collection that has one.
pub(super) fn only<T>(items: impl IntoIterator<Item = T>) -> Option<T> {
    let mut items = items.into_iter();
    items.next().filter(|_| items.next().is_none())
}
