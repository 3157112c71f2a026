//! Objects of Flux and its operator, besides Kustomizations, that make Flux apply files of a repo.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;
use yaml_serde::Value;

use super::gitops::{
    AgentManifest, AgentObjectName, BUCKET, FLUX_GROUP, FLUX_KIND, FLUX_SOURCE_GROUP,
    FluxKustomization, FluxSourceRef, GIT_REPOSITORY, OCI_REPOSITORY,
};
use crate::base::text::expanded;
use crate::base::text::yaml::{self, scalar_text};

/// The API group of Flux's HelmRelease.
pub const HELM_GROUP: &str = "helm.toolkit.fluxcd.io";
/// A Flux source: a chart.
pub const HELM_CHART: &str = "HelmChart";
/// The kind that installs a chart.
pub const HELM_RELEASE: &str = "HelmRelease";
/// The API group of the Flux Operator.
pub const OPERATOR_GROUP: &str = "fluxcd.controlplane.io";
/// The kind that installs Flux, and may make it apply a directory.
pub const FLUX_INSTANCE: &str = "FluxInstance";
/// The kind that makes objects from templates.
pub const RESOURCE_SET: &str = "ResourceSet";

/// A source of Flux's source-controller, limited to the fields that decide which files it has.
pub type FluxSource = AgentManifest<FluxSourceSpec>;

/// The spec of a source.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FluxSourceSpec {
    /// The URL of the repo.
    pub url: Option<String>,
    /// GitRepository only: what to fetch.
    #[serde(rename = "ref", default)]
    pub reference: FluxGitReference,
    /// Patterns of files to exclude, in the syntax of `.gitignore`.
    pub ignore: Option<String>,
    /// GitRepository only: the directories to check out, besides the files in the root directory.
    pub sparse_checkout: Option<Vec<String>>,
    /// GitRepository only: whether submodules are fetched.
    pub recurse_submodules: Option<bool>,
    /// GitRepository only: other GitRepositories whose files are copied into this one.
    pub include: Option<Vec<Include>>,
    /// Bucket only: the prefix of the objects to fetch.
    pub prefix: Option<String>,
    /// HelmChart only: the directory, or the name of a chart in a Helm repository.
    pub chart: Option<String>,
    /// HelmChart only: the source with the directory.
    pub source_ref: Option<FluxSourceRef>,
}

/// What a GitRepository fetches.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct FluxGitReference {
    /// The branch.
    pub branch: Option<String>,
}

/// A GitRepository, in the same namespace, whose files are copied into another one.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Include {
    /// The GitRepository.
    pub repository: AgentObjectName,
    /// The directory to copy; default: the root.
    #[serde(default)]
    pub from_path: String,
    /// The target directory; default: the GitRepository's name.
    #[serde(default)]
    pub to_path: String,
}

impl Include {
    /// Returns the target directory of the copy.
    pub fn target(&self) -> &str {
        if self.to_path.is_empty() { &self.repository.name } else { &self.to_path }
    }
}

/// A HelmRelease, limited to its chart.
pub type HelmRelease = AgentManifest<HelmReleaseSpec>;

/// The spec of a HelmRelease.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HelmReleaseSpec {
    /// The template of its HelmChart.
    pub chart: Option<FluxSource>,
    /// The source that is or has its chart, if it has no template.
    pub chart_ref: Option<FluxSourceRef>,
    /// Set if Flux does not reconcile it for now.
    #[serde(default)]
    pub suspend: bool,
    /// The connection to another cluster.
    pub kube_config: Option<Value>,
    /// Values of the chart.
    pub values: Option<Value>,
    /// Objects with further values.
    pub values_from: Option<Value>,
}

/// A FluxInstance, limited to what it makes Flux apply.
pub type FluxInstance = AgentManifest<FluxInstanceSpec>;

/// The spec of a FluxInstance.
#[derive(Debug, Clone, Deserialize)]
pub struct FluxInstanceSpec {
    /// The source and the directory that Flux applies from it.
    pub sync: Option<Sync>,
    /// Changes to the objects that the operator makes.
    #[serde(default)]
    pub kustomize: InstanceKustomize,
}

/// Changes to the objects of a FluxInstance.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct InstanceKustomize {
    /// Patches of a kustomization.
    #[serde(default)]
    pub patches: Vec<Value>,
}

