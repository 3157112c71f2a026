//! GitOps agent of the repo, Flux or Argo CD, detected by its manifests.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;
use yaml_serde::Value;

use crate::base::text::repo_url;
use crate::input::load::{Document, Files, ReadError, mentions};

const FLUX_DOMAIN: &str = "toolkit.fluxcd.io";
const ARGOCD_GROUP: &str = "argoproj.io/";
/// Kinds of Argo CD. Its API group also has kinds of other Argo projects.
const ARGOCD_KINDS: [&str; 3] = ["Application", "ApplicationSet", "AppProject"];
/// File names and the source name that `flux bootstrap` uses.
const FLUX_COMPONENTS: &str = "gotk-components.yaml";
const FLUX_SYSTEM: &str = "flux-system";
const GIT_REPOSITORY: &str = "GitRepository";
/// Usual namespace of Argo CD and its Applications.
const ARGOCD_NAMESPACE: &str = "argocd";

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
    pub(super) source: Option<FluxSourceReference>,
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

/// Reference to a Flux source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FluxSourceReference {
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) namespace: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ArgocdSource {
    pub(super) repo_url: String,
    pub(super) target_revision: Option<String>,
    pub(super) project: Option<String>,
    /// Namespace of the Application, unless it is the usual one.
    pub(super) namespace: Option<String>,
}

/// Evidence in a document or a file name.
enum AgentEvidence {
    /// Flux is used.
    Flux,
    /// A Flux source with its URL and branch.
    Source(FluxSourceReference, String, Option<String>),
    /// A Flux Kustomization with its source and decryption.
    Used(FluxSourceReference, Option<Value>),
    /// An Argo CD object with its sources.
    Argocd(Vec<ArgocdSource>),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AgentManifest {
    api_version: String,
    kind: String,
    #[serde(default)]
    metadata: ManifestMetadata,
    #[serde(default)]
    spec: Value,
}

#[derive(Default, Deserialize)]
struct ManifestMetadata {
    name: Option<String>,
    namespace: Option<String>,
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
    let has_signs = mentions(&[FLUX_DOMAIN, ARGOCD_GROUP]);
    let look = |_: &Utf8Path, content: &[u8]| has_signs(content);
    let read = |document: Document<'_>| {
        let sign = sign(&document.parse().ok()?)?;
        Some((document.origin.file.to_path_buf(), sign))
    };
    let flux_branches = files.iter().filter(|file| file.file_name() == Some(FLUX_COMPONENTS));
    let mut signs: Vec<(Utf8PathBuf, AgentEvidence)> =
        flux_branches.map(|file| (file.clone(), AgentEvidence::Flux)).collect();
    signs.extend(repo.scan(&files, look, read)?);

    let mut agents = DetectedAgents::default();
    let (mut sources, mut used, mut applied) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    let mut decryptions: Vec<Value> = Vec::new();
    let mut branches: Vec<(FluxSourceReference, String)> = Vec::new();
    for (seen_in, sign) in signs {
        if let AgentEvidence::Argocd(from) = sign {
            applied.extend(from);
            agents.argocd.get_or_insert(ArgocdEvidence { seen_in, source: None, open: Vec::new() });
            continue;
        }
        agents.flux.get_or_insert(FluxEvidence {
            seen_in,
            source: None,
            branch: None,
            decryption: None,
            open: Vec::new(),
        });
        match sign {
            AgentEvidence::Source(source, url, branch) => {
                branches.extend(branch.map(|branch| (source.clone(), branch)));
                sources.push((source, url));
            }
            AgentEvidence::Used(source, decryption) => {
                used.insert(source);
                decryptions
                    .extend(decryption.filter(|decryption| !decryptions.contains(decryption)));
            }
            AgentEvidence::Flux | AgentEvidence::Argocd(_) => {}
        }
    }
    if let Some(flux) = &mut agents.flux {
        if sources.is_empty() && used.len() > 1 {
            let names =
                used.iter().map(|FluxSourceReference { kind, name, .. }| format!("{kind} {name}"));
            flux.open.push(format!("sourceRef: the source with this repo: {}", one_of(names)));
        }
        flux.source = own_repository(&sources, used, remote);
        let own = branches.iter().find(|(source, _)| flux.source.as_ref() == Some(source));
        flux.branch = own.map(|(_, branch)| branch.clone());
        if flux.source.as_ref().is_some_and(|source| source.kind != GIT_REPOSITORY) {
            flux.open.push(
                "path: the path of this repo's root in the artifact, unless it is the artifact's root".to_owned(),
            );
        }
        match decryptions.as_slice() {
            [only] => flux.decryption = Some(only.clone()),
            [] => {}
            several => {
                let several = several.iter().filter_map(|one| serde_json::to_string(one).ok());
                flux.open.push(format!("decryption: {}", one_of(several)));
            }
        }
    }
    if let Some(argocd) = &mut agents.argocd {
        (argocd.source, argocd.open) = own_source(applied, remote);
    }
    Ok(agents)
}

