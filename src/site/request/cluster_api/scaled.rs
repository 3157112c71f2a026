//! Control planes and MachineDeployments, written out or made of a ClusterClass, in one form.

use super::missing_part;
use super::rollout::{LocatedStrategy, either, is_of_k0smotron};
use crate::base::api::cluster_api::{
    AUTOSCALER_MAXIMUM, CLUSTER_CLASS, ClassSpec, ClusterApiReference, ClusterSpec,
    ControlPlaneSpec, HealthCheckSpec, MACHINE_DEPLOYMENT, MACHINE_TEMPLATE, MachineTemplateSpec,
    Metal3ClusterSpec, ScaledTopology, TOPOLOGY_OWNED, Topology,
};
use crate::base::api::host::Metadata;
use crate::base::api::machine_names::MachineNames;
use crate::base::api::names::{ClusterKey, LabelMap, Namespace, Role};
use crate::base::finding::{Code, DocumentField, Origin, RouteStep};
use crate::base::text::non_empty;
use crate::input::decode;
use crate::input::settings::services::KubernetesVersion;
use crate::site::request::NamedMetal3Cluster;
use crate::site::request::cluster::ApiEndpoint;
use crate::site::request::cluster_parts::{PartDocument, PartSpec};
use crate::site::request::documents::{ClusterDocument, RequestValidation};

/// Metadata, and where it is.
type LocatedMetadata<'a> = (&'a Metadata, DocumentField);

/// A control plane or a MachineDeployment whose Machines are hosts of Metal3.
pub(super) struct ScaledMachines<'a> {
    /// Name of the MachineDeployment; `None` for the control plane.
    pub(super) name: Option<&'a str>,
    /// Its metadata, and that of its class, which counts where the former says nothing.
    pub(super) metadata: Vec<LocatedMetadata<'a>>,
    pub(super) replicas: Option<i64>,
    pub(super) strategy: Option<LocatedStrategy<'a>>,
    /// Kind of the object, or of its template in a ClusterClass.
    pub(super) kind: &'a str,
    /// Rollout of K0sControlPlane.
    pub(super) update_strategy: Option<&'a str>,
    pub(super) failure_domain: Option<&'a str>,
    pub(super) template: NodeSetTemplate<'a>,
    /// Where its fields are.
    pub(super) at: DocumentField,
    /// Labels that its template gives to Machines, or the topology and its class.
    pub(super) machine_labels: Vec<&'a LabelMap>,
    /// Names of its Machines.
    pub(super) machine_names: MachineNames,
    /// The MachineHealthCheck that the topology makes for it.
    pub(super) health_check: Option<&'a HealthCheckSpec>,
}

/// The Metal3MachineTemplate of a node set.
pub(super) struct NodeSetTemplate<'a> {
    pub(super) name: &'a str,
    pub(super) spec: &'a MachineTemplateSpec,
    origin: &'a Origin,
    /// The ClusterClass that it is a template of.
    pub(super) class: Option<MachineClass<'a>>,
}

/// A ClusterClass of a Cluster.
struct ClusterClass<'a> {
    spec: &'a ClassSpec,
    origin: &'a Origin,
    namespace: Namespace,
    topology: &'a Topology,
}

impl<'a> ClusterClass<'a> {
    fn at(&self) -> DocumentField {
        DocumentField::new(self.origin, ["spec"])
    }

    fn machine_class(
        &self,
        template: &'a ClusterApiReference,
        deployment_class: &'a str,
        made: &'a ScaledTopology,
    ) -> MachineClass<'a> {
        let variables = [&made.variables.overrides[..], &self.topology.variables];
        MachineClass { spec: self.spec, origin: self.origin, template, deployment_class, variables }
    }
}

/// A class of Machines in a ClusterClass.
#[derive(Clone, Copy)]
pub(super) struct MachineClass<'a> {
    pub(super) spec: &'a ClassSpec,
    /// The ClusterClass.
    pub(super) origin: &'a Origin,
    /// The reference to the Metal3MachineTemplate.
    pub(super) template: &'a ClusterApiReference,
    /// Class of a MachineDeployment; empty for the control plane.
    pub(super) deployment_class: &'a str,
    /// Values of variables, of which the first of a name counts.
    pub(super) variables: [&'a [serde_json::Value]; 2],
}

