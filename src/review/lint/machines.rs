//! Rule: a machine of a Provisioning requires more than any host has.
//!
//! If it is planned, that is an error. This rule also warns when another mistake blocks the
//! cluster, so that both can be fixed at once.

use std::collections::BTreeMap;

use kube::core::SelectorExt;

use super::LintExceptions;
use crate::base::api::names::Part;
use crate::base::finding::{Code, Finding};
use crate::base::text::counted;
use crate::plan::machines::{MachineRequirements, by_role_and_name};
use crate::site::Site;
use crate::site::inventory::Host;
use crate::site::inventory::machine::RequiredMachine;
use crate::site::request::{Cluster, NodeSet};

/// Finds machines that no host can satisfy, whatever its state. Machines of a cluster with equal
/// requirements share a finding.
pub(super) fn beyond_reach(
    site: &Site,
    clusters: &[&Cluster],
    except: &LintExceptions,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    // A site without hosts has findings of its own.
    if site.inventory.hosts.is_empty() {
        return findings;
    }
    let mut answers: BTreeMap<MachineRequirements, bool> = BTreeMap::new();
    for cluster in clusters {
        let mut beyond: BTreeMap<MachineRequirements, Vec<(&Part, &NodeSet)>> = BTreeMap::new();
        for (part, set) in &cluster.node_sets {
            let any = set.machine.as_ref().filter(|machine| machine.named.is_none());
            let Some((machine, asked)) = any.zip(MachineRequirements::for_node_set(set)) else {
                continue;
            };
            let suffices = *answers.entry(asked.clone()).or_insert_with(|| {
                site.inventory
                    .hosts
                    .iter()
                    .any(|host| set.selector.matches(&host.labels) && has(host, machine))
            });
            if !suffices && !except.short.contains(&(cluster.key.clone(), part.clone())) {
                beyond.entry(asked).or_default().push((part, set));
            }
        }
        findings.extend(
            beyond.into_iter().map(|(asked, machines)| describe(site, cluster, &asked, machines)),
        );
    }
    findings
}

fn has(host: &Host, asked: &RequiredMachine) -> bool {
    host.machine.lacks(asked).next().is_none()
}

fn describe(
    site: &Site,
    cluster: &Cluster,
    asked: &MachineRequirements,
    mut machines: Vec<(&Part, &NodeSet)>,
) -> Finding {
    machines.sort_by(|(a, _), (b, _)| by_role_and_name(a, b));
    let names: Vec<String> = machines.iter().map(|(part, _)| part.to_string()).collect();
    let who = match names.as_slice() {
        [first, others @ ..] if !others.is_empty() => {
            format!("{first} and {} of {}", counted(others.len(), "more machine"), cluster.key)
        }
        only => format!("{} of {}", only.concat(), cluster.key),
    };
    let hosts = counted(site.inventory.hosts.len(), "host");
    let finding = Finding::new(
        Code::BeyondReach,
        format!("none of the site's {hosts} meets the requirements of {who}: {asked}"),
    )
    .help("lower the requirements, or add and inspect hosts")
    .for_cluster(&cluster.key);
    let mut places = machines.iter().map(|(_, set)| set.at.place());
    let finding = places.next().into_iter().fold(finding, Finding::at);
    places.fold(finding, |finding, place| finding.see(place, "and this one"))
}