/// Reads the evidence from an object.
fn sign(object: &AgentManifest) -> Option<AgentEvidence> {
    let AgentManifest { api_version, kind, metadata, spec } = object;
    let group = api_version.split('/').next().unwrap_or_default();
    if group.strip_suffix(FLUX_DOMAIN).is_some_and(|rest| rest.ends_with('.')) {
        let namespace = metadata.namespace.clone();
        let sign = match kind.as_str() {
            GIT_REPOSITORY => metadata.name.clone().zip(text(spec, "url")).map(|(name, url)| {
                let branch = spec.get("ref").and_then(|reference| text(reference, "branch"));
                AgentEvidence::Source(
                    FluxSourceReference { kind: kind.clone(), name, namespace },
                    url,
                    branch,
                )
            }),
            "Kustomization" => spec.get("sourceRef").and_then(|source| {
                let namespace = text(source, "namespace").or(namespace);
                let source = FluxSourceReference {
                    kind: text(source, "kind")?,
                    name: text(source, "name")?,
                    namespace,
                };
                Some(AgentEvidence::Used(
                    source,
                    spec.get("decryption").filter(|value| value.is_mapping()).cloned(),
                ))
            }),
            _ => None,
        };
        return Some(sign.unwrap_or(AgentEvidence::Flux));
    }
    let is_argocd = api_version.starts_with(ARGOCD_GROUP) && ARGOCD_KINDS.contains(&kind.as_str());
    let namespace = metadata
        .namespace
        .clone()
        .filter(|namespace| kind != "AppProject" && namespace != ARGOCD_NAMESPACE);
    is_argocd.then(|| AgentEvidence::Argocd(sources(spec, namespace.as_ref())))
}

/// Returns the sources of an Application or ApplicationSet, except Helm charts.
fn sources(spec: &Value, namespace: Option<&String>) -> Vec<ArgocdSource> {
    let list =
        |value: Option<&Value>| value.and_then(Value::as_sequence).cloned().unwrap_or_default();
    let application =
        spec.get("template").and_then(|template| template.get("spec")).unwrap_or(spec);
    let application_sources =
        application.get("source").cloned().into_iter().chain(list(application.get("sources")));
    let generators = list(spec.get("generators"))
        .into_iter()
        .filter_map(|generator| generator.get("git").cloned());
    // Values with ApplicationSet parameters are unknown.
    let value = |of: &Value, key: &str| text(of, key).filter(|value| !value.contains("{{"));
    let source = |source: Value| {
        let repo_url = value(&source, "repoURL").filter(|_| source.get("chart").is_none())?;
        Some(ArgocdSource {
            repo_url: repo_url::without_credentials(&repo_url)?,
            target_revision: value(&source, "targetRevision")
                .or_else(|| value(&source, "revision")),
            project: value(application, "project").filter(|project| project != "default"),
            namespace: namespace.cloned(),
        })
    };
    application_sources.chain(generators).filter_map(source).collect()
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

/// Finds the Flux source of this repo: by URL, else the bootstrapped one, else the only one. If the
/// repo has no sources, it is the only one in use.
fn own_repository(
    sources: &[(FluxSourceReference, String)],
    used: BTreeSet<FluxSourceReference>,
    remote: Option<&str>,
) -> Option<FluxSourceReference> {
    if sources.is_empty() {
        return used.first().filter(|_| used.len() == 1).cloned();
    }
    let own = sources.iter().find(|(_, url)| is_same_repo(url, remote));
    let bootstrapped = || sources.iter().find(|(source, _)| source.name == FLUX_SYSTEM);
    let only = || sources.first().filter(|_| sources.len() == 1);
    own.or_else(bootstrapped).or_else(only).map(|(source, _)| source.clone())
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
