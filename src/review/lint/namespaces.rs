//! Rule: clusters have hosts of another namespace, which the Machines of Cluster API cannot claim.

use std::collections::BTreeSet;

use super::assigned_hosts;
use crate::base::api::names::Namespace;
use crate::base::finding::{Code, Finding};
use crate::base::text::{abbreviated, counted};
use crate::plan::Plan;
use crate::site::Site;
use crate::site::inventory::Host;
use crate::site::request::Cluster;

/// Maximum number of namespaces in the message.
const NAMES_SHOWN: usize = 3;

/// Reports all such clusters at once. A host that a snapshot shows in use was claimed somehow.
pub(super) fn unclaimable(site: &Site, plan: &Plan, clusters: &[&Cluster]) -> Option<Finding> {
    let (mut found, mut hosts): (Vec<&Cluster>, Vec<&Host>) = (Vec::new(), Vec::new());
    let claiming = clusters.iter().filter(|cluster| cluster.kind.descriptor().uses_cluster_api);
    for cluster in claiming {
        let placed = assigned_hosts(site, plan, cluster);
        let before = hosts.len();
        hosts.extend(placed.filter(|host| {
            host.key.namespace != cluster.key.namespace && host.live.usage.is_none()
        }));
        if hosts.len() > before {
            found.push(cluster);
        }
    }
    let namespaces: BTreeSet<&Namespace> = hosts.iter().map(|host| &host.key.namespace).collect();
    let (first, others) = found.split_first()?;
    let has = match others.len() {
        0 => format!("{} has", first.key),
        more => format!("{} and {} have", first.key, counted(more, "more cluster")),
    };
    let noun = if namespaces.len() == 1 { "namespace" } else { "namespaces" };
    let names = abbreviated(namespaces.iter().map(|name| format!("`{name}`")), NAMES_SHOWN);
    let hosts = counted(hosts.len(), "host");
    let message = format!("{has} {hosts} of {noun} {names}, which Cluster API cannot claim");
    let place = first.kind.place_of_name(&first.origin);
    Some(Finding::new(Code::HostsElsewhere, message).at(place).help(
        "Machines claim hosts of their own namespace only: keep hosts and Cluster in one namespace, by the request's \
         `metadata.namespace` or that of the BareMetalHosts",
    ))
}