impl NodeSetTemplate<'_> {
    /// Returns a field of the Metal3Machines.
    pub(super) fn field(&self, name: &str) -> DocumentField {
        DocumentField::new(self.origin, ["spec", "template", "spec", name])
    }

    pub(super) fn selector_at(&self) -> DocumentField {
        self.field("hostSelector")
    }
}

fn object_metadata(document: &PartDocument) -> LocatedMetadata<'_> {
    (&document.metadata, DocumentField::new(&document.origin, ["metadata"]))
}

/// Returns labels by precedence.
fn labels_of<'a>(metadata: &[LocatedMetadata<'a>]) -> Vec<&'a LabelMap> {
    metadata.iter().filter_map(|(metadata, _)| metadata.labels.as_ref()).collect()
}

impl ScaledMachines<'_> {
    pub(super) fn role(&self) -> Role {
        if self.name.is_some() { Role::Worker } else { Role::ControlPlane }
    }

    pub(super) fn title(&self) -> String {
        let deployment = self.name.map(|name| format!("the MachineDeployment {name}"));
        deployment.unwrap_or_else(|| "the control plane".to_owned())
    }

    /// Returns the place of the number of hosts.
    pub(super) fn replicas_at(&self) -> DocumentField {
        if self.annotation(AUTOSCALER_MAXIMUM).is_some() {
            self.annotation_at(AUTOSCALER_MAXIMUM)
        } else {
            self.at.below(["replicas".into()])
        }
    }

    pub(super) fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata.iter().find_map(|(metadata, _)| metadata.annotation(key))
    }

    /// Returns the place of an annotation that it has.
    pub(super) fn annotation_at(&self, key: &str) -> DocumentField {
        let given = self.metadata.iter().find(|(metadata, _)| metadata.annotation(key).is_some());
        let route = ["annotations".into(), key.into()];
        given.map_or_else(|| self.at.clone(), |(_, at)| at.below(route))
    }
}

/// Returns the machine template of a control plane; `None` if it has no Machines.
pub(super) fn machines_of(spec: &ControlPlaneSpec) -> Option<&ClusterApiReference> {
    let machine_reference = || {
        let machines = spec.machine_template.as_ref()?;
        let spec_reference = || machines.spec.as_ref()?.infrastructure_ref.as_ref();
        machines.infrastructure_ref.as_ref().or_else(spec_reference)
    };
    machine_reference().or(spec.infrastructure_ref.as_ref())
}

