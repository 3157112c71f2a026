//! Requested and assigned hosts and endpoints of each cluster.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::HostOverview;
use crate::base::api::address::bracketed;
use crate::base::api::names::{ClusterKey, HostKey, NodePort, Part};
use crate::base::api::topology_spread::shared_key;
use crate::base::grouping::{grouped, occurrences};
use crate::generate::GeneratedSite;
use crate::plan::Shortage;
use crate::plan::machines::{MachineRequirements, in_order};
use crate::site::Site;
use crate::site::request::{ClusterKind, ClusterService, NodeSet};

/// A cluster.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterOverview {
    /// Namespace and name.
    #[serde(flatten)]
    pub key: ClusterKey,
    /// Kind of the cluster's request, which may be deleted.
    pub kind: ClusterKind,
    /// Name of its Provisioning; `None` for other kinds, and if it is invalid or deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provisioning: Option<String>,
    /// True if it is no longer requested, so that it releases all its hosts.
    pub gone: bool,
    /// True if it has errors, so that its files are left unchanged.
    pub left_as_it_is: bool,
    /// Errors that prevent its generation.
    pub errors: Vec<String>,
    /// Its hosts by role.
    pub node_sets: Vec<NodeSetOverview>,
    /// Endpoints of its services.
    pub endpoints: Vec<ServiceEndpoint>,
    /// Hosts that this run releases.
    pub gives_back: Vec<HostKey>,
}

/// Hosts of a cluster in one role.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeSetOverview {
    /// Role of the hosts.
    #[serde(flatten)]
    pub part: Part,
    /// True for a control-plane machine that also runs workloads.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub worker_too: bool,
    /// Requested numbers; `None` if the request is invalid or deleted.
    pub wanted: Option<RequestedHosts>,
    /// Number of assigned hosts.
    pub have: usize,
    /// Number of hosts that this run assigns.
    pub added: usize,
    /// Requirements of the machine, if the part is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<MachineRequirements>,
    /// labelSelector.
    pub selector: Option<String>,
    /// Topology keys that keep its hosts apart.
    pub topology_keys: Vec<String>,
    /// Its hosts by the topology domains over which they are spread, kept apart or kept together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domains: Option<HostsByDomain>,
    /// Number of hosts that cannot be found. It is 0 if another node set's shortage blocks the
    /// cluster, although hosts are missing.
    pub short_of: usize,
    /// True if it is not proven that it lacks no more than these.
    pub may_lack_more: bool,
    /// Proof of the shortage: counts of hosts.
    pub shortage: Vec<String>,
}

/// Numbers of hosts by topology domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostsByDomain {
    /// The label whose values are the domains.
    pub topology_key: String,
    /// Number of hosts in each domain.
    pub hosts: BTreeMap<String, usize>,
}

/// Requested numbers of hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RequestedHosts {
    /// Hosts that run nodes.
    pub active: usize,
    /// Spare hosts for upgrades.
    pub standby: usize,
}

/// Endpoint of a service.
#[derive(Debug, Clone, Serialize)]
pub struct ServiceEndpoint {
    /// Name of the service's directory, such as `loadbalancer-controlplane`.
    pub service: String,
    /// Address of the base cluster, as written before a port; `None` if the SIPCluster lacks it.
    pub address: Option<String>,
    /// NodePorts, such as `30443` or `30100-30109`.
    pub ports: Vec<String>,
}

impl RequestedHosts {
    fn missing(self, have: usize) -> usize {
        (self.active + self.standby).saturating_sub(have)
    }
}

impl NodeSetOverview {
    /// Returns the number of requested hosts that are missing.
    pub fn missing(&self) -> usize {
        self.wanted.map_or(0, |wanted| wanted.missing(self.have))
    }
}

impl ClusterOverview {
    /// Returns whether nothing is wrong and nothing changes.
    pub fn is_quiet(&self) -> bool {
        let changes = |set: &NodeSetOverview| set.missing() > 0 || set.added > 0;
        !self.gone
            && !self.left_as_it_is
            && self.gives_back.is_empty()
            && !self.node_sets.iter().any(changes)
    }
}

