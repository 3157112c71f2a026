//! Objects of Cluster API and of its Metal3 provider (CAPM3), as far as they decide about hosts.
//!
//! A type has the fields of both contracts, `v1beta1` and `v1beta2`: an object has those of its own.
//! Unknown fields are not read, because other programs check these objects.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelectorRequirement;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::host::Metadata;
use super::names::LabelMap;
use super::object_kind::ObjectKind;
use super::sipcluster::LabelSelector;

/// The API group of Cluster, MachineDeployment and ClusterClass.
pub const GROUP: &str = "cluster.x-k8s.io";
/// The API group of OpenShift's MachineSets and Machines.
pub const OPENSHIFT_GROUP: &str = "machine.openshift.io";
/// The kind of what OpenShift's Machines say about their hosts.
pub const OPENSHIFT_PROVIDER: &str = "BareMetalMachineProviderSpec";
/// The API group of the objects of CAPM3.
pub const INFRASTRUCTURE_GROUP: &str = "infrastructure.cluster.x-k8s.io";
/// The API group of all control planes.
pub const CONTROL_PLANE_GROUP: &str = "controlplane.cluster.x-k8s.io";
/// The kind of clusters.
pub const KIND: &str = "Cluster";
/// The kind of node sets of workers.
pub const MACHINE_DEPLOYMENT: &str = "MachineDeployment";
/// The kind of sets of equal Machines.
pub const MACHINE_SET: &str = "MachineSet";
/// The kind of single nodes.
pub const MACHINE: &str = "Machine";
/// The kind of CAPM3's machines, each of which claims a host.
pub const METAL3_MACHINE: &str = "Metal3Machine";
/// The kind of CAPM3's machine templates, which select hosts.
pub const MACHINE_TEMPLATE: &str = "Metal3MachineTemplate";
/// The kind of rules for replacing Machines that fail.
pub const HEALTH_CHECK: &str = "MachineHealthCheck";
/// The kind of CAPM3's remediation: it marks the host of a Machine that it cannot repair as unhealthy.
pub const REMEDIATION_TEMPLATE: &str = "Metal3RemediationTemplate";
/// The kind of clusters on hosts of Metal3.
pub const METAL3_CLUSTER: &str = "Metal3Cluster";
/// The kind of templates of clusters.
pub const CLUSTER_CLASS: &str = "ClusterClass";
/// The end of the kind of every control plane.
pub const CONTROL_PLANE: &str = "ControlPlane";
/// The end of the kind of every template of a control plane.
pub const CONTROL_PLANE_TEMPLATE: &str = "ControlPlaneTemplate";

/// The identity of Cluster.
pub static OBJECT: ObjectKind = ObjectKind {
    kind: KIND,
    group: GROUP,
    api_version: "cluster.x-k8s.io/v1beta2",
    domain: GROUP,
    distinctive_fields: &["controlPlaneRef", "infrastructureRef", "topology"],
    cluster_label: None,
};
/// The name of its CustomResourceDefinition.
pub const DEFINITION: &str = "clusters.cluster.x-k8s.io";

