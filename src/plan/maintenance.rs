//! Reports assigned hosts that are marked for maintenance.

use super::assignments::Assignments;
use super::violations::Violation;
use crate::base::api::names::HostKey;
use crate::base::finding::{Code, Finding};
use crate::base::grouping::grouped;
use crate::base::text::{abbreviated, counted};

/// Number of hosts that a finding lists.
const LISTED: usize = 5;

/// Reports retained hosts in maintenance: one finding for each cluster and mark. Hosts that are
/// annotated with the same reason share one.
pub(super) fn retained(assignments: &Assignments<'_>) -> Vec<Finding> {
    let violations = assignments.violations.iter();
    let marked = violations.filter(|(_, violation)| **violation == Violation::InMaintenance);
    let by_mark = grouped(marked.filter_map(|(index, _)| {
        let host = &assignments.site.inventory.hosts[*index];
        let (cluster, ..) = assignments.retained.get(index)?.first()?;
        Some(((cluster, host.maintenance.as_ref()?.to_string()), host))
    }));
    let mut findings = Vec::new();
    for ((cluster, reason), hosts) in by_mark {
        let names: Vec<&HostKey> = hosts.iter().map(|host| &host.key).collect();
        let message = format!(
            "{cluster} keeps {} in maintenance ({reason}): {}",
            counted(hosts.len(), "host"),
            abbreviated(&names, LISTED)
        );
        let mark = hosts.first().and_then(|host| host.maintenance.as_ref());
        let finding = Finding::new(Code::InMaintenance, message)
            .at_each(mark.map(|mark| mark.place.clone()))
            .help("run `sipgen drain` to plan their replacement, or remove the mark");
        findings.push(finding.for_cluster(cluster));
    }
    findings
}
