//! `gitops`, `flux` and `argocd` in `sipgen.yaml`: which agent applies the output, and what its objects say.

use std::fmt;
use std::str::FromStr;

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::gitops::{ApplicationDestination, FluxSourceRef};
use crate::api::names::{Namespace, ObjectName};

/// The address by which a cluster's own agents reach its API server, and the name that Argo CD has for it.
const IN_CLUSTER: (&str, &str) = ("https://kubernetes.default.svc", "in-cluster");

/// What the Flux Kustomizations say, that sipgen writes for `gitops: flux`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Flux {
    /// How their names begin; by default `sipgen`. No two sites may have the same in one namespace.
    pub name: SiteName,
    /// The namespace that they are in.
    pub namespace: Namespace,
    /// The source that has this repo.
    pub source_ref: SourceRef,
    /// The directory of `sipgen.yaml` in that source, where it is not the source's root.
    #[schemars(with = "String")]
    pub path: Utf8PathBuf,
    /// How often everything is applied anew.
    pub interval: Duration,
    /// How soon a failure is tried again; by default after the interval.
    pub retry_interval: Option<Duration>,
    /// How long applying may take; by default as long as the interval.
    pub timeout: Option<Duration>,
    /// Whether the services of a cluster must be ready, and not only applied, before its hosts get their labels.
    pub wait: bool,
    /// How Secrets in git are decrypted.
    pub decryption: Option<Decryption>,
    /// The ServiceAccount that Flux applies as; by default Flux itself.
    pub service_account_name: Option<ObjectName>,
}

/// A reference to a source of Flux.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SourceRef {
    /// Its kind.
    pub kind: SourceKind,
    /// Its name.
    pub name: ObjectName,
    /// Its namespace; by default that of the Kustomizations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Namespace>,
}

/// The kinds of sources that Flux applies from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SourceKind {
    /// A git repo.
    #[default]
    GitRepository,
    /// An artifact in a container registry.
    #[serde(rename = "OCIRepository")]
    OciRepository,
    /// A bucket of an object store.
    Bucket,
    /// An artifact that another controller makes.
    ExternalArtifact,
}

impl SourceKind {
    /// The kind as Flux writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GitRepository => "GitRepository",
            Self::OciRepository => "OCIRepository",
            Self::Bucket => "Bucket",
            Self::ExternalArtifact => "ExternalArtifact",
        }
    }
}

/// How Flux decrypts Secrets in git.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Decryption {
    /// The program that has encrypted them.
    pub provider: DecryptionProvider,
    /// The Secret with the keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretRef>,
    /// The ServiceAccount that has access to keys of a cloud.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<ObjectName>,
}

/// The programs whose encryption Flux knows.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DecryptionProvider {
    /// SOPS.
    Sops,
}

/// A reference to a Secret in the same namespace.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretRef {
    /// Its name.
    pub name: ObjectName,
}

/// What the Applications of Argo CD say, that sipgen writes for `gitops: argocd`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Argocd {
    /// How their names begin; by default `sipgen`. No two sites may have the same in one Argo CD.
    pub name: SiteName,
    /// The namespace that they are in.
    pub namespace: Namespace,
    /// Their project.
    pub project: ObjectName,
    /// The URL of this repo, as Argo CD knows it. `gitops: argocd` needs it.
    #[serde(rename = "repoURL")]
    pub repo_url: Option<RepoUrl>,
    /// The branch, tag or commit that is applied.
    pub target_revision: Word,
    /// The directory of `sipgen.yaml` in that repo, where it is not the repo's root.
    #[schemars(with = "String")]
    pub path: Utf8PathBuf,
    /// The base cluster.
    pub destination: Destination,
}

/// A cluster that Argo CD knows, by the address of its API server or by its name.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "NameOrServer", untagged)]
pub enum Destination {
    /// By the address of its API server.
    Server {
        /// The address.
        server: Word,
    },
    /// By its name.
    Name {
        /// The name.
        name: Word,
    },
}

