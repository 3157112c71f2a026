//! Objects that are no requests, and claim hosts that requests may get.

use std::collections::{BTreeMap, HashSet};

use crate::base::finding::{Code, Finding};
use crate::base::text::counted;
use crate::plan::Plan;
use crate::site::Site;
use crate::site::inventory::Host;
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
        site.valid_clusters().flat_map(|cluster| &cluster.machine_templates).any(|template| {
            template.labels.iter().all(|(key, value)| labels.get(key).is_none_or(|it| it == value))
        })
    };
    // Its Machines are those for which a SIPCluster has hosts, or they get none.
    let claimants = site
        .claimants
        .iter()
        .filter(|claimant| claimant.assigned_labels.as_ref().is_none_or(are_requested));
    let hosts = &site.inventory.hosts;
    let groups = rival_claims(claimants, hosts, &assigned);
    let mut findings = Vec::new();
    for RivalClaims { matching, claims } in &groups {
        let unused = matching.iter().filter(|host| hosts[**host].live.usage.is_none());
        let taken = unused.clone().filter(|host| assigned.contains(*host)).count();
        let left = unused.count() - taken;
        // Others that can take some of these hosts, and none besides.
        let is_within = |other: &[usize]| {
            !other.is_empty() && other.iter().all(|it| matching.binary_search(it).is_ok())
        };
        let rivals = groups.iter().filter(|other| is_within(&other.matching));
        let together: usize = rivals.flat_map(|other| &other.claims).map(|(_, count)| count).sum();
        for (claimant, machines) in claims {
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
                "its Machines may take hosts that sipgen assigns to others: let its `hostSelector` select labels \
                 that no requested host has, or request its hosts by a control plane or MachineDeployment of a Cluster with \
                 `sip.airshipit.org/assign-hosts: \"true\"`",
            ));
        }
    }
    findings
}

/// Claimants of the same hosts.
struct RivalClaims<'c> {
    /// Indices of the hosts that they match, in order.
    matching: Vec<usize>,
    /// Each claimant with the number of its Machines that wait for a host.
    claims: Vec<(&'c Claimant, usize)>,
}

/// Groups claimants by the hosts that they match. A host in use that sipgen assigns to no cluster is
/// taken for that of one Machine: of those that match the fewest hosts.
fn rival_claims<'c>(
    claimants: impl Iterator<Item = &'c Claimant>,
    hosts: &[Host],
    assigned: &HashSet<usize>,
) -> Vec<RivalClaims<'c>> {
    let mut groups: BTreeMap<Vec<usize>, Vec<(&Claimant, usize)>> = BTreeMap::new();
    for claimant in claimants {
        let matching = (0..hosts.len()).filter(|host| claimant.matches(&hosts[*host]));
        groups.entry(matching.collect()).or_default().push((claimant, claimant.machines));
    }
    let mut groups: Vec<RivalClaims<'_>> =
        groups.into_iter().map(|(matching, claims)| RivalClaims { matching, claims }).collect();
    groups.sort_by_key(|group| group.matching.len());
    let mut has_user = assigned.clone();
    for RivalClaims { matching, claims } in &mut groups {
        for (claimant, waiting) in claims {
            let is_its_own =
                |host: &&usize| claimant.may_use(&hosts[**host]) && !has_user.contains(*host);
            let own: Vec<usize> =
                matching.iter().filter(is_its_own).take(*waiting).copied().collect();
            *waiting -= own.len();
            has_user.extend(own);
        }
    }
    groups
}
