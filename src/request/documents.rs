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
    /// The object's own name. A Provisioning's cluster has another.
    pub(crate) name: ObjectName,
    pub(crate) origin: Origin,
    /// Label of a Provisioning: the kind of its hosts.
    pub(crate) cluster_type: Option<String>,
    /// Annotation: the priority.
    pub(crate) priority: Option<String>,
    /// Annotation: the name of the cluster in labels of older generations.
    pub(crate) former_name: Option<String>,
    /// Its spec.
    pub(crate) spec: Spec,
}

/// A decoded Software.
pub(crate) struct SoftwareDocument {
    /// The cluster that it is for.
    pub(crate) key: ClusterKey,
    /// Its own name.
    pub(crate) name: ObjectName,
    pub(crate) origin: Origin,
    /// Its spec; `None`, with a finding, if it is invalid.
    pub(crate) spec: Option<Box<SoftwareSpec>>,
}
