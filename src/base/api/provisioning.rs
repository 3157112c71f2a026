//! Provisioning and Software (`bpa.akraino.org/v1alpha1`), the requests of Akraino's Binary
//! Provisioning Agent (BPA).
//!
//! A Provisioning lists the machines of a cluster, by MAC address or by requirements. A Software
//! with the same `cluster` label lists the packages to install on them. As with
//! [SIPClusters](super::sipcluster), deserializing checks YAML types only, and `request` checks the
//! rest.

use std::collections::BTreeMap;
use std::fmt;

use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json;

use super::hardware_requirements::FLAG_PATTERN;
use super::names::LABEL_VALUE_PATTERN;
use super::object_kind::ObjectKind;
use super::quantity::{QUANTITY_PATTERN, WrittenText};
use super::sipcluster::LabelSelector;
use super::unique;

/// The API group of both kinds.
pub const GROUP: &str = "bpa.akraino.org";
/// The kind that requests machines.
pub const KIND: &str = "Provisioning";
/// The name of its CustomResourceDefinition.
pub const DEFINITION: &str = "provisionings.bpa.akraino.org";
/// The kind that requests packages.
pub const SOFTWARE_KIND: &str = "Software";
/// The identity of Provisioning.
pub static OBJECT: ObjectKind = ObjectKind {
    kind: KIND,
    group: GROUP,
    api_version: "bpa.akraino.org/v1alpha1",
    domain: "akraino.org",
    distinctive_fields: &["mac-address", "KUDPlugins", "PodSubnet"],
    cluster_label: Some(CLUSTER),
};
/// The identity of Software.
pub static SOFTWARE: ObjectKind = ObjectKind {
    kind: SOFTWARE_KIND,
    group: GROUP,
    api_version: "bpa.akraino.org/v1alpha1",
    domain: "akraino.org",
    distinctive_fields: &["masterSoftware", "workerSoftware"],
    cluster_label: Some(CLUSTER),
};

/// Label: the name of the cluster that a Provisioning creates and that a Software belongs to.
pub const CLUSTER: &str = "cluster";
/// Label: the type of the cluster's hosts; absent or [`VIRTLET_VM`].
pub const CLUSTER_TYPE: &str = "cluster-type";
/// The value of [`CLUSTER_TYPE`] for a cluster whose hosts are virtual machines in pods.
pub const VIRTLET_VM: &str = "virtlet-vm";

/// The longest cluster name, in characters. The name of its Job is `k8s-<cluster>-<hash>` with a
/// hash of 10 characters, and its pods have that name as a label, of at most 63 characters.
pub const LONGEST_NAME: usize = 48;

/// The plugins of the installer that sipgen knows.
pub const PLUGINS: [&str; 13] = [
    "cmk", "emco", "istio", "kata", "multus", "nfd", "onap4k8s", "optane", "ovn", "ovn4nfv", "qat",
    "sriov", "virtlet",
];

/// Label of a host: `true` or `false`, whether it has SR-IOV. It overrides the result of
/// inspection.
pub const SRIOV: &str = "bpa.akraino.org/sriov";
/// Label of a host: `true` or `false`, whether it has QuickAssist. It overrides the result of
/// inspection.
pub const QAT: &str = "bpa.akraino.org/qat";

/// Returns whether a label of a host describes a device.
pub(crate) fn is_for_device(label: &str) -> bool {
    [SRIOV, QAT].contains(&label)
}

/// Returns the probable meaning of a device label's value other than `true` and `false`.
pub(crate) fn probable_value(value: &str) -> bool {
    !["no", "n", "off", "false", "0", "none", ""].contains(&value.to_ascii_lowercase().as_str())
}

