//! Rules: unused network data, and hosts whose network data is missing.

use std::collections::BTreeSet;

use super::node_sets::NodeSets;
use crate::base::finding::{Code, Finding};
use crate::base::grouping::grouped;
use crate::base::text::counted;
use crate::plan::eligibility::{RequiredSystem, unusable};
use crate::site::Site;
use crate::site::inventory::Host;
use crate::site::inventory::network_remedy::remedy;
use crate::site::inventory::networks::{NoNetworkData, UnnamedNetworkData};

/// Finds Secrets with network data that no host names, one finding per file. Snapshots are skipped,
/// because a base cluster has many foreign Secrets.
pub(super) fn unnamed(site: &Site) -> Vec<Finding> {
    if site.inventory.hosts.is_empty() {
        return Vec::new();
    }
    let by_file =
        site.inventory.unnamed_network_data.chunk_by(|a, b| a.origin.file == b.origin.file);
    by_file.filter_map(describe_unnamed).collect()
}

fn describe_unnamed(secrets: &[UnnamedNetworkData]) -> Option<Finding> {
    let (first, others) = secrets.split_first()?;
    let (subject, including) = match others.len() {
        0 => (format!("Secret `{}` has", first.key), String::new()),
        more => (format!("{} Secrets have", more + 1), format!(", including `{}`", first.key)),
    };
    let message = format!("{subject} network data that no host names{including}");
    let others = others.iter().map(|secret| (secret.origin.name(), secret.key.to_string()));
    let finding = Finding::new(Code::UnusedHostData, message)
        .at(first.origin.name())
        .see_each(others)
        .help("name it in `spec.networkData` of a host in the same namespace, or remove it");
    Some(finding)
}

/// Finds claimable hosts whose network data is missing.
pub(super) fn missing(node_sets: &NodeSets<'_>) -> Vec<Finding> {
    let mut seen: BTreeSet<usize> = BTreeSet::new();
    let mut hosts: BTreeSet<usize> = BTreeSet::new();
    for set in node_sets.all.iter().filter(|set| set.node_set.wanted() > 0) {
        let interfaces = set.cluster.interfaces(set.role);
        if interfaces.is_empty() || !seen.insert(set.pool) {
            continue;
        }
        // Assigned hosts are reported when their services are rendered.
        let is_lost = |host: &&Host| {
            host.network.data.as_ref().is_err_and(|reason| in_plural(reason).is_some())
                // It may be meant for another program, if the host has other addresses.
                && interfaces.iter().any(|id| host.address(id).is_err())
                && unusable(host, RequiredSystem::NoSystem).is_none()
                && !node_sets.site.state.held.contains_key(&host.key)
        };
        let lost = node_sets.hosts(set).filter(is_lost);
        hosts.extend(lost.filter_map(|host| node_sets.site.inventory.index(&host.key)));
    }
    let hosts = hosts.into_iter().filter_map(|host| {
        let host = &node_sets.site.inventory.hosts[host];
        let reason = host.network.data.as_ref().err()?;
        Some((in_plural(reason)?, (host, reason)))
    });
    grouped(hosts).iter().filter_map(|(what, hosts)| describe_missing(what, hosts)).collect()
}

/// Completes "2 hosts " if network data is missing; `None` if there is none, or if it is reported
/// where it is read.
fn in_plural(reason: &NoNetworkData) -> Option<&'static str> {
    Some(match reason {
        NoNetworkData::Missing(_) => "name network data in Secrets that are not in the repo",
        NoNetworkData::Keyless(..) => "name network data in Secrets without the key `networkData`",
        NoNetworkData::OtherFormat(..) => {
            "have network data in another format than OpenStack's network_data.json"
        }
        NoNetworkData::Absent | NoNetworkData::Unreadable(..) | NoNetworkData::Encrypted(..) => {
            return None;
        }
    })
}

fn describe_missing(what: &str, hosts: &[(&Host, &NoNetworkData)]) -> Option<Finding> {
    let ((first, reason), others) = hosts.split_first()?;
    let (message, remedy) = match reason {
        NoNetworkData::Missing(secret) => (
            format!("names network data in Secret `{secret}`, which is not in the repo"),
            "add the Secrets to the repo".to_owned(),
        ),
        _ => (reason.to_string(), remedy(first).unwrap_or_default()),
    };
    let message = match others {
        [] => format!("host `{}` {message}", first.key),
        _ => format!("{} {what}", counted(hosts.len(), "host")),
    };
    let other = |(host, reason): &(&Host, &NoNetworkData)| {
        (host.network_place(), format!("host {} {reason}", host.key))
    };
    let help =
        format!("services require the addresses of hosts, so no cluster can claim them: {remedy}");
    let finding = Finding::new(Code::MissingNetworkData, message).at(first.network_place());
    Some(finding.see_each(others.iter().map(other)).help(help))
}
