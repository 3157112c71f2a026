//! Which agent applies the repo: Flux or Argo CD, as the manifests in it tell.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;
use yaml_serde::Value;

use super::urls;
use crate::source::{Document, Files, ReadError, mentions};

const FLUX_DOMAIN: &str = "toolkit.fluxcd.io";
const ARGOCD_GROUP: &str = "argoproj.io/";
/// The kinds of Argo CD: its group has those of Argo's other projects, too.
const ARGOCD_KINDS: [&str; 3] = ["Application", "ApplicationSet", "AppProject"];
/// The files that `flux bootstrap` writes, and how it names its source.
const FLUX_COMPONENTS: &str = "gotk-components.yaml";
const FLUX_SYSTEM: &str = "flux-system";

/// The agents that a repo has manifests of.
#[derive(Debug, Default)]
pub(super) struct Agents {
    pub(super) flux: Option<Flux>,
    pub(super) argocd: Option<Argocd>,
}

/// The agent of a repo that has only one.
#[derive(Debug, Clone, Copy)]
pub(super) enum Agent<'a> {
    Flux(&'a Flux),
    Argocd(&'a Argocd),
}

/// What tells that Flux applies the repo.
#[derive(Debug)]
pub(super) struct Flux {
    pub(super) seen_in: Utf8PathBuf,
    /// The source that has this repo, if one is known to.
    pub(super) source: Option<GitRepository>,
}

/// What tells that Argo CD applies the repo.
#[derive(Debug)]
pub(super) struct Argocd {
    pub(super) seen_in: Utf8PathBuf,
    /// Where it has this repo from, if that is known.
    pub(super) source: Option<ApplicationSource>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GitRepository {
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    url: String,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ApplicationSource {
    pub(super) repo_url: String,
    pub(super) target_revision: Option<String>,
}

/// What one document, or the name of a file, says.
enum Sign {
    Flux(Option<GitRepository>),
    Argocd(Vec<ApplicationSource>),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Object {
    api_version: String,
    kind: String,
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    spec: Value,
}

#[derive(Default, Deserialize)]
struct Metadata {
    name: Option<String>,
    namespace: Option<String>,
}

impl Agents {
    /// The agent, if there are not two of them.
    pub(super) fn only(&self) -> Option<Agent<'_>> {
        match (&self.flux, &self.argocd) {
            (Some(flux), None) => Some(Agent::Flux(flux)),
            (None, Some(argocd)) => Some(Agent::Argocd(argocd)),
            _ => None,
        }
    }
}

/// Finds the agents of a repo that is fetched from `remote`.
///
/// # Errors
///
/// When a file or directory cannot be read.
pub(super) fn find(repo: &Files, output: &Utf8Path, remote: Option<&str>) -> Result<Agents, ReadError> {
    let files = repo.files(output)?;
    let has_signs = mentions(&[FLUX_DOMAIN, ARGOCD_GROUP]);
    let look = |_: &Utf8Path, content: &[u8]| has_signs(content);
    let read = |document: Document<'_>| {
        let sign = sign(&document.parse().ok()?)?;
        Some((document.origin.file.to_path_buf(), sign))
    };
    let of_flux = files.iter().filter(|file| file.file_name() == Some(FLUX_COMPONENTS));
    let mut signs: Vec<(Utf8PathBuf, Sign)> = of_flux.map(|file| (file.clone(), Sign::Flux(None))).collect();
    signs.extend(repo.scan(&files, look, read)?);

    let mut agents = Agents::default();
    let (mut repositories, mut sources) = (Vec::new(), BTreeSet::new());
    for (seen_in, sign) in signs {
        match sign {
            Sign::Flux(repository) => {
                repositories.extend(repository);
                agents.flux.get_or_insert(Flux { seen_in, source: None });
            }
            Sign::Argocd(found) => {
                sources.extend(found);
                agents.argocd.get_or_insert(Argocd { seen_in, source: None });
            }
        }
    }
    if let Some(flux) = &mut agents.flux {
        flux.source = own_repository(repositories, remote);
    }
    if let Some(argocd) = &mut agents.argocd {
        argocd.source = own_source(sources, remote);
    }
    Ok(agents)
}

/// What an object says of the agents.
fn sign(object: &Object) -> Option<Sign> {
    let group = object.api_version.split('/').next().unwrap_or_default();
    if group.strip_suffix(FLUX_DOMAIN).is_some_and(|rest| rest.ends_with('.')) {
        let Metadata { name, namespace } = &object.metadata;
        let url = text(&object.spec, "url").filter(|_| object.kind == "GitRepository");
        let repository = name.clone().zip(url);
        return Some(Sign::Flux(repository.map(|(name, url)| GitRepository {
            name,
            namespace: namespace.clone(),
            url,
        })));
    }
    let is_argocd = object.api_version.starts_with(ARGOCD_GROUP) && ARGOCD_KINDS.contains(&object.kind.as_str());
    is_argocd.then(|| Sign::Argocd(sources(&object.spec)))
}

/// Where an Application or ApplicationSet has its manifests from, charts of Helm excepted.
fn sources(spec: &Value) -> Vec<ApplicationSource> {
    let list = |value: Option<&Value>| value.and_then(Value::as_sequence).cloned().unwrap_or_default();
    let of_application = |spec: &Value| spec.get("source").cloned().into_iter().chain(list(spec.get("sources")));
    let template = spec.get("template").and_then(|template| template.get("spec"));
    let generators = list(spec.get("generators")).into_iter().filter_map(|generator| generator.get("git").cloned());
    let all = of_application(spec).chain(template.into_iter().flat_map(of_application)).chain(generators);
    let source = |source: Value| {
        let repo_url = text(&source, "repoURL").filter(|url| !url.contains("{{") && source.get("chart").is_none())?;
        let target_revision = text(&source, "targetRevision").or_else(|| text(&source, "revision"));
        let target_revision = target_revision.filter(|revision| !revision.contains("{{"));
        Some(ApplicationSource { repo_url: urls::without_credentials(&repo_url)?, target_revision })
    };
    all.filter_map(source).collect()
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

/// The source of Flux that has this repo: by its URL; else the one of `flux bootstrap`; else the only one.
fn own_repository(repositories: Vec<GitRepository>, remote: Option<&str>) -> Option<GitRepository> {
    let is_own = |repository: &&GitRepository| is_same_repo(&repository.url, remote);
    let is_bootstrapped = |repository: &&GitRepository| repository.name == FLUX_SYSTEM;
    let only = || repositories.first().filter(|first| repositories.iter().all(|repository| repository == *first));
    let found = repositories.iter().find(is_own).or_else(|| repositories.iter().find(is_bootstrapped));
    found.or_else(only).cloned()
}

/// Where Argo CD has this repo from: by its URL; else where git has it from; else where all Applications are from.
fn own_source(sources: BTreeSet<ApplicationSource>, remote: Option<&str>) -> Option<ApplicationSource> {
    let own = sources.iter().find(|source| is_same_repo(&source.repo_url, remote)).cloned();
    let by_git = || {
        let repo_url = urls::without_credentials(remote?)?;
        Some(ApplicationSource { repo_url, target_revision: None })
    };
    let only = || sources.first().filter(|_| sources.len() == 1).cloned();
    own.or_else(by_git).or_else(only)
}

fn is_same_repo(url: &str, remote: Option<&str>) -> bool {
    let identity = urls::identity(url);
    identity.is_some() && identity == remote.and_then(urls::identity)
}