/// A source and a directory of it.
#[derive(Debug, Clone, Deserialize)]
pub struct Sync {
    /// Name of the source and of the Kustomization; default: the namespace.
    pub name: Option<String>,
    /// The kind of the source.
    pub kind: Option<String>,
    /// The URL of the source.
    pub url: Option<String>,
    /// What to fetch from it.
    #[serde(rename = "ref")]
    pub reference: Option<Value>,
    /// The directory.
    pub path: Option<String>,
}

impl HelmRelease {
    /// Returns whether only other objects know what it makes Flux apply: it has the chart
    /// `flux-instance`, and values from elsewhere.
    pub fn has_unknown_instance(&self) -> bool {
        let HelmReleaseSpec { chart, chart_ref, values_from, .. } = &self.spec;
        let chart = chart.as_ref().and_then(|chart| chart.spec.chart.as_deref());
        let names = [chart, chart_ref.as_ref().map(|source| source.name.as_str())];
        values_from.is_some() && names.contains(&Some("flux-instance"))
    }

    /// Returns the FluxInstance that the chart `flux-instance` of the Flux Operator makes of its values.
    pub fn flux_instance(&self) -> Option<FluxInstance> {
        let values = self.spec.values.as_ref()?.get("instance")?;
        let spec = yaml_serde::from_value::<FluxInstanceSpec>(values.clone()).ok()?;
        let metadata = AgentObjectName { name: String::new(), ..self.metadata.clone() };
        spec.sync.as_ref().and_then(|sync| sync.path.as_ref())?;
        Some(FluxInstance { kind: FLUX_INSTANCE.to_owned(), metadata, spec })
    }
}

/// The objects that the operator makes of a `sync`.
#[derive(Debug, Clone)]
pub struct SyncObjects {
    /// Applies the directory.
    pub kustomization: FluxKustomization,
    /// Fetches it.
    pub source: FluxSource,
}

impl SyncObjects {
    /// Reads the objects; `None` if one is missing or invalid.
    pub fn from_manifests(manifests: Vec<Value>) -> Option<Self> {
        let (mut kustomizations, mut sources): (Vec<Value>, Vec<Value>) =
            manifests.into_iter().partition(|it| it.get("kind").is_some_and(|it| it == FLUX_KIND));
        Some(Self {
            kustomization: yaml_serde::from_value(kustomizations.pop()?).ok()?,
            source: yaml_serde::from_value(sources.pop()?).ok()?,
        })
    }
}

/// The namespace of Flux, unless its manifests have another one.
const FLUX_SYSTEM: &str = "flux-system";

impl FluxInstance {
    /// Returns the patches that may change the objects of its `sync`.
    pub fn sync_patches(&self) -> Vec<&Value> {
        let kinds = [FLUX_KIND, GIT_REPOSITORY, OCI_REPOSITORY, BUCKET];
        let is_other = |patch: &Value| {
            let field = |name| patch.get(name).filter(|value| !value.is_null());
            let target = field("target");
            let kind = target.and_then(|target| target.get("kind")).and_then(Value::as_str);
            match (kind, target, field("patch").and_then(Value::as_str)) {
                // The kind is a regular expression.
                (Some(kind), ..) => {
                    kind.chars().all(char::is_alphanumeric) && !kinds.contains(&kind)
                }
                // A merge patch names its object.
                (None, None, Some(text)) => !kinds.iter().any(|kind| text.contains(kind)),
                _ => false,
            }
        };
        self.spec.kustomize.patches.iter().filter(|patch| !is_other(patch)).collect()
    }

    /// Returns the objects that the operator makes in the cluster, if it makes any, before its
    /// patches.
    pub fn sync_manifests(&self) -> Option<Vec<Value>> {
        let sync = self.spec.sync.as_ref()?;
        let namespace = &self.metadata.namespace;
        let name = sync.name.as_ref().filter(|name| !name.is_empty()).or(namespace.as_ref());
        let name = name.map_or(FLUX_SYSTEM, String::as_str);
        let kind = sync.kind.as_deref().unwrap_or(GIT_REPOSITORY);
        let metadata = json!({"name": name, "namespace": namespace});
        let source = json!({
            "apiVersion": format!("{FLUX_SOURCE_GROUP}/v1"),
            "kind": kind,
            "metadata": metadata,
            "spec": {"interval": "1m", "ref": {"name": sync.reference}, "url": sync.url},
        });
        let kustomization = json!({
            "apiVersion": format!("{FLUX_GROUP}/v1"),
            "kind": FLUX_KIND,
            "metadata": metadata,
            "spec": {
                "interval": "10m0s",
                "path": sync.path,
                "prune": true,
                "sourceRef": {"kind": kind, "name": name, "namespace": namespace},
            },
        });
        let manifests = [source, kustomization].into_iter();
        manifests.map(|manifest| yaml_serde::to_value(manifest).ok()).collect()
    }
}

