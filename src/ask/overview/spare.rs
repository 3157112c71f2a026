//! Spare hosts by selector.

use std::collections::HashMap;

use rayon::prelude::*;
use serde::Serialize;

use super::HostOverview;
use crate::base::api::names::{ClusterKey, Namespace, NodeName, Role};
use crate::plan::eligibility::Needs;
use crate::plan::equivalence::{CountedHosts, HostKinds};
use crate::plan::host_state::HostState;
use crate::plan::machines::MachineRequirements;
use crate::site::Site;
use crate::site::request::Cluster;

/// Hosts that match a labelSelector, or the requirements of machines. A host may be counted in
/// several entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SpareHosts {
    /// labelSelector; empty if it matches every host.
    pub selector: String,
    /// Additional requirements of a Provisioning's machines. Machines with a MAC address are
    /// excluded, because only one host can match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<MachineRequirements>,
    /// Additional requirements on the hardware, in words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hardware: String,
    /// Node sets of SIPClusters with this labelSelector.
    pub node_sets: Vec<(ClusterKey, Role)>,
    /// Namespace of the hosts, if Cluster API must find them there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Namespace>,
    /// Interfaces on which services of the clusters use the address of a host.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<String>,
    /// Machines with these requirements.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<(ClusterKey, Role, NodeName)>,
    /// Number of matching hosts.
    pub matching: usize,
    /// Number of assigned hosts among them.
    pub assigned: usize,
    /// Number of spare hosts: the free ones among them, without an operating system for node sets and
    /// with one for machines, that have an address on each interface.
    pub free: usize,
}

/// Returns the counts for each selector and machine of some clusters, in their order.
pub(in crate::ask) fn by_requirements<'s>(
    clusters: impl Iterator<Item = &'s Cluster>,
    site: &Site,
    hosts: &[HostOverview],
) -> Vec<SpareHosts> {
    let node_sets = clusters
        .flat_map(|cluster| cluster.node_sets.iter().map(move |(part, set)| (cluster, part, set)));
    let mut found: Vec<(Needs<'_>, SpareHosts)> = Vec::new();
    let mut known = HashMap::new();
    for (cluster, part, node_set) in node_sets {
        if node_set.is_named() {
            continue;
        }
        let text = node_set.selector.to_string();
        let namespace = node_set.namespace.as_ref();
        let interfaces = cluster.interfaces(part.role);
        let key = (Needs::without_services(node_set).key(), interfaces.clone());
        let at = *known.entry(key).or_insert_with(|| {
            let spare = SpareHosts {
                selector: text,
                asked: MachineRequirements::for_node_set(node_set),
                hardware: match node_set.machine {
                    Some(_) => String::new(),
                    None => node_set.hardware.to_string(),
                },
                node_sets: Vec::new(),
                namespace: namespace.cloned(),
                interfaces: interfaces.iter().map(|name| (*name).to_owned()).collect(),
                machines: Vec::new(),
                matching: 0,
                assigned: 0,
                free: 0,
            };
            found.push((Needs::without_services(node_set), spare));
            found.len() - 1
        });
        let spare = &mut found[at].1;
        match &part.node {
            None => spare.node_sets.push((cluster.key.clone(), part.role)),
            Some(node) => spare.machines.push((cluster.key.clone(), part.role, node.clone())),
        }
    }

    let inventory = &site.inventory.hosts;
    let needs: Vec<&Needs<'_>> = found.iter().map(|(needs, _)| needs).collect();
    let kinds = HostKinds::new(inventory, &needs, &[], CountedHosts::All);
    let mut hosts_by_kind: Vec<Vec<usize>> = vec![Vec::new(); kinds.count()];
    for index in 0..hosts.len() {
        if let Some(kind) = kinds.kind_of(index) {
            hosts_by_kind[kind].push(index);
        }
    }
    found.par_iter_mut().for_each(|(needs, spare)| {
        let matching = kinds.matching(inventory, needs).into_iter();
        for index in matching.flat_map(|kind| &hosts_by_kind[kind]) {
            let state = hosts[*index].state;
            spare.matching += 1;
            spare.assigned += usize::from(state == HostState::Assigned);
            let free =
                if needs.system().is_required() { HostState::Installed } else { HostState::Free };
            let mut interfaces = spare.interfaces.iter();
            let is_addressed = interfaces.all(|name| inventory[*index].address(name).is_ok());
            spare.free += usize::from(state == free && is_addressed);
        }
    });
    found.into_iter().map(|(.., spare)| spare).collect()
}
