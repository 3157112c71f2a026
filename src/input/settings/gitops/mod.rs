//! Settings under `gitops`, `flux`, `argocd` and `hosts`: the agent that applies the output, and
//! its objects.
//!
//! `scalars` has the validated strings in them.

mod scalars;

use std::fmt;
use std::str::FromStr;

use camino::Utf8PathBuf;
use derive_more::Display;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::base::api::gitops::{ApplicationDestination, FluxSourceRef};
use crate::base::api::names::{Namespace, ObjectName};
use crate::base::layout;

pub use scalars::{Duration, RepoUrl, SiteName, WordSetting};

/// API server address of an agent's own cluster, and Argo CD's name for that cluster.
pub(crate) const IN_CLUSTER: (&str, &str) = ("https://kubernetes.default.svc", "in-cluster");

/// Settings of the Flux Kustomizations for `gitops: flux`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "Flux")]
pub struct FluxSettings {
    /// Prefix of their names; by default `sipgen`. Sites that share a namespace need different
    /// prefixes.
    pub name: SiteName,
    /// Their namespace.
    pub namespace: Namespace,
    /// The Flux source with this repo.
    pub source_ref: SourceRef,
    /// The directory of `sipgen.yaml` in the source, if it is not the source's root.
    #[schemars(with = "String", extend("x-editor" = {
        "pattern": r"^(?!/)(?!(.*/)?(\.\.|\.git)(/|$)).*$",
        "patternErrorMessage": "Write a directory inside the source, relative to its root and without `..`"
    }))]
    pub path: Utf8PathBuf,
    /// Reconciliation interval.
    pub interval: Duration,
    /// Retry interval after a failure; by default the reconciliation interval.
    pub retry_interval: Option<Duration>,
    /// Timeout for applying; by default the reconciliation interval.
    pub timeout: Option<Duration>,
    /// Wait until a cluster's services are ready, instead of only applied, before its hosts are
    /// labelled.
    pub wait: bool,
    /// Decryption of Secrets in git.
    pub decryption: Option<Decryption>,
    /// The ServiceAccount that Flux impersonates; by default its own.
    pub service_account_name: Option<ObjectName>,
}

/// A reference to a Flux source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SourceRef {
    /// Its kind.
    pub kind: SourceKind,
    /// Its name.
    pub name: ObjectName,
    /// Its namespace; by default that of the Kustomizations.
    pub namespace: Option<Namespace>,
}

/// The kind of a Flux source.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Display,
)]
pub enum SourceKind {
    /// A git repo.
    #[default]
    GitRepository,
    /// An artifact in a container registry.
    #[serde(rename = "OCIRepository")]
    #[display("OCIRepository")]
    OciRepository,
    /// A bucket of an object store.
    Bucket,
    /// An artifact of another controller.
    ExternalArtifact,
}

/// Decryption of Secrets in git by Flux.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Decryption {
    /// The program that encrypted them.
    pub provider: DecryptionProvider,
    /// The Secret with the keys.
    pub secret_ref: Option<SecretRef>,
    /// The ServiceAccount with access to the keys of a cloud provider.
    pub service_account_name: Option<ObjectName>,
}

/// Encryption programs that Flux supports.
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

/// Settings of the Argo CD Applications for `gitops: argocd`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "Argocd")]
pub struct ArgocdSettings {
    /// Prefix of their names; by default `sipgen`. Sites that share an Argo CD need different
    /// prefixes.
    pub name: SiteName,
    /// Their namespace.
    pub namespace: Namespace,
    /// Their project.
    pub project: ObjectName,
    /// The URL of this repo in Argo CD. `gitops: argocd` requires it.
    #[serde(rename = "repoURL")]
    pub repo_url: Option<RepoUrl>,
    /// The branch, tag or commit to apply.
    pub target_revision: WordSetting,
    /// The directory of `sipgen.yaml` in the repo, if it is not the repo's root.
    #[schemars(with = "String", extend("x-editor" = {
        "pattern": r"^(?!/)(?!(.*/)?(\.\.|\.git)(/|$)).*$",
        "patternErrorMessage": "Write a directory inside the source, relative to its root and without `..`"
    }))]
    pub path: Utf8PathBuf,
    /// The base cluster.
    #[serde(deserialize_with = "destination")]
    pub destination: Destination,
}

