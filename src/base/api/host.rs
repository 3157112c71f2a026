//! The fields of BareMetalHost (`metal3.io/v1alpha1`) that placement and services need.
//!
//! Deserializing skips every other field: a live host has a status of about 4 KB.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use yaml_serde::Value;

use super::hardware_identity::HardwareIdentity;
use super::names::{LabelMap, Namespace, ObjectName};
use super::object_kind::ObjectKind;
use super::unique;

/// The API group of BareMetalHost.
pub const GROUP: &str = "metal3.io";
/// The API group and version in generated manifests.
pub const API_VERSION: &str = "metal3.io/v1alpha1";
/// The kind.
pub const KIND: &str = "BareMetalHost";
/// Identity of the kind.
pub static OBJECT: ObjectKind = ObjectKind {
    kind: KIND,
    group: GROUP,
    api_version: API_VERSION,
    domain: "metal3.io",
    distinctive_fields: &[],
    cluster_label: None,
};

/// Annotation: Metal3 does not reconcile the host, and Cluster API does not choose it.
pub const PAUSED: &str = "baremetalhost.metal3.io/paused";
/// Annotation: Metal3 no longer manages the host.
pub const DETACHED: &str = "baremetalhost.metal3.io/detached";
/// The state in which Metal3 does not manage the host, whatever its annotations.
pub const DETACHED_STATE: &str = "operationalStatus: detached";
/// Annotation: the host is in maintenance and gets no new assignment. Its value is the reason.
pub const MAINTENANCE: &str = "sip.airshipit.org/maintenance";
/// Annotation: the status as JSON, for a host in git, whose manifest has no status.
pub const STATUS: &str = "baremetalhost.metal3.io/status";
/// Label: Cluster API's Metal3 provider (CAPM3) reserves the host for the control plane or
/// MachineDeployment in its value.
pub const NODE_REUSE: &str = "infrastructure.cluster.x-k8s.io/node-reuse";
/// Annotations by which CAPM3 marks a host as unhealthy: it must not be chosen.
pub const UNHEALTHY: [&str; 2] = ["capm3.metal3.io/unhealthy", "capi.metal3.io/unhealthy"];

/// The `errorType` of a host whose BMC does not respond. Metal3 retries and then clears the error.
pub const PASSING_ERROR: &str = "power management error";

/// Annotation: Argo CD's sync options, comma-separated.
pub const SYNC_OPTIONS: &str = "argocd.argoproj.io/sync-options";
/// Annotation: `disabled` keeps Flux from pruning the object.
pub const PRUNE: &str = "kustomize.toolkit.fluxcd.io/prune";
/// Annotation or label: `disabled` makes Flux ignore the object.
pub const RECONCILE: &str = "kustomize.toolkit.fluxcd.io/reconcile";
/// Annotation or label: `disabled` keeps Flux from substituting variables in the object.
pub const SUBSTITUTE: &str = "kustomize.toolkit.fluxcd.io/substitute";
/// Annotation or label: `enabled` makes Flux recreate an object that it cannot update.
pub const FORCE: &str = "kustomize.toolkit.fluxcd.io/force";
/// Annotation: `Merge` makes Flux keep fields that its manifest does not set.
pub const SSA: &str = "kustomize.toolkit.fluxcd.io/ssa";
/// Annotation: the last manifest of `kubectl apply`. A field manager that owns this annotation is
/// taken for `kubectl apply`, and its fields pass to the agent that applies server-side.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A BareMetalHost from a manifest, which has no status, or from a live cluster.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BareMetalHost {
    /// The API group and version.
    pub api_version: String,
    /// Name, namespace, labels and the fields set by the API server.
    pub metadata: Metadata,
    /// The desired state.
    pub spec: Option<BareMetalHostSpec>,
    /// The state as reported by Metal3.
    pub status: Option<BareMetalHostStatus>,
}

/// The fields of any object.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectEnvelope {
    /// API group and version.
    pub api_version: String,
    /// Name, namespace and more.
    pub metadata: Metadata,
}

