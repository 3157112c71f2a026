//! Rules: installer settings that are bound to fail.
//!
//! kubespray refuses an even number of etcd members, the public installer lacks `--network`, and
//! Kubernetes requires DNS names for nodes.

use crate::base::api::names::ObjectName;
use crate::base::finding::{Code, Finding};
use crate::site::Site;
use crate::site::request::{Cluster, Installation};

/// Checks the installations of Provisionings.
pub(super) fn failing(site: &Site, clusters: &[&Cluster]) -> Vec<Finding> {
    let installed =
        clusters.iter().filter_map(|cluster| Some((*cluster, cluster.installation.as_ref()?)));
    let findings = installed.flat_map(|(cluster, installation)| {
        let network = unknown_network(site, cluster, installation);
        let findings = [even_etcd(cluster, installation), network, unfit_names(cluster)];
        findings.into_iter().flatten().map(|finding| finding.for_cluster(&cluster.key))
    });
    findings.collect()
}

/// Every master is an etcd member. An even number tolerates no more failures than one less, and
/// kubespray refuses it.
fn even_etcd(cluster: &Cluster, installation: &Installation) -> Option<Finding> {
    let masters = installation.masters.len();
    let message = format!("etcd of `{}` would have {masters} members", cluster.key);
    masters.is_multiple_of(2).then(|| {
        Finding::new(Code::EvenEtcd, message)
            .at(cluster.origin.at(["spec", "masters"]))
            .help("use an odd number of masters: kubespray refuses an even one, which tolerates no more failures")
    })
}

/// The public image of KUD fails with `--network`.
fn unknown_network(site: &Site, cluster: &Cluster, installation: &Installation) -> Option<Finding> {
    let is_public = site.settings.provisioning.has_public_kud();
    let network = installation.pod_subnet.as_ref().filter(|_| is_public)?;
    let message =
        format!("the public installer fails with the unknown option `--network {network}`");
    let finding = Finding::new(Code::DoubtfulInstallerField, message);
    let help = "remove PodSubnet, or set `provisioning.image` in sipgen.yaml to an installer that supports it";
    Some(finding.at(cluster.origin.at(["spec", "PodSubnet"])).help(help))
}

/// Kubernetes requires node names to be DNS-1123 subdomains.
fn unfit_names(cluster: &Cluster) -> Option<Finding> {
    let named = cluster.parts().filter_map(|(_, part, set)| Some((part.node.as_ref()?, set)));
    let unfit: Vec<_> =
        named.filter(|(name, _)| name.as_str().parse::<ObjectName>().is_err()).collect();
    let (first, _) = unfit.first()?;
    let others =
        if unfit.len() == 1 { String::new() } else { format!(", and {} more", unfit.len() - 1) };
    let message = format!("invalid node name: `{first}` is not a DNS-1123 subdomain{others}");
    let places = unfit.iter().map(|(_, node_set)| cluster.origin.key(node_set.at.route.clone()));
    Some(Finding::new(Code::UnfitNodeName, message).at_each(places).help(
        "use lower-case letters, digits, `-` and `.`: the inventory name becomes the node name",
    ))
}
