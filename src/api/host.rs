//! BareMetalHost (`metal3.io/v1alpha1`): the part of it that placement and services need.
//!
//! Deserialising skips every other field, which is most of a live host's 4 KB of status.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::object_kind::ObjectKind;
use super::unique;

/// The API group of BareMetalHosts.
pub const GROUP: &str = "metal3.io";
/// Their API group and the version that we write.
pub const API_VERSION: &str = "metal3.io/v1alpha1";
/// Their kind.
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

/// Annotation: Metal3 leaves the host alone, and Cluster API does not take it.
pub const PAUSED: &str = "baremetalhost.metal3.io/paused";
/// Annotation: Metal3 has let go of the host.
pub const DETACHED: &str = "baremetalhost.metal3.io/detached";
/// Annotation: the status as JSON, for hosts that are kept in git and so have none.
pub const STATUS: &str = "baremetalhost.metal3.io/status";
/// Label: Cluster API's Metal3 provider keeps the host for Machines of the control plane or MachineDeployment in its value.
pub const NODE_REUSE: &str = "infrastructure.cluster.x-k8s.io/node-reuse";
/// Annotations by which Cluster API's Metal3 provider marks a host that must not be taken.
pub const UNHEALTHY: [&str; 2] = ["capm3.metal3.io/unhealthy", "capi.metal3.io/unhealthy"];

/// The errorType of a host whose BMC does not answer at the moment; Metal3 tries again and clears it.
pub const PASSING_ERROR: &str = "power management error";

/// Annotation: how Argo CD syncs an object, as a list with commas.
pub const SYNC_OPTIONS: &str = "argocd.argoproj.io/sync-options";
/// Annotation: `disabled` keeps Flux from deleting an object that leaves its build.
pub const PRUNE: &str = "kustomize.toolkit.fluxcd.io/prune";
/// Annotation: `Merge` makes Flux keep the fields that it does not name.
pub const SSA: &str = "kustomize.toolkit.fluxcd.io/ssa";
/// Annotation: what `kubectl apply` applied last. Whoever owns it is taken for the owner of all that it lists.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A BareMetalHost, from a manifest (without status) or from a live cluster.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BareMetalHost {
    /// `group/version`.
    #[serde(default)]
    pub api_version: String,
    /// Name, labels and what the API server adds.
    #[serde(default)]
    pub metadata: Metadata,
    /// What is wanted of the host.
    #[serde(default)]
    pub spec: Option<Spec>,
    /// What Metal3 reports of it.
    #[serde(default)]
    pub status: Option<Status>,
}

/// The metadata of an object, as far as it matters here.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The object's name.
    #[serde(default)]
    pub name: Option<String>,
    /// The object's own namespace, before any kustomization.
    #[serde(default)]
    pub namespace: Option<String>,
    /// Labels.
    #[serde(default, deserialize_with = "unique::optional")]
    pub labels: Option<BTreeMap<String, String>>,
    /// Annotations.
    #[serde(default, deserialize_with = "unique::optional")]
    pub annotations: Option<BTreeMap<String, String>>,
    /// When deletion was asked for, on a live object.
    #[serde(default)]
    pub deletion_timestamp: Option<String>,
    /// Set by the API server only.
    #[serde(default)]
    pub uid: Option<String>,
    /// Set by the API server only.
    #[serde(default)]
    pub resource_version: Option<String>,
    /// Set by the API server only.
    #[serde(default)]
    pub managed_fields: Option<Vec<ManagedFields>>,
}

/// What one manager has set of an object.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ManagedFields {
    /// Who has.
    #[serde(default)]
    pub manager: String,
    /// `Apply`, or `Update` for everything else.
    #[serde(default)]
    pub operation: String,
    /// Which fields.
    #[serde(rename = "fieldsV1", default)]
    pub fields: Option<Fields>,
}

/// The fields that a manager has set: whether there are any of the spec, and the labels.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Fields {
    /// Those of the spec.
    #[serde(rename = "f:spec", default)]
    pub spec: Option<IgnoredAny>,
    /// Fields of the metadata.
    #[serde(rename = "f:metadata", default)]
    pub metadata: Option<MetadataFields>,
}

/// The fields of the metadata that a manager has set.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct MetadataFields {
    /// The labels, as `f:NAME`.
    #[serde(rename = "f:labels", default)]
    pub labels: Option<BTreeMap<String, IgnoredAny>>,
}

impl ManagedFields {
    /// Returns whether the manager has set a label.
    pub fn has_label(&self, label: &str) -> bool {
        let metadata = self
            .fields
            .as_ref()
            .and_then(|fields| fields.metadata.as_ref());
        let labels = metadata.and_then(|metadata| metadata.labels.as_ref());
        labels.is_some_and(|labels| labels.contains_key(&format!("f:{label}")))
    }
}

