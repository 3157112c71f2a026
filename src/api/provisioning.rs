//! Provisioning and Software (`bpa.akraino.org/v1alpha1`): what Akraino's Binary Provisioning Agent was asked for.
//!
//! A Provisioning names the machines of a cluster by their MAC addresses, or says what they must have; a Software of
//! the same `cluster` label says which packages they get. As with [SIPClusters](super::sipcluster), types are as
//! lenient as YAML allows, and what must hold beyond them is not checked here.

use std::collections::BTreeMap;
use std::fmt;

use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json;

use super::names::LABEL_VALUE_PATTERN;
use super::object_kind::ObjectKind;
use super::sipcluster::LabelSelector;
use super::unique;

/// The API group of both kinds.
pub const GROUP: &str = "bpa.akraino.org";
/// The kind that asks for machines.
pub const KIND: &str = "Provisioning";
/// The name of its definition.
pub const DEFINITION: &str = "provisionings.bpa.akraino.org";
/// The kind that asks for packages.
pub const SOFTWARE_KIND: &str = "Software";
/// Identity of Provisioning.
pub static OBJECT: ObjectKind = ObjectKind {
    kind: KIND,
    group: GROUP,
    api_version: "bpa.akraino.org/v1alpha1",
    domain: "akraino.org",
    distinctive_fields: &["mac-address", "KUDPlugins", "PodSubnet"],
    cluster_label: Some(CLUSTER),
};
/// Identity of Software.
pub static SOFTWARE: ObjectKind = ObjectKind {
    kind: SOFTWARE_KIND,
    group: GROUP,
    api_version: "bpa.akraino.org/v1alpha1",
    domain: "akraino.org",
    distinctive_fields: &["masterSoftware", "workerSoftware"],
    cluster_label: Some(CLUSTER),
};

/// Label: the name of the cluster that a Provisioning makes, and that a Software belongs to.
pub const CLUSTER: &str = "cluster";
/// Label: what the cluster's hosts are; [`VIRTLET_VM`] or nothing.
pub const CLUSTER_TYPE: &str = "cluster-type";
/// The value of [`CLUSTER_TYPE`] for a cluster whose hosts are virtual machines in pods.
pub const VIRTLET_VM: &str = "virtlet-vm";

/// How many characters the name of a cluster may have. Its Job is called `kud-<cluster>-<hash>`, with a hash of ten
/// characters, and the pods of a Job bear its name as a label of 63 at most.
pub const LONGEST_NAME: usize = 48;

/// The plugins of the installer that are known.
pub const PLUGINS: [&str; 13] = [
    "cmk", "emco", "istio", "kata", "multus", "nfd", "onap4k8s", "optane", "ovn", "ovn4nfv", "qat",
    "sriov", "virtlet",
];

/// Label of a host: whether its network cards have SR-IOV, `true` or `false`, whatever inspection found.
pub const SRIOV: &str = "bpa.akraino.org/sriov";
/// Label of a host: whether it has QuickAssist, `true` or `false`, whatever inspection found.
pub const QAT: &str = "bpa.akraino.org/qat";

/// Returns whether a label of a host is about a device.
pub(crate) fn is_for_device(label: &str) -> bool {
    [SRIOV, QAT].contains(&label)
}

/// Returns the meaning of a device label's value that is neither `true` nor `false`.
pub(crate) fn meant(value: &str) -> bool {
    !["no", "n", "off", "false", "0", "none", ""].contains(&value.to_ascii_lowercase().as_str())
}

/// What a cluster is made of: its machines, and what is installed on them.
#[derive(CustomResource, Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "bpa.akraino.org",
    version = "v1alpha1",
    kind = "Provisioning",
    plural = "provisionings",
    namespaced,
    derive = "Default",
    doc = "A cluster of machines that are named by their MAC addresses, or by what they must have.",
    shortname = "bpa",
    printcolumn = r#"{"name": "Cluster", "type": "string", "jsonPath": ".metadata.labels.cluster",
        "description": "The name of the cluster that is made."}"#,
    printcolumn = r#"{"name": "Network", "type": "string", "jsonPath": ".spec.PodSubnet",
        "description": "The pods' network."}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-editor" = {"required": ["masters"]}))]
