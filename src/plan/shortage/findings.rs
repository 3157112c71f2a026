//! Findings about shortages.

use super::wording::some_of;
use super::{Shortage, ShortageReason};
use crate::base::api::cluster_api::SPARE;
use crate::base::api::names::{NodeName, Role};
use crate::base::finding::{Code, Finding};
use crate::base::grouping::grouped_in_order;
use crate::base::text::{counted, lower_bound};
use crate::plan::demand::NodeSetDemand;
use crate::plan::eligibility::Refusal;
use crate::plan::machines::by_role_and_name;
use crate::site::Site;
use crate::site::inventory::Host;
use crate::site::inventory::mismatch::Mismatch;
use crate::site::request::cluster::StandbyHosts;

/// Maximum number of machines that a message names.
const MACHINES_SHOWN: usize = 4;

impl Shortage {
    /// Returns whether any host with the required properties would do. Such shortages are reported
    /// together, by [`machine_shortages`].
    pub(in crate::plan) fn is_of_any_host(&self, demand: &NodeSetDemand<'_>) -> bool {
        self.is_machine && demand.needs.named().is_none()
    }

    /// Reports the shortage of a node set, or of a machine that names its host.
    pub(in crate::plan) fn finding(&self, site: &Site, demand: &NodeSetDemand<'_>) -> Finding {
        let NodeSetDemand { cluster, part, .. } = demand;
        if let Some(named) = demand.needs.named() {
            return self.named_host_finding(site, &site.inventory.hosts[named], demand);
        }
        let short = lower_bound(self.short_of(), self.may_lack_more);
        let verb = match self.reason {
            ShortageReason::Undecided => "were not found",
            _ => "cannot be found",
        };
        let standby = demand.node_set.standby();
        let makes_machines = cluster.kind.descriptor().makes_machines;
        let aside = match standby {
            0 => String::new(),
            count if makes_machines => format!(" ({count} of them for rollouts)"),
            count if self.short_of() > count => String::new(),
            count => format!(" ({count} of them standby)"),
        };
        // No field of a manifest has this number, which is added to `replicas`.
        let for_rollouts = if makes_machines { standby } else { 0 };
        // Without the hosts for rollouts, it would be filled.
        let rollouts = (self.short_of() <= for_rollouts).then(|| {
            // Cluster API refuses 0 for a control plane of fewer than three.
            let standby = demand.node_set.standby;
            let has_surge = !matches!(standby, StandbyHosts::OneMore | StandbyHosts::OneOfFew);
            let is_sparable =
                part.role == Role::Worker || self.wanted.saturating_sub(for_rollouts) >= 3;
            let has_other_way = has_surge && is_sparable;
            let is_of_class = demand.node_set.at.route.get(1) == Some(&"topology".into());
            let object = if is_of_class { "`metadata` of its topology" } else { "the object" };
            let (by, way) = match demand.node_set.spare_at {
                Some(_) => ("its annotation", "write".to_owned()),
                None => {
                    let by = if has_surge { "`maxSurge` of its rollout" } else { "its rollout" };
                    let setting = if has_other_way { "set `maxSurge: 0`, or " } else { "" };
                    (by, format!("{setting}annotate {object} with"))
                }
            };
            format!(
                "{by} adds {} to its replicas: to go without, {way} `{SPARE}: \"0\"`",
                counted(for_rollouts, "host"),
            )
        });
        let finding = Finding::new(
            Code::Shortage,
            format!(
                "{short} of the {} {} hosts{aside} of {} {verb}: {}",
                self.wanted,
                part.role,
                cluster.key,
                self.constraint(site.inventory.hosts.len())
            ),
        );
        let count = demand.node_set.count_at.place();
        let mismatch = self.explanation.mismatch.as_ref();
        let finding = match mismatch {
            // The cause is the requirement that excludes every host, not the count.
            Some(mismatch) => {
                let finding = mismatch.point(finding, &demand.node_set.selector_at);
                finding.see(count, format!("{} are wanted", self.wanted))
            }
            None => finding.at(count),
        };
        let spare = demand.node_set.spare_at.iter().filter(|_| rollouts.is_some());
        let finding = finding.see_each(spare.map(|at| (at.place(), "adds the hosts for rollouts")));
        let hints = mismatch.into_iter().flat_map(Mismatch::hints).map(str::to_owned);
        let lines: Vec<String> = rollouts.into_iter().chain(hints).chain(self.proof()).collect();
        finding.help(lines.join("\n")).for_cluster(&cluster.key)
    }

