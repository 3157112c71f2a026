//! Requests as they stand in files, before they are checked.

use yaml_serde::Value;

use super::kind::ClusterKind;
use crate::api::names::{ClusterKey, ObjectName};
use crate::api::provisioning::{ProvisioningSpec, SoftwareSpec};
use crate::api::sipcluster::SIPClusterSpec;
use crate::finding::Origin;

/// A request as it stands in a file.
pub(crate) struct ClusterDocument {
    pub(crate) kind: ClusterKind,
    pub(crate) key: ClusterKey,
    /// The object's own name, which that of a Provisioning's cluster is not.
    pub(crate) name: ObjectName,
    pub(crate) origin: Origin,
    /// The label of a Provisioning that says what its hosts are.
    pub(crate) cluster_type: Option<String>,
    /// The annotation that says how it comes before others.
    pub(crate) priority: Option<String>,
    /// The annotation that says by which name hosts of older generations know it.
    pub(crate) former_name: Option<String>,
    /// What it asks for.
    pub(crate) spec: Spec,
}

/// The spec of a request.
pub(crate) enum Spec {
    /// In its current form.
    Current(Box<SIPClusterSpec>),
    /// In an older form: the document, and whether it may be another tool's template.
    Older(Box<Value>, bool),
    /// Of a Provisioning.
    Provisioning(Box<ProvisioningSpec>),
    /// It cannot be read, which a finding says.
    Unreadable,
}

/// A Software as it stands in a file.
pub(crate) struct SoftwareDocument {
    /// The cluster that it is for.
    pub(crate) key: ClusterKey,
    /// Its own name.
    pub(crate) name: ObjectName,
    pub(crate) origin: Origin,
    /// What it asks for; nothing, where that cannot be read, which a finding says.
    pub(crate) spec: Option<Box<SoftwareSpec>>,
}
