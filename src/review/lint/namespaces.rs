//! Rule: clusters have hosts of another namespace, which the Machines of Cluster API cannot claim.

use std::collections::BTreeSet;

use crate::base::api::names::Namespace;
use crate::base::finding::{Code, Finding};
use crate::base::text::{abbreviated, counted};
use crate::plan::Plan;
use crate::site::Site;
use crate::site::request::Cluster;

/// Maximum number of namespaces in the message.
const NAMES_SHOWN: usize = 3;

/// Reports all such clusters at once. A host that a snapshot shows in use was claimed somehow.
pub(super) fn unclaimable(site: &Site, plan: &Plan, clusters: &[&Cluster]) -> Option<Finding> {
    let mut found: Vec<&Cluster> = Vec::new();
    let mut namespaces: BTreeSet<&Namespace> = BTreeSet::new();
    let mut count = 0;
    let claiming = clusters.iter().filter(|cluster| cluster.kind.descriptor().uses_cluster_api);
    for cluster in claiming {
        let placement = plan.clusters.get(&cluster.key).into_iter().flat_map(|it| it.values());
        let hosts = placement.flatten().map(|assigned| &site.inventory.hosts[assigned.host]);
        let unclaimable = hosts.filter(|host| {
            host.key.namespace != cluster.key.namespace && host.live.usage.is_none()
        });
        let before = count;
        for host in unclaimable {
            count += 1;
            namespaces.insert(&host.key.namespace);
        }
        if count > before {
            found.push(cluster);
        }
    }
    let (first, others) = found.split_first()?;
    let has = match others.len() {
        0 => format!("{} has", first.key),
        more => format!("{} and {} have", first.key, counted(more, "more cluster")),
    };
    let noun = if namespaces.len() == 1 { "namespace" } else { "namespaces" };
    let names: Vec<String> = namespaces.iter().map(|name| format!("`{name}`")).collect();
    let finding = Finding::new(
        Code::HostsElsewhere,
        format!(
            "{has} {} of {noun} {}, which Cluster API cannot claim",
            counted(count, "host"),
            abbreviated(&names, NAMES_SHOWN),
        ),
    )
    .at(first.kind.place_of_name(&first.origin));
    Some(finding.help(
        "Machines claim hosts of their own namespace only: keep hosts and Cluster in one namespace, by the request's \
         `metadata.namespace` or that of the BareMetalHosts",
    ))
}