/// A host's spec.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec {
    /// The board management controller.
    #[serde(default)]
    pub bmc: Option<Bmc>,
    /// The MAC address from which it boots.
    #[serde(rename = "bootMACAddress", default)]
    pub boot_mac_address: Option<String>,
    /// The Secret with the host's network data; its namespace defaults to the host's.
    #[serde(default)]
    pub network_data: Option<Reference>,
    /// The Secret with the network data for inspection, used where `networkData` is absent.
    #[serde(default)]
    pub preprovisioning_network_data_name: Option<String>,
    /// Who uses the host; set once a Machine has taken it.
    #[serde(default)]
    pub consumer_ref: Option<Consumer>,
    /// Whether something else has installed what runs on the host.
    #[serde(default)]
    pub externally_provisioned: Option<bool>,
    /// What Metal3 installs on the host.
    #[serde(default)]
    pub image: Option<Image>,
    /// How Metal3 installs the host without an image.
    #[serde(default)]
    pub custom_deploy: Option<CustomDeploy>,
    /// Whether the host must never be powered off.
    #[serde(default)]
    pub disable_power_off: Option<bool>,
}

/// An image of an operating system.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Image {
    /// Where it is; Metal3 ignores an image without.
    #[serde(default)]
    pub url: Option<String>,
}

/// A way to install a host that its ramdisk knows.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct CustomDeploy {
    /// The name of a step; Metal3 ignores a way without.
    #[serde(default)]
    pub method: Option<String>,
}

impl Spec {
    /// Returns whether Metal3 installs an image on the host, or has done so.
    pub fn has_image(&self) -> bool {
        let url = self.image.as_ref().and_then(|image| image.url.as_deref());
        url.is_some_and(|url| !url.is_empty())
    }

    /// Returns whether Metal3 installs the host by a custom deploy, or has done so.
    pub fn has_custom_deploy(&self) -> bool {
        let method = self
            .custom_deploy
            .as_ref()
            .and_then(|deploy| deploy.method.as_deref());
        method.is_some_and(|method| !method.is_empty())
    }
}

impl Spec {
    /// The Secrets that it names, each with the field that does.
    pub fn references(&self) -> Vec<(&'static [&'static str], &str)> {
        let bmc = self.bmc.as_ref().map(|bmc| {
            (
                &["bmc", "credentialsName"][..],
                bmc.credentials_name.as_str(),
            )
        });
        let network = self
            .network_data
            .as_ref()
            .and_then(|network| network.name.as_deref());
        let network = network.map(|name| (&["networkData", "name"][..], name));
        let preprovisioning = self.preprovisioning_network_data_name.as_deref();
        let preprovisioning =
            preprovisioning.map(|name| (&["preprovisioningNetworkDataName"][..], name));
        [bmc, network, preprovisioning]
            .into_iter()
            .flatten()
            .filter(|(_, name)| !name.is_empty())
            .collect()
    }
}

/// How to reach a host's board management controller.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Bmc {
    /// A URL whose scheme names the protocol, or a bare address.
    #[serde(default)]
    pub address: String,
    /// The Secret with user name and password, in the host's namespace.
    #[serde(default)]
    pub credentials_name: String,
    /// Whether the BMC's certificate is taken unseen.
    #[serde(default)]
    pub disable_certificate_verification: bool,
}

/// A BMC's address without the user name and password that it may have.
pub fn without_user(address: &str) -> String {
    let start = address.find("://").map_or(0, |at| at + "://".len());
    let (scheme, rest) = address.split_at(start);
    let (authority, path) = rest
        .find(['/', '?', '#'])
        .map_or((rest, ""), |at| rest.split_at(at));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}{host}{path}")
}

/// Whether a BMC's address has a user name or a password in it.
pub fn has_user(address: &str) -> bool {
    without_user(address) != address
}

/// A reference to an object by name.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Reference {
    /// The object's name.
    #[serde(default)]
    pub name: Option<String>,
    /// Its namespace; that of the referrer where absent.
    #[serde(default)]
    pub namespace: Option<String>,
}

/// The object that uses a host.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Consumer {
    /// Usually `Metal3Machine`.
    #[serde(default)]
    pub kind: Option<String>,
    /// Its namespace.
    #[serde(default)]
    pub namespace: Option<String>,
    /// Its name.
    #[serde(default)]
    pub name: Option<String>,
}

/// A host's status.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// `OK`, `discovered`, `error`, `delayed`, `detached`.
    #[serde(default)]
    pub operational_status: Option<String>,
    /// What kind of error the host is in; empty when in none.
    #[serde(default)]
    pub error_type: Option<String>,
    /// The error in words; empty when in none.
    #[serde(default)]
    pub error_message: Option<String>,
    /// Where the host is on its way to being used.
    #[serde(default)]
    pub provisioning: Option<Provisioning>,
}

/// The provisioning part of a host's status.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Provisioning {
    /// `available`, `ready` (its old name), `provisioned`, `inspecting`, …
    #[serde(default)]
    pub state: Option<String>,
}

/// Returns a field that only live objects have, if one is set: API servers refuse manifests with it.
pub(crate) fn live_field(metadata: &Metadata) -> Option<&'static str> {
    [
        ("uid", metadata.uid.is_some()),
        ("resourceVersion", metadata.resource_version.is_some()),
        ("managedFields", metadata.managed_fields.is_some()),
    ]
    .into_iter()
    .find_map(|(field, there)| there.then_some(field))
}