/// The machines of a cluster, and the plugins to install on them.
#[derive(CustomResource, Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "bpa.akraino.org",
    version = "v1alpha1",
    kind = "Provisioning",
    plural = "provisionings",
    namespaced,
    derive = "Default",
    doc = "A request for a cluster of machines, by MAC address or by requirements.",
    shortname = "bpa",
    printcolumn = r#"{"name": "Cluster", "type": "string", "jsonPath": ".metadata.labels.cluster",
        "description": "Name of the cluster."}"#,
    printcolumn = r#"{"name": "Network", "type": "string", "jsonPath": ".spec.PodSubnet",
        "description": "Pod network."}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[schemars(extend("x-editor" = {"required": ["masters"]}))]
pub struct ProvisioningSpec {
    /// The control-plane machines, at least one: each entry maps one node name to the requirements
    /// of its machine. A name in both `masters` and `workers` is one machine with both roles that
    /// must meet both entries.
    #[serde(default, deserialize_with = "unique::optional_list")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-editor" = {
        "type": "array",
        "minItems": 1,
        "items": named_machine()
    }))]
    pub masters: Option<Vec<BTreeMap<String, Option<MachineRequest>>>>,
    /// The machines that run workloads, in the same form as `masters`. Default: the control-plane
    /// machines run them.
    #[serde(default, deserialize_with = "unique::optional_list")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-editor" = {"items": named_machine()}))]
    pub workers: Option<Vec<BTreeMap<String, Option<MachineRequest>>>>,
    /// The plugins that the installer adds to Kubernetes, such as `ovn4nfv`.
    #[serde(rename = "KUDPlugins")]
    #[schemars(extend("x-editor" = {"items": {"anyOf": [{"enum": PLUGINS}, {"pattern": PLUGIN_PATTERN}]}}))]
    #[schemars(example = ["onap4k8s", "ovn4nfv"])]
    pub kud_plugins: Option<Vec<String>>,
    /// The pod network in CIDR notation, such as `10.244.64.0/18`.
    #[serde(rename = "PodSubnet")]
    #[schemars(example = &"10.244.64.0/18", extend("x-editor" = {"pattern": "^([0-9a-fA-F.:]+/[0-9]{1,3})?$"}))]
    pub pod_subnet: Option<String>,
}

/// A plugin that sipgen does not know: a single shell word that is no option.
const PLUGIN_PATTERN: &str = "^[A-Za-z0-9][-._A-Za-z0-9]*$";

/// Returns the editor's schema of a list entry: one node name and its machine.
fn named_machine() -> serde_json::Value {
    json!({
        "minProperties": 1,
        "maxProperties": 1,
        "propertyNames": {"minLength": 1, "maxLength": 63, "pattern": LABEL_VALUE_PATTERN}
    })
}

/// A MAC address in any common notation, or an empty text.
const MAC_PATTERN: &str = "^([0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}|[0-9A-Fa-f]{2}(-[0-9A-Fa-f]{2}){5}\
                           |[0-9A-Fa-f]{4}(\\.[0-9A-Fa-f]{4}){2}|[0-9A-Fa-f]{12})?$";

/// A Debian package name. A trailing dash is invalid, because apt would remove the package.
const PACKAGE_PATTERN: &str = "^[A-Za-z0-9]([-+.:_A-Za-z0-9]*[+.:_A-Za-z0-9])?$";