/// Annotation on a Cluster: `true` if sipgen assigns its hosts, `false` if not, whatever the
/// settings say.
pub const ASSIGN: &str = "sip.airshipit.org/assign-hosts";
/// Annotation on a control plane or MachineDeployment: the number of hosts beside its replicas. By
/// default those that its rollout needs.
pub const SPARE: &str = "sip.airshipit.org/spare-hosts";
/// Annotation on a control plane or MachineDeployment: the label of which no two of its hosts share
/// a value, or no more than [`MAX_PER_DOMAIN`] says.
pub const TOPOLOGY_KEY: &str = "sip.airshipit.org/topology-key";
/// Annotation beside [`TOPOLOGY_KEY`]: the most hosts in a domain of that label, 1 by default.
pub const MAX_PER_DOMAIN: &str = "sip.airshipit.org/max-per-domain";
/// Annotation on a control plane or MachineDeployment: topology spread constraints, as JSON.
pub const SPREAD_CONSTRAINTS: &str = "sip.airshipit.org/topology-spread-constraints";
/// Annotation of a control plane or MachineDeployment: the label whose value all its hosts share.
pub const SAME_DOMAIN: &str = "sip.airshipit.org/same-domain";
/// Annotation on a control plane or MachineDeployment: requirements on the hardware of its hosts, as
/// JSON.
pub const HARDWARE: &str = "sip.airshipit.org/hardware";
/// Annotation on a MachineDeployment: the most replicas that the cluster autoscaler asks for.
pub const AUTOSCALER_MAXIMUM: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size";
/// Annotation on a Machine: Cluster API deletes it first.
pub const DELETE_MACHINE: &str = "cluster.x-k8s.io/delete-machine";
/// Label on Machines and their objects, and of CAPM3 on the hosts that they use: the name of the
/// Cluster.
pub const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
/// Label on Machines of a control plane.
pub const CONTROL_PLANE_LABEL: &str = "cluster.x-k8s.io/control-plane";
/// Label on Machines: the name of the MachineDeployment.
pub const DEPLOYMENT_NAME: &str = "cluster.x-k8s.io/deployment-name";
/// Label: a Cluster's topology made the object.
pub const TOPOLOGY_OWNED: &str = "topology.cluster.x-k8s.io/owned";
/// Label on Machines: the name that the Cluster's topology gives the MachineDeployment.
pub const TOPOLOGY_DEPLOYMENT_NAME: &str = "topology.cluster.x-k8s.io/deployment-name";
/// Label on a host: the domain that CAPM3 prefers for Machines with this `failureDomain`.
pub const FAILURE_DOMAIN: &str = "infrastructure.cluster.x-k8s.io/failure-domain";

/// A reference to another object. In `v1beta2` it is in the same namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterApiReference {
    /// API group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
    /// Namespace, if it is another.
    pub namespace: Option<String>,
}

/// A Cluster's spec.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterSpec {
    /// The control plane; none if a ClusterClass makes it.
    pub control_plane_ref: Option<ClusterApiReference>,
    /// The infrastructure; none if a ClusterClass makes it.
    pub infrastructure_ref: Option<ClusterApiReference>,
    /// The ClusterClass with its parameters.
    pub topology: Option<Topology>,
}

/// A Cluster made of a ClusterClass.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Topology {
    /// Name of the class in `v1beta1`.
    pub class: Option<String>,
    /// Namespace of the class in `v1beta1`.
    pub class_namespace: Option<String>,
    /// The class in `v1beta2`.
    pub class_ref: Option<ClusterApiReference>,
    /// Version of Kubernetes.
    pub version: Option<String>,
    /// The control plane.
    pub control_plane: ScaledTopology,
    /// The workers.
    pub workers: Workers<ScaledTopology>,
    /// Values of variables of the class.
    pub variables: Vec<serde_json::Value>,
}

/// Values of variables of a ClusterClass for some Machines.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct VariableOverrides {
    /// The values.
    pub overrides: Vec<serde_json::Value>,
}

/// Workers of a ClusterClass, or of a Cluster made of one.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Workers<D: Default> {
    /// The MachineDeployments.
    pub machine_deployments: Vec<D>,
}

/// A control plane or a MachineDeployment of a Cluster made of a ClusterClass.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScaledTopology {
    /// Annotations.
    pub metadata: Metadata,
    /// Class of a MachineDeployment.
    pub class: String,
    /// Name of a MachineDeployment.
    pub name: String,
    /// Number of Machines.
    pub replicas: Option<i64>,
    /// Failure domain of a MachineDeployment.
    pub failure_domain: Option<String>,
    /// Rollout of a MachineDeployment in `v1beta1`.
    pub strategy: Option<Strategy>,
    /// Rollout of a MachineDeployment in `v1beta2`.
    pub rollout: Option<Rollout>,
    /// Values of variables of the class that replace those of the Cluster.
    pub variables: VariableOverrides,
    /// The MachineHealthCheck, instead of that of the class.
    #[serde(alias = "healthCheck")]
    pub machine_health_check: HealthCheckSpec,
}