/// A ResourceSet, limited to templates and inputs that it has itself.
pub type ResourceSet = AgentManifest<ResourceSetSpec>;

/// The spec of a ResourceSet.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceSetSpec {
    /// Inputs; the templates are rendered once for each.
    pub inputs: Vec<BTreeMap<String, Value>>,
    /// Providers of more inputs, in the cluster.
    pub inputs_from: Vec<Value>,
    /// Templates of objects.
    pub resources: Vec<Value>,
    /// Templates of objects in one text.
    pub resources_template: Option<String>,
}

/// Maximum number of objects that one ResourceSet makes. Further ones are unknown.
const OBJECTS: usize = 1_000;

impl ResourceSet {
    /// Returns the Kustomizations that the operator makes; `None` if some are unknown.
    pub fn kustomizations(&self) -> Option<Vec<FluxKustomization>> {
        let ResourceSetSpec { inputs, inputs_from, resources, resources_template } = &self.spec;
        let is_kustomization =
            |object: &&Value| object.get("kind").and_then(Value::as_str) == Some(FLUX_KIND);
        let templates: Vec<&Value> = resources.iter().filter(is_kustomization).collect();
        let is_hidden = resources_template.as_ref().is_some_and(|text| text.contains(FLUX_KIND));
        if is_hidden || !templates.is_empty() && !inputs_from.is_empty() {
            return None;
        }
        let once = [BTreeMap::new()];
        let inputs = if inputs.is_empty() { &once } else { inputs.as_slice() };
        if templates.len().saturating_mul(inputs.len()) > OBJECTS {
            return None;
        }
        let pairs = inputs
            .iter()
            .flat_map(|input| templates.iter().map(move |template| (input, *template)));
        pairs
            .map(|(input, template)| {
                let text = yaml_serde::to_string(template).ok()?;
                yaml::from_str(&with_inputs(&text, input)?).ok()
            })
            .collect()
    }
}

/// Replaces `<< inputs.name >>` in a template; `None` if it has any other expression.
fn with_inputs(template: &str, inputs: &BTreeMap<String, Value>) -> Option<String> {
    expanded(template, "<<", ">>", |name| {
        scalar_text(inputs.get(name.trim().strip_prefix("inputs.")?)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(set: &str) -> Option<Vec<Option<String>>> {
        let set: ResourceSet = yaml_serde::from_str(set).unwrap();
        let made = set.kustomizations()?;
        Some(made.into_iter().map(|made| made.spec.path).collect())
    }

    #[test]
    fn a_resource_set_makes_a_kustomization_for_each_input() {
        let template = "resources:
  - {kind: ConfigMap, metadata: {name: << inputs.any | quote >>}}
  - kind: Kustomization
    metadata: {name: racks}
    spec: {path: './racks/<< inputs.rack >>', sourceRef: {name: flux-system}}";
        let set = |spec: &str| {
            format!("spec:\n  {}", format!("{spec}\n{template}").replace('\n', "\n  "))
        };
        let racks = |names: &[&str]| {
            Some(names.iter().map(|name| Some(format!("./racks/{name}"))).collect())
        };
        assert_eq!(paths(&set("inputs: [{rack: a}, {rack: 7}]")), racks(&["a", "7"]));
        assert_eq!(paths(&set("inputs: [{row: a}]")), None);
        assert_eq!(paths(&set("inputsFrom: [{kind: ResourceSetInputProvider}]")), None);
        assert_eq!(paths("spec: {resourcesTemplate: 'kind: Kustomization'}"), None);
        assert_eq!(paths("spec: {resources: [{kind: Secret}]}"), racks(&[]));
    }
}