/// The requirements of one machine. The host must meet all of them.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Machine")]
pub struct MachineRequest {
    /// The MAC address of one of the machine's network cards, such as `52:54:00:ab:cd:ef`.
    #[serde(rename = "mac-address")]
    #[schemars(example = &"52:54:00:ab:cd:ef", extend("x-editor" = {
        "pattern": MAC_PATTERN,
        "patternErrorMessage": "A MAC address is six pairs of hexadecimal digits, such as 52:54:00:ab:cd:ef"
    }))]
    pub mac_address: Option<String>,
    /// The minimum number of CPUs.
    #[schemars(extend("x-editor" = {"minimum": 0}))]
    pub cpu: Option<i64>,
    /// The minimum amount of memory as a Kubernetes quantity, such as `16Gi`.
    #[schemars(extend("x-editor" = {
        "type": ["string", "number", "null"],
        "pattern": QUANTITY_PATTERN,
        "patternErrorMessage": "A quantity of Kubernetes is a number with its unit, such as 16Gi"
    }))]
    pub memory: Option<WrittenText>,
    /// `true` if the machine must have network cards with SR-IOV.
    pub sriov: Option<bool>,
    /// `true` if the machine must have QuickAssist.
    pub qat: Option<bool>,
    /// A text that the CPU's model name must contain, in any case; `*` stands for any text, such as in
    /// `Xeon*Gold 62`. This field is an extension of sipgen.
    #[schemars(example = &"Xeon*Gold 62")]
    pub cpu_model: Option<String>,
    /// The features that the CPUs must have, as in `/proc/cpuinfo`, such as `avx512f`. This field is an
    /// extension of sipgen.
    #[schemars(example = ["avx512f", "vmx"], extend("x-editor" = {"items": {"pattern": FLAG_PATTERN}}))]
    pub cpu_flags: Option<Vec<String>>,
    /// The architecture of the CPUs, such as `x86_64` or `aarch64`. This field is an extension of
    /// sipgen.
    #[schemars(example = &"x86_64")]
    pub cpu_arch: Option<String>,
    /// The labels that the machine's BareMetalHost must have. This field is an extension of sipgen.
    pub label_selector: Option<LabelSelector>,
}

/// The packages to install on the machines of a cluster.
#[derive(CustomResource, Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "bpa.akraino.org",
    version = "v1alpha1",
    kind = "Software",
    plural = "software",
    namespaced,
    derive = "Default",
    doc = "Packages to install on the machines of a cluster.",
    printcolumn = r#"{"name": "Cluster", "type": "string", "jsonPath": ".metadata.labels.cluster",
        "description": "Name of the cluster."}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct SoftwareSpec {
    /// The packages for control-plane machines.
    pub master_software: Option<Vec<Package>>,
    /// The packages for machines that run workloads.
    pub worker_software: Option<Vec<Package>>,
}

/// A package: its name, or a mapping of its name to the required version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Package {
    /// Any version.
    Named(String),
    /// A mapping that should have one key, the package's name.
    Versioned(BTreeMap<String, PackageDetails>),
}

/// The requirements for a package.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PackageDetails {
    /// The version, such as `1.5+dfsg-1ubuntu0.1`.
    #[schemars(example = &"1.5+dfsg-1ubuntu0.1")]
    pub version: Option<WrittenText>,
}

impl<'de> Deserialize<'de> for Package {
    /// Implemented by hand: an untagged enum would parse the version 1.10 as a number, and turn it
    /// into 1.1.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PackageVisitor;

        impl<'de> Visitor<'de> for PackageVisitor {
            type Value = Package;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a package, or a mapping of its name to its version")
            }

            fn visit_str<E>(self, name: &str) -> Result<Package, E> {
                Ok(Package::Named(name.to_owned()))
            }

            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Package, M::Error> {
                unique::map(MapAccessDeserializer::new(map)).map(Package::Versioned)
            }
        }

        deserializer.deserialize_any(PackageVisitor)
    }
}