/// The fields of an object's metadata that sipgen reads.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// The object's name.
    pub name: Option<String>,
    /// The namespace in the manifest, before any kustomization.
    pub namespace: Option<String>,
    /// Labels.
    #[serde(deserialize_with = "unique::optional")]
    pub labels: Option<LabelMap>,
    /// Annotations.
    #[serde(deserialize_with = "unique::optional")]
    pub annotations: Option<BTreeMap<String, String>>,
    /// Objects that own it.
    pub owner_references: Option<Vec<OwnerReference>>,
    /// Tasks that delay a deletion until a controller removes them.
    pub finalizers: Option<Vec<String>>,
    /// The time of the deletion request, on a live object.
    pub deletion_timestamp: Option<String>,
    /// Set by the API server only.
    pub uid: Option<String>,
    /// Set by the API server only.
    pub resource_version: Option<String>,
    /// Field managers, set by the API server only.
    pub managed_fields: Option<Vec<ManagedFields>>,
}

impl Metadata {
    /// Returns the value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels.as_ref()?.get(key).map(String::as_str)
    }

    /// Returns the value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.as_ref()?.get(key).map(String::as_str)
    }

    /// Returns whether name and namespace are valid, the latter also if it is not set.
    pub fn is_named(&self) -> bool {
        let has_name = self.name.as_deref().is_some_and(|name| name.parse::<ObjectName>().is_ok());
        let mut namespaces = self.namespace.iter().filter(|namespace| !namespace.is_empty());
        has_name && namespaces.all(|namespace| namespace.parse::<Namespace>().is_ok())
    }

    /// Returns whether another object owns this one.
    pub fn is_owned(&self) -> bool {
        self.owner_references.iter().flatten().next().is_some()
    }
}

/// An object that owns another.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct OwnerReference {
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// The fields that one field manager owns.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ManagedFields {
    /// The name of the field manager.
    pub manager: String,
    /// `Apply`, or `Update` for any other operation.
    pub operation: String,
    /// The owned fields.
    #[serde(rename = "fieldsV1")]
    pub fields: Option<OwnedFields>,
}

/// The fields that a manager owns, limited to the spec as a whole and single labels.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct OwnedFields {
    /// Set if the manager owns a field of the spec.
    #[serde(rename = "f:spec")]
    pub spec: Option<IgnoredAny>,
    /// Owned fields of the metadata.
    #[serde(rename = "f:metadata")]
    pub metadata: Option<MetadataFields>,
}

/// The fields of the metadata that a manager owns.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct MetadataFields {
    /// Owned labels, with keys `f:NAME`.
    #[serde(rename = "f:labels")]
    pub labels: Option<BTreeMap<String, IgnoredAny>>,
}

impl ManagedFields {
    /// Returns whether the manager owns a label.
    pub fn has_label(&self, label: &str) -> bool {
        let metadata = self.fields.as_ref().and_then(|fields| fields.metadata.as_ref());
        let labels = metadata.and_then(|metadata| metadata.labels.as_ref());
        labels.is_some_and(|labels| labels.contains_key(&format!("f:{label}")))
    }
}

/// The spec of a host.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BareMetalHostSpec {
    /// The board management controller.
    pub bmc: Option<BmcDetails>,
    /// The MAC address of the interface that the host boots from.
    #[serde(rename = "bootMACAddress")]
    pub boot_mac_address: Option<String>,
    /// The Secret with the host's network data; its namespace defaults to the host's.
    pub network_data: Option<NamespacedReference>,
    /// The Secret with the network data for inspection. sipgen reads it if `networkData` is absent.
    pub preprovisioning_network_data_name: Option<String>,
    /// The object that uses the host; set when a Machine claims the host.
    pub consumer_ref: Option<ObjectReference>,
    /// Set if the host was provisioned by something other than Metal3.
    pub externally_provisioned: Option<bool>,
    /// The image that Metal3 installs.
    pub image: Option<Image>,
    /// The method by which Metal3 installs the host without an image.
    pub custom_deploy: Option<CustomDeploy>,
    /// Set if the host must never be powered off.
    pub disable_power_off: Option<bool>,
    /// The power state: a boolean, or a text that the API server refuses.
    pub online: Option<Value>,
}

/// An operating system image.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Image {
    /// The URL of the image; Metal3 ignores an image without it.
    pub url: Option<String>,
}

/// A custom deploy method, which the host's ramdisk provides.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct CustomDeploy {
    /// The name of the deploy step; Metal3 ignores the field without it.
    pub method: Option<String>,
}