/// A control plane, of any kind.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ControlPlaneSpec {
    /// Number of Machines.
    pub replicas: Option<i64>,
    /// Version of Kubernetes.
    pub version: Option<String>,
    /// Machines.
    pub machine_template: Option<ControlPlaneMachines>,
    /// Machines of kinds without, or at first without, `machineTemplate`: RKE2ControlPlane,
    /// KThreesControlPlane and TalosControlPlane.
    #[serde(alias = "infrastructureTemplate")]
    pub infrastructure_ref: Option<ClusterApiReference>,
    /// Rollout in `v1beta1`.
    pub rollout_strategy: Option<Strategy>,
    /// Rollout in `v1beta2`.
    pub rollout: Option<Rollout>,
    /// Rollout of K0sControlPlane: `InPlace`, `Recreate` or `RecreateDeleteFirst`.
    pub update_strategy: Option<String>,
}

/// Machines of a control plane.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ControlPlaneMachines {
    /// Labels of the Machines.
    pub metadata: Metadata,
    /// Their template in `v1beta1`; MicroK8sControlPlane has another name for it.
    #[serde(alias = "infrastructureTemplate")]
    pub infrastructure_ref: Option<ClusterApiReference>,
    /// Their spec in `v1beta2`.
    pub spec: Option<MachineSpec>,
}

/// A MachineDeployment's spec.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineDeploymentSpec {
    /// Its Cluster.
    pub cluster_name: String,
    /// Number of Machines.
    pub replicas: Option<i64>,
    /// Rollout in `v1beta1`.
    pub strategy: Option<Strategy>,
    /// Rollout in `v1beta2`.
    pub rollout: Option<Rollout>,
    /// Template of its Machines.
    pub template: MachineTemplate,
}

/// Template of Machines.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct MachineTemplate {
    /// Labels of the Machines.
    pub metadata: Metadata,
    /// Their spec.
    pub spec: MachineSpec,
}

/// A Machine's spec.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineSpec {
    /// Its Cluster.
    pub cluster_name: String,
    /// Its infrastructure, or the template of it.
    pub infrastructure_ref: Option<ClusterApiReference>,
    /// Failure domain.
    pub failure_domain: Option<String>,
    /// The infrastructure of a Machine of OpenShift: its `value` is an object of the provider.
    pub provider_spec: BTreeMap<String, ProviderValue>,
}

/// An object that says which hosts a Machine of OpenShift may claim.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProviderValue {
    /// [`OPENSHIFT_PROVIDER`], or that of another provider.
    pub kind: String,
    /// The hosts that it may claim.
    pub host_selector: HostSelector,
}

/// A MachineHealthCheck's spec, or that of a topology or ClusterClass, which have no Cluster and no
/// selector.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HealthCheckSpec {
    /// Its Cluster.
    pub cluster_name: String,
    /// Its Machines.
    pub selector: Option<LabelSelector>,
    /// Template of their remediation in `v1beta1`.
    pub remediation_template: Option<ClusterApiReference>,
    /// Their remediation in `v1beta2`.
    pub remediation: TemplateReference,
    /// Set to false by a topology that wants none of its class.
    #[serde(alias = "enabled")]
    pub enable: Option<bool>,
}

impl HealthCheckSpec {
    /// Returns the template of the remediation, if it has one.
    pub fn remediation(&self) -> Option<&ClusterApiReference> {
        self.remediation_template.as_ref().or(self.remediation.reference())
    }
}

/// Rollout in `v1beta2`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Rollout {
    /// The strategy.
    pub strategy: Option<Strategy>,
}

/// The way in which Machines are replaced.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Strategy {
    /// `RollingUpdate`, the default, or `OnDelete`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Parameters of a rolling update.
    pub rolling_update: Option<RollingUpdate>,
}

/// Parameters of a rolling update.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RollingUpdate {
    /// Number of Machines above `replicas`, or a share of these such as `25%`; 1 by default.
    pub max_surge: Option<IntOrString>,
}

/// The spec of a template of objects.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct TemplateSpec<S: Default> {
    /// The template.
    pub template: ObjectTemplate<S>,
}

/// A template of objects.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ObjectTemplate<S: Default> {
    /// Their spec.
    pub spec: S,
}

