//! Registry of request kinds: maps each kind to its properties.

use super::descriptor::RequestDescriptor;
use super::{ClusterKind, cluster_api, provisioning, sipcluster};
use crate::base::api;
use crate::base::api::object_kind::ObjectKind;
use crate::base::finding::{Origin, Place};

/// Identities of the object kinds that only requests use. Cluster API's are other programs' too.
pub(crate) static OBJECTS: [&ObjectKind; 3] =
    [&api::sipcluster::OBJECT, &api::provisioning::OBJECT, &api::provisioning::SOFTWARE];

impl ClusterKind {
    /// Every kind.
    pub const ALL: [ClusterKind; 3] =
        [ClusterKind::SipCluster, ClusterKind::Provisioning, ClusterKind::ClusterApi];

    /// Returns the properties of the kind.
    pub fn descriptor(self) -> &'static RequestDescriptor {
        match self {
            ClusterKind::SipCluster => &sipcluster::DESCRIPTOR,
            ClusterKind::Provisioning => &provisioning::DESCRIPTOR,
            ClusterKind::ClusterApi => &cluster_api::DESCRIPTOR,
        }
    }

    /// Returns the kind's name in manifests.
    pub fn as_str(self) -> &'static str {
        self.descriptor().object.kind
    }

    /// Returns the kind with this name.
    pub fn named(kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == kind)
    }

    /// Returns the kind of a cluster by whether it has an installer. This also works for clusters
    /// of the previous output whose request is gone.
    pub fn with_installer(has_installer: bool) -> Self {
        if has_installer { ClusterKind::Provisioning } else { ClusterKind::SipCluster }
    }

    /// Returns words of which every file with a request contains one.
    pub(crate) fn marks() -> [&'static str; 3] {
        Self::ALL.map(|kind| kind.descriptor().object.mark())
    }

    /// Returns the place of the cluster's name in a request.
    pub(crate) fn place_of_name(self, origin: &Origin) -> Place {
        match self.descriptor().object.cluster_label {
            Some(label) => origin.at(["metadata", "labels", label]),
            None => origin.name(),
        }
    }
}
