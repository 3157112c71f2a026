//! Losses of whole topology domains.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::{LackingNodeSet, Loss, LostMembers};
use crate::ask::overview::{ClusterOverview, Overview, Rack};
use crate::ask::what_if::{by_cluster, quorum};
use crate::base::api::names::ClusterKey;
use crate::generate::GeneratedSite;
use crate::plan::ask::{PlanHypothesis, PlannedSite};

/// Returns the loss of each rack of the overview; none if racks have no label.
pub(super) fn losses(
    generated: &GeneratedSite,
    planned: &PlannedSite<'_>,
    overview: &Overview,
) -> Vec<Loss> {
    let clusters: BTreeMap<&ClusterKey, &ClusterOverview> =
        overview.clusters.iter().map(|cluster| (&cluster.key, cluster)).collect();
    let loss = |rack: &Rack| {
        let gone: BTreeSet<usize> = rack.hosts.iter().copied().collect();
        let lost = by_cluster(rack.hosts.iter().map(|index| &overview.hosts[*index]));
        let control_planes = lost.iter().filter_map(|(key, hosts)| {
            Some(LostMembers {
                cluster: (*key).clone(),
                quorum: quorum(clusters.get(key)?, hosts, generated)?,
            })
        });
        let hypothesis = PlanHypothesis { gone, ..PlanHypothesis::default() };
        let lacking = planned.lacking_more(&hypothesis).into_iter();
        let left = overview.hosts.len() - rack.hosts.len();
        let lacking = lacking.map(|lacking| LackingNodeSet::new(lacking, left));
        Loss {
            domain: rack.name.clone(),
            hosts: rack.hosts.len(),
            assigned: lost.values().map(Vec::len).sum(),
            control_planes: control_planes.collect(),
            lacking: lacking.collect(),
        }
    };
    if overview.by.is_none() {
        return Vec::new();
    }
    overview.racks.par_iter().map(loss).collect()
}
