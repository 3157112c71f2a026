//! Objects that are no requests, and claim hosts that requests may get.

use std::collections::{BTreeMap, HashSet};

use crate::base::finding::{Code, Finding};
use crate::base::text::counted;
use crate::plan::Plan;
use crate::site::Site;
use crate::site::request::cluster_api::Claimant;

/// Reports each claimant with Machines that have no host yet and may take one of a request, and how
/// many hosts are left for them.
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
    let finding = |claimant: &Claimant| {
        // Its Machines are those for which a SIPCluster has hosts, or they get none.
        if claimant.assigned_labels.as_ref().is_some_and(|labels| !are_requested(labels)) {
            return None;
        }
        let is_assigned = |index: usize| assigned.contains(&index);
        let machines = claimant.waiting_machines(&site.inventory, is_assigned);
        let hosts = site.inventory.hosts.iter().enumerate();
        let unused = hosts.filter(|(_, host)| host.live.usage.is_none() && claimant.matches(host));
        let unused: Vec<usize> = unused.map(|(index, _)| index).collect();
        let taken = unused.iter().filter(|index| is_assigned(**index)).count();
        // A selector that matches no assigned host is what the help asks for.
        if unused.is_empty() || machines == 0 || (claimant.has_selector && taken == 0) {
            return None;
        }
        let which = if claimant.has_selector {
            "that its `hostSelector` matches"
        } else {
            "of its namespace, because it has no `hostSelector`"
        };
        let left = unused.len() - taken;
        let verdict = match taken {
            0 => String::new(),
            _ if left < machines => format!("; requests get {taken}, which leaves {left}: too few"),
            _ => format!("; requests get {taken}, which leaves {left}"),
        };
        let message = format!(
            "{} is no request of sipgen, and claims {machines} of the {} {which}{verdict}",
            claimant.title,
            counted(unused.len(), "unused host"),
        );
        let finding = Finding::new(Code::ForeignClaimant, message).at(claimant.origin.name());
        Some(finding.help(
            "its Machines may take hosts that sipgen assigns to others: let its Metal3MachineTemplate select labels \
             that no requested host has, or request its hosts by a control plane or MachineDeployment of a Cluster with \
             `sip.airshipit.org/assign-hosts: \"true\"`",
        ))
    };
    site.claimants.iter().filter_map(finding).collect()
}
