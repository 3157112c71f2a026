//! Network data that must be decrypted before clusters can use its hosts.

use std::collections::BTreeMap;

use kube::core::SelectorExt;

use crate::base::api::names::HostKey;
use crate::base::finding::{Code, Finding, Place};
use crate::base::text::counted;
use crate::site::Site;
use crate::site::inventory::networks::{NetworkDataHolder, NoNetworkData};
use crate::site::request::Cluster;

/// Reports encrypted network data that services need: of hosts that a node set may take and whose
/// addresses its services use. Other network data may stay encrypted.
pub(super) fn needed(site: &Site, clusters: &[&Cluster]) -> Option<Finding> {
    let encrypted = site.inventory.hosts.iter().filter_map(|host| match &host.network.data {
        Err(NoNetworkData::Encrypted(holder, place)) => Some((host, holder, &**place)),
        _ => None,
    });
    let mut needed: BTreeMap<&HostKey, (&NetworkDataHolder, &Place)> = BTreeMap::new();
    let mut concerned: Vec<&Cluster> = Vec::new();
    for (host, holder, place) in encrypted {
        let may_have = |cluster: &&&Cluster| {
            cluster.parts().any(|(_, part, set)| {
                set.selector.matches(&host.labels) && !cluster.interfaces(part.role).is_empty()
            })
        };
        for cluster in clusters.iter().filter(may_have) {
            needed.insert(&host.key, (holder, place));
            if !concerned.iter().any(|known| known.key == cluster.key) {
                concerned.push(cluster);
            }
        }
    }
    if needed.is_empty() {
        return None;
    }
    let message = match needed.iter().next() {
        Some((host, (holder, _))) if needed.len() == 1 => {
            format!("host {host} has no address for services: {holder} is encrypted with SOPS")
        }
        _ => format!(
            "{} have no addresses for services: their network data is encrypted with SOPS",
            counted(needed.len(), "host")
        ),
    };
    // sops signs the file, but not what another tool renders from it.
    let stream_help = "decrypt it before it is rendered and given to sipgen";
    let is_of_stream = |place: &Place| matches!(place, Place::Node(origin, _) if origin.is_rendered() && origin.made_for().is_none());
    let help = if site.settings.sops.decrypt
        || needed.values().all(|(_, place)| is_of_stream(place))
    {
        format!("{stream_help}; `sops.decrypt` reaches files of the repo only")
    } else {
        let own = "set `sops: {decrypt: true}` in sipgen.yaml, if all who run sipgen have the key and the `sops` program";
        let clear = "leave network data unencrypted, such as by an `encrypted_regex` in .sops.yaml";
        let stream = needed.values().any(|(_, place)| is_of_stream(place));
        format!(
            "{own}; or {clear}{}",
            if stream { format!("; of what is rendered, {stream_help}") } else { String::new() }
        )
    };
    let finding = Finding::new(Code::EncryptedNetworkData, message).help(help);
    let finding = needed.into_iter().fold(finding, |finding, (host, (_, place))| {
        finding.see(place.clone(), format!("the network data of {host}"))
    });
    Some(concerned.into_iter().fold(finding, |finding, cluster| finding.for_cluster(&cluster.key)))
}
