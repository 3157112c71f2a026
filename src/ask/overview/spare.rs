//! Spare hosts by selector.

use rayon::prelude::*;
use serde::Serialize;

use super::HostOverview;
use crate::base::api::names::{ClusterKey, Namespace, NodeName, Part, Role};
use crate::base::grouping::grouped_in_order;
use crate::plan::eligibility::Needs;
use crate::plan::equivalence::{CountedHosts, HostKinds};
use crate::plan::host_state::HostState;
use crate::plan::machines::MachineRequirements;
use crate::site::Site;
use crate::site::request::{Cluster, NodeSet};

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

/// A node set with its place.
pub(in crate::ask) type PlacedNodeSet<'a> = (&'a Cluster, &'a Part, &'a NodeSet);

/// Returns the counts for each selector and machine of some clusters, in their order.
pub(in crate::ask) fn by_requirements<'s>(
    clusters: impl Iterator<Item = &'s Cluster>,
    site: &Site,
    hosts: &[HostOverview],
) -> Vec<SpareHosts> {
    // A machine that names its host is served by that one host or not at all.
    let node_sets = clusters.flat_map(Cluster::parts).filter(|(.., set)| !set.is_named());
    let alike = grouped_in_order(node_sets.map(|node_set| {
        let (cluster, part, set) = node_set;
        ((Needs::without_services(set).key(), cluster.interfaces(part.role)), node_set)
    }));
    let alike: Vec<Vec<PlacedNodeSet<'_>>> = alike.into_iter().map(|(_, sets)| sets).collect();
    let needs: Vec<Needs<'_>> =
        alike.iter().map(|sets| Needs::without_services(sets[0].2)).collect();

    let inventory = &site.inventory.hosts;
    let kinds =
        HostKinds::new(inventory, &needs.iter().collect::<Vec<_>>(), &[], CountedHosts::All);
    let hosts_by_kind = kinds.hosts();
    let count = |(needs, sets): (&Needs<'_>, &Vec<PlacedNodeSet<'_>>)| {
        let (cluster, part, node_set) = sets[0];
        let interfaces = cluster.interfaces(part.role);
        let matching = kinds.matching(inventory, needs).into_iter();
        let matching: Vec<usize> =
            matching.flat_map(|kind| &hosts_by_kind[kind]).copied().collect();
        let with_state = |state| matching.iter().filter(move |host| hosts[**host].state == state);
        let free =
            if needs.system().is_required() { HostState::Installed } else { HostState::Free };
        let is_addressed = |host: &&usize| {
            let mut interfaces = interfaces.iter();
            interfaces.all(|name| inventory[**host].address(name).is_ok())
        };
        let role = |(cluster, part, _): &PlacedNodeSet<'_>| (cluster.key.clone(), part.role);
        let machine = |(cluster, part, _): &PlacedNodeSet<'_>| {
            Some((cluster.key.clone(), part.role, part.node.clone()?))
        };
        SpareHosts {
            selector: node_set.selector.to_string(),
            asked: MachineRequirements::for_node_set(node_set),
            hardware: match node_set.machine {
                Some(_) => String::new(),
                None => node_set.hardware.to_string(),
            },
            node_sets: sets.iter().filter(|(_, part, _)| part.node.is_none()).map(role).collect(),
            namespace: node_set.namespace.clone(),
            interfaces: interfaces.iter().map(|name| (*name).to_owned()).collect(),
            machines: sets.iter().filter_map(machine).collect(),
            matching: matching.len(),
            assigned: with_state(HostState::Assigned).count(),
            free: with_state(free).filter(is_addressed).count(),
        }
    };
    needs.par_iter().zip(&alike).map(count).collect()
}
