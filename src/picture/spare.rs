//! How many hosts there are for whoever wants more.

use std::collections::HashMap;

use kube::core::{Selector, SelectorExt};
use rayon::prelude::*;
use serde::Serialize;

use super::HostPicture;
use crate::api::names::{ClusterKey, Part};
use crate::plan::states::HostState;
use crate::site::Site;

/// The hosts that one labelSelector matches. A host may match several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Spare {
    /// The labelSelector; empty when it matches every host.
    pub selector: String,
    /// The node sets that have it.
    pub node_sets: Vec<(ClusterKey, Part)>,
    /// How many hosts it matches.
    pub matching: usize,
    /// How many of them clusters have.
    pub assigned: usize,
    /// How many of them are free.
    pub free: usize,
}

/// The spare hosts of every labelSelector, in the order of the clusters.
pub(super) fn by_selector(site: &Site, hosts: &[HostPicture]) -> Vec<Spare> {
    let clusters = site.clusters.values().filter_map(|request| request.cluster.as_ref());
    let node_sets = clusters.flat_map(|cluster| cluster.node_sets.iter().map(move |(part, set)| (cluster, part, set)));
    let mut found: Vec<(&Selector, Spare)> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for (cluster, part, node_set) in node_sets {
        let text = node_set.selector.to_string();
        let at = *known.entry(text.clone()).or_insert_with(|| {
            let spare = Spare { selector: text, node_sets: Vec::new(), matching: 0, assigned: 0, free: 0 };
            found.push((&node_set.selector, spare));
            found.len() - 1
        });
        found[at].1.node_sets.push((cluster.key.clone(), part.clone()));
    }

    found.par_iter_mut().for_each(|(selector, spare)| {
        let matching = site.inventory.hosts.iter().zip(hosts).filter(|(host, _)| selector.matches(&host.labels));
        for (_, picture) in matching {
            spare.matching += 1;
            spare.assigned += usize::from(picture.state == HostState::Assigned);
            spare.free += usize::from(picture.state == HostState::Free);
        }
    });
    found.into_iter().map(|(_, spare)| spare).collect()
}
