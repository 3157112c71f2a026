//! Objects of Flux and Argo CD, limited to the fields that decide which directories an agent
//! applies, and how.
//!
//! Bindings, such as the `kcr_*` crates, refuse an object with a templated value in any field.

use std::collections::BTreeMap;

use derive_more::Display;
use k8s_openapi::api::core::v1::TypedLocalObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use schemars::JsonSchema;
use serde::de::{Error, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize};

use super::host::Metadata;

/// The agent that applies the generated manifests.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Display, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Agent")]
pub enum GitopsAgent {
    /// Flux, by Kustomizations.
    Flux,
    /// Argo CD, by Applications.
    #[display("Argo CD")]
    Argocd,
}

impl GitopsAgent {
    /// All agents.
    pub const ALL: [Self; 2] = [Self::Flux, Self::Argocd];

    /// Returns the agent's field manager.
    pub fn manager(self) -> &'static str {
        match self {
            Self::Flux => "kustomize-controller",
            Self::Argocd => "argocd-controller",
        }
    }
}

/// The API group of Flux's Kustomization. kustomize has files of the same kind.
pub const FLUX_GROUP: &str = "kustomize.toolkit.fluxcd.io";
/// The API group and version of generated Kustomizations.
pub const FLUX_API_VERSION: &str = "kustomize.toolkit.fluxcd.io/v1";
/// The kind of Flux's Kustomization.
pub const FLUX_KIND: &str = "Kustomization";
/// Label: the name of the Kustomization that last applied the object.
pub const FLUX_NAME: &str = "kustomize.toolkit.fluxcd.io/name";
/// Label: the namespace of the Kustomization that last applied the object.
pub const FLUX_NAMESPACE: &str = "kustomize.toolkit.fluxcd.io/namespace";
/// Annotation: the Application that last applied the object, as
/// `APPLICATION:GROUP/KIND:NAMESPACE/NAME`.
pub const TRACKING_ID: &str = "argocd.argoproj.io/tracking-id";
/// The API group of Argo CD.
pub const ARGOCD_GROUP: &str = "argoproj.io";
/// The API group and version of generated Applications.
pub const ARGOCD_API_VERSION: &str = "argoproj.io/v1alpha1";
/// The kind of Argo CD's Application.
pub const APPLICATION: &str = "Application";
/// The kind of Argo CD's AppProject.
pub const APP_PROJECT: &str = "AppProject";
/// The API group of Flux's sources.
pub const FLUX_SOURCE_GROUP: &str = "source.toolkit.fluxcd.io";
/// A Flux source: a git repo.
pub const GIT_REPOSITORY: &str = "GitRepository";
/// A Flux source: an artifact in a container registry.
pub const OCI_REPOSITORY: &str = "OCIRepository";
/// A Flux source: a bucket in an object store.
pub const BUCKET: &str = "Bucket";
/// Label of a Secret: the part of Argo CD that it configures.
pub const SECRET_TYPE: &str = "argocd.argoproj.io/secret-type";
/// The value of [`SECRET_TYPE`] for a cluster.
pub const CLUSTER_SECRET: &str = "cluster";
/// The kind of Argo CD's ApplicationSet, which generates Applications.
pub const APPLICATION_SET: &str = "ApplicationSet";

/// The name of an agent's object.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct AgentObjectName {
    /// The object's name; empty if unset.
    #[serde(default)]
    pub name: String,
    /// The namespace in the manifest, before any kustomization.
    pub namespace: Option<String>,
}

/// An agent's object with its spec.
#[derive(Debug, Clone, Deserialize)]
pub struct AgentManifest<S> {
    /// The kind.
    #[serde(default)]
    pub kind: String,
    /// Name and namespace.
    #[serde(default)]
    pub metadata: AgentObjectName,
    /// The desired state.
    pub spec: S,
}

/// A Flux Kustomization.
pub type FluxKustomization = AgentManifest<FluxKustomizationSpec>;

