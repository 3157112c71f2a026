//! Demands: the hosts that each node set lacks.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use kube::core::SelectorExt;

use super::eligibility::Needs;
use super::skew::{DomainLimit, DomainRule, MatchingDomains};
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
    /// Those of these hosts that are replaced only for evenness, each with the number of hosts that its
    /// domain has without the previous ones.
    pub(super) uneven: BTreeMap<usize, usize>,
    /// Topology domains in which the retained hosts leave no room for another.
    pub(super) domains: BTreeSet<(&'a str, &'a str)>,
    /// Required constraints on topology domains.
    pub(super) spreads: Vec<DomainLimit<'a>>,
}

impl<'a> NodeSetDemand<'a> {
    /// Derives the demand of a node set from its retained hosts.
    pub(super) fn new(
        site: &'a Site,
        cluster: &'a Cluster,
        part: &'a Part,
        node_set: &'a NodeSet,
        kept: BTreeSet<usize>,
    ) -> Self {
        let needs = Needs::new(cluster, part, node_set);
        let hosts = kept.iter().map(|host| &site.inventory.hosts[*host]);
        let domains = hosts.flat_map(|host| topology::domains(host, &node_set.topology_keys));
        let mut counts = topology::occurrences(domains);
        counts.retain(|_, hosts| *hosts >= node_set.max_per_domain);
        let wanted = node_set.wanted();
        Self {
            cluster,
            part,
            node_set,
            needs,
            wanted,
            missing: wanted.saturating_sub(kept.len()),
            kept,
            replaceable: Vec::new(),
            domains: counts.into_keys().collect(),
            spreads: Vec::new(),
            uneven: BTreeMap::new(),
        }
    }

    /// Adds the required constraints on topology domains, for the hosts that are not gone.
    pub(super) fn with_domain_limits<'h: 'a>(
        self,
        domains: &MatchingDomains<'h>,
        hosts: &'h [Host],
        gone: &BTreeSet<usize>,
    ) -> Self {
        let spreads =
            domains.domain_limits(hosts, gone, self.node_set, (&self.kept, &self.replaceable));
        Self { spreads, ..self }
    }

    /// Returns the constraint that its hosts are in one domain if it has some already, or there is only
    /// one domain.
    pub(super) fn settled_limit(&self) -> Option<&DomainLimit<'a>> {
        let mut same = self.spreads.iter().filter(|limit| limit.rule == DomainRule::Same);
        same.find(|limit| limit.domains.len() == 1 || limit.domains.values().any(|kept| *kept > 0))
    }

    /// Returns whether there is a host to choose.
    pub(super) fn is_open(&self) -> bool {
        self.missing > 0 || !self.replaceable.is_empty()
    }

    /// Reports chosen hosts without the topology label: their domain is unknown.
    pub(super) fn unlabelled(&self, site: &Site, chosen: &[usize]) -> Vec<Finding> {
        let all = &site.inventory.hosts;
        let lacks = |host: &Host, key: &str| host.domain(key).is_none();
        // `lint::topology_keys` reports a key that no matching host has.
        let is_borne = |host: &Host, key: &str| {
            !lacks(host, key) && self.node_set.selector.matches(&host.labels)
        };
        let mut keys: Vec<&String> = self.node_set.topology_keys.iter().collect();
        keys.retain(|key| chosen.iter().any(|host| lacks(&all[*host], key)));
        keys.retain(|key| all.iter().any(|host| is_borne(host, key)));
        let unlabelled = chosen.iter().filter_map(|host| {
            let host = &all[*host];
            let key = keys.iter().find(|key| lacks(host, key))?;
            let message = format!(
                "host {} is assigned as {} of {}, although it has no label {key}",
                host.key, self.part, self.cluster.key
            );
            let finding = Finding::new(Code::UnknownDomain, message)
                .at(host.origin.at(["metadata", "labels"]))
                .help("label it: no other host was left, and its topology domain is unknown");
            Some(finding.for_cluster(&self.cluster.key))
        });
        unlabelled.collect()
    }
}

/// Returns the clusters to plan in serving order: by priority, namespace and name.
pub(super) fn by_priority<'a>(site: &'a Site, frozen: &BTreeSet<ClusterKey>) -> Vec<&'a Cluster> {
    let mut clusters: Vec<&Cluster> =
        site.valid_clusters().filter(|cluster| !frozen.contains(&cluster.key)).collect();
    clusters.sort_by_key(|cluster| serving_order(cluster));
    clusters
}

/// Orders clusters by priority, namespace and name.
pub(super) fn serving_order(cluster: &Cluster) -> impl Ord + use<'_> {
    (Reverse(cluster.priority), &cluster.key)
}
