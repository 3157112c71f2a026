//! Parses rendered manifests as the types that they claim, so that a broken template cannot produce
//! a broken manifest.

use std::sync::Arc;

use camino::Utf8Path;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use yaml_serde::Value;

use super::custom_resources;
use crate::base::api::host;
use crate::base::finding::{Code, Finding, Place};
use crate::base::text::yaml;
use crate::input::load;

/// The reason why a rendered text is invalid.
#[derive(Debug)]
pub(super) struct InvalidRendering {
    what: String,
    reason: String,
}

impl InvalidRendering {
    fn new(what: &str, reason: impl Into<String>) -> Self {
        Self { what: what.to_owned(), reason: reason.into() }
    }

    /// Returns the finding for a file that is not written, rendered by a template of the repo, if any.
    /// Clusters with the same reason share the finding of a template.
    pub(super) fn finding(&self, file: &Utf8Path, template: Option<&Arc<Utf8Path>>) -> Finding {
        let Self { what, reason } = self;
        let finding = |message: String| Finding::new(Code::InvalidManifest, message);
        match template {
            Some(template) => {
                finding(format!("the template {template} renders what is not {what}: {reason}"))
                    .at(Place::File(template.clone()))
                    .help("fix the template; no files were written")
            }
            None => finding(format!("the rendered file {file} is not {what}: {reason}")).help(
                "report this as a bug of sipgen, unless a template of the repo is included in this file",
            ),
        }
    }
}

/// Parses every document of a text.
pub(super) fn manifests(text: &str) -> Result<(), InvalidRendering> {
    let mut any = false;
    for value in values(text)? {
        if !value.is_null() {
            object(&value)?;
            any = true;
        }
    }
    any.then_some(()).ok_or_else(|| InvalidRendering::new("a manifest", "it holds no object"))
}

/// Parses a kustomization. kustomize needs neither its version nor its kind.
pub(super) fn kustomization(text: &str) -> Result<(), InvalidRendering> {
    match values(text)?.as_slice() {
        [value] if value.get("kind").is_none() && has_resources(value) => {
            read_as::<WrittenKustomization>(value, "a kustomization")
        }
        _ => manifests(text),
    }
}

/// Parses YAML.
pub(super) fn values(text: &str) -> Result<Vec<Value>, InvalidRendering> {
    if let Ok(values) = load::texts_of_documents(text).map(yaml::from_str).collect() {
        return Ok(values);
    }
    // Lines in errors are those of the whole text.
    let read: Result<_, _> =
        yaml_serde::Deserializer::from_str(text).map(Value::deserialize).collect();
    read.map_err(|error: yaml_serde::Error| InvalidRendering::new("YAML", error.to_string()))
}

/// Fields of every object.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "read to see that they are there")]
struct AnyObject {
    api_version: String,
    kind: String,
    metadata: NamedResource,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "read to see that it is there")]
struct NamedResource {
    name: String,
}

/// A Kustomization or Component with the fields that generated ones may have. Others are never
/// written.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct WrittenKustomization {
    api_version: String,
    kind: String,
    resources: Vec<String>,
    namespace: String,
    labels: Vec<Value>,
    patches: Vec<Value>,
    config_map_generator: Vec<Value>,
    generator_options: Value,
    images: Vec<Value>,
    replacements: Vec<Value>,
    components: Vec<String>,
    transformers: Vec<String>,
}