/// What is written of a cluster: one of these.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NameOrServer {
    /// The address of its API server.
    server: Option<Word>,
    /// Its name.
    name: Option<Word>,
}

impl Flux {
    /// The name of the Kustomization that comes after all services.
    pub fn after_services(&self) -> String {
        format!("{}.services", self.name.as_str())
    }

    /// Whether a source that a Kustomization names is the one that has this repo. What it leaves out is taken to be
    /// right; `namespace` is its own.
    pub fn is_source(&self, source: &FluxSourceRef, namespace: Option<&str>) -> bool {
        let is_kind = source.kind.as_ref().is_none_or(|kind| kind == self.source_ref.kind.as_str());
        let own = self.source_ref.namespace.as_ref().unwrap_or(&self.namespace).as_str();
        let is_there = source.namespace.as_deref().or(namespace).is_none_or(|namespace| namespace == own);
        is_kind && is_there && source.name == self.source_ref.name.as_str()
    }
}

impl Destination {
    /// Whether an Application is for this cluster. One that does not say, or by a parameter, is taken to be.
    pub fn is(&self, other: &ApplicationDestination) -> bool {
        let said = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let server = |text: String| text.trim_end_matches('/').to_owned();
        let plain = |server: Option<String>, name: Option<String>| match (server, name) {
            (None, Some(name)) if name == IN_CLUSTER.1 => (Some(IN_CLUSTER.0.to_owned()), None),
            other => other,
        };
        let (there, by_name) = plain(said(&other.server).map(server), said(&other.name));
        let (own, own_name) = match self {
            Self::Server { server: own } => plain(Some(server(own.0.clone())), None),
            Self::Name { name } => plain(None, Some(name.0.clone())),
        };
        let is_parameter = |text: &Option<String>| text.as_ref().is_some_and(|text| text.contains("{{"));
        if (there.is_none() && by_name.is_none()) || is_parameter(&there) || is_parameter(&by_name) {
            return true;
        }
        there == own && by_name == own_name
    }
}

impl TryFrom<NameOrServer> for Destination {
    type Error = &'static str;

    fn try_from(destination: NameOrServer) -> Result<Self, Self::Error> {
        match (destination.server, destination.name) {
            (Some(server), None) => Ok(Self::Server { server }),
            (None, Some(name)) => Ok(Self::Name { name }),
            _ => Err("write either `server` or `name`"),
        }
    }
}

/// How the labels of declared hosts reach them.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Hosts {
    /// An overlay that agents apply instead of the hosts' own kustomization, or a component that this includes.
    #[serde(default)]
    pub form: Form,
}

/// What patches declared hosts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// An overlay over the outermost kustomization, which an agent applies in place of it.
    #[default]
    Overlay,
    /// A component, which a kustomization of the repo includes.
    Component,
}

impl Default for Flux {
    fn default() -> Self {
        Self {
            name: named("sipgen"),
            namespace: named("flux-system"),
            source_ref: SourceRef::default(),
            path: Utf8PathBuf::new(),
            interval: Duration("10m".to_owned()),
            retry_interval: None,
            timeout: None,
            wait: false,
            decryption: None,
            service_account_name: None,
        }
    }
}

impl Default for SourceRef {
    fn default() -> Self {
        Self { kind: SourceKind::default(), name: named("flux-system"), namespace: None }
    }
}

impl Default for Argocd {
    fn default() -> Self {
        Self {
            name: named("sipgen"),
            namespace: named("argocd"),
            project: named("default"),
            repo_url: None,
            target_revision: Word("HEAD".to_owned()),
            path: Utf8PathBuf::new(),
            destination: Destination::Server { server: Word(IN_CLUSTER.0.to_owned()) },
        }
    }
}

/// A name that is known to be one.
#[expect(clippy::unwrap_used, reason = "only for literals, which a test reads")]
fn named<T: FromStr<Err: fmt::Debug>>(name: &'static str) -> T {
    name.parse().unwrap()
}

/// How the names of a site's objects begin: one part of a name, short enough that what follows can still be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct SiteName(Namespace);

