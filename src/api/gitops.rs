//! What tells Flux and Argo CD which directories to apply: the part of it that decides which hosts they reach.

use schemars::JsonSchema;
use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

/// The agent that applies what is in git.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Agent {
    /// Flux, by its Kustomizations.
    Flux,
    /// Argo CD, by its Applications.
    Argocd,
}

impl Agent {
    /// Every agent.
    pub const ALL: [Self; 2] = [Self::Flux, Self::Argocd];

    /// The agent's own name.
    pub fn title(self) -> &'static str {
        match self {
            Self::Flux => "Flux",
            Self::Argocd => "Argo CD",
        }
    }

    /// The manager under whose name the API server knows what the agent applied.
    pub fn manager(self) -> &'static str {
        match self {
            Self::Flux => "kustomize-controller",
            Self::Argocd => "argocd-controller",
        }
    }
}

/// The API group of Flux's Kustomizations, which share their kind with the files of kustomize.
pub const FLUX_GROUP: &str = "kustomize.toolkit.fluxcd.io";
/// The API group and version of those that we write.
pub const FLUX_API_VERSION: &str = "kustomize.toolkit.fluxcd.io/v1";
/// Their kind.
pub const FLUX_KIND: &str = "Kustomization";
/// Label: the name of the Kustomization that applied an object last.
pub const FLUX_NAME: &str = "kustomize.toolkit.fluxcd.io/name";
/// Label: the namespace of that Kustomization.
pub const FLUX_NAMESPACE: &str = "kustomize.toolkit.fluxcd.io/namespace";
/// Annotation: the Application that applied an object last, and the object, as `APPLICATION:GROUP/KIND:NAMESPACE/NAME`.
pub const TRACKING_ID: &str = "argocd.argoproj.io/tracking-id";
/// The API group of Argo CD.
pub const ARGOCD_GROUP: &str = "argoproj.io";
/// The API group and version of the Applications that we write.
pub const ARGOCD_API_VERSION: &str = "argoproj.io/v1alpha1";
/// What Argo CD applies.
pub const APPLICATION: &str = "Application";
/// What says which of them are allowed.
pub const APP_PROJECT: &str = "AppProject";
/// The API group of Flux's sources.
pub const FLUX_SOURCE_GROUP: &str = "source.toolkit.fluxcd.io";
/// A source of Flux: a git repo.
pub const GIT_REPOSITORY: &str = "GitRepository";
/// A source of Flux: an artifact in a container registry.
pub const OCI_REPOSITORY: &str = "OCIRepository";
/// A source of Flux: a bucket of an object store.
pub const BUCKET: &str = "Bucket";
/// Label of a Secret: the part of Argo CD that it configures.
pub const SECRET_TYPE: &str = "argocd.argoproj.io/secret-type";
/// The value of that label for a cluster.
pub const CLUSTER_SECRET: &str = "cluster";
/// What makes Applications.
pub const APPLICATION_SET: &str = "ApplicationSet";

/// The name of an agent's object.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Named {
    /// Its own name; empty where it has none.
    #[serde(default)]
    pub name: String,
    /// Its namespace, before any kustomization.
    #[serde(default)]
    pub namespace: Option<String>,
}

/// A Kustomization of Flux.
#[derive(Debug, Clone, Deserialize)]
pub struct FluxKustomization {
    /// Its name.
    #[serde(default)]
    pub metadata: Named,
    /// What is applied.
    pub spec: FluxKustomizationSpec,
}

/// What a Kustomization of Flux applies.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FluxKustomizationSpec {
    /// The directory in its source; the source's root without one.
    #[serde(default)]
    pub path: Option<String>,
    /// The namespace that everything gets.
    #[serde(default)]
    pub target_namespace: Option<String>,
    /// What every name gets in front.
    #[serde(default)]
    pub name_prefix: Option<String>,
    /// What every name gets at its end.
    #[serde(default)]
    pub name_suffix: Option<String>,
    /// The source.
    #[serde(default)]
    pub source_ref: FluxSourceRef,
    /// Whether nothing is applied for now.
    #[serde(default)]
    pub suspend: bool,
    /// How another cluster is reached, to which it is applied.
    #[serde(default)]
    pub kube_config: Option<IgnoredAny>,
    /// Directories of components that are added to the kustomization, relative to it.
    #[serde(default)]
    pub components: Option<Vec<String>>,
    /// How Secrets are decrypted.
    #[serde(default)]
    pub decryption: Option<yaml_serde::Value>,
    /// What is replaced in what is built.
    #[serde(default)]
    pub post_build: Option<PostBuild>,
}

/// The variables that Flux replaces in what it has built.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PostBuild {
    /// Their values.
    #[serde(default)]
    pub substitute: Option<BTreeMap<String, yaml_serde::Value>>,
    /// ConfigMaps and Secrets of the cluster that have more.
    #[serde(default)]
    pub substitute_from: Option<Vec<SubstituteReference>>,
    /// `Always`: defaults are taken even where there is no variable.
    #[serde(default)]
    pub substitute_strategy: Option<String>,
}