/// A rendered host: identity, labels and annotations, and nothing else.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "read to see that they are there")]
struct LabelledHost {
    api_version: String,
    kind: String,
    metadata: LabelledMetadata,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read to see that they are there")]
struct LabelledMetadata {
    name: String,
    /// In a component: the namespace at the including kustomization, if any.
    namespace: Option<String>,
    /// Patches have no UID.
    uid: Option<String>,
    #[serde(default)]
    labels: std::collections::BTreeMap<String, Option<String>>,
    annotations: std::collections::BTreeMap<String, String>,
}

fn object(value: &Value) -> Result<(), InvalidRendering> {
    let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if !matches!(kind, "Kustomization" | "Component") {
        // The types accept more than the API server does.
        let kind_phrase = if kind.is_empty() { String::new() } else { format!(" of kind {kind}") };
        read_as::<AnyObject>(value, &format!("an object{kind_phrase}"))?;
    }
    let what = format!("a {kind}");
    match (api_version, kind) {
        // An agent with pruning treats an empty build as a request to delete everything.
        ("kustomize.config.k8s.io/v1beta1", "Kustomization") if !has_resources(value) => {
            Err(InvalidRendering::new("a kustomization", "it has no resources"))
        }
        ("kustomize.config.k8s.io/v1beta1", "Kustomization")
        | ("kustomize.config.k8s.io/v1alpha1", "Component") => {
            read_as::<WrittenKustomization>(value, "a kustomization")
        }
        (host::API_VERSION, host::KIND) => read_as::<LabelledHost>(value, "a host's labels"),
        ("apps/v1", "Deployment") => read_as::<Deployment>(value, &what),
        ("batch/v1", "Job") => read_as::<Job>(value, &what),
        ("v1", "Service") => read_as::<Service>(value, &what),
        ("v1", "ServiceAccount") => read_as::<ServiceAccount>(value, &what),
        ("v1", "PersistentVolumeClaim") => read_as::<PersistentVolumeClaim>(value, &what),
        ("v1", "ConfigMap") => read_as::<ConfigMap>(value, &what),
        ("networking.k8s.io/v1", "NetworkPolicy") => read_as::<NetworkPolicy>(value, &what),
        ("policy/v1", "PodDisruptionBudget") => read_as::<PodDisruptionBudget>(value, &what),
        ("rbac.authorization.k8s.io/v1", "Role") => read_as::<Role>(value, &what),
        ("rbac.authorization.k8s.io/v1", "RoleBinding") => read_as::<RoleBinding>(value, &what),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition") => {
            read_as::<CustomResourceDefinition>(value, &what)
        }
        // Nothing is known about kinds that a repo's own templates add.
        _ => {
            let object = serde_json::to_value(value).unwrap_or_default();
            let violation = custom_resources::violation(api_version, kind, object);
            let what = format!("an object of kind {kind} ({api_version})");
            violation.map_or(Ok(()), |reason| Err(InvalidRendering::new(&what, reason)))
        }
    }
}

fn has_resources(kustomization: &Value) -> bool {
    let resources = kustomization.get("resources").and_then(Value::as_sequence);
    resources.is_some_and(|resources| !resources.is_empty())
}

fn read_as<T: DeserializeOwned>(value: &Value, what: &str) -> Result<(), InvalidRendering> {
    T::deserialize(value).map(drop).map_err(|error| InvalidRendering::new(what, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_what_it_claims_to_be_is_refused() {
        for (text, reason) in [
            ("a: [", "is not YAML"),
            ("# nothing\n", "holds no object"),
            (
                "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: 80}\n",
                "is not a Service",
            ),
            (
                "apiVersion: apps/v1\nkind: Deployment\nspec: {}\n",
                "is not an object of kind Deployment",
            ),
            (
                "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nbases: [a]\n",
                "is not a kustomization",
            ),
            (
                "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: []\n",
                "it has no resources",
            ),
            (
                "apiVersion: policy/v1\nkind: PodDisruptionBudget\n",
                "is not an object of kind PodDisruptionBudget",
            ),
            (
                "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: a}\nspec: {selector: all}\n",
                "is not a PodDisruptionBudget",
            ),
            (
                "apiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata: {name: a}\nspec: {ca: {secret: a}}\n",
                "is not an object of kind Issuer (cert-manager.io/v1): spec.ca.secret is no field",
            ),
            (
                "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: a, namespace: b, annotations: {}}\n\
                 spec: {online: false}\n",
                "is not a host's labels",
            ),
        ] {
            let Err(unreadable) = manifests(text) else { panic!("{text}") };
            let message = unreadable.finding(Utf8Path::new("f.yaml"), None).message;
            assert!(message.contains(reason), "{message}");
        }
    }
}
