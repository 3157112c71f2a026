//! What a node set still wants, for the strategy that fills it.

use std::collections::BTreeSet;

use super::Assigned;
use super::eligibility::{self, Needs};
use crate::api::names::Role;
use crate::site::{Cluster, NodeSet, Site};

/// What a node set still wants after the hosts that stay.
pub(super) struct Demand<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) role: Role,
    pub(super) needs: Needs<'a>,
    /// How many hosts are wanted in all.
    pub(super) wanted: usize,
    /// How many are missing.
    pub(super) missing: usize,
    /// The hosts that stay.
    pub(super) kept: BTreeSet<usize>,
    /// The topology domains of the hosts that stay.
    pub(super) domains: BTreeSet<&'a str>,
}

impl<'a> Demand<'a> {
    /// The demand of a node set that keeps some hosts.
    pub(super) fn new(
        site: &'a Site,
        cluster: &'a Cluster,
        role: Role,
        node_set: &'a NodeSet,
        kept: &[Assigned],
    ) -> Self {
        let topology_key = node_set.topology_key.as_deref();
        let domains = kept
            .iter()
            .filter_map(|assigned| eligibility::domain(&site.inventory.hosts[assigned.host], topology_key?))
            .collect();
        let needs = Needs { selector: &node_set.selector, interfaces: cluster.interfaces(role), topology_key };
        let wanted = node_set.wanted();
        let kept: BTreeSet<usize> = kept.iter().map(|assigned| assigned.host).collect();
        Self { cluster, role, needs, wanted, missing: wanted.saturating_sub(kept.len()), kept, domains }
    }
}