/// A ConfigMap or Secret with variables, in the namespace of the Kustomization.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct SubstituteReference {
    /// `ConfigMap` or `Secret`.
    #[serde(default)]
    pub kind: String,
    /// Its name.
    #[serde(default)]
    pub name: String,
}

/// A source of Flux, as a Kustomization names it.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct FluxSourceRef {
    /// Its kind.
    #[serde(default)]
    pub kind: Option<String>,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its namespace; that of the Kustomization without one.
    #[serde(default)]
    pub namespace: Option<String>,
}

/// An Application of Argo CD.
#[derive(Debug, Clone, Deserialize)]
pub struct Application {
    /// Its name.
    #[serde(default)]
    pub metadata: Named,
    /// What is applied.
    pub spec: ApplicationSpec,
}

/// What an Application applies: one source, or several.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ApplicationSpec {
    /// The only source.
    #[serde(default)]
    pub source: Option<ApplicationSource>,
    /// Several sources.
    #[serde(default)]
    pub sources: Option<Vec<ApplicationSource>>,
    /// The cluster that it is applied to.
    #[serde(default)]
    pub destination: ApplicationDestination,
}

/// A cluster, as an Application names it.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ApplicationDestination {
    /// The address of its API server.
    #[serde(default)]
    pub server: Option<String>,
    /// Its name.
    #[serde(default)]
    pub name: Option<String>,
}

/// A directory that an Application applies.
#[derive(Debug, Clone, Deserialize)]
pub struct ApplicationSource {
    /// The URL of its repo.
    #[serde(rename = "repoURL", default)]
    pub repo_url: String,
    /// The directory in its repo; none for Helm charts from elsewhere.
    #[serde(default)]
    pub path: Option<String>,
    /// How a directory without kustomization is read.
    #[serde(default)]
    pub directory: Option<DirectorySource>,
    /// What is added to a kustomization.
    #[serde(default)]
    pub kustomize: Option<KustomizeSource>,
}

/// How a directory without kustomization is read.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct DirectorySource {
    /// Whether the directories below it count.
    #[serde(default)]
    pub recurse: bool,
    /// A glob that files must match.
    #[serde(default)]
    pub include: Option<String>,
    /// A glob that files must not match.
    #[serde(default)]
    pub exclude: Option<String>,
}

/// What an Application adds to a kustomization.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KustomizeSource {
    /// The namespace that everything gets.
    #[serde(default)]
    pub namespace: Option<String>,
    /// What every name gets in front.
    #[serde(default)]
    pub name_prefix: Option<String>,
    /// What every name gets at its end.
    #[serde(default)]
    pub name_suffix: Option<String>,
    /// Directories of components that are added to the kustomization, relative to it.
    #[serde(default)]
    pub components: Option<Vec<String>>,
}

/// A project of Argo CD: what its Applications may apply.
#[derive(Debug, Clone, Deserialize)]
pub struct AppProject {
    /// Its name.
    #[serde(default)]
    pub metadata: Named,
    /// What is allowed.
    #[serde(default)]
    pub spec: AppProjectSpec,
}

/// What a project allows. A list that is absent is not the same as an empty one.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AppProjectSpec {
    /// Globs of the URLs of repos.
    #[serde(default)]
    pub source_repos: Vec<String>,
    /// The clusters and namespaces.
    #[serde(default)]
    pub destinations: Vec<ProjectDestination>,
    /// The kinds without a namespace that are allowed.
    #[serde(default)]
    pub cluster_resource_whitelist: Option<Vec<GroupKind>>,
    /// The kinds without a namespace that are not.
    #[serde(default)]
    pub cluster_resource_blacklist: Option<Vec<GroupKind>>,
    /// The kinds with a namespace that are allowed; all without a list.
    #[serde(default)]
    pub namespace_resource_whitelist: Option<Vec<GroupKind>>,
    /// The kinds with a namespace that are not.
    #[serde(default)]
    pub namespace_resource_blacklist: Option<Vec<GroupKind>>,
}

/// Globs of a cluster and a namespace.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ProjectDestination {
    /// The address of the cluster's API server.
    #[serde(default)]
    pub server: String,
    /// The cluster's name.
    #[serde(default)]
    pub name: String,
    /// The namespace.
    #[serde(default)]
    pub namespace: String,
}

/// Globs of a group and a kind.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct GroupKind {
    /// The group; empty for the core one.
    #[serde(default)]
    pub group: String,
    /// The kind.
    #[serde(default)]
    pub kind: String,
    /// The objects' names, where only some are meant.
    #[serde(default)]
    pub name: String,
}

/// A source of Flux's source-controller: what leaves out files of it, and what is copied into it.
#[derive(Debug, Clone, Deserialize)]
pub struct FluxSource {
    /// Its kind.
    #[serde(default)]
    pub kind: String,
    /// Its name.
    #[serde(default)]
    pub metadata: Named,
    /// What is fetched.
    pub spec: FluxSourceSpec,
}

