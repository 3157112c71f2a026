//! Reports assigned hosts that are marked for maintenance.

use std::collections::BTreeMap;

use super::assignments::Assignments;
use super::violations::Violation;
use crate::base::api::names::ClusterKey;
use crate::base::finding::{Code, Finding};
use crate::base::text::counted;
use crate::site::Site;
use crate::site::inventory::Host;
use crate::site::inventory::maintenance::MaintenanceMark;

/// Number of hosts that a finding lists.
const LISTED: usize = 5;

/// Reports retained hosts in maintenance: one finding for each cluster and mark. Hosts that are
/// annotated with the same reason share one.
pub(super) fn retained(site: &Site, assignments: &Assignments<'_>) -> Vec<Finding> {
    let mut by_mark: BTreeMap<(&ClusterKey, String), (&MaintenanceMark, Vec<&Host>)> =
        BTreeMap::new();
    let violations = assignments.violations.iter();
    for (index, _) in violations.filter(|(_, violation)| **violation == Violation::InMaintenance) {
        let host = &site.inventory.hosts[*index];
        let owner = assignments.retained.get(index).and_then(|owners| owners.first());
        if let (Some((cluster, ..)), Some(mark)) = (owner, host.maintenance.as_deref()) {
            let entry = by_mark.entry((cluster, mark.to_string()));
            entry.or_insert_with(|| (mark, Vec::new())).1.push(host);
        }
    }
    let describe = |((cluster, reason), (mark, hosts)): (
        (&ClusterKey, String),
        (&MaintenanceMark, Vec<&Host>),
    )| {
        let mut names: Vec<String> =
            hosts.iter().take(LISTED).map(|host| host.key.to_string()).collect();
        if hosts.len() > LISTED {
            names.push(format!("{} more", hosts.len() - LISTED));
        }
        let message = format!(
            "{cluster} keeps {} in maintenance ({reason}): {}",
            counted(hosts.len(), "host"),
            names.join(", ")
        );
        Finding::new(Code::InMaintenance, message)
            .at(mark.place.clone())
            .help("run `sipgen drain` to plan their replacement, or remove the mark")
            .for_cluster(cluster)
    };
    by_mark.into_iter().map(describe).collect()
}