impl JsonSchema for Package {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Package".into()
    }

    /// Accepts any value on an API server, because a structural schema cannot describe a field of
    /// two types.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let versioned = generator.subschema_for::<BTreeMap<String, PackageDetails>>();
        json_schema!({
            "description": "A package: its name, or a mapping of its name to the required version.",
            "x-kubernetes-preserve-unknown-fields": true,
            "x-editor": {
                "anyOf": [
                    {"type": "string", "pattern": PACKAGE_PATTERN},
                    {
                        "allOf": [versioned],
                        "minProperties": 1,
                        "maxProperties": 1,
                        "propertyNames": {"pattern": PACKAGE_PATTERN}
                    }
                ]
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(text: &str) -> MachineRequest {
        yaml_serde::from_str(text).unwrap()
    }

    #[test]
    fn a_provisioning_lists_its_machines_by_name() {
        let object: Provisioning = yaml_serde::from_str(
            "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\n\
             metadata: {name: depot, labels: {cluster: depot, owner: lab}}\n\
             spec:\n  masters:\n    - head-1:\n        mac-address: 52:54:00:00:00:01\n    - head-2: {cpu: 8}\n  \
             workers:\n    - body-1: {mac-address: '52:54:00:00:00:11', sriov: true}\n  KUDPlugins: [ovn4nfv]\n  \
             PodSubnet: 10.244.0.0/16\n",
        )
        .unwrap();

        let masters = object.spec.masters.unwrap();
        let names: Vec<&String> = masters.iter().flat_map(BTreeMap::keys).collect();
        assert_eq!(names, ["head-1", "head-2"]);
        assert_eq!(
            masters[0]["head-1"].as_ref().unwrap().mac_address.as_deref(),
            Some("52:54:00:00:00:01")
        );
        assert_eq!(masters[1]["head-2"].as_ref().unwrap().cpu, Some(8));
        assert_eq!(object.spec.workers.unwrap()[0]["body-1"].as_ref().unwrap().sriov, Some(true));
        assert_eq!(object.spec.kud_plugins.unwrap(), ["ovn4nfv"]);
        assert_eq!(object.spec.pod_subnet.as_deref(), Some("10.244.0.0/16"));
        assert_eq!(object.metadata.labels.unwrap()[CLUSTER], "depot");
    }

    #[test]
    fn what_is_written_without_quotes_is_kept_as_it_was_written() {
        for (text, memory) in
            [("16Gi", "16Gi"), ("17179869184", "17179869184"), ("1.10", "1.10"), ("1e3", "1e3")]
        {
            assert_eq!(
                machine(&format!("memory: {text}")).memory,
                Some(WrittenText(memory.to_owned()))
            );
        }
        assert_eq!(
            machine("mac-address: 00:11:22:33:44:55").mac_address.as_deref(),
            Some("00:11:22:33:44:55")
        );
        assert_eq!(machine(r#"{"memory": 4096}"#).memory, Some(WrittenText("4096".to_owned())));
    }

    #[test]
    fn a_machine_without_anything_is_read() {
        let spec: ProvisioningSpec =
            yaml_serde::from_str("masters: [{head: {}}]\nworkers: []\n").unwrap();
        assert!(spec.masters.unwrap()[0]["head"].as_ref().unwrap().mac_address.is_none());
    }

    #[test]
    fn a_machine_may_be_chosen_by_labels() {
        let selector = machine("labelSelector: {matchLabels: {rack: r1}}").label_selector.unwrap();
        assert_eq!(selector.match_labels.unwrap()["rack"], "r1");
    }

    #[test]
    fn packages_are_names_or_have_a_version() {
        let object: Software = yaml_serde::from_str(
            "apiVersion: bpa.akraino.org/v1alpha1\nkind: Software\nmetadata: {name: tools}\nspec:\n  \
             masterSoftware:\n    - htop\n    - jq:\n        version: 1.10\n    - git: {}\n  workerSoftware: [curl]\n",
        )
        .unwrap();

        let versioned = |name: &str, version: Option<&str>| {
            let details =
                PackageDetails { version: version.map(|version| WrittenText(version.to_owned())) };
            Package::Versioned(BTreeMap::from([(name.to_owned(), details)]))
        };
        let expected = [
            Package::Named("htop".to_owned()),
            versioned("jq", Some("1.10")),
            versioned("git", None),
        ];
        assert_eq!(object.spec.master_software.unwrap(), expected);
        assert_eq!(object.spec.worker_software.unwrap(), [Package::Named("curl".to_owned())]);
    }

    #[test]
    fn what_is_no_package_is_refused() {
        for text in ["[[htop]]", "[{jq: 1.5}]", "[{jq: [1.5]}]", "[true]"] {
            assert!(yaml_serde::from_str::<Vec<Package>>(text).is_err(), "{text}");
        }
    }
}