/// The spec of a Flux Kustomization.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FluxKustomizationSpec {
    /// The directory in the source; default: the source's root.
    pub path: Option<String>,
    /// The namespace that overrides the namespace of every object.
    pub target_namespace: Option<String>,
    /// The prefix of every object's name.
    pub name_prefix: Option<String>,
    /// The suffix of every object's name.
    pub name_suffix: Option<String>,
    /// The source of the manifests.
    pub source_ref: FluxSourceRef,
    /// Kustomizations that it waits for.
    pub depends_on: Option<Vec<AgentObjectName>>,
    /// Set if Flux does not reconcile it for now.
    pub suspend: bool,
    /// The connection to another cluster, to which Flux applies the objects.
    pub kube_config: Option<IgnoredAny>,
    /// Directories of components to add to the kustomization, relative to it.
    pub components: Option<Vec<String>>,
    /// Set if components that do not exist are left out.
    pub ignore_missing_components: bool,
    /// Patches to add to the kustomization.
    pub patches: Option<yaml_serde::Value>,
    /// Merge patches, as objects, before `v1`.
    pub patches_strategic_merge: Option<yaml_serde::Value>,
    /// JSON patches, as lists of operations, before `v1`.
    #[serde(rename = "patchesJson6902")]
    pub patches_json6902: Option<yaml_serde::Value>,
    /// Labels and annotations for every object of the build.
    pub common_metadata: Option<yaml_serde::Value>,
    /// Set if Flux recreates objects that it cannot update.
    pub force: Option<yaml_serde::Value>,
    /// Fields that Flux does not update.
    pub ignore: Option<yaml_serde::Value>,
    /// The decryption of Secrets.
    pub decryption: Option<yaml_serde::Value>,
    /// Variable substitution after the build.
    pub post_build: Option<PostBuild>,
}

/// Variable substitution in the output of Flux's build.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PostBuild {
    /// Variables by name.
    pub substitute: Option<BTreeMap<String, yaml_serde::Value>>,
    /// ConfigMaps and Secrets of its namespace in the cluster, with more variables.
    pub substitute_from: Option<Vec<TypedLocalObjectReference>>,
    /// `Always`: substitute default values even if no variable is defined.
    pub substitute_strategy: Option<String>,
}

/// A reference from a Kustomization to its source.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct FluxSourceRef {
    /// The kind.
    pub kind: Option<String>,
    /// The name.
    #[serde(default)]
    pub name: String,
    /// The namespace; default: the namespace of the Kustomization.
    pub namespace: Option<String>,
}

/// An Argo CD Application.
pub type Application = AgentManifest<ApplicationSpec>;

/// The spec of an Application, with one source or several.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ApplicationSpec {
    /// The project; default: `default`.
    pub project: Option<String>,
    /// The only source.
    #[serde(deserialize_with = "without_unset_options")]
    pub source: Option<ApplicationSource>,
    /// Several sources.
    pub sources: Option<Vec<ApplicationSource>>,
    /// A source whose build Argo CD commits to a branch, and applies from there.
    pub source_hydrator: Option<SourceHydrator>,
    /// The target cluster.
    pub destination: ApplicationDestination,
    /// The options for applying objects.
    pub sync_policy: Option<yaml_serde::Value>,
    /// Fields that Argo CD does not compare.
    pub ignore_differences: Option<yaml_serde::Value>,
}

/// An Argo CD AppProject, which limits what its Applications apply.
pub type AppProject = AgentManifest<AppProjectSpec>;

/// The spec of an AppProject.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AppProjectSpec {
    /// The only namespaced kinds that are applied; default: all.
    pub namespace_resource_whitelist: Option<yaml_serde::Value>,
    /// Namespaced kinds that are not applied.
    pub namespace_resource_blacklist: Option<yaml_serde::Value>,
    /// The only repos from which objects are applied.
    pub source_repos: Option<Vec<String>>,
    /// The only clusters and namespaces to which objects are applied.
    pub destinations: Option<Vec<ApplicationDestination>>,
}

/// A source that Argo CD builds and commits.
#[derive(Debug, Clone, Deserialize)]
pub struct SourceHydrator {
    /// The source to build.
    #[serde(rename = "drySource")]
    pub dry_source: ApplicationSource,
}

