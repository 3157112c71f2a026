//! Requests for clusters: a folder per kind, which validates a typed object and creates a
//! [`Cluster`].
//!
//! * `cluster`: the requested cluster, whatever the kind of the request.
//! * `cluster_parts`: the objects that a Cluster of Cluster API consists of.
//! * `service`: its services.
//! * `object_name`: names of its objects.
//! * `registry`: maps each kind of request to its `descriptor`.
//! * `sipcluster`, `provisioning` and `cluster_api`: the kinds of requests, each with its descriptor.
//! * `documents`: decoded requests, and what their validation has in common.
//! * `decode_spec`: decodes specs completely or not at all.
//! * `hardware`: requirements on the hardware of hosts.

pub mod cluster;
pub(crate) mod cluster_api;
pub(crate) mod cluster_parts;
mod decode_spec;
mod descriptor;
pub(crate) mod documents;
mod hardware;
mod object_name;
pub(crate) mod provisioning;
pub(crate) mod registry;
pub mod service;
pub mod sipcluster;

pub use cluster::{Cluster, HostTemplate, Installation, NamedMetal3Cluster, NodeSet};
pub use descriptor::RequestDescriptor;
pub(crate) use documents::{
    ClusterDocument, RequestContext, SoftwareDocument, Spec, ValidatedRequest,
};
pub(crate) use object_name::shortened;
pub use service::{ClusterService, DexSettings, KindSettings};
pub use sipcluster::legacy::Conversion;

use std::collections::BTreeSet;

use derive_more::Display;
use schemars::JsonSchema;
use serde::Serialize;

use crate::base::finding::{Origin, Place};

/// Kind of an object that requests a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema, Display)]
#[display("{}", self.as_str())]
pub enum ClusterKind {
    /// Requests hosts by role, and services.
    #[serde(rename = "SIPCluster")]
    SipCluster,
    /// Requests machines by name, and the installation of Kubernetes on them.
    Provisioning,
    /// Requests a Machine per replica, with the objects of Cluster API beside it.
    #[serde(rename = "Cluster")]
    ClusterApi,
}

/// A request in the repo.
#[derive(Debug)]
pub struct Request {
    /// Its kind.
    pub kind: ClusterKind,
    /// Its position.
    pub origin: Origin,
    /// The requested cluster; `None`, with a finding, if the request is invalid.
    pub cluster: Option<Cluster>,
    /// Indices of hosts that a Provisioning names by MAC address, even if it is otherwise invalid.
    pub named: BTreeSet<usize>,
    /// The cluster's name in labels of older generations, if it differs.
    pub former_name: Option<String>,
    /// The conversion of a request of an older generation.
    pub older: Option<Box<Conversion>>,
}

impl Request {
    /// Returns the place of the cluster's name.
    pub fn name(&self) -> Place {
        self.kind.place_of_name(&self.origin)
    }
}