/// A cluster known to Argo CD, by the address of its API server or by its name.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-editor" = {
    "oneOf": [
        {"required": ["server"], "properties": {"server": {"type": "string"}}},
        {"required": ["name"], "properties": {"name": {"type": "string"}}}
    ]
}))]
pub struct Destination {
    /// The address of its API server.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<WordSetting>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<WordSetting>,
}

/// Reads a destination that has one of its fields.
fn destination<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Destination, D::Error> {
    let destination = Destination::deserialize(deserializer)?;
    if destination.server.is_some() == destination.name.is_some() {
        return Err(D::Error::custom("write either `server` or `name`"));
    }
    Ok(destination)
}

impl FluxSettings {
    /// Returns the name of the Kustomization that depends on all services.
    pub fn after_services(&self) -> String {
        format!("{}.services", self.name.as_str())
    }

    /// Returns whether a Kustomization's source is the one with this repo.
    ///
    /// Missing fields count as a match.
    pub fn is_source(&self, source: &FluxSourceRef) -> bool {
        let is_kind =
            source.kind.as_ref().is_none_or(|kind| *kind == self.source_ref.kind.to_string());
        let own = self.source_ref.namespace.as_ref().unwrap_or(&self.namespace).as_str();
        let is_there = source.namespace.as_ref().is_none_or(|namespace| namespace == own);
        is_kind && is_there && source.name == self.source_ref.name.as_str()
    }
}

impl Destination {
    /// Returns server and name, as far as they are known: a Secret may give another name to Argo CD's
    /// own cluster.
    pub fn server_and_name(&self) -> [Option<&str>; 2] {
        let [server, name] =
            [&self.server, &self.name].map(|text| text.as_ref().map(|text| text.0.as_str()));
        let is_own = name == Some(IN_CLUSTER.1);
        [if is_own { Some(IN_CLUSTER.0) } else { server.map(|it| it.trim_end_matches('/')) }, name]
    }

    /// Returns whether an Application's destination is this cluster. A missing or templated
    /// destination counts as a match.
    pub fn is(&self, other: &ApplicationDestination) -> bool {
        fn plain<'a>(server: Option<&'a str>, name: Option<&'a str>) -> [Option<&'a str>; 2] {
            match [server, name].map(|text| text.filter(|text| !text.is_empty())) {
                [None, Some(name)] if name == IN_CLUSTER.1 => [Some(IN_CLUSTER.0), None],
                [server, name] => [server.map(|server| server.trim_end_matches('/')), name],
            }
        }
        let there = plain(other.server.as_deref(), other.name.as_deref());
        let [own_server, own_name] =
            [&self.server, &self.name].map(|text| text.as_ref().map(|text| text.0.as_str()));
        let is_unknown =
            there == [None; 2] || there.iter().flatten().any(|text| text.contains("{{"));
        is_unknown || there == plain(own_server, own_name)
    }
}

/// The way in which declared hosts get their labels.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "Hosts")]
pub struct HostsSettings {
    /// An overlay that agents apply instead of the hosts' own kustomization, or a component that
    /// this kustomization includes.
    pub form: HostsForm,
}

/// The form of the patches for declared hosts.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Form")]
pub enum HostsForm {
    /// An overlay over the outermost kustomization, which an agent applies instead of it.
    #[default]
    Overlay,
    /// A component, which a kustomization of the repo includes.
    Component,
}

impl HostsForm {
    /// Returns the file name of the kustomization with the patches of declared hosts.
    pub(crate) fn file_name(self) -> &'static str {
        match self {
            HostsForm::Overlay => layout::KUSTOMIZATION,
            HostsForm::Component => layout::HOST_COMPONENT,
        }
    }
}

impl Default for FluxSettings {
    fn default() -> Self {
        Self {
            name: SiteName(named("sipgen")),
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

impl Default for ArgocdSettings {
    fn default() -> Self {
        Self {
            name: SiteName(named("sipgen")),
            namespace: named("argocd"),
            project: named("default"),
            repo_url: None,
            target_revision: WordSetting("HEAD".to_owned()),
            path: Utf8PathBuf::new(),
            destination: Destination {
                server: Some(WordSetting(IN_CLUSTER.0.to_owned())),
                name: None,
            },
        }
    }
}

/// Parses a literal name; tests cover every literal.
#[expect(clippy::unwrap_used, reason = "only for literals, which a test reads")]
fn named<T: FromStr<Err: fmt::Debug>>(name: &'static str) -> T {
    name.parse().unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_names() {
        assert_eq!(FluxSettings::default().namespace.as_str(), "flux-system");
        assert_eq!(ArgocdSettings::default().project.as_str(), "default");
    }
}
