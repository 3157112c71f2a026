//! Decoded specs of requests.

use yaml_serde::Value;

use crate::api::provisioning::ProvisioningSpec;
use crate::api::sipcluster::SIPClusterSpec;

/// The decoded spec of a request.
pub(crate) enum Spec {
    /// SIPCluster of the current generation.
    Current(Box<SIPClusterSpec>),
    /// SIPCluster of an older generation: the document, and whether it may be another tool's
    /// template.
    Older(Box<Value>, bool),
    /// Provisioning.
    Provisioning(Box<ProvisioningSpec>),
    /// Invalid, with a finding.
    Unreadable,
}
