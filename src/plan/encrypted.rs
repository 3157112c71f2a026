//! Encrypted network data of hosts that clusters could use.

use std::collections::BTreeMap;

use kube::core::SelectorExt;

use crate::base::api::ipam::ADDRESSES;
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
                let interfaces = cluster.interfaces(part.role);
                let lacks_one = |interface: &str| host.address(interface).is_err();
                set.selector.matches(&host.labels) && interfaces.into_iter().any(lacks_one)
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
    let help = format!(
        "leave network data unencrypted, such as by an `encrypted_regex` in .sops.yaml; or give hosts their addresses by the \
         annotation `{ADDRESSES}: NETWORK=ADDRESS`"
    );
    let places = needed
        .into_iter()
        .map(|(host, (_, place))| (place.clone(), format!("the network data of {host}")));
    let finding = Finding::new(Code::EncryptedNetworkData, message).help(help).see_each(places);
    Some(finding.for_clusters(concerned.into_iter().map(|cluster| &cluster.key)))
}