impl SiteName {
    const LONGEST: usize = 20;

    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl TryFrom<String> for SiteName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for SiteName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(label) if text.len() <= Self::LONGEST => Ok(Self(label)),
            _ => Err(format!(
                "`{}` is no name of at most {} lowercase letters, digits and dashes",
                text.escape_debug(),
                Self::LONGEST
            )),
        }
    }
}

/// A span of time as Flux writes it: `10m`, `1h30m`, `500ms`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct Duration(String);

/// A text of one word, such as a branch or an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct Word(String);

/// The URL of a repo, without a password: what is written to git is no secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct RepoUrl(Word);

impl TryFrom<String> for Duration {
    type Error = String;

    /// Flux: `^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`.
    fn try_from(text: String) -> Result<Self, String> {
        let mut rest = text.as_str();
        let mut is_valid = !rest.is_empty();
        while !rest.is_empty() && is_valid {
            let number = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
            let figures = &rest[..rest.len() - number.len()];
            let is_number = figures.split('.').count() <= 2 && figures.split('.').all(|part| !part.is_empty());
            let unit = ["ms", "s", "m", "h"].into_iter().find_map(|unit| number.strip_prefix(unit));
            is_valid = is_number && unit.is_some();
            rest = unit.unwrap_or_default();
        }
        if !is_valid {
            return Err(format!("`{text}` is no duration; write it as in `10m` or `1h30m`"));
        }
        if !text.contains(|c: char| matches!(c, '1'..='9')) {
            return Err(format!("`{text}` is no time at all; write a duration such as `10m`"));
        }
        Ok(Self(text))
    }
}

impl TryFrom<String> for Word {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_plain = |c: char| !c.is_whitespace() && !c.is_control();
        if text.is_empty() || !text.chars().all(is_plain) {
            return Err(format!("{text:?} is empty, or has blanks or control characters"));
        }
        Ok(Self(text))
    }
}

impl RepoUrl {
    /// Whether a URL is one of the same repo: with or without `.git`.
    pub fn is(&self, url: &str) -> bool {
        let plain = |url: &str| url.trim_end_matches('/').trim_end_matches(".git").to_owned();
        plain(&self.0.0) == plain(url)
    }
}

impl TryFrom<String> for RepoUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let authority = text.split_once("://").map(|(_, rest)| rest.split('/').next().unwrap_or_default());
        let user = authority.and_then(|authority| authority.rsplit_once('@')).map(|(user, _)| user);
        let is_ssh = text.starts_with("ssh://");
        if user.is_some_and(|user| !is_ssh || user.contains(':')) {
            // Which is not shown: it is a secret.
            return Err("the URL has a user or password in it; Argo CD takes those from a Secret".to_owned());
        }
        Word::try_from(text).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_one_of_flux() {
        for good in ["10m", "1h30m", "500ms", "1.5h", "0h1s"] {
            assert!(Duration::try_from(good.to_owned()).is_ok(), "{good}");
        }
        for bad in ["", "10", "m", "10 m", "1d", "-1m", "1.m", ".5m", "1.2.3m", "10m ", "0s", "1mm"] {
            assert!(Duration::try_from(bad.to_owned()).is_err(), "{bad:?} must be refused");
        }
    }

    #[test]
    fn the_url_of_a_repo_has_no_password() {
        for good in ["https://git.example.com/fleet.git", "git@git.example.com:fleet.git", "ssh://git@a.example/b"] {
            assert!(RepoUrl::try_from(good.to_owned()).is_ok(), "{good}");
        }
        for bad in ["", "a b", "https://u:not-a-secret@a.example/b", "https://token@a.example/b", "ssh://u:p@a/b"] {
            let refused = RepoUrl::try_from(bad.to_owned()).unwrap_err();
            assert!(!refused.contains("not-a-secret"), "{refused}");
        }
    }

    #[test]
    fn the_defaults_are_names() {
        assert_eq!(Flux::default().namespace.as_str(), "flux-system");
        assert_eq!(Argocd::default().project.as_str(), "default");
    }
}
