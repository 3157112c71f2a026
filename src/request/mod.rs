//! Requests for clusters: one folder for each kind, which checks a typed object and makes a [`Cluster`] of it.
//!
//! * `cluster`: the cluster that a request asks for, whatever its kind.
//! * `service`: its services, a module per kind.
//! * `object_name`: names of its objects.
//! * `sipcluster` and `provisioning`: the kinds of requests.
//! * `documents`: requests as they stand in files.
//! * `decode_spec`: their specs, decoded in one piece.
//! * `selector`: label selectors of hosts.

pub mod cluster;
pub(crate) mod decode_spec;
pub(crate) mod documents;
mod object_name;
pub(crate) mod provisioning;
pub(crate) mod selector;
pub mod service;
pub mod sipcluster;

pub use cluster::{Cluster, ClusterKind, Installation, NodeSet};
pub(crate) use documents::{ClusterDocument, SoftwareDocument};
pub use service::{Auth, Detail, Service, ServiceKind};
pub use sipcluster::legacy::Conversion;

use std::collections::BTreeSet;

use crate::api::provisioning as api;
use crate::finding::{Origin, Place};

/// A SIPCluster or a Provisioning of the repo.
#[derive(Debug)]
pub struct Request {
    /// Which of the two.
    pub kind: &'static str,
    /// Where it stands.
    pub origin: Origin,
    /// What it asks for; nothing when that is invalid, which a finding says.
    pub cluster: Option<Cluster>,
    /// The hosts that a Provisioning names by MAC addresses, by their indices; those of an invalid one, too, as far as it
    /// can be read.
    pub named: BTreeSet<usize>,
    /// The name by which hosts that older generations labelled know it, where it is another one.
    pub former_name: Option<String>,
    /// What becomes of it, if it is of an older generation.
    pub older: Option<Box<Conversion>>,
}

impl Request {
    /// Where it says which cluster it asks for.
    pub fn name(&self) -> Place {
        place_of_name(self.kind, &self.origin)
    }
}

/// Returns where a request of a kind says which cluster it asks for.
pub(crate) fn place_of_name(kind: &str, origin: &Origin) -> Place {
    if kind == api::KIND {
        origin.at(["metadata", "labels", api::CLUSTER])
    } else {
        origin.name()
    }
}
