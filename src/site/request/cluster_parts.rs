//! The objects that a Cluster consists of: control planes, MachineDeployments, templates and classes.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;

use crate::base::api::cluster_api::{
    CLUSTER_CLASS, CONTROL_PLANE, CONTROL_PLANE_GROUP, CONTROL_PLANE_TEMPLATE, ClassSpec,
    ClusterApiReference, ControlPlaneSpec, ControlPlaneTemplateSpec, GROUP, HEALTH_CHECK,
    HealthCheckSpec, INFRASTRUCTURE_GROUP, KIND, MACHINE, MACHINE_DEPLOYMENT, MACHINE_SET,
    MACHINE_TEMPLATE, METAL3_CLUSTER, METAL3_MACHINE, MachineDeploymentSpec, MachineSpec,
    MachineTemplateSpec, Metal3ClusterSpec, Metal3MachineSpec, OPENSHIFT_GROUP,
};
use crate::base::api::group;
use crate::base::api::host::{Metadata, ObjectEnvelope};
use crate::base::api::ipam::SpecObject;
use crate::base::api::names::{ClusterKey, Namespace};
use crate::base::finding::Origin;
use crate::input::load::{Document, ParseError};

/// The specs of these objects.
#[derive(Debug, Clone)]
pub(crate) enum PartSpec {
    ControlPlane(ControlPlaneSpec),
    ControlPlaneTemplate(ControlPlaneTemplateSpec),
    MachineDeployment(MachineDeploymentSpec),
    MachineSet(MachineDeploymentSpec),
    Machine(MachineSpec),
    Metal3Machine(Metal3MachineSpec),
    MachineTemplate(MachineTemplateSpec),
    Metal3Cluster(Metal3ClusterSpec),
    HealthCheck(HealthCheckSpec),
    Class(Box<ClassSpec>),
}

/// An object of a Cluster.
#[derive(Debug, Clone)]
pub(crate) struct PartDocument {
    pub(crate) kind: String,
    pub(crate) origin: Origin,
    pub(crate) metadata: Metadata,
    /// Its spec, or the reason why it cannot be read.
    pub(crate) spec: Result<PartSpec, ParseError>,
}

type ReadSpec = fn(&Document<'_>) -> Result<PartSpec, ParseError>;

/// Reads an object of a Cluster; `None` for any other object. The error is that of a document without
/// a readable name.
pub(crate) fn read(document: &Document<'_>) -> Option<Result<PartDocument, ParseError>> {
    let kind = document.kind()?;
    let (read, own_group): (ReadSpec, _) = match kind {
        MACHINE_DEPLOYMENT => (|it| spec(it).map(PartSpec::MachineDeployment), GROUP),
        MACHINE_SET => (|it| spec(it).map(PartSpec::MachineSet), GROUP),
        MACHINE => (|it| spec(it).map(PartSpec::Machine), GROUP),
        METAL3_MACHINE => (|it| spec(it).map(PartSpec::Metal3Machine), INFRASTRUCTURE_GROUP),
        CLUSTER_CLASS => (|it| spec(it).map(|spec| PartSpec::Class(Box::new(spec))), GROUP),
        MACHINE_TEMPLATE => (|it| spec(it).map(PartSpec::MachineTemplate), INFRASTRUCTURE_GROUP),
        HEALTH_CHECK => (|it| spec(it).map(PartSpec::HealthCheck), GROUP),
        METAL3_CLUSTER => (|it| spec(it).map(PartSpec::Metal3Cluster), INFRASTRUCTURE_GROUP),
        _ if kind.ends_with(CONTROL_PLANE_TEMPLATE) => {
            (|it| spec(it).map(PartSpec::ControlPlaneTemplate), CONTROL_PLANE_GROUP)
        }
        _ if kind.ends_with(CONTROL_PLANE) => {
            (|it| spec(it).map(PartSpec::ControlPlane), CONTROL_PLANE_GROUP)
        }
        _ => return None,
    };
    match document.parse::<ObjectEnvelope>() {
        Ok(head) => is_of_group(kind, group(&head.api_version), own_group).then(|| {
            Ok(PartDocument {
                kind: kind.to_owned(),
                origin: document.origin.clone(),
                metadata: head.metadata,
                spec: read(document),
            })
        }),
        Err(error) => document.mentions(&[own_group]).then_some(Err(error)),
    }
}

/// Returns whether a kind of a group is that of another, or OpenShift's, which is read alike.
fn is_of_group(kind: &str, group: &str, own_group: &str) -> bool {
    group == own_group || group == OPENSHIFT_GROUP && matches!(kind, MACHINE | MACHINE_SET)
}

/// Tolerated typos in a kind, as edit distance. All kinds of these groups differ by more.
const SLIPS: usize = 2;

/// Returns the kind that is probably meant by a misspelled one in its group, with this group.
pub(crate) fn intended_kind(kind: &str) -> Option<(&'static str, &'static str)> {
    const KINDS: [(&str, &str); 6] = [
        (KIND, GROUP),
        (MACHINE_DEPLOYMENT, GROUP),
        (CLUSTER_CLASS, GROUP),
        (MACHINE_TEMPLATE, INFRASTRUCTURE_GROUP),
        (METAL3_CLUSTER, INFRASTRUCTURE_GROUP),
        ("KubeadmControlPlane", CONTROL_PLANE_GROUP),
    ];
    KINDS.into_iter().find(|(known, _)| {
        // Comparing lengths first avoids the edit distance for most kinds.
        *known != kind
            && kind.len().abs_diff(known.len()) <= SLIPS
            && strsim::damerau_levenshtein(kind, known) <= SLIPS
    })
}

/// Returns whether a document that cannot be parsed may be a Cluster or one of its objects.
pub(crate) fn may_be_part(document: &Document<'_>) -> bool {
    const KINDS: [&str; 4] = [KIND, MACHINE_DEPLOYMENT, MACHINE_TEMPLATE, CLUSTER_CLASS];
    document.mentions(&[CONTROL_PLANE_GROUP])
        || document.mentions(&[GROUP]) && document.mentions_kind(&KINDS)
}

fn spec<T: DeserializeOwned>(document: &Document<'_>) -> Result<T, ParseError> {
    document.parse_object::<SpecObject<T>>().map(|object| object.spec)
}

/// The kind of an object of a Cluster, with the namespace and name that builds give it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PartKey {
    pub(crate) kind: String,
    pub(crate) namespace: Namespace,
    pub(crate) name: String,
}