impl<'a> RequestValidation<'a, '_> {
    /// Returns the control plane and the MachineDeployments whose Machines are hosts of Metal3.
    pub(super) fn scaled(&mut self, spec: &'a ClusterSpec) -> Vec<ScaledMachines<'a>> {
        let mut scaled = match &spec.topology {
            Some(topology) => self.class_members(topology),
            None => self.control_plane(spec).into_iter().collect(),
        };
        scaled.extend(self.machine_deployments());
        scaled
    }

    /// Returns the version of Kubernetes of the control plane.
    pub(super) fn kubernetes_version(&self, spec: &ClusterSpec) -> Option<KubernetesVersion> {
        let referenced = |it| self.referenced(it)?.spec.as_ref().ok();
        let control_plane = spec.control_plane_ref.as_ref().and_then(referenced);
        let version = match (&spec.topology, control_plane) {
            (Some(topology), _) => topology.version.clone(),
            (None, Some(PartSpec::ControlPlane(control_plane))) => control_plane.version.clone(),
            _ => None,
        };
        // RKE2 and k0s append their own version.
        version?.split('+').next()?.to_owned().try_into().ok()
    }

    /// Returns the Metal3Cluster if the inputs have it, without failure domains.
    pub(super) fn without_failure_domains(&self, spec: &ClusterSpec) -> Option<NamedMetal3Cluster> {
        let (document, own) = self.metal3_cluster(spec)?;
        let name = spec.infrastructure_ref.as_ref()?.name.clone();
        let origin = document.origin.clone();
        own.failure_domains.is_none().then_some(NamedMetal3Cluster { name, origin })
    }

    /// Returns the address of the API, if the Metal3Cluster has it.
    pub(super) fn endpoint(&self, spec: &ClusterSpec) -> Option<ApiEndpoint> {
        let (document, own) = self.metal3_cluster(spec)?;
        let address = own.control_plane_endpoint.as_ref()?.get("host")?.as_str()?.parse().ok()?;
        let route = ["spec", "controlPlaneEndpoint", "host"];
        Some(ApiEndpoint { address, at: DocumentField::new(&document.origin, route) })
    }

    fn referenced(&self, reference: &ClusterApiReference) -> Option<&'a PartDocument> {
        self.context.cluster_parts.referenced(reference, &self.document.key.namespace)
    }

    fn metal3_cluster(
        &self,
        spec: &ClusterSpec,
    ) -> Option<(&'a PartDocument, &'a Metal3ClusterSpec)> {
        let reference = spec.infrastructure_ref.as_ref()?;
        let document = self.referenced(reference)?;
        let Ok(PartSpec::Metal3Cluster(own)) = &document.spec else { return None };
        Some((document, own))
    }

    /// Returns the object that a reference names, and reports one that is missing or unreadable.
    fn part_of(
        &mut self,
        reference: &ClusterApiReference,
        namespace: &Namespace,
        from: DocumentField,
    ) -> Option<(&'a PartDocument, &'a PartSpec)> {
        let Some(document) = self.context.cluster_parts.referenced(reference, namespace) else {
            let message = missing_part(&reference.kind, &reference.name);
            let help = "add its manifest to the inputs; references are resolved with the names and namespaces that builds deliver";
            self.report_field(Code::PartMissing, &from, message, help);
            return None;
        };
        Some((document, self.readable(document)?))
    }

    /// Returns the spec of an object, and reports one that is unreadable.
    fn readable(&mut self, document: &'a PartDocument) -> Option<&'a PartSpec> {
        let unreadable = |error| decode::unreadable(&document.origin, error, &document.kind);
        let spec = document.spec.as_ref().map_err(unreadable);
        spec.map_err(|finding| self.findings.push(finding)).ok()
    }

    /// Returns the machine template that a reference names; `None` if Machines are no hosts of
    /// Metal3.
    fn template(
        &mut self,
        reference: &'a ClusterApiReference,
        namespace: &Namespace,
        from: DocumentField,
        class: Option<MachineClass<'a>>,
    ) -> Option<NodeSetTemplate<'a>> {
        if reference.kind != MACHINE_TEMPLATE {
            return None;
        }
        let (document, part) = self.part_of(reference, namespace, from)?;
        let PartSpec::MachineTemplate(spec) = part else { return None };
        Some(NodeSetTemplate { name: &reference.name, spec, origin: &document.origin, class })
    }

    /// Returns the MachineDeployments in the inputs, without those that a topology made.
    fn machine_deployments(&mut self) -> Vec<ScaledMachines<'a>> {
        let mut scaled = Vec::new();
        let (key, objects) = (&self.document.key, self.context.cluster_parts);
        for (name, document) in objects.parts_with_kind(MACHINE_DEPLOYMENT, &key.namespace) {
            // The cluster of one that is unreadable is unknown, so it may be this one.
            let Some(PartSpec::MachineDeployment(deployment)) = self.readable(document) else {
                continue;
            };
            if deployment.cluster_name != key.name.as_str()
                || document.metadata.label(TOPOLOGY_OWNED).is_some()
            {
                continue;
            }
            let machine = &deployment.template.spec;
            let Some(reference) = &machine.infrastructure_ref else { continue };
            let at = DocumentField::new(&document.origin, ["spec"]);
            let from =
                at.below(["template", "spec", "infrastructureRef", "name"].map(RouteStep::from));
            let Some(template) = self.template(reference, &key.namespace, from, None) else {
                continue;
            };
            scaled.push(ScaledMachines {
                name: Some(name),
                metadata: vec![object_metadata(document)],
                replicas: deployment.replicas,
                strategy: either("strategy", &deployment.strategy, &deployment.rollout, &at),
                kind: MACHINE_DEPLOYMENT,
                update_strategy: None,
                failure_domain: non_empty(&machine.failure_domain),
                machine_labels: deployment.template.metadata.labels.iter().collect(),
                machine_names: MachineNames::deployment(name).with_template(template.name),
                health_check: None,
                template,
                at,
            });
        }
        scaled
    }

    fn control_plane(&mut self, spec: &'a ClusterSpec) -> Option<ScaledMachines<'a>> {
        let reference = spec.control_plane_ref.as_ref()?;
        let ClusterDocument { origin, key: ClusterKey { namespace, .. }, .. } = self.document;
        let from = DocumentField::new(origin, ["spec", "controlPlaneRef", "name"]);
        let (document, part) = self.part_of(reference, namespace, from)?;
        let PartSpec::ControlPlane(control_plane) = part else { return None };
        // Without Machines, the control plane runs elsewhere, as with Kamaji.
        let machines = machines_of(control_plane)?;
        let at = DocumentField::new(&document.origin, ["spec"]);
        let template = self.template(machines, namespace, at.clone(), None)?;
        let machine_template = control_plane.machine_template.as_ref();
        let mut machine_names =
            MachineNames::control_plane(&reference.name).with_template(template.name);
        if is_of_k0smotron(&document.kind) {
            machine_names = machine_names.with_numbers(&reference.name);
        }
        Some(ScaledMachines {
            name: None,
            metadata: vec![object_metadata(document)],
            replicas: control_plane.replicas,
            strategy: either(
                "rolloutStrategy",
                &control_plane.rollout_strategy,
                &control_plane.rollout,
                &at,
            ),
            kind: &document.kind,
            update_strategy: control_plane.update_strategy.as_deref(),
            failure_domain: None,
            machine_labels: machine_template.iter().flat_map(|it| &it.metadata.labels).collect(),
            machine_names,
            health_check: None,
            template,
            at,
        })
    }

    fn class_members(&mut self, topology: &'a Topology) -> Vec<ScaledMachines<'a>> {
        let (name, namespace) = match (&topology.class_ref, &topology.class) {
            (Some(class), _) => (class.name.as_str(), class.namespace.as_ref()),
            (None, Some(class)) => (class.as_str(), topology.class_namespace.as_ref()),
            (None, None) => ("", None),
        };
        let own = &self.document.key.namespace;
        let namespace =
            namespace.map_or_else(|| own.clone(), |name| name.parse().unwrap_or(own.clone()));
        let at = DocumentField::new(&self.document.origin, ["spec", "topology"]);
        let (kind, name) = (CLUSTER_CLASS.to_owned(), name.to_owned());
        let reference = ClusterApiReference { kind, name, ..ClusterApiReference::default() };
        let part = self.part_of(&reference, &namespace, at.clone());
        let Some((document, PartSpec::Class(class))) = part else { return Vec::new() };
        let class = ClusterClass { spec: class, origin: &document.origin, namespace, topology };
        let mut scaled: Vec<_> = self.control_plane_of_class(&class).into_iter().collect();
        for (index, deployment) in topology.workers.machine_deployments.iter().enumerate() {
            let at = at.below(["workers".into(), "machineDeployments".into(), index.into()]);
            scaled.extend(self.deployment_of_class(deployment, &class, at));
        }
        scaled
    }

    fn control_plane_of_class(&mut self, class: &ClusterClass<'a>) -> Option<ScaledMachines<'a>> {
        let ClusterClass { spec, namespace, topology, .. } = class;
        let (in_topology, control_plane) = (&topology.control_plane, &spec.control_plane);
        let class_at = class.at();
        let machines = control_plane.machine_infrastructure.as_ref()?.reference()?;
        let from = class_at.below(["controlPlane".into(), "machineInfrastructure".into()]);
        let machine_class = class.machine_class(machines, "", in_topology);
        let template = self.template(machines, namespace, from, Some(machine_class))?;
        let reference = control_plane.reference.as_ref().or(control_plane.template_ref.as_ref());
        let from = class_at.below(["controlPlane".into()]);
        let part = reference.and_then(|reference| self.part_of(reference, namespace, from));
        let (strategy, template_spec) = match part {
            Some((document, PartSpec::ControlPlaneTemplate(control_plane))) => {
                let spec = &control_plane.template.spec;
                let at = DocumentField::new(&document.origin, ["spec", "template", "spec"]);
                let strategy =
                    either("rolloutStrategy", &spec.rollout_strategy, &spec.rollout, &at);
                (strategy, Some(spec))
            }
            _ => (None, None),
        };
        let at = DocumentField::new(&self.document.origin, ["spec", "topology", "controlPlane"]);
        let metadata = vec![
            (&in_topology.metadata, at.below(["metadata".into()])),
            (&control_plane.metadata, class_at.below(["controlPlane".into(), "metadata".into()])),
        ];
        Some(ScaledMachines {
            name: None,
            machine_labels: labels_of(&metadata),
            metadata,
            replicas: in_topology.replicas,
            strategy,
            kind: reference.map_or("", |template| &template.kind),
            update_strategy: template_spec.and_then(|spec| spec.update_strategy.as_deref()),
            failure_domain: None,
            machine_names: MachineNames::control_plane_of_class(self.document.key.name.as_str()),
            health_check: health_check(in_topology, &control_plane.machine_health_check),
            template,
            at,
        })
    }

    fn deployment_of_class(
        &mut self,
        deployment: &'a ScaledTopology,
        class: &ClusterClass<'a>,
        at: DocumentField,
    ) -> Option<ScaledMachines<'a>> {
        let mut classes = class.spec.workers.machine_deployments.iter().enumerate();
        let wanted = &deployment.class;
        let Some((index, deployment_class)) = classes.find(|(_, known)| known.class == *wanted)
        else {
            let message = format!("the ClusterClass has no class `{wanted}` of MachineDeployments");
            let help = "name one of `spec.workers.machineDeployments[].class` of the ClusterClass";
            self.report_field(Code::PartMissing, &at.below(["class".into()]), message, help);
            return None;
        };
        let template_reference = || deployment_class.template.infrastructure.as_ref();
        let infrastructure = deployment_class.infrastructure.as_ref().or_else(template_reference);
        let machines = infrastructure?.reference()?;
        let from = class.at().below(["workers".into(), "machineDeployments".into(), index.into()]);
        let machine_class = class.machine_class(machines, wanted, deployment);
        let template =
            self.template(machines, &class.namespace, from.clone(), Some(machine_class))?;
        let template_at = from.below(["template".into(), "metadata".into()]);
        let metadata = vec![
            (&deployment.metadata, at.below(["metadata".into()])),
            (&deployment_class.metadata, from.below(["metadata".into()])),
            (&deployment_class.template.metadata, template_at),
        ];
        let cluster = self.document.key.name.as_str();
        Some(ScaledMachines {
            name: Some(&deployment.name),
            machine_labels: labels_of(&metadata),
            metadata,
            replicas: deployment.replicas,
            // A rollout of the topology replaces the whole rollout of the class.
            strategy: if deployment.strategy.is_some() || deployment.rollout.is_some() {
                either("strategy", &deployment.strategy, &deployment.rollout, &at)
            } else {
                let (strategy, rollout) = (&deployment_class.strategy, &deployment_class.rollout);
                either("strategy", strategy, rollout, &from)
            },
            kind: MACHINE_DEPLOYMENT,
            update_strategy: None,
            failure_domain: non_empty(&deployment.failure_domain)
                .or(non_empty(&deployment_class.failure_domain)),
            machine_names: MachineNames::deployment_of_class(cluster, &deployment.name),
            health_check: health_check(deployment, &deployment_class.machine_health_check),
            template,
            at,
        })
    }
}

/// Returns the MachineHealthCheck of a topology, or else that of its class.
fn health_check<'a>(
    in_topology: &'a ScaledTopology,
    class: &'a HealthCheckSpec,
) -> Option<&'a HealthCheckSpec> {
    let own = &in_topology.machine_health_check;
    let found = [own, class].into_iter().find(|check| check.remediation().is_some());
    found.filter(|_| own.enable != Some(false))
}