/// The fields of a host that name a Secret.
pub const SECRET_FIELDS: [&[&str]; 3] = [
    &["spec", "bmc", "credentialsName"],
    &["spec", "networkData", "name"],
    &["spec", "preprovisioningNetworkDataName"],
];

impl BareMetalHostSpec {
    /// Returns whether Metal3 installs, or has installed, an image.
    pub fn has_image(&self) -> bool {
        let url = self.image.as_ref().and_then(|image| image.url.as_deref());
        url.is_some_and(|url| !url.is_empty())
    }

    /// Returns whether Metal3 installs, or has installed, the host by a custom deploy.
    pub fn has_custom_deploy(&self) -> bool {
        let method = self.custom_deploy.as_ref().and_then(|deploy| deploy.method.as_deref());
        method.is_some_and(|method| !method.is_empty())
    }

    /// Returns the Secrets that the spec references, each with the route of its field.
    pub fn references(&self) -> impl Iterator<Item = (&'static [&'static str], &str)> {
        let bmc = self.bmc.as_ref().map(|bmc| bmc.credentials_name.as_str());
        let network = self.network_data.as_ref().and_then(|network| network.name.as_deref());
        let names = [bmc, network, self.preprovisioning_network_data_name.as_deref()];
        let references = SECRET_FIELDS.into_iter().zip(names);
        references.filter_map(|(field, name)| Some((field, name.filter(|name| !name.is_empty())?)))
    }
}

/// The connection to a host's board management controller (BMC).
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BmcDetails {
    /// A URL whose scheme names the protocol, or a bare address.
    pub address: String,
    /// The Secret with user name and password, in the host's namespace.
    pub credentials_name: String,
    /// Set if the BMC's TLS certificate is not verified.
    pub disable_certificate_verification: bool,
}

/// Returns a BMC address without its user name and password.
pub fn without_user(address: &str) -> String {
    let start = address.find("://").map_or(0, |at| at + "://".len());
    let (scheme, rest) = address.split_at(start);
    let (authority, path) = rest.find(['/', '?', '#']).map_or((rest, ""), |at| rest.split_at(at));
    // A password may contain `@`, so the last one ends the user information.
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}{host}{path}")
}

/// Returns whether a BMC address has a user name or password.
pub fn has_user(address: &str) -> bool {
    without_user(address) != address
}

/// A reference to an object by name.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct NamespacedReference {
    /// The object's name.
    pub name: Option<String>,
    /// The object's namespace; defaults to the namespace of the referring object.
    pub namespace: Option<String>,
}

/// A reference to an object of any kind.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ObjectReference {
    /// The object's kind.
    pub kind: Option<String>,
    /// The object's namespace.
    pub namespace: Option<String>,
    /// The object's name.
    pub name: Option<String>,
}

/// A host's status.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BareMetalHostStatus {
    /// `OK`, `discovered`, `error`, `delayed` or `detached`.
    pub operational_status: Option<String>,
    /// The type of the current error; empty without an error.
    pub error_type: Option<String>,
    /// The message of the current error; empty without an error.
    pub error_message: Option<String>,
    /// The state of provisioning.
    pub provisioning: Option<ProvisionStatus>,
    /// The values of the inspected hardware that identify the machine.
    pub hardware: Option<HardwareIdentity>,
}

/// The state of a host's provisioning.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ProvisionStatus {
    /// `available`, `ready` (its former name), `provisioned`, `inspecting`, …
    pub state: Option<String>,
}

impl BareMetalHost {
    /// Returns whether it is a copy of an object of an API server.
    pub(crate) fn is_live(&self) -> bool {
        live_field(&self.metadata).is_some() || self.state().is_some_and(|state| !state.is_empty())
    }

    /// Returns its provisioning state.
    pub(crate) fn state(&self) -> Option<&str> {
        self.status.as_ref()?.provisioning.as_ref()?.state.as_deref()
    }
}

/// Returns a field of the metadata that only live objects have, if one is set. The API server
/// rejects a manifest with such a field.
pub(crate) fn live_field(metadata: &Metadata) -> Option<&'static str> {
    let fields = [
        ("uid", metadata.uid.is_some()),
        ("resourceVersion", metadata.resource_version.is_some()),
        ("managedFields", metadata.managed_fields.is_some()),
    ];
    fields.into_iter().find_map(|(field, is_set)| is_set.then_some(field))
}
