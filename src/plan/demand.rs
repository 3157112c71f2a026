//! Demands: the hosts that each node set lacks.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use kube::core::SelectorExt;

use super::eligibility::{Availability, Needs, RequestingNodeSet};
use super::placement::PlacedHost;
use super::topology;
use crate::base::api::names::{ClusterKey, Part};
use crate::base::finding::{Code, Finding};
use crate::site::Site;
use crate::site::inventory::Host;
use crate::site::request::{Cluster, NodeSet};

/// The hosts that a node set has and lacks.
pub(super) struct NodeSetDemand<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) part: &'a Part,
    pub(super) node_set: &'a NodeSet,
    pub(super) needs: Needs<'a>,
    /// Number of hosts that the node set requests.
    pub(super) wanted: usize,
    /// Number of hosts that it lacks.
    pub(super) missing: usize,
    /// Retained hosts.
    pub(super) kept: BTreeSet<usize>,
    /// Retained hosts that a spare host replaces.
    pub(super) replaceable: Vec<usize>,
    /// Topology domains of the retained hosts.
    pub(super) domains: BTreeSet<(&'a str, &'a str)>,
}

impl<'a> NodeSetDemand<'a> {
    /// Derives the demand of a node set from its retained hosts.
    pub(super) fn new(
        site: &'a Site,
        cluster: &'a Cluster,
        part: &'a Part,
        node_set: &'a NodeSet,
        kept: &[PlacedHost],
        is_replaceable: impl Fn(usize) -> bool,
    ) -> Self {
        let needs = Needs::new(cluster, part, node_set);
        let domains = kept
            .iter()
            .flat_map(|assigned| {
                topology::domains(&site.inventory.hosts[assigned.host], &needs.topology_keys)
            })
            .collect();
        let wanted = node_set.wanted();
        let kept: BTreeSet<usize> = kept.iter().map(|assigned| assigned.host).collect();
        let replaceable = kept.iter().copied().filter(|host| is_replaceable(*host)).collect();
        Self {
            cluster,
            part,
            node_set,
            needs,
            wanted,
            missing: wanted.saturating_sub(kept.len()),
            kept,
            replaceable,
            domains,
        }
    }

    /// Returns whether there is a host to choose.
    pub(super) fn is_open(&self) -> bool {
        self.missing > 0 || !self.replaceable.is_empty()
    }

    /// Returns the node set as the asker for a host, with the host's availability and the cluster
    /// that this plan assigns it to.
    pub(super) fn asker<'q>(
        &'q self,
        availability: &'q Availability,
        assigned_to: Option<&'q ClusterKey>,
    ) -> RequestingNodeSet<'q> {
        RequestingNodeSet {
            cluster: &self.cluster.key,
            needs: &self.needs,
            availability,
            assigned_to,
            domains: &self.domains,
        }
    }

    /// Reports chosen hosts without the topology label: their domain is unknown.
    pub(super) fn unlabelled(&self, site: &Site, chosen: &[usize]) -> Vec<Finding> {
        let hosts = chosen.iter().map(|host| &site.inventory.hosts[*host]);
        let lacks = |host: &Host, key: &str| topology::domain(host, key).is_none();
        // `lint::topology_keys` reports a key that no matching host has.
        let is_borne = |key: &str| {
            let mut all = site.inventory.hosts.iter();
            all.any(|host| !lacks(host, key) && self.needs.selector.matches(&host.labels))
        };
        let keys: Vec<&&str> = self
            .needs
            .topology_keys
            .iter()
            .filter(|key| hosts.clone().any(|host| lacks(host, key)) && is_borne(key))
            .collect();
        let unlabelled = hosts.filter_map(|host| {
            let key = keys.iter().find(|key| lacks(host, key))?;
            Some((host, **key))
        });
        let describe = |(host, key): (&Host, &str)| {
            Finding::new(
                Code::UnknownDomain,
                format!(
                    "host {} is assigned as {} of {}, although it has no label {key}",
                    host.key, self.part, self.cluster.key
                ),
            )
            .at(host.origin.at(["metadata", "labels"]))
            .help("label it: no other host was left, and its topology domain is unknown")
            .for_cluster(&self.cluster.key)
        };
        unlabelled.map(describe).collect()
    }
}

/// Returns the clusters to plan in serving order: by priority, namespace and name.
pub(super) fn by_priority<'a>(site: &'a Site, frozen: &BTreeSet<ClusterKey>) -> Vec<&'a Cluster> {
    let valid = site.clusters.values().filter_map(|request| request.cluster.as_ref());
    let mut clusters: Vec<&Cluster> =
        valid.filter(|cluster| !frozen.contains(&cluster.key)).collect();
    clusters.sort_by_key(|cluster| serving_order(cluster));
    clusters
}

/// Orders clusters by priority, namespace and name.
pub(super) fn serving_order(cluster: &Cluster) -> impl Ord + use<'_> {
    (Reverse(cluster.priority), &cluster.key)
}
