//! Hosts of clusters as plain data: before planning ([`CurrentAssignment`]) and after
//! ([`Placement`]).

use std::collections::BTreeMap;

use serde::Serialize;

use crate::base::api::names::{ClusterKey, Part};
use crate::base::finding::Origin;

/// A host that is assigned before planning.
#[derive(Clone, Copy)]
pub(super) struct CurrentAssignment<'a> {
    /// Index into the inventory's hosts.
    pub(super) host: usize,
    pub(super) part: &'a Part,
    pub(super) how: AssignmentMethod,
    /// The file or object that assigns it.
    pub(super) origin: &'a Origin,
}

/// Planned hosts of one cluster by part, in inventory order.
pub type Placement = BTreeMap<Part, Vec<PlacedHost>>;

/// Returns the hosts of a node set.
pub(super) fn placed_hosts<'p>(
    placements: &'p BTreeMap<ClusterKey, Placement>,
    cluster: &ClusterKey,
    part: &Part,
) -> impl Iterator<Item = usize> + use<'p> {
    let hosts = placements.get(cluster).and_then(|placement| placement.get(part));
    hosts.into_iter().flatten().map(|assigned| assigned.host)
}

/// A planned host of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlacedHost {
    /// Index into the inventory's hosts.
    pub host: usize,
    /// How the host was assigned.
    pub how: AssignmentMethod,
}

/// How a host was assigned to its cluster. Earlier variants are retained first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum AssignmentMethod {
    /// The previous output assigns it.
    Stays,
    /// Labels in the inventory assign it, the previous output does not.
    Adopted,
    /// This plan chose it.
    Added,
}
