//! GitOps agent of the repo, Flux or Argo CD, detected by its manifests.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use yaml_serde::Value;

use crate::base::api::gitops::{
    APPLICATION, APPLICATION_SET, AgentObjectName, ApplicationSetGenerator, ApplicationSpec,
    FluxSourceRef, GIT_REPOSITORY,
};
use crate::base::text::repo_url;
use crate::input::load::{Document, Files, ReadError, mentions};
use crate::site::delivery::{AgentObject, AgentObjectContent, GROUPS};

/// File names and the source name that `flux bootstrap` uses.
const FLUX_COMPONENTS: &str = "gotk-components.yaml";
const FLUX_SYSTEM: &str = "flux-system";
/// Usual namespace of Argo CD and its Applications.
const ARGOCD_NAMESPACE: &str = "argocd";

/// A GitRepository, with its URL and branch.
type GitSource = (FluxSourceRef, String, Option<String>);

/// Agents with manifests in the repo.
#[derive(Debug, Default)]
pub(super) struct DetectedAgents {
    pub(super) flux: Option<FluxEvidence>,
    pub(super) argocd: Option<ArgocdEvidence>,
}

/// Agent of a repo with a single one.
#[derive(Debug, Clone, Copy)]
pub(super) enum DetectedAgent<'a> {
    Flux(&'a FluxEvidence),
    Argocd(&'a ArgocdEvidence),
}

/// Evidence for Flux, with its settings.
#[derive(Debug)]
pub(super) struct FluxEvidence {
    pub(super) seen_in: Utf8PathBuf,
    /// Source with this repo, if known.
    pub(super) source: Option<FluxSourceRef>,
    /// Branch that the source fetches.
    pub(super) branch: Option<String>,
    /// Decryption settings, if all Kustomizations with decryption agree.
    pub(super) decryption: Option<Value>,
    /// Settings that the repo leaves open.
    pub(super) open: Vec<String>,
}

/// Evidence for Argo CD, with its settings.
#[derive(Debug)]
pub(super) struct ArgocdEvidence {
    pub(super) seen_in: Utf8PathBuf,
    /// Source with this repo, if known.
    pub(super) source: Option<ArgocdSource>,
    /// Settings that the repo leaves open.
    pub(super) open: Vec<String>,
}

/// A source of Argo CD.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ArgocdSource {
    pub(super) repo_url: String,
    pub(super) target_revision: Option<String>,
    pub(super) project: Option<String>,
    /// Namespace of the Application, unless it is the usual one.
    pub(super) namespace: Option<String>,
}

impl DetectedAgents {
    /// Returns the agent, unless the repo has two.
    pub(super) fn only(&self) -> Option<DetectedAgent<'_>> {
        match (&self.flux, &self.argocd) {
            (Some(flux), None) => Some(DetectedAgent::Flux(flux)),
            (None, Some(argocd)) => Some(DetectedAgent::Argocd(argocd)),
            _ => None,
        }
    }

    /// Returns the branch of this repo that the agents apply, if they agree. A revision of Argo CD
    /// may also be a tag, so it has to be a known branch.
    pub(super) fn branch(&self, branches: &BTreeSet<String>) -> Option<String> {
        let flux_branches = self.flux.iter().filter_map(|flux| flux.branch.clone());
        let sources = self.argocd.iter().filter_map(|argocd| argocd.source.as_ref());
        let revisions = sources
            .filter_map(|source| source.target_revision.as_deref())
            .map(|revision| revision.strip_prefix("refs/heads/").unwrap_or(revision));
        let argocd_branches =
            revisions.filter(|revision| branches.contains(*revision)).map(str::to_owned);
        let all: BTreeSet<String> = flux_branches.chain(argocd_branches).collect();
        all.first().filter(|_| all.len() == 1).cloned()
    }
}

/// Finds the agents of a repo with this remote.
///
/// # Errors
///
/// A file or directory cannot be read.
pub(super) fn find(
    repo: &Files,
    output: &Utf8Path,
    remote: Option<&str>,
) -> Result<DetectedAgents, ReadError> {
    let (files, _) = repo.files_and_closed(output)?;
    let has_groups = mentions(&GROUPS);
    let look = |_: &Utf8Path, content: &[u8]| has_groups(content);
    let read = |document: Document<'_>| AgentObject::read(&document);
    let components = files.iter().find(|file| file.file_name() == Some(FLUX_COMPONENTS)).cloned();
    let (mut flux_in, mut argocd_in) = (components, None);
    let (mut sources, mut used, mut applied) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    let mut decryptions: Vec<Value> = Vec::new();
    for AgentObject { origin, content, .. } in repo.scan(&files, look, read)? {
        let seen_in = || origin.file.to_path_buf();
        match content {
            AgentObjectContent::Application(object) => {
                argocd_in.get_or_insert_with(seen_in);
                applied.extend(argocd_sources(&object.spec, &[], object.metadata));
            }
            AgentObjectContent::ApplicationSet(set) => {
                argocd_in.get_or_insert_with(seen_in);
                let (spec, generators) = (&set.spec.template.spec, &set.spec.generators);
                applied.extend(argocd_sources(spec, generators, set.metadata));
            }
            AgentObjectContent::Source(source) if source.kind == GIT_REPOSITORY => {
                flux_in.get_or_insert_with(seen_in);
                let AgentObjectName { name, namespace } = source.metadata;
                let reference = FluxSourceRef { kind: Some(source.kind), name, namespace };
                let (url, branch) = (source.spec.url, source.spec.reference.branch);
                sources.push((reference, url.unwrap_or_default(), branch));
            }
            AgentObjectContent::Flux(objects) => {
                flux_in.get_or_insert_with(seen_in);
                for object in objects {
                    let mut source = object.spec.source_ref;
                    source.namespace = source.namespace.or(object.metadata.namespace);
                    used.extend((!source.name.is_empty()).then_some(source));
                    let decryption = object.spec.decryption.filter(Value::is_mapping);
                    decryptions.extend(decryption.filter(|other| !decryptions.contains(other)));
                }
            }
            AgentObjectContent::Cluster(_)
            | AgentObjectContent::ArgocdSettings(_)
            | AgentObjectContent::Unreadable(APPLICATION | APPLICATION_SET) => {
                argocd_in.get_or_insert_with(seen_in);
            }
            AgentObjectContent::Instance(_)
            | AgentObjectContent::HelmRelease(_)
            | AgentObjectContent::Source(_)
            | AgentObjectContent::Unreadable(_) => {
                flux_in.get_or_insert_with(seen_in);
            }
        }
    }
    let flux = flux_in.map(|seen_in| flux(seen_in, &sources, &used, decryptions, remote));
    let argocd = argocd_in.map(|seen_in| {
        let (source, open) = own_source(applied, remote);
        ArgocdEvidence { seen_in, source, open }
    });
    Ok(DetectedAgents { flux, argocd })
}

