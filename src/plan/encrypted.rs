//! Encrypted network data of hosts that clusters could use.

use std::collections::{BTreeMap, BTreeSet};

use kube::core::SelectorExt;

use crate::base::api::ipam::ADDRESSES;
use crate::base::api::names::{ClusterKey, HostKey, Part};
use crate::base::finding::{Code, Finding, Place};
use crate::base::text::counted;
use crate::site::Site;
use crate::site::inventory::networks::{NetworkDataHolder, NoNetworkData};
use crate::site::request::{Cluster, NodeSet};

/// Reports encrypted network data that services need: of hosts that a node set may take and whose
/// addresses its services use. Other network data may stay encrypted.
pub(super) fn needed(site: &Site, clusters: &[&Cluster]) -> Option<Finding> {
    let mut needed: BTreeMap<&HostKey, (&NetworkDataHolder, &Place)> = BTreeMap::new();
    let mut concerned: BTreeSet<&ClusterKey> = BTreeSet::new();
    for host in &site.inventory.hosts {
        let Err(NoNetworkData::Encrypted(holder, place)) = &host.network.data else { continue };
        let may_have = |(cluster, part, set): &(&Cluster, &Part, &NodeSet)| {
            let lacks_one = |interface: &str| host.address(interface).is_err();
            let mut interfaces = cluster.interfaces(part.role).into_iter();
            set.selector.matches(&host.labels) && interfaces.any(lacks_one)
        };
        let node_sets = clusters.iter().flat_map(|cluster| cluster.parts());
        for (cluster, ..) in node_sets.filter(may_have) {
            needed.insert(&host.key, (holder, &**place));
            concerned.insert(&cluster.key);
        }
    }
    let (first, (holder, _)) = needed.first_key_value()?;
    let message = match needed.len() {
        1 => format!("host {first} has no address for services: {holder} is encrypted with SOPS"),
        count => format!(
            "{} have no addresses for services: their network data is encrypted with SOPS",
            counted(count, "host")
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
    Some(finding.for_clusters(concerned))
}