pub struct ProvisioningSpec {
    /// The machines of the control plane: each a mapping of one name, which is the node's, to what is asked of it. One
    /// that is in both lists is one machine with both roles, and what it is need be said in one of them.
    #[serde(
        default,
        deserialize_with = "unique::optional_list",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("x-editor" = {
        "type": "array",
        "minItems": 1,
        "items": named_machine()
    }))]
    pub masters: Option<Vec<BTreeMap<String, Option<Machine>>>>,
    /// The machines that run workloads, in the same form; without any, those of the control plane do.
    #[serde(
        default,
        deserialize_with = "unique::optional_list",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("x-editor" = {"items": named_machine()}))]
    pub workers: Option<Vec<BTreeMap<String, Option<Machine>>>>,
    /// The plugins that the installer adds to Kubernetes.
    #[serde(
        rename = "KUDPlugins",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("x-editor" = {"items": {"anyOf": [{"enum": PLUGINS}, {"pattern": PLUGIN_PATTERN}]}}))]
    #[schemars(example = ["onap4k8s", "ovn4nfv"])]
    pub kud_plugins: Option<Vec<String>>,
    /// The network that pods get their addresses from, as a CIDR.
    #[serde(rename = "PodSubnet", default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"10.244.64.0/18", extend("x-editor" = {"pattern": "^([0-9a-fA-F.:]+/[0-9]{1,3})?$"}))]
    pub pod_subnet: Option<String>,
    /// Without effect; a file on the agent's machine, in resources of 2019.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-editor" = {"deprecated": true, "doNotSuggest": true}))]
    pub hostfile: Option<String>,
    /// Without effect; a directory on the agent's machine, in resources of 2019.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-editor" = {"deprecated": true, "doNotSuggest": true}))]
    pub kud_installer_path: Option<String>,
    /// Without effect; a file on the agent's machine, in resources of 2019.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-editor" = {"deprecated": true, "doNotSuggest": true}))]
    pub dhcp_lease_file: Option<String>,
    /// Without effect; a directory on the agent's machine, in resources of 2019.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-editor" = {"deprecated": true, "doNotSuggest": true}))]
    pub multi_cluster_dir: Option<String>,
}

/// A plugin that is not known here: nothing that a shell would take for more than a word.
const PLUGIN_PATTERN: &str = "^[A-Za-z0-9][-._A-Za-z0-9]*$";

/// What an editor says of an entry of the lists: one machine with its name.
fn named_machine() -> serde_json::Value {
    json!({
        "minProperties": 1,
        "maxProperties": 1,
        "propertyNames": {"minLength": 1, "maxLength": 63, "pattern": LABEL_VALUE_PATTERN}
    })
}

/// A MAC address in all the ways in which people write them, or nothing.
const MAC_PATTERN: &str = "^([0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}|[0-9A-Fa-f]{2}(-[0-9A-Fa-f]{2}){5}\
                           |[0-9A-Fa-f]{4}(\\.[0-9A-Fa-f]{4}){2}|[0-9A-Fa-f]{12})?$";

/// A quantity of Kubernetes that is not negative, or nothing.
const QUANTITY_PATTERN: &str =
    "^([+]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]+)?)?$";

/// A package that apt takes for one: a dash at the end would remove it.
const PACKAGE_PATTERN: &str = "^[A-Za-z0-9]([-+.:_A-Za-z0-9]*[+.:_A-Za-z0-9])?$";

/// What is asked of one machine. All of it holds at once.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Machine {
    /// The MAC address of one of its network cards.
    #[serde(
        rename = "mac-address",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(example = &"52:54:00:ab:cd:ef", extend("x-editor" = {
        "pattern": MAC_PATTERN,
        "patternErrorMessage": "A MAC address is six pairs of hexadecimal digits, such as 52:54:00:ab:cd:ef"
    }))]
    pub mac_address: Option<String>,
    /// How many CPUs it has at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-editor" = {"minimum": 0}))]
    pub cpu: Option<i64>,
    /// How much memory it has at least, as a quantity of Kubernetes such as `16Gi`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-editor" = {
        "type": ["string", "number", "null"],
        "pattern": QUANTITY_PATTERN,
        "patternErrorMessage": "A quantity of Kubernetes is a number with its unit, such as 16Gi"
    }))]
    pub memory: Option<Text>,
    /// Whether its network cards have SR-IOV.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sriov: Option<bool>,
    /// Whether it has QuickAssist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qat: Option<bool>,
    /// The labels that its BareMetalHost has. An extension of sipgen's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
}

/// Which packages the machines of a cluster get.
#[derive(CustomResource, Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "bpa.akraino.org",
    version = "v1alpha1",
    kind = "Software",
    plural = "software",
    namespaced,
    derive = "Default",
    doc = "The packages that the machines of a cluster get.",
    printcolumn = r#"{"name": "Cluster", "type": "string", "jsonPath": ".metadata.labels.cluster",
        "description": "The name of the cluster whose machines get them."}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct SoftwareSpec {
    /// The packages of the control plane's machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub master_software: Option<Vec<Package>>,
    /// The packages of the machines that run workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_software: Option<Vec<Package>>,
}