/// The objects of all Clusters.
#[derive(Debug, Default)]
pub(crate) struct ClusterParts {
    objects: BTreeMap<PartKey, PartDocument>,
}

impl ClusterParts {
    pub(crate) fn new(objects: impl Iterator<Item = (PartKey, PartDocument)>) -> Self {
        Self { objects: objects.collect() }
    }

    /// Returns the object that a reference in a namespace names.
    pub(super) fn referenced(
        &self,
        reference: &ClusterApiReference,
        namespace: &Namespace,
    ) -> Option<&PartDocument> {
        let namespace = match reference.namespace.as_deref() {
            Some(other) if !other.is_empty() => other.parse().ok()?,
            _ => namespace.clone(),
        };
        self.named(&reference.kind, &namespace, &reference.name)
    }

    /// Returns the object of a kind with a name.
    pub(super) fn named(
        &self,
        kind: &str,
        namespace: &Namespace,
        name: &str,
    ) -> Option<&PartDocument> {
        let (kind, namespace, name) = (kind.to_owned(), namespace.clone(), name.to_owned());
        self.objects.get(&PartKey { kind, namespace, name })
    }

    /// Returns the MachineDeployments whose Cluster is none of these.
    pub(crate) fn orphans<'a>(
        &'a self,
        clusters: &'a BTreeSet<ClusterKey>,
    ) -> impl Iterator<Item = (&'a PartDocument, &'a str)> {
        self.objects.iter().filter_map(|(PartKey { namespace, .. }, document)| {
            let Ok(PartSpec::MachineDeployment(spec)) = &document.spec else { return None };
            let is_known = belongs_to(&spec.cluster_name, namespace, clusters);
            (!is_known).then_some((document, spec.cluster_name.as_str()))
        })
    }

    /// Returns all objects with their namespaces and names.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&Namespace, &str, &PartDocument)> {
        let objects = self.objects.iter();
        objects.map(|(key, document)| (&key.namespace, key.name.as_str(), document))
    }

    /// Returns the objects of a kind in a namespace, with their names.
    pub(super) fn parts_with_kind<'a>(
        &'a self,
        kind: &'a str,
        namespace: &'a Namespace,
    ) -> impl Iterator<Item = (&'a str, &'a PartDocument)> {
        let (name, first) = (String::new(), kind.to_owned());
        self.objects
            .range(PartKey { kind: first, namespace: namespace.clone(), name }..)
            .take_while(move |(key, _)| key.kind == kind && key.namespace == *namespace)
            .map(|(key, document)| (key.name.as_str(), document))
    }
}

/// Returns whether the Cluster that an object names is one of these.
pub(super) fn belongs_to(
    cluster: &str,
    namespace: &Namespace,
    clusters: &BTreeSet<ClusterKey>,
) -> bool {
    let key = |name| ClusterKey { namespace: namespace.clone(), name };
    cluster.parse().is_ok_and(|name| clusters.contains(&key(name)))
}
