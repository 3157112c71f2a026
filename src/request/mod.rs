//! Requests for clusters: one folder for each kind, which checks a typed object and makes a [`Cluster`] of it.
//!
//! * `cluster`: the cluster that a request asks for, whatever its kind.
//! * `service`: its services, a module per kind.
//! * `object_name`: names of its objects.
//! * `kind`: the registry of kinds of requests.
//! * `sipcluster` and `provisioning`: the kinds of requests, each with its descriptor.
//! * `documents`: requests as they stand in files.
//! * `decode_spec`: decodes specs whole.
//! * `selector`: label selectors of hosts.

pub mod cluster;
mod decode_spec;
pub(crate) mod documents;
pub(crate) mod kind;
mod object_name;
pub(crate) mod provisioning;
pub(crate) mod selector;
pub mod service;
pub mod sipcluster;

pub use cluster::{Cluster, Installation, NodeSet};
pub(crate) use documents::{ClusterDocument, SoftwareDocument, Spec};
pub use kind::{ClusterKind, RequestDescriptor};
pub use service::{Auth, Detail, Service, ServiceKind};
pub use sipcluster::legacy::Conversion;

use std::collections::BTreeSet;

use crate::finding::{Origin, Place};

/// A request of the repo.
#[derive(Debug)]
pub struct Request {
    /// Its kind.
    pub kind: ClusterKind,
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
    /// Returns the place of the cluster's name.
    pub fn name(&self) -> Place {
        self.kind.place_of_name(&self.origin)
    }
}