    /// Reports that a machine cannot have the host that it names.
    fn named_host_finding(&self, site: &Site, host: &Host, demand: &NodeSetDemand<'_>) -> Finding {
        let NodeSetDemand { cluster, part, .. } = demand;
        let refusal = self.explanation.named.as_ref().and_then(|(_, refusal)| refusal.as_ref());
        let mut why = refusal.map_or("goes to another cluster".to_owned(), Refusal::to_string);
        let help = match refusal {
            // A host that this plan releases belongs to its cluster until that is written, applied and
            // seen.
            Some(Refusal::GivenBack(by)) if !site.state.released.contains_key(&host.key) => {
                why = format!("{by} has not yet released");
                format!(
                    "an observed host moves between clusters in two runs: first generate without this machine, or with \
                     `--keep-going`, so that {by} releases it; apply that and take a snapshot; then name it here"
                )
            }
            Some(Refusal::NotInstalled(_)) => {
                "choose another host, or let Metal3 install this one first: set `image` in its BareMetalHost".to_owned()
            }
            _ => "choose another host, or release this one and clear its error".to_owned(),
        };
        let finding = Finding::new(
            Code::NamedHostRefused,
            format!(
                "{part} of {} is host {} by its MAC address, which {why}",
                cluster.key, host.key
            ),
        )
        .at(demand.node_set.at.below(["mac-address".into()]).place())
        .see(host.origin.name(), "the host");
        let owner = match refusal {
            Some(Refusal::Assigned(owner)) => site.clusters.get(owner),
            _ => None,
        };
        let owner = owner.map(|owner| (owner.origin.name(), "its current cluster"));
        finding.see_each(owner).help(help).for_cluster(&cluster.key)
    }
}

/// Reports machines for which no host has the required properties. Machines of a cluster and role
/// that lack a host for the same reasons share a finding.
pub(in crate::plan) fn machine_shortages<'a>(
    site: &Site,
    short: impl Iterator<Item = (&'a NodeSetDemand<'a>, &'a Shortage)>,
) -> Vec<Finding> {
    let hosts = site.inventory.hosts.len();
    let similar = grouped_in_order(short.map(|(demand, shortage)| {
        let reasons =
            (shortage.constraint(hosts), shortage.proof(), shortage.explanation.mismatch.as_ref());
        ((&demand.cluster.key, demand.part.role, reasons), demand)
    }));
    let mut findings = Vec::new();
    for ((cluster, role, (constraint, proof, mismatch)), mut demands) in similar {
        demands.sort_by(|a, b| by_role_and_name(a.part, b.part));
        let [first, others @ ..] = demands.as_slice() else { continue };
        let who = if others.is_empty() {
            first.part.to_string()
        } else {
            let names: Vec<&NodeName> =
                demands.iter().flat_map(|demand| &demand.part.node).collect();
            let named = some_of(names.iter(), MACHINES_SHOWN);
            format!("{} {role} machines ({named})", names.len())
        };
        let message = format!("no host can be found for {who} of {cluster}: {constraint}");
        let hints = mismatch.into_iter().flat_map(Mismatch::hints).map(str::to_owned);
        let help: Vec<String> = hints.chain(proof).collect();
        let place = |demand: &NodeSetDemand<'_>| demand.node_set.at.place();
        let finding = Finding::new(Code::Shortage, message).help(help.join("\n"));
        let finding = match mismatch {
            // The cause is the requirement that excludes every host, not the machine.
            Some(mismatch) => mismatch.point(finding, &first.node_set.selector_at),
            None => finding.at(place(first)),
        };
        let others = others.iter().map(|demand| (place(demand), "and this one"));
        findings.push(finding.see_each(others).for_cluster(cluster));
    }
    findings
}