/// The parts of a source that are fetched.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FluxSourceSpec {
    /// Patterns of files that are left out, as in `.gitignore`.
    #[serde(default)]
    pub ignore: Option<String>,
    /// Of a git repo: the only directories that are fetched, beside the files at the root.
    #[serde(default)]
    pub sparse_checkout: Option<Vec<String>>,
    /// Of a git repo: others whose files are copied into it.
    #[serde(default)]
    pub include: Option<Vec<Include>>,
    /// Of a bucket: how the names of files that are fetched begin.
    #[serde(default)]
    pub prefix: Option<String>,
}

/// A git repo whose files are copied into another one, which is in the same namespace.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Include {
    /// The GitRepository.
    pub repository: Named,
    /// The directory that is copied; the root without one.
    #[serde(default)]
    pub from_path: String,
    /// The directory that it becomes; the GitRepository's name without one.
    #[serde(default)]
    pub to_path: String,
}

impl Include {
    /// The directory that the copy becomes.
    pub fn target(&self) -> &str {
        if self.to_path.is_empty() {
            &self.repository.name
        } else {
            &self.to_path
        }
    }
}

/// A Secret by which Argo CD knows a cluster.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSecret {
    /// Its labels and annotations.
    #[serde(default)]
    pub metadata: ClusterSecretMetadata,
    /// Its values in base64.
    #[serde(default)]
    pub data: Option<BTreeMap<String, yaml_serde::Value>>,
    /// Its values in plain text.
    #[serde(default)]
    pub string_data: Option<BTreeMap<String, yaml_serde::Value>>,
}

/// What stands at the head of such a Secret.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ClusterSecretMetadata {
    /// By them, ApplicationSets select clusters.
    #[serde(default)]
    pub labels: Option<BTreeMap<String, String>>,
    /// They are parameters of ApplicationSets, too.
    #[serde(default)]
    pub annotations: Option<BTreeMap<String, String>>,
}

/// An ApplicationSet of Argo CD.
#[derive(Debug, Clone, Deserialize)]
pub struct ApplicationSet {
    /// Its name.
    #[serde(default)]
    pub metadata: Named,
    /// What makes Applications, and of which form.
    pub spec: ApplicationSetSpec,
}

/// What makes Applications, and of which form.
#[derive(Debug, Clone, Deserialize)]
pub struct ApplicationSetSpec {
    /// Where parameters come from.
    #[serde(default)]
    pub generators: Vec<Generator>,
    /// An Application with parameters in it.
    pub template: ApplicationTemplate,
}

/// An Application with parameters in it.
#[derive(Debug, Clone, Deserialize)]
pub struct ApplicationTemplate {
    /// What is applied.
    #[serde(default)]
    pub spec: ApplicationSpec,
}

/// A generator of parameters; of those that there are, the one that names directories of a repo.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Generator {
    /// The directories of a repo.
    #[serde(default)]
    pub git: Option<GitGenerator>,
    /// Generators whose parameters are combined.
    #[serde(default)]
    pub matrix: Option<Generators>,
    /// Generators whose parameters are merged.
    #[serde(default)]
    pub merge: Option<Generators>,
    /// Parameters that stand in the object itself.
    #[serde(default)]
    pub list: Option<ListGenerator>,
    /// The clusters that Argo CD knows.
    #[serde(default)]
    pub clusters: Option<ClusterGenerator>,
}

/// Parameters that stand in the object itself.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ListGenerator {
    /// One Application each.
    #[serde(default)]
    pub elements: Option<Vec<yaml_serde::Value>>,
}

/// The clusters that Argo CD knows.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ClusterGenerator {
    /// The labels of those that are taken; all without.
    #[serde(default)]
    pub selector: Option<yaml_serde::Value>,
    /// Further parameters.
    #[serde(default)]
    pub values: Option<yaml_serde::Value>,
    /// Whether there is one Application for all of them.
    #[serde(default, rename = "flatList")]
    pub flat_list: bool,
}

/// Generators in another one.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Generators {
    /// They.
    #[serde(default)]
    pub generators: Vec<Generator>,
    /// The parameters that are equal in what is merged.
    #[serde(default, rename = "mergeKeys")]
    pub merge_keys: Vec<String>,
}

/// The directories of a repo that match.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct GitGenerator {
    /// Globs of directories.
    #[serde(default)]
    pub directories: Vec<GitDirectory>,
    /// Globs of files with parameters.
    #[serde(default)]
    pub files: Vec<GitDirectory>,
    /// What stands before the names of the parameters of paths.
    #[serde(default, rename = "pathParamPrefix")]
    pub path_param_prefix: Option<String>,
}

/// A glob of directories.
#[derive(Debug, Clone, Deserialize)]
pub struct GitDirectory {
    /// The glob, as Go's `path.Match` has them.
    pub path: String,
    /// Whether what matches is left out.
    #[serde(default)]
    pub exclude: bool,
}
