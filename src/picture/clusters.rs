//! What each cluster wants and has, and where its services are reached.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::HostPicture;
use crate::api::names::{ClusterKey, HostKey, NodePort, Part};
use crate::finding::Finding;
use crate::plan::machines::{Asked, in_order};
use crate::plan::{Plan, Shortage};
use crate::request::service::bracketed;
use crate::request::{ClusterKind, NodeSet, Service};
use crate::site::Site;

/// One cluster.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterPicture {
    /// Namespace and name.
    #[serde(flatten)]
    pub key: ClusterKey,
    /// What asks for it, or did.
    pub kind: ClusterKind,
    /// The name of the Provisioning that does, if it is one; nothing where that is invalid, or gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provisioning: Option<String>,
    /// Whether the repo no longer asks for it, so that it gives all its hosts back.
    pub gone: bool,
    /// Whether it has errors, so that its files stay as they are.
    pub left_as_it_is: bool,
    /// What is wrong with it, so that nothing can be written for it.
    pub errors: Vec<String>,
    /// Its hosts, part by part.
    pub node_sets: Vec<NodeSetPicture>,
    /// Where its services are reached.
    pub endpoints: Vec<Endpoint>,
    /// The hosts that this run takes from it.
    pub gives_back: Vec<HostKey>,
}

/// The hosts of a cluster for one part of it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeSetPicture {
    /// What they are for.
    #[serde(flatten)]
    pub part: Part,
    /// Whether it is a machine of the control plane that runs workloads, too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub worker_too: bool,
    /// How many are asked for; nothing where the request is invalid, or gone.
    pub wanted: Option<Wanted>,
    /// How many it has.
    pub have: usize,
    /// How many of them this run gives to it.
    pub added: usize,
    /// What is asked of the one machine that it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
    /// Which hosts it may take.
    pub selector: Option<String>,
    /// The labels by which its hosts are kept apart.
    pub topology_keys: Vec<String>,
    /// How many hosts cannot be found for it. Where another node set of its cluster lacks hosts, this one may be without
    /// any and lack none.
    pub short_of: usize,
    /// Why it has not all that it wants: a proof by counting.
    pub shortage: Vec<String>,
}

/// How many hosts are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Wanted {
    /// To run on.
    pub active: usize,
    /// As slack for upgrades.
    pub standby: usize,
}

/// Where a service is reached.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Endpoint {
    /// The service, by the name of its directory: `loadbalancer-controlplane`.
    pub service: String,
    /// The address of the base cluster, as it stands before a port; none where the SIPCluster does not say.
    pub address: Option<String>,
    /// Its NodePorts: `30443`, or `30100-30109`.
    pub ports: Vec<String>,
}

impl NodeSetPicture {
    /// How many hosts it is without, of those that it wants.
    pub fn missing(&self) -> usize {
        self.wanted.map_or(0, |wanted| {
            (wanted.active + wanted.standby).saturating_sub(self.have)
        })
    }
}

impl ClusterPicture {
    /// Whether all is well and stays as it is.
    pub fn is_quiet(&self) -> bool {
        let changes = |set: &NodeSetPicture| set.missing() > 0 || set.added > 0;
        !self.gone
            && !self.left_as_it_is
            && self.gives_back.is_empty()
            && !self.node_sets.iter().any(changes)
    }
}

/// A picture of every cluster; those that are gone come last.
pub(super) fn pictures(
    site: &Site,
    plan: &Plan,
    hosts: &[HostPicture],
    findings: &[Finding],
) -> Vec<ClusterPicture> {
    let mut have: BTreeMap<&ClusterKey, BTreeMap<&Part, (usize, usize)>> = BTreeMap::new();
    for host in hosts {
        if let Some(assigned) = &host.assigned {
            let (count, added) = have
                .entry(&assigned.cluster)
                .or_default()
                .entry(&assigned.part)
                .or_default();
            *count += 1;
            *added += usize::from(host.is_new());
        }
    }
    let mut errors: BTreeMap<&ClusterKey, Vec<String>> = BTreeMap::new();
    for finding in findings.iter().filter(|finding| finding.is_error()) {
        finding
            .clusters
            .iter()
            .for_each(|key| errors.entry(key).or_default().push(finding.message.clone()));
    }

    let gone: BTreeSet<&ClusterKey> = site
        .state
        .clusters()
        .into_iter()
        .chain(plan.given_back.keys())
        .collect();
    let gone = gone
        .into_iter()
        .filter(|key| !site.clusters.contains_key(key));
    let keys = site.clusters.keys().chain(gone);
    let picture = |key: &ClusterKey| {
        let request = site.clusters.get(key);
        let cluster = request.and_then(|request| request.cluster.as_ref());
        let have = have.get(key);
        let asked = cluster
            .into_iter()
            .flat_map(|cluster| cluster.node_sets.keys());
        let parts: BTreeSet<&Part> = asked
            .chain(have.into_iter().flat_map(|have| have.keys().copied()))
            .collect();
        let node_set = |part: &Part| {
            let node_set = cluster.and_then(|cluster| cluster.node_sets.get(part));
            let (have, added) = have
                .and_then(|have| have.get(part))
                .copied()
                .unwrap_or_default();
            let shortage = plan.shortages.get(&(key.clone(), part.clone()));
            let worker_too = cluster.is_some_and(|cluster| cluster.is_worker_too(part));
            NodeSetPicture {
                worker_too,
                ..picture_of(part, node_set, have, added, shortage)
            }
        };
        ClusterPicture {
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
    keys.map(picture).collect()
}

fn picture_of(
    part: &Part,
    node_set: Option<&NodeSet>,
    have: usize,
    added: usize,
    shortage: Option<&Shortage>,
) -> NodeSetPicture {
    NodeSetPicture {
        part: part.clone(),
        worker_too: false,
        wanted: node_set.map(|set| Wanted {
            active: set.active,
            standby: set.standby,
        }),
        have,
        added,
        asked: node_set.and_then(Asked::of),
        selector: node_set.map(|set| set.selector.to_string()),
        topology_keys: node_set
            .map(|set| set.topology_keys.clone())
            .unwrap_or_default(),
        short_of: shortage.map_or(0, Shortage::short_of),
        shortage: shortage.map(Shortage::proof).unwrap_or_default(),
    }
}

fn endpoint(service: &Service) -> Endpoint {
    let mut ranges: Vec<(u16, u16)> = Vec::new();
    for port in service.node_ports().iter().copied().map(NodePort::number) {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == port => *last = port,
            _ => ranges.push((port, port)),
        }
    }
    let text = |(first, last): (u16, u16)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    };
    Endpoint {
        service: service.directory(),
        address: service.cluster_ip.map(bracketed),
        ports: ranges.into_iter().map(text).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::names::Role;

    #[test]
    fn a_cluster_lacks_what_active_and_standby_ask_for_together() {
        let wanted = Some(Wanted {
            active: 3,
            standby: 1,
        });
        let set = |have| NodeSetPicture {
            wanted,
            have,
            ..picture_of(&Role::Worker.into(), None, 0, 0, None)
        };

        assert_eq!(
            [set(2).missing(), set(4).missing(), set(5).missing()],
            [2, 0, 0]
        );
    }
}
