//! Objects that are no requests, and claim hosts that requests may get.

use std::collections::{BTreeMap, HashSet};

use crate::base::finding::{Code, Finding};
use crate::base::text::counted;
use crate::plan::Plan;
use crate::site::Site;
use crate::site::request::cluster_api::Claimant;

/// Reports each claimant with Machines that have no host yet and may take one of a request, and how
/// many hosts are left for them and for the Machines of others that claim the same hosts.
pub(super) fn foreign(site: &Site, plan: &Plan) -> Vec<Finding> {
    if site.clusters.is_empty() {
        return Vec::new();
    }
    let placements = plan.clusters.values().flat_map(|placement| placement.values());
    let assigned: HashSet<usize> = placements.flatten().map(|it| it.host).collect();
    let are_requested = |labels: &BTreeMap<String, String>| {
        let mut templates = site.valid_clusters().flat_map(|cluster| &cluster.machine_templates);
        templates.any(|template| {
            template.labels.iter().all(|(key, value)| labels.get(key).is_none_or(|it| it == value))
        })
    };
    let hosts = &site.inventory.hosts;
    let mut groups: BTreeMap<Vec<usize>, Vec<(&Claimant, usize)>> = BTreeMap::new();
    for claimant in &site.claimants {
        // Its Machines are those for which a SIPCluster has hosts, or they get none.
        if claimant.assigned_labels.as_ref().is_none_or(are_requested) {
            let matching = (0..hosts.len()).filter(|host| claimant.matches(&hosts[*host]));
            groups.entry(matching.collect()).or_default().push((claimant, claimant.machines));
        }
    }
    // A host in use that sipgen assigns to no cluster is taken for that of one Machine: of those that
    // match the fewest hosts.
    let mut groups: Vec<(Vec<usize>, Vec<(&Claimant, usize)>)> = groups.into_iter().collect();
    groups.sort_by_key(|(matching, _)| matching.len());
    let mut has_user = assigned.clone();
    for (matching, claimants) in &mut groups {
        for (claimant, waiting) in claimants {
            let own = matching.iter().copied();
            let own =
                own.filter(|host| claimant.may_use(&hosts[*host]) && !has_user.contains(host));
            let own: Vec<usize> = own.take(*waiting).collect();
            *waiting -= own.len();
            has_user.extend(own);
        }
    }
    let mut findings = Vec::new();
    for (matching, claimants) in &groups {
        let unused = matching.iter().filter(|host| hosts[**host].live.usage.is_none());
        let (taken, left): (Vec<&usize>, Vec<&usize>) =
            unused.partition(|host| assigned.contains(*host));
        let (taken, left) = (taken.len(), left.len());
        // Others that can take no other hosts.
        let is_within = |other: &[usize]| other.iter().all(|it| matching.binary_search(it).is_ok());
        let rivals = groups.iter().filter(|(other, _)| is_within(other));
        let together: usize = rivals.flat_map(|(_, others)| others).map(|(_, count)| count).sum();
        for (claimant, machines) in claimants {
            // A selector that matches no assigned host is what the help asks for.
            if taken + left == 0 || *machines == 0 || (claimant.has_selector && taken == 0) {
                continue;
            }
            let which = if claimant.has_selector {
                "that its `hostSelector` matches"
            } else {
                "of its namespace, because it has no `hostSelector`"
            };
            let verdict = match (taken, together.saturating_sub(*machines)) {
                (0, _) => String::new(),
                _ if left >= together => format!("; requests get {taken}, which leaves {left}"),
                (_, 0) => format!("; requests get {taken}, which leaves {left}: too few"),
                (_, others) => format!(
                    "; requests get {taken}, which leaves {left}: too few, because other objects claim {others} of \
                     them"
                ),
            };
            let message = format!(
                "{} is no request of sipgen, and claims {machines} of the {} {which}{verdict}",
                claimant.title,
                counted(taken + left, "unused host"),
            );
            let finding = Finding::new(Code::ForeignClaimant, message).at(claimant.origin.name());
            findings.push(finding.help(
                "its Machines may take hosts that sipgen assigns to others: let its Metal3MachineTemplate select labels \
                 that no requested host has, or request its hosts by a control plane or MachineDeployment of a Cluster with \
                 `sip.airshipit.org/assign-hosts: \"true\"`",
            ));
        }
    }
    findings
}
