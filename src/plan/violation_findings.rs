//! Findings about hosts that clusters retain in spite of a violation.

use super::assignments::Assignments;
use super::eligibility::{self, Needs, Refusal, RequiredSystem};
use super::violations::{Violation, in_use_as};
use crate::base::api::host::DETACHED_STATE;
use crate::base::api::names::HostKey;
use crate::base::finding::{Code, DocumentField, Finding};
use crate::base::grouping::grouped;
use crate::base::text::{abbreviated, counted};
use crate::site::inventory::usage::EXTERNALLY_PROVISIONED;
use crate::site::request::cluster::NodeSet;

/// Number of hosts that a finding lists.
const LISTED: usize = 5;

impl Assignments<'_> {
    /// Reports hosts that are retained in spite of a violation, except those in maintenance.
    pub(super) fn violation_findings(&self, rebalance: bool) -> Vec<Finding> {
        let describe = |(host, violation): (&usize, &Violation)| {
            let (cluster, part, _) = *self.retained.get(host)?.first()?;
            let host = &self.site.inventory.hosts[*host];
            let in_use = in_use_as(host, part);
            let stays = match in_use {
                Some(why) => format!("it stays: {why}"),
                None if rebalance || violation.is_replaced_at_once() => {
                    "it stays: no other host can take its place".to_owned()
                }
                None => "it stays; `--rebalance` replaces such hosts where possible".to_owned(),
            };
            let help = match (violation, in_use) {
                (Violation::NotInstalled, Some(_)) => {
                    "it stays: wait until Metal3 has provisioned it, and take a new snapshot"
                        .to_owned()
                }
                (Violation::NotInstalled, None) => {
                    "it stays: set its `spec.image` and take a new snapshot; or run `sipgen generate --rebalance` to replace it \
                     by a host that has an operating system"
                        .to_owned()
                }
                (Violation::Consumed, _) => {
                    "name a host that no Cluster uses, or let that Cluster give this one up first"
                        .to_owned()
                }
                (Violation::Deleting, Some(why)) => {
                    format!("it keeps its labels until a snapshot shows it unused: {why}")
                }
                (Violation::Reserved(_) | Violation::Unclaimable, _) => {
                    format!("no Machine can use it until that ends; {stays}")
                }
                _ => stays,
            };
            let unusable = eligibility::unusable(host, RequiredSystem::NoSystem);
            let request = self.site.valid_cluster(cluster);
            let set = request.and_then(|request| request.node_set(part));
            let asked = |field: fn(&NodeSet) -> &DocumentField| match set {
                Some(set) => Some(field(set).place()),
                None => request.map(|request| request.origin.name()),
            };
            let live = |route: &[&str]| host.live_place(route.iter().copied());
            let place = match violation {
                Violation::InMaintenance | Violation::UsedByAnother => return None,
                Violation::SharesDomain | Violation::OtherDomain | Violation::NotSelected => {
                    host.origin.at(["metadata", "labels"])
                }
                Violation::Insufficient | Violation::ReservedForOthers => host.origin.name(),
                Violation::NotInstalled => live(&["status", "provisioning", "state"]),
                Violation::Consumed => live(&["spec", "consumerRef"]),
                Violation::Unclaimable => match &unusable {
                    Some(Refusal::InUse(usage)) => host.live_place(usage.route()),
                    Some(Refusal::NotFree(_)) => live(&["status", "provisioning", "state"]),
                    _ => host.origin.name(),
                },
                Violation::Reserved(DETACHED_STATE) => live(&["status", "operationalStatus"]),
                Violation::Reserved(field @ EXTERNALLY_PROVISIONED) => live(&["spec", field]),
                Violation::Reserved(mark) => live(&["metadata", "annotations", mark]),
                Violation::Unhealthy => live(&["metadata", "annotations"]),
                Violation::Failed => live(&["status", "errorMessage"]),
                Violation::Deleting => live(&["metadata", "deletionTimestamp"]),
            };
            let code = match violation {
                Violation::Consumed => Code::NamedHostRefused,
                Violation::NotInstalled
                | Violation::Unhealthy
                | Violation::Failed
                | Violation::Deleting => Code::Failing,
                _ => Code::Flawed,
            };
            let asked_for = match violation {
                Violation::SharesDomain => asked(|set| set.topology_at.first().unwrap_or(&set.at)),
                Violation::NotSelected => asked(|set| &set.selector_at),
                Violation::OtherDomain
                | Violation::Insufficient
                | Violation::ReservedForOthers
                | Violation::Consumed => asked(|set| &set.at),
                _ => None,
            };
            let missing_key = match (violation, request, set) {
                (Violation::NotSelected, Some(request), Some(set)) => {
                    let keys = Needs::new(request, part, set).limiting_keys();
                    keys.into_iter().find(|key| host.domain(key).is_none())
                }
                _ => None,
            };
            let words = match (missing_key, unusable) {
                (Some(key), _) => {
                    format!("has no label `{key}`, which limits the node set's hosts")
                }
                (None, Some(refusal)) if *violation == Violation::Unclaimable => {
                    refusal.to_string()
                }
                (None, _) => violation.to_string(),
            };
            let message = format!("host {} ({part} of {cluster}) {words}", host.key);
            let asked_for = asked_for.map(|place| (place, "what the node set asks for"));
            let finding = Finding::new(code, message).at(place).see_each(asked_for);
            Some(finding.help(help).for_cluster(cluster))
        };
        self.violations.iter().filter_map(describe).collect()
    }

    /// Reports retained hosts in maintenance: one finding for each cluster and mark. Hosts that are
    /// annotated with the same reason share one.
    pub(super) fn maintenance_findings(&self) -> Vec<Finding> {
        let violations = self.violations.iter();
        let marked = violations.filter(|(_, violation)| **violation == Violation::InMaintenance);
        let by_mark = grouped(marked.filter_map(|(index, _)| {
            let host = &self.site.inventory.hosts[*index];
            let (cluster, ..) = self.retained.get(index)?.first()?;
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
}
