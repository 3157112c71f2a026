//! Kinds of services of a SIPCluster, as `descriptor.yaml` beside their templates describes them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use derive_more::Display;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::names::Role;
use super::structural_schema::StructuralSchema;
use crate::base::text::embedded;

/// A kind of service.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServiceKind {
    /// Directory of its templates, below `templates/`.
    #[serde(skip)]
    pub templates: &'static str,
    /// Its position: services are rendered and numbered in this order.
    order: u32,
    /// Label value, and prefix of the names of its objects and directory. Users depend on it.
    pub component: String,
    /// Key under `spec.services`.
    pub field: String,
    /// Roles of hosts whose addresses it uses.
    pub roles: Vec<Role>,
    /// Role of its backends; absent unless it is a load balancer.
    pub balances: Option<Role>,
    /// The endpoint for clients of the cluster.
    pub endpoint: Option<EndpointDescriptor>,
    /// Directory of the CustomResourceDefinitions that it requires, `crds/NAME`, of templates and output.
    pub definitions: Option<String>,
    /// Set if instances in one namespace would share their storage.
    #[serde(default)]
    pub shares_storage: bool,
    /// Set if it logs in to BMCs, unless the settings keep their credentials from it.
    #[serde(default)]
    pub logs_in_to_bmcs: bool,
    /// True if its pods run on the base cluster's control-plane nodes by default.
    #[serde(default)]
    pub on_control_plane: bool,
    /// Advice on its container image.
    pub image: ImageAdvice,
    /// Rendered YAML files that programs read instead of Kubernetes, relative to its directory.
    #[serde(default)]
    pub configuration: Vec<String>,
    /// Aspects of changed lines in files of its ConfigMap, by file and by the first word of the line;
    /// `*` for other words. Without them, lines are configuration.
    #[serde(default)]
    pub aspects: BTreeMap<String, BTreeMap<String, Aspect>>,
    /// Advice on a ConfigMap that is too large.
    #[serde(default)]
    pub too_large: SizeAdvice,
    /// Its entries under `field`; absent if a Rust type describes them.
    pub entry: Option<EntryDescriptor>,
}

/// Advice on the container image of a service kind.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageAdvice {
    /// A current image, as an example.
    pub example: String,
    /// Name of the image in registries, without its path; absent if users build their own.
    pub name: Option<String>,
    /// Oldest major and minor version that supports the rendered configuration.
    #[serde(default)]
    pub oldest: (u32, u32),
}

/// Advice on a ConfigMap of a service that is too large.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeAdvice {
    /// The help.
    pub help: String,
    /// Field of the service that makes the ConfigMap too large, if it is one field.
    pub field: Option<String>,
}

impl Default for SizeAdvice {
    fn default() -> Self {
        let help =
            "divide the cluster if it has very many hosts, or let templates of the repo write less";
        Self { help: help.to_owned(), field: None }
    }
}

/// Entry of a service in the endpoints ConfigMap: `PREFIX[NUMBER]SUFFIX`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndpointDescriptor {
    /// Meaning of the entry.
    pub kind: EndpointKind,
    /// Prefix of the key.
    pub prefix: String,
    /// Suffix of the key.
    pub suffix: String,
}

/// Kind of an endpoint.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum EndpointKind {
    /// Address and port of the tenant's API.
    ControlPlane,
    /// URL of the issuer for the tenant's API servers and users.
    Issuer,
    /// Address and port of the jump host.
    JumpHost,
    /// Address and port of another service.
    Service,
    /// Ports of a service on every node of the base cluster, such as `30080-30082`.
    NodePorts,
}

/// Aspect of a service that can change.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, Display,
)]
#[display(rename_all = "lowercase")]
#[serde(rename_all = "camelCase")]
pub enum Aspect {
    /// Backend hosts.
    Hosts,
    /// Ports.
    Ports,
    /// Container image.
    Image,
    /// Number of pods.
    Replicas,
    /// SSH keys that may log in.
    #[display("authorized keys")]
    AuthorizedKeys,
    /// Anything else.
    Configuration,
}

/// The entries of a kind of service in a SIPCluster.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntryDescriptor {
    /// Description of the list.
    pub list: String,
    /// Description of an entry.
    pub description: String,
    /// Its fields besides those of all services. `nodePort` and `replicas` have a description only.
    pub fields: BTreeMap<String, StructuralSchema>,
    /// Those of its fields without which it is invalid.
    #[serde(default)]
    pub required: Vec<String>,
}

static KINDS: LazyLock<Vec<ServiceKind>> = LazyLock::new(|| {
    let read = embedded::descriptors().flat_map(|(templates, text)| {
        let kinds: Vec<ServiceKind> = yaml_serde::from_str(text).unwrap_or_default();
        kinds.into_iter().map(move |kind| ServiceKind { templates, ..kind })
    });
    let mut kinds: Vec<ServiceKind> = read.collect();
    kinds.sort_by_key(|kind| kind.order);
    kinds
});

impl ServiceKind {
    /// Returns every kind, in the order of rendering.
    pub fn all() -> &'static [ServiceKind] {
        &KINDS
    }

    /// Returns the kind of the service with a directory of this name, such as `jumphost2`. An output
    /// may be called `jumphost-notes`.
    pub fn with_directory(name: &str) -> Option<&'static ServiceKind> {
        KINDS.iter().find(|kind| {
            let number = name.strip_prefix(&kind.component);
            number.is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_descriptor_is_valid_and_no_two_kinds_are_confused() {
        for (directory, text) in embedded::descriptors() {
            let kinds: Vec<ServiceKind> = yaml_serde::from_str(text).expect(directory);
            assert!(!kinds.is_empty(), "{directory}");
        }
        let kinds = ServiceKind::all();
        let files: BTreeSet<&str> = embedded::templates().map(|(path, _)| path).collect();
        for (index, kind) in kinds.iter().enumerate() {
            let ServiceKind { component, field, templates, .. } = kind;
            assert!(files.contains(format!("{templates}/kustomization.yaml").as_str()), "{field}");
            for file in &kind.configuration {
                assert!(files.contains(format!("{templates}/{file}").as_str()), "{field}: {file}");
            }
            if let Some(definitions) = &kind.definitions {
                let file = format!("{definitions}/kustomization.yaml");
                assert!(files.contains(file.as_str()), "{file}");
            }
            // A directory is told from that of another kind by the start of its name.
            assert!(component.starts_with(templates), "{field}");
            for other in &kinds[..index] {
                assert!(other.order < kind.order, "{field}");
                assert!(!component.starts_with(&other.component), "{component}");
                assert!(!other.component.starts_with(component), "{component}");
                assert_ne!(other.field, *field);
            }
        }
    }
}