/// A reference from an Application to its target cluster.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ApplicationDestination {
    /// The URL of the cluster's API server.
    pub server: Option<String>,
    /// The cluster's name.
    pub name: Option<String>,
    /// The namespace of objects without one.
    pub namespace: Option<String>,
}

/// A source of an Application.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ApplicationSource {
    /// The URL of the repo.
    #[serde(rename = "repoURL", default)]
    pub repo_url: String,
    /// The branch, tag or commit; default: `HEAD`.
    #[serde(rename = "targetRevision")]
    pub target_revision: Option<String>,
    /// The directory in the repo; absent for a chart from a Helm repo.
    pub path: Option<String>,
    /// Options for a directory without a kustomization.
    pub directory: Option<DirectorySource>,
    /// Changes to a kustomization.
    pub kustomize: Option<KustomizeSource>,
    /// Options of Helm, which make it a chart.
    pub helm: Option<yaml_serde::Value>,
    /// Options of a config management plugin, which make it the plugin's.
    pub plugin: Option<yaml_serde::Value>,
}

/// Reads a source without options of which none is set: Argo CD drops these, but not in `sources`.
fn without_unset_options<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<ApplicationSource>, D::Error> {
    let fields = Option::<yaml_serde::Mapping>::deserialize(deserializer)?;
    let has_options = |key: &str| ["kustomize", "directory", "helm"].contains(&key);
    let source = fields.map(|mut fields| {
        fields.retain(|key, value| !(key.as_str().is_some_and(has_options) && is_unset(value)));
        yaml_serde::from_value(fields.into())
    });
    source.transpose().map_err(D::Error::custom)
}

/// Returns whether a value is the zero value of its type, as Go has it.
fn is_unset(value: &yaml_serde::Value) -> bool {
    match value {
        yaml_serde::Value::Null | yaml_serde::Value::Bool(false) => true,
        yaml_serde::Value::String(text) => text.is_empty(),
        yaml_serde::Value::Sequence(items) => items.is_empty(),
        yaml_serde::Value::Mapping(fields) => fields.values().all(is_unset),
        _ => false,
    }
}

/// Options of Argo CD for a directory without a kustomization.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DirectorySource {
    /// Set if Argo CD reads subdirectories.
    pub recurse: bool,
    /// The glob that a file must match.
    pub include: Option<String>,
    /// The glob that a file must not match.
    pub exclude: Option<String>,
}

/// Changes of an Application to a kustomization.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KustomizeSource {
    /// The namespace that overrides the namespace of every object.
    pub namespace: Option<String>,
    /// The prefix of every object's name.
    pub name_prefix: Option<String>,
    /// The suffix of every object's name.
    pub name_suffix: Option<String>,
    /// Directories of components to add to the kustomization, relative to it.
    pub components: Option<Vec<String>>,
    /// Set if components that do not exist are left out.
    pub ignore_missing_components: bool,
    /// Patches to add to the kustomization.
    pub patches: Option<yaml_serde::Value>,
    /// Replica counts of objects.
    pub replicas: Option<yaml_serde::Value>,
    /// Labels for every object of the build.
    pub common_labels: Option<yaml_serde::Value>,
    /// Annotations for every object of the build.
    pub common_annotations: Option<yaml_serde::Value>,
    /// Set if labels that the kustomization has are replaced.
    pub force_common_labels: bool,
    /// Set if annotations that the kustomization has are replaced.
    pub force_common_annotations: bool,
    /// Set if the labels are added to `labels` instead of `commonLabels`.
    pub label_without_selector: bool,
}

/// A Secret that registers a cluster in Argo CD.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSecret {
    /// Labels and annotations.
    #[serde(default)]
    pub metadata: Metadata,
    /// Values in base64.
    pub data: Option<BTreeMap<String, yaml_serde::Value>>,
    /// Values in plain text.
    pub string_data: Option<BTreeMap<String, yaml_serde::Value>>,
}

/// An Argo CD ApplicationSet.
pub type ApplicationSet = AgentManifest<ApplicationSetSpec>;

/// The spec of an ApplicationSet.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationSetSpec {
    /// The sources of parameters.
    #[serde(default)]
    pub generators: Vec<ApplicationSetGenerator>,
    /// The template of an Application, with placeholders for parameters.
    pub template: yaml_serde::Value,
    /// Set if a text with placeholders patches each Application.
    pub template_patch: Option<IgnoredAny>,
}