/// Returns the clusters. Removed ones come last.
pub(super) fn overviews(generated: &GeneratedSite, hosts: &[HostOverview]) -> Vec<ClusterOverview> {
    let GeneratedSite { site, plan, findings, .. } = generated;
    let have = grouped(hosts.iter().filter_map(|host| Some((host.cluster()?, host))));
    let errors = findings.iter().filter(|finding| finding.is_error());
    let errors: BTreeMap<&ClusterKey, Vec<String>> = grouped(
        errors
            .flat_map(|finding| finding.clusters.iter().map(|key| (key, finding.message.clone()))),
    );

    // Removed clusters are known by the previous output, or by the hosts that this plan releases.
    let gone: BTreeSet<&ClusterKey> =
        site.state.clusters.iter().chain(plan.given_back.keys()).collect();
    let gone = gone.into_iter().filter(|key| !site.clusters.contains_key(key));
    let keys = site.clusters.keys().chain(gone);
    let overview = |key: &ClusterKey| {
        let request = site.clusters.get(key);
        let cluster = request.and_then(|request| request.cluster.as_ref());
        let have = have.get(key).into_iter().flatten().copied();
        let have = grouped(have.filter_map(|host| Some((&host.assigned.as_ref()?.part, host))));
        let asked = cluster.into_iter().flat_map(|cluster| cluster.node_sets.keys());
        let parts: BTreeSet<&Part> = asked.chain(have.keys().copied()).collect();
        let node_set = |part: &Part| {
            let node_set = cluster.and_then(|cluster| cluster.node_set(part));
            let have = have.get(part).map_or(&[][..], Vec::as_slice);
            let shortage = plan.shortages.get(&(key.clone(), part.clone()));
            NodeSetOverview {
                part: part.clone(),
                worker_too: cluster.is_some_and(|cluster| cluster.is_worker_too(part)),
                wanted: node_set
                    .map(|set| RequestedHosts { active: set.active, standby: set.standby() }),
                have: have.len(),
                added: have.iter().filter(|host| host.is_new()).count(),
                domains: node_set.and_then(|node_set| by_domain(site, node_set, have)),
                asked: node_set.and_then(MachineRequirements::for_node_set),
                selector: node_set.map(|set| set.selector.to_string()),
                topology_keys: node_set.map(|set| set.topology_keys.clone()).unwrap_or_default(),
                short_of: shortage.map_or(0, Shortage::short_of),
                may_lack_more: shortage.is_some_and(|shortage| shortage.may_lack_more),
                shortage: shortage.map(Shortage::proof).unwrap_or_default(),
            }
        };
        ClusterOverview {
            key: key.clone(),
            kind: site.kind_of(key),
            provisioning: cluster
                .and_then(|cluster| Some(cluster.installation.as_ref()?.provisioning.clone())),
            gone: request.is_none(),
            left_as_it_is: request.is_some()
                && (plan.frozen.contains(key) || errors.contains_key(key)),
            errors: errors.get(key).cloned().unwrap_or_default(),
            node_sets: in_order(parts).into_iter().map(node_set).collect(),
            endpoints: cluster
                .map(|cluster| cluster.services.iter().map(endpoint).collect())
                .unwrap_or_default(),
            gives_back: plan.given_back.get(key).cloned().unwrap_or_default(),
        }
    };
    keys.map(overview).collect()
}

fn by_domain(site: &Site, node_set: &NodeSet, hosts: &[&HostOverview]) -> Option<HostsByDomain> {
    if node_set.machine.is_some() {
        return None;
    }
    let key = node_set.topology_keys.first().map(String::as_str);
    let key = key.or(shared_key(&node_set.spread)).or_else(|| site.spread_key(node_set))?;
    let hosts = hosts.iter().filter_map(|host| site.inventory.host(&host.key));
    let counts = occurrences(hosts.filter_map(|host| host.domain(key)).map(str::to_owned));
    (!counts.is_empty()).then(|| HostsByDomain { topology_key: key.to_owned(), hosts: counts })
}

fn endpoint(service: &ClusterService) -> ServiceEndpoint {
    ServiceEndpoint {
        service: service.directory(),
        address: service.cluster_ip.map(bracketed),
        ports: NodePort::ranges(service.node_ports.iter().copied()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_lacks_what_active_and_standby_ask_for_together() {
        let wanted = RequestedHosts { active: 3, standby: 1 };

        assert_eq!([2, 4, 5].map(|have| wanted.missing(have)), [2, 0, 0]);
    }
}
