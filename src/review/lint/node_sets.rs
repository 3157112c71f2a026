//! Node sets with the hosts that their labelSelector matches, whatever the owner and state of the
//! hosts.
//!
//! Hosts are evaluated per kind. Node sets with equal labelSelectors share a pool.

use std::collections::HashMap;

use super::LintExceptions;
use crate::base::api::names::Role;
use crate::plan::eligibility::Needs;
use crate::plan::equivalence::{CountedHosts, HostKinds};
use crate::site::Site;
use crate::site::inventory::Host;
use crate::site::request::{Cluster, NodeSet};

/// Node sets to check.
pub(super) struct NodeSets<'a> {
    /// Their site.
    pub(super) site: &'a Site,
    /// Their clusters.
    pub(super) clusters: Vec<&'a Cluster>,
    /// Node sets, cluster by cluster, including those that request no hosts.
    pub(super) all: Vec<RequestedNodeSet<'a>>,
    /// Kinds of hosts in each pool, in ascending order.
    pools: Vec<Vec<usize>>,
    /// Hosts of each kind, in inventory order. Hosts of a kind match the same labelSelectors and
    /// have addresses in the same networks of services.
    kinds: Vec<Vec<&'a Host>>,
}

/// A node set of a cluster.
pub(super) struct RequestedNodeSet<'a> {
    pub(super) cluster: &'a Cluster,
    /// Its role. Machines of Provisionings have rules of their own.
    pub(super) role: Role,
    pub(super) node_set: &'a NodeSet,
    /// True if its shortage is already an error.
    pub(super) is_short: bool,
    /// Index of its pool. Equal labelSelectors have equal pools.
    pub(super) pool: usize,
}

impl<'a> NodeSets<'a> {
    pub(super) fn new(site: &'a Site, except: &LintExceptions) -> Self {
        let is_checked = |cluster: &&Cluster| !except.clusters.contains(&cluster.key);
        let clusters: Vec<&Cluster> = site.valid_clusters().filter(is_checked).collect();
        let node_sets = clusters.iter().flat_map(|cluster| cluster.parts());
        let mut needs: Vec<Needs<'a>> = Vec::new();
        let mut all: Vec<RequestedNodeSet<'a>> = Vec::new();
        let mut known = HashMap::new();
        for (cluster, part, node_set) in node_sets.filter(|(_, part, _)| part.node.is_none()) {
            let pool = *known.entry(Needs::without_services(node_set).key()).or_insert_with(|| {
                needs.push(Needs::without_services(node_set));
                needs.len() - 1
            });
            let is_short = except.short.contains(&(cluster.key.clone(), part.clone()));
            all.push(RequestedNodeSet { cluster, role: part.role, node_set, is_short, pool });
        }
        let networks = all.iter().map(|set| Needs {
            interfaces: set.cluster.interfaces(set.role),
            ..Needs::without_services(set.node_set)
        });
        let networks: Vec<Needs<'_>> = networks.collect();
        let hosts = &site.inventory.hosts;
        let kinds_of_hosts =
            HostKinds::new(hosts, &networks.iter().collect::<Vec<_>>(), &[], CountedHosts::All);
        let kinds = kinds_of_hosts.hosts().into_iter();
        let kinds = kinds.map(|of| of.into_iter().map(|host| &hosts[host]).collect()).collect();
        let pools = needs.iter().map(|needs| kinds_of_hosts.matching(hosts, needs)).collect();
        Self { site, clusters, all, pools, kinds }
    }

    /// Returns the hosts that a node set's labelSelector matches, kind by kind.
    pub(super) fn hosts(&self, set: &RequestedNodeSet<'_>) -> impl Iterator<Item = &'a Host> {
        self.kinds_of(set).flatten().copied()
    }

    /// Returns the same hosts, grouped by kind. No kind is empty.
    pub(super) fn kinds_of(&self, set: &RequestedNodeSet<'_>) -> impl Iterator<Item = &[&'a Host]> {
        self.pools[set.pool].iter().map(|kind| self.kinds[*kind].as_slice())
    }
}
