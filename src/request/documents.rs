//! Requests as they stand in files, before they are checked.

use super::decode_spec::Spec;
use crate::api::names::{ClusterKey, ObjectName};
use crate::api::provisioning::SoftwareSpec;
use crate::finding::Origin;

/// A SIPCluster or a Provisioning as it stands in a file.
pub(crate) struct ClusterDocument {
    pub(crate) kind: &'static str,
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
