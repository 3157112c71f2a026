//! Decoded requests, before validation.

use super::kind::ClusterKind;
use super::spec::Spec;
use crate::api::names::{ClusterKey, ObjectName};
use crate::api::provisioning::SoftwareSpec;
use crate::finding::Origin;

/// A decoded request.
pub(crate) struct ClusterDocument {
    pub(crate) kind: ClusterKind,
    pub(crate) key: ClusterKey,
    /// Name of the object. A Provisioning's cluster has another name.
    pub(crate) name: ObjectName,
    pub(crate) origin: Origin,
    /// Label `cluster-type` of a Provisioning.
    pub(crate) cluster_type: Option<String>,
    /// Annotation with the priority.
    pub(crate) priority: Option<String>,
    /// Annotation with the cluster's name in labels of older generations.
    pub(crate) former_name: Option<String>,
    /// Its spec.
    pub(crate) spec: Spec,
}

/// A decoded Software.
pub(crate) struct SoftwareDocument {
    /// The cluster whose machines get the packages.
    pub(crate) key: ClusterKey,
    /// Name of the object.
    pub(crate) name: ObjectName,
    pub(crate) origin: Origin,
    /// Decoded spec; `None`, with a finding, if it is invalid.
    pub(crate) spec: Option<Box<SoftwareSpec>>,
}
