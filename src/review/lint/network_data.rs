//! Rules: unused network data, and hosts whose network data is missing.

use std::collections::BTreeSet;

use super::node_sets::NodeSets;
use crate::base::finding::{Code, Finding};
use crate::base::text::counted;
use crate::base::text::suggest::alike;
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
    let message = if others.is_empty() {
        format!("Secret `{}` has network data that no host names", first.key)
    } else {
        format!(
            "{} Secrets have network data that no host names, including `{}`",
            secrets.len(),
            first.key
        )
    };
    let finding =
        Finding::new(Code::UnusedHostData, message).at(first.origin.at(["metadata", "name"]));
    let finding = others.iter().fold(finding, |finding, secret| {
        finding.see(secret.origin.at(["metadata", "name"]), secret.key.to_string())
    });
    Some(
        finding.help("name it in `spec.networkData` of a host in the same namespace, or remove it"),
    )
}

/// Finds claimable hosts whose network data is missing.
pub(super) fn missing(node_sets: &NodeSets<'_>) -> Vec<Finding> {
    let mut seen: BTreeSet<usize> = BTreeSet::new();
    let mut hosts: BTreeSet<usize> = BTreeSet::new();
    for set in node_sets.wanting().filter(|set| !set.cluster.interfaces(set.role).is_empty()) {
        if !seen.insert(set.pool) {
            continue;
        }
        // Assigned hosts are reported when their services are rendered.
        let interfaces = set.cluster.interfaces(set.role);
        let is_lost = |host: &&Host| {
            let lacks = match &host.network.data {
                Err(NoNetworkData::Missing(_) | NoNetworkData::Keyless(..)) => true,
                // It may be meant for another program, if the host has other addresses.
                Err(NoNetworkData::OtherFormat(..)) => {
                    interfaces.iter().any(|id| host.address(id).is_err())
                }
                _ => false,
            };
            lacks
                && unusable(host, RequiredSystem::NoSystem).is_none()
                && !node_sets.site.state.held.contains_key(&host.key)
        };
        let lost = node_sets.hosts(set).filter(is_lost);
        hosts.extend(lost.filter_map(|host| node_sets.site.inventory.index(&host.key)));
    }
    let hosts: Vec<&Host> =
        hosts.into_iter().map(|host| &node_sets.site.inventory.hosts[host]).collect();
    let missing = describe_missing(&hosts, node_sets.site);
    let other_format = describe_other_format(&hosts, node_sets.site);
    missing.into_iter().chain(other_format).collect()
}

fn describe_other_format(hosts: &[&Host], site: &Site) -> Option<Finding> {
    let all = hosts.iter().filter_map(|host| match &host.network.data {
        Err(NoNetworkData::OtherFormat(holder, format)) => Some((*host, holder, *format)),
        _ => None,
    });
    let all: Vec<_> = all.collect();
    let ((first, holder, format), others) = all.split_first()?;
    let message = if others.is_empty() {
        let reason = NoNetworkData::OtherFormat((*holder).clone(), format);
        format!("host `{}` {reason}", first.key)
    } else {
        format!(
            "{} have network data in another format than OpenStack's network_data.json",
            counted(all.len(), "host")
        )
    };
    let remedy = remedy(&site.inventory, first).unwrap_or_default();
    let finding = Finding::new(Code::MissingNetworkData, message).at(first.network_place()).help(
        format!("services require the addresses of hosts, so no cluster can claim them: {remedy}"),
    );
    Some(others.iter().fold(finding, |finding, (host, holder, format)| {
        finding.see(
            host.network_place(),
            format!("host {}: {holder} has the format of {format}", host.key),
        )
    }))
}

fn describe_missing(hosts: &[&Host], site: &Site) -> Option<Finding> {
    let named = hosts.iter().filter_map(|host| match &host.network.data {
        Err(NoNetworkData::Missing(secret)) => Some((*host, secret, None)),
        Err(NoNetworkData::Keyless(secret, keyless)) => Some((*host, secret, Some(keyless))),
        _ => None,
    });
    let named: Vec<_> = named.collect();
    let ((first, secret, keyless), others) = named.split_first()?;
    let lacks = if keyless.is_some() { "has no key `networkData`" } else { "is not in the repo" };
    let message = if others.is_empty() {
        format!("host `{}` names network data in Secret `{secret}`, which {lacks}", first.key)
    } else if named.iter().any(|(.., keyless)| keyless.is_some()) {
        format!("{} name network data in Secrets that lack it", counted(hosts.len(), "host"))
    } else {
        format!(
            "{} name network data in Secrets that are not in the repo",
            counted(hosts.len(), "host")
        )
    };
    let unnamed = &site.inventory.unnamed_network_data;
    let mut missing = named.iter().filter(|(.., keyless)| keyless.is_none());
    let meant = missing.find_map(|(host, secret, _)| {
        let named = |name: &str| unnamed.iter().find(|other| other.key.name.as_str() == name);
        let names = unnamed.iter().map(|other| other.key.name.as_str());
        let name = secret.name.as_str();
        let meant = &named(name).or_else(|| named(alike(name, names)?))?.key;
        Some(format!("; did you mean the unused Secret `{meant}` for host `{}`?", host.key))
    });
    let add = if keyless.is_none() {
        Some("add the Secrets to the repo".to_owned())
    } else {
        remedy(&site.inventory, first)
    };
    let help = format!(
        "services require the addresses of hosts, so no cluster can claim them: {}",
        add.unwrap_or_default()
    );
    let keyless = named.iter().filter_map(|(.., keyless)| *keyless);
    let others = others.iter().map(|(host, secret, _)| {
        (host.network_place(), format!("host {} names {secret}", host.key))
    });
    let finding = Finding::new(Code::MissingNetworkData, message)
        .at(first.network_place())
        .see_each(keyless.map(|keyless| (keyless.origin.name(), "the Secret")))
        .see_each(others);
    Some(finding.help(format!("{help}{}", meant.unwrap_or_default())))
}