/// A package: its name, or a mapping of its name to the version that is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Package {
    /// In any version.
    Named(String),
    /// By name, which should be a single one.
    Versioned(BTreeMap<String, PackageDetails>),
}

/// What is wanted of a package.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PackageDetails {
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"1.5+dfsg-1ubuntu0.1")]
    pub version: Option<Text>,
}

impl<'de> Deserialize<'de> for Package {
    /// By hand, because an untagged enum would read the version 1.10 as a number first, and make 1.1 of it.
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

    /// To an API server anything, because a field that has two types is beyond what it can check.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let versioned = generator.subschema_for::<BTreeMap<String, PackageDetails>>();
        json_schema!({
            "description": "A package: its name, or a mapping of its name to the version that is wanted.",
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

/// A text that may look like a number: a quantity or a version, as it was written. YAML's parser hands that over where
/// a text is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Text(pub String);

impl JsonSchema for Text {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Text".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"x-kubernetes-int-or-string": true, "x-editor": {"type": ["string", "number", "null"]}})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(text: &str) -> Machine {
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
            masters[0]["head-1"]
                .as_ref()
                .unwrap()
                .mac_address
                .as_deref(),
            Some("52:54:00:00:00:01")
        );
        assert_eq!(masters[1]["head-2"].as_ref().unwrap().cpu, Some(8));
        assert_eq!(
            object.spec.workers.unwrap()[0]["body-1"]
                .as_ref()
                .unwrap()
                .sriov,
            Some(true)
        );
        assert_eq!(object.spec.kud_plugins.unwrap(), ["ovn4nfv"]);
        assert_eq!(object.spec.pod_subnet.as_deref(), Some("10.244.0.0/16"));
        assert_eq!(object.metadata.labels.unwrap()[CLUSTER], "depot");
    }

    #[test]
    fn what_is_written_without_quotes_is_kept_as_it_was_written() {
        for (text, memory) in [
            ("16Gi", "16Gi"),
            ("17179869184", "17179869184"),
            ("1.10", "1.10"),
            ("1e3", "1e3"),
        ] {
            assert_eq!(
                machine(&format!("memory: {text}")).memory,
                Some(Text(memory.to_owned()))
            );
        }
        assert_eq!(
            machine("mac-address: 00:11:22:33:44:55")
                .mac_address
                .as_deref(),
            Some("00:11:22:33:44:55")
        );
        assert_eq!(
            machine(r#"{"memory": 4096}"#).memory,
            Some(Text("4096".to_owned()))
        );
    }

    #[test]
    fn a_machine_without_anything_and_fields_of_2019_are_read() {
        let spec: ProvisioningSpec = yaml_serde::from_str(
            "masters: [{head: {}}]\nworkers: []\nhostfile: /h\nkudInstallerPath: /k\ndhcpLeaseFile: /d\n\
             multiClusterDir: /m\n",
        )
        .unwrap();
        assert!(
            spec.masters.unwrap()[0]["head"]
                .as_ref()
                .unwrap()
                .mac_address
                .is_none()
        );
        let older = [
            spec.hostfile,
            spec.kud_installer_path,
            spec.dhcp_lease_file,
            spec.multi_cluster_dir,
        ];
        assert_eq!(older.map(Option::unwrap), ["/h", "/k", "/d", "/m"]);
    }

    #[test]
    fn a_machine_may_be_chosen_by_labels() {
        let selector = machine("labelSelector: {matchLabels: {rack: r1}}")
            .label_selector
            .unwrap();
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
            let details = PackageDetails {
                version: version.map(|version| Text(version.to_owned())),
            };
            Package::Versioned(BTreeMap::from([(name.to_owned(), details)]))
        };
        let expected = [
            Package::Named("htop".to_owned()),
            versioned("jq", Some("1.10")),
            versioned("git", None),
        ];
        assert_eq!(object.spec.master_software.unwrap(), expected);
        assert_eq!(
            object.spec.worker_software.unwrap(),
            [Package::Named("curl".to_owned())]
        );
    }

    #[test]
    fn what_is_no_package_is_refused() {
        for text in ["[[htop]]", "[{jq: 1.5}]", "[{jq: [1.5]}]", "[true]"] {
            assert!(
                yaml_serde::from_str::<Vec<Package>>(text).is_err(),
                "{text}"
            );
        }
    }
}