/// A Metal3MachineTemplate's spec.
pub type MachineTemplateSpec = TemplateSpec<Metal3MachineSpec>;

/// A Metal3Machine's spec.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metal3MachineSpec {
    /// The hosts that it may claim.
    pub host_selector: HostSelector,
    /// Other fields, of which one may be misspelled.
    #[serde(flatten)]
    pub others: BTreeMap<String, IgnoredAny>,
}

/// Labels of hosts that a Metal3Machine may claim.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostSelector {
    /// Values of labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: LabelMap,
    /// Further requirements. CAPM3 ignores the case of the operator: `in`, `notin`, `exists`, `!`, `=`, `==`,
    /// `!=`, `gt` or `lt`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<LabelSelectorRequirement>,
    /// Other fields, which the API server drops.
    #[serde(flatten)]
    pub unknown: BTreeMap<String, serde_json::Value>,
}

/// A Metal3Cluster's spec.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metal3ClusterSpec {
    /// The failure domains: a mapping in `v1beta1`, a list in `v1beta2`.
    pub failure_domains: Option<serde_json::Value>,
    /// The `host` and `port` of the API.
    pub control_plane_endpoint: Option<serde_json::Value>,
}

/// A ClusterClass's spec.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClassSpec {
    /// The control plane.
    pub control_plane: ControlPlaneClass,
    /// The workers.
    pub workers: Workers<DeploymentClass>,
    /// Changes of the templates, by variables.
    pub patches: Vec<serde_json::Value>,
    /// Variables with their default values.
    pub variables: Vec<serde_json::Value>,
}

impl ClassSpec {
    /// Returns the metadata of its control planes and MachineDeployments.
    pub fn metadata(&self) -> Vec<&Metadata> {
        let workers = self.workers.machine_deployments.iter();
        let workers = workers.flat_map(|class| [&class.metadata, &class.template.metadata]);
        workers.chain([&self.control_plane.metadata]).collect()
    }
}

/// The control plane of a ClusterClass.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ControlPlaneClass {
    /// Labels and annotations of control planes.
    pub metadata: Metadata,
    /// Its template in `v1beta1`.
    #[serde(rename = "ref")]
    pub reference: Option<ClusterApiReference>,
    /// Its template in `v1beta2`.
    pub template_ref: Option<ClusterApiReference>,
    /// Its Machines.
    pub machine_infrastructure: Option<TemplateReference>,
    /// Their MachineHealthCheck.
    #[serde(alias = "healthCheck")]
    pub machine_health_check: HealthCheckSpec,
}

/// A reference to a template.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TemplateReference {
    /// In `v1beta1`.
    #[serde(rename = "ref")]
    pub reference: Option<ClusterApiReference>,
    /// In `v1beta2`.
    pub template_ref: Option<ClusterApiReference>,
}

impl TemplateReference {
    /// Returns the reference of either version.
    pub fn reference(&self) -> Option<&ClusterApiReference> {
        self.reference.as_ref().or(self.template_ref.as_ref())
    }
}

/// A class of MachineDeployments.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeploymentClass {
    /// Its name.
    pub class: String,
    /// Labels and annotations of MachineDeployments in `v1beta2`.
    pub metadata: Metadata,
    /// Templates in `v1beta1`.
    pub template: DeploymentTemplates,
    /// Template of Metal3Machines in `v1beta2`.
    pub infrastructure: Option<TemplateReference>,
    /// Failure domain.
    pub failure_domain: Option<String>,
    /// Rollout in `v1beta1`.
    pub strategy: Option<Strategy>,
    /// Rollout in `v1beta2`.
    pub rollout: Option<Rollout>,
    /// The MachineHealthCheck of its Machines.
    #[serde(alias = "healthCheck")]
    pub machine_health_check: HealthCheckSpec,
}

/// Templates of a class of MachineDeployments in `v1beta1`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct DeploymentTemplates {
    /// Labels and annotations of MachineDeployments.
    pub metadata: Metadata,
    /// Template of Metal3Machines.
    pub infrastructure: Option<TemplateReference>,
}

/// A template of control planes.
pub type ControlPlaneTemplateSpec = TemplateSpec<ControlPlaneSpec>;