impl ApplicationSetSpec {
    /// Returns the template with parameters filled in; `None` if it is invalid.
    pub fn filled_template(
        &self,
        fill: impl FnOnce(&mut yaml_serde::Value),
    ) -> Option<ApplicationTemplate> {
        let mut template = self.template.clone();
        fill(&mut template);
        yaml_serde::from_value(template).ok()
    }
}

/// The template of an Application.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ApplicationTemplate {
    /// Name and namespace of each Application.
    pub metadata: AgentObjectName,
    /// The desired state of each Application.
    pub spec: ApplicationSpec,
}

/// A generator of parameters, limited to the types that sipgen evaluates.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ApplicationSetGenerator {
    /// Parameters from directories or files of a repo.
    pub git: Option<GitGenerator>,
    /// Generators whose parameter sets are combined.
    pub matrix: Option<Generators>,
    /// Generators whose parameter sets are merged.
    pub merge: Option<Generators>,
    /// Parameters listed in the ApplicationSet itself.
    pub list: Option<ListGenerator>,
    /// Parameters from the clusters that are registered in Argo CD.
    pub clusters: Option<ClusterGenerator>,
    /// Parameters that are used.
    pub selector: Option<LabelSelector>,
}

impl ApplicationSetGenerator {
    /// Returns whether it changes the template of the Applications.
    pub fn has_template(&self) -> bool {
        let templates = [
            self.git.as_ref().is_some_and(|git| git.template.is_some()),
            self.list.as_ref().is_some_and(|list| list.template.is_some()),
            self.clusters.as_ref().is_some_and(|clusters| clusters.template.is_some()),
            [&self.matrix, &self.merge].into_iter().flatten().any(|all| all.template.is_some()),
        ];
        templates.contains(&true)
    }
}

/// Parameters listed in the ApplicationSet itself.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ListGenerator {
    /// Parameter sets, each for one Application.
    pub elements: Option<Vec<yaml_serde::Value>>,
    /// Further parameter sets, in a text.
    #[serde(rename = "elementsYaml")]
    pub elements_yaml: Option<String>,
    /// Fields that replace those of the ApplicationSet's template.
    pub template: Option<IgnoredAny>,
}

/// Parameters from the clusters that are registered in Argo CD.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ClusterGenerator {
    /// The label selector of the clusters; all clusters without it.
    pub selector: Option<LabelSelector>,
    /// Additional parameters.
    pub values: Option<yaml_serde::Value>,
    /// Set if one Application covers all clusters.
    #[serde(default, rename = "flatList")]
    pub flat_list: bool,
    /// Fields that replace those of the ApplicationSet's template.
    pub template: Option<IgnoredAny>,
}

/// Generators nested in a matrix or merge generator.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Generators {
    /// The nested generators. Those of a matrix may contain parameters of the ones before them.
    pub generators: Vec<yaml_serde::Value>,
    /// Fields that replace those of the ApplicationSet's template.
    pub template: Option<IgnoredAny>,
    /// The parameters by which a merge generator matches parameter sets.
    pub merge_keys: Vec<String>,
}

/// Parameters from a repo.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GitGenerator {
    /// The URL of the repo.
    #[serde(rename = "repoURL")]
    pub repo_url: String,
    /// The branch, tag or commit.
    pub revision: Option<String>,
    /// Globs of directories.
    pub directories: Vec<GitDirectory>,
    /// Globs of files that contain parameters.
    pub files: Vec<GitDirectory>,
    /// The prefix of the names of path parameters.
    pub path_param_prefix: Option<String>,
    /// Additional parameters.
    pub values: Option<yaml_serde::Value>,
    /// Fields that replace those of the ApplicationSet's template.
    pub template: Option<IgnoredAny>,
}

/// A glob of directories or files.
#[derive(Debug, Clone, Deserialize)]
pub struct GitDirectory {
    /// The glob, in the syntax of Go's `path.Match`.
    pub path: String,
    /// Set if matches are excluded.
    #[serde(default)]
    pub exclude: bool,
}