/// Derives Flux's settings from its sources, each with URL and branch, and from their uses.
fn flux(
    seen_in: Utf8PathBuf,
    sources: &[GitSource],
    used: &BTreeSet<FluxSourceRef>,
    decryptions: Vec<Value>,
    remote: Option<&str>,
) -> FluxEvidence {
    let mut open = Vec::new();
    if sources.is_empty() && used.len() > 1 {
        let names = used.iter().map(|source| format!("{} {}", kind_of(source), source.name));
        open.push(format!("sourceRef: the source with this repo: {}", one_of(names)));
    }
    let source = own_repository(sources, used, remote);
    let own = sources.iter().find(|(other, ..)| source.as_ref() == Some(other));
    let branch = own.and_then(|(_, _, branch)| branch.clone());
    if source.as_ref().is_some_and(|source| kind_of(source) != GIT_REPOSITORY) {
        open.push(
            "path: the path of this repo's root in the artifact, unless it is the artifact's root"
                .to_owned(),
        );
    }
    if decryptions.len() > 1 {
        let several = decryptions.iter().filter_map(|one| serde_json::to_string(one).ok());
        open.push(format!("decryption: {}", one_of(several)));
    }
    let is_one = decryptions.len() == 1;
    let decryption = decryptions.into_iter().next().filter(|_| is_one);
    FluxEvidence { seen_in, source, branch, decryption, open }
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
            target_revision: revision.clone().filter(known),
            project: project.clone(),
            namespace: namespace.clone(),
        })
    };
    directories.chain(generated).filter_map(source).collect()
}

/// Finds the Flux source of this repo: by URL, else the bootstrapped one, else the only one. If the
/// repo has no sources, it is the only one in use.
fn own_repository(
    sources: &[GitSource],
    used: &BTreeSet<FluxSourceRef>,
    remote: Option<&str>,
) -> Option<FluxSourceRef> {
    if sources.is_empty() {
        return used.first().filter(|_| used.len() == 1).cloned();
    }
    let own = sources.iter().find(|(_, url, _)| is_same_repo(url, remote));
    let bootstrapped = || sources.iter().find(|(source, ..)| source.name == FLUX_SYSTEM);
    let only = || sources.first().filter(|_| sources.len() == 1);
    own.or_else(bootstrapped).or_else(only).map(|(source, ..)| source.clone())
}

/// Returns the kind of a source.
fn kind_of(source: &FluxSourceRef) -> &str {
    source.kind.as_deref().unwrap_or(GIT_REPOSITORY)
}

/// Finds the Argo CD source of this repo: by URL, else the remote, else the only source. Settings
/// in which Applications of this repo differ are left open.
fn own_source(
    sources: BTreeSet<ArgocdSource>,
    remote: Option<&str>,
) -> (Option<ArgocdSource>, Vec<String>) {
    let own: Vec<&ArgocdSource> =
        sources.iter().filter(|source| is_same_repo(&source.repo_url, remote)).collect();
    let mut open = Vec::new();
    if let Some(first) = own.first() {
        let mut agreed = |field: &str, usual: &str, of: fn(&ArgocdSource) -> &Option<String>| {
            let values: BTreeSet<&Option<String>> = own.iter().map(|source| of(source)).collect();
            if let (Some(only), 1) = (values.first(), values.len()) {
                return (*only).clone();
            }
            let values =
                values.into_iter().map(|value| value.clone().unwrap_or_else(|| usual.to_owned()));
            open.push(format!("{field}: {}", one_of(values)));
            None
        };
        let target_revision = agreed("targetRevision", "HEAD", |source| &source.target_revision);
        let project = agreed("project", "default", |source| &source.project);
        let namespace = agreed("namespace", ARGOCD_NAMESPACE, |source| &source.namespace);
        let repo_url = first.repo_url.clone();
        return (Some(ArgocdSource { repo_url, target_revision, project, namespace }), open);
    }
    let by_git = || {
        let repo_url = repo_url::without_credentials(remote?)?;
        Some(ArgocdSource { repo_url, target_revision: None, project: None, namespace: None })
    };
    let only = || sources.first().filter(|_| sources.len() == 1).cloned();
    (by_git().or_else(only), open)
}

/// Joins values of which a person has to choose one.
fn one_of(values: impl Iterator<Item = String>) -> String {
    values.collect::<Vec<_>>().join(" or ")
}

fn is_same_repo(url: &str, remote: Option<&str>) -> bool {
    remote.is_some_and(|remote| repo_url::is_same_repo(url, remote))
}
