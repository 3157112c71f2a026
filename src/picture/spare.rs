//! How many hosts there are for whoever wants more.

use std::collections::HashMap;

use rayon::prelude::*;
use serde::Serialize;

use super::HostPicture;
use crate::api::names::{ClusterKey, NodeName, Role};
use crate::inventory::machine::AskedMachine;
use crate::plan::eligibility::Needs;
use crate::plan::equivalence::HostKinds;
use crate::plan::host_state::HostState;
use crate::plan::machines::Asked;
use crate::site::Site;

/// The hosts that one labelSelector matches, or that have what is asked of some machines. A host may be counted for
/// several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Spare {
    /// The labelSelector; empty when it matches every host.
    pub selector: String,
    /// What is asked besides, of machines of Provisionings. Those that name a host by its MAC address are not among them:
    /// no other host is of use to them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
    /// The node sets of SIPClusters that have the labelSelector.
    pub node_sets: Vec<(ClusterKey, Role)>,
    /// The machines of which that is asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<(ClusterKey, Role, NodeName)>,
    /// How many hosts are of use.
    pub matching: usize,
    /// How many of them clusters have.
    pub assigned: usize,
    /// How many of them are free.
    pub free: usize,
}

/// The spare hosts of all that is asked for, in the order of the clusters.
pub(super) fn by_what_is_asked(site: &Site, hosts: &[HostPicture]) -> Vec<Spare> {
    let clusters = site
        .clusters
        .values()
        .filter_map(|request| request.cluster.as_ref());
    let node_sets = clusters.flat_map(|cluster| {
        cluster
            .node_sets
            .iter()
            .map(move |(part, set)| (cluster, part, set))
    });
    let mut found: Vec<(Needs<'_>, Spare)> = Vec::new();
    let mut known: HashMap<(String, Option<&AskedMachine>), usize> = HashMap::new();
    for (cluster, part, node_set) in node_sets {
        let machine = node_set.machine.as_ref();
        if machine.is_some_and(|machine| machine.named.is_some()) {
            continue;
        }
        let text = node_set.selector.to_string();
        let at = *known.entry((text.clone(), machine)).or_insert_with(|| {
            let spare = Spare {
                selector: text,
                asked: Asked::of(node_set),
                node_sets: Vec::new(),
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
            Some(node) => spare
                .machines
                .push((cluster.key.clone(), part.role, node.clone())),
        }
    }

    let inventory = &site.inventory.hosts;
    let needs: Vec<&Needs<'_>> = found.iter().map(|(needs, _)| needs).collect();
    let kinds = HostKinds::new(inventory, &needs, &[], |_| true);
    let mut of_kind: Vec<Vec<&HostPicture>> = vec![Vec::new(); kinds.count()];
    for (index, picture) in hosts.iter().enumerate() {
        if let Some(kind) = kinds.kind_of(index) {
            of_kind[kind].push(picture);
        }
    }
    found.par_iter_mut().for_each(|(needs, spare)| {
        let matching = kinds.matching(inventory, needs).into_iter();
        for picture in matching.flat_map(|kind| &of_kind[kind]) {
            spare.matching += 1;
            spare.assigned += usize::from(picture.state == HostState::Assigned);
            spare.free += usize::from(picture.state == HostState::Free);
        }
    });
    found.into_iter().map(|(.., spare)| spare).collect()
}
