//! Kinds of requests: the registry of what differs between them.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::documents::Spec;
use super::{provisioning, sipcluster};
use crate::api;
use crate::api::object_kind::ObjectKind;
use crate::finding::{Finding, Origin, Place};
use crate::load::Document;

/// Identity of all kinds of objects that requests consist of.
pub(crate) static OBJECTS: [&ObjectKind; 3] = [
    &api::sipcluster::OBJECT,
    &api::provisioning::OBJECT,
    &api::provisioning::SOFTWARE,
];

/// The kinds of objects that ask for clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub enum ClusterKind {
    /// One that wants hosts by roles, and services.
    #[serde(rename = "SIPCluster")]
    SipCluster,
    /// One that wants machines by names, and has Kubernetes installed on them.
    Provisioning,
}

/// Properties of a kind of request.
#[derive(Debug)]
pub struct RequestDescriptor {
    /// Group, version and kind; misspellings; the label that names the cluster.
    pub object: &'static ObjectKind,
    /// Name of its CustomResourceDefinition.
    pub definition: &'static str,
    /// Argument of `sipgen schema crd`; `None` for the default kind.
    pub schema_argument: Option<&'static str>,
    /// Cluster API claims the hosts; otherwise an installer runs on them.
    pub uses_cluster_api: bool,
    /// Source of the cluster's name, in messages.
    pub name_source: &'static str,
    /// Lists name the kind behind the cluster. The most common kind is not named.
    pub is_named_in_lists: bool,
    /// Decodes the spec of a document.
    pub(crate) decode: fn(&Document<'_>) -> (Spec, Vec<Finding>),
}

impl ClusterKind {
    /// All kinds.
    pub const ALL: [ClusterKind; 2] = [ClusterKind::SipCluster, ClusterKind::Provisioning];

    /// Returns the properties of the kind.
    pub fn descriptor(self) -> &'static RequestDescriptor {
        match self {
            ClusterKind::SipCluster => &sipcluster::DESCRIPTOR,
            ClusterKind::Provisioning => &provisioning::DESCRIPTOR,
        }
    }

    /// Returns the kind as objects have it.
    pub fn as_str(self) -> &'static str {
        self.descriptor().object.kind
    }

    /// Returns the kind with a name.
    pub fn named(kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == kind)
    }

    /// Returns the kind of a cluster by its output, for one whose request is gone.
    pub fn of_output(has_installer: bool) -> Self {
        if has_installer {
            ClusterKind::Provisioning
        } else {
            ClusterKind::SipCluster
        }
    }

    /// Returns words of which each file with a request has one.
    pub(crate) fn marks() -> [&'static str; 2] {
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

impl fmt::Display for ClusterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
