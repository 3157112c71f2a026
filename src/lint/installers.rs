//! What an installer is told and cannot do: an etcd that kubespray refuses, a network that the public installer does not
//! know, names that no node of Kubernetes has.

use crate::api::names::{NodeName, ObjectName};
use crate::finding::{Code, Finding};
use crate::request::{Cluster, Installation, NodeSet};
use crate::settings::provisioning::{DEFAULT_IMAGE, InventoryFormat};
use crate::site::Site;

/// What is wrong with what Provisionings have installed.
pub(super) fn doubtful(site: &Site, clusters: &[&Cluster]) -> Vec<Finding> {
    let installed = clusters
        .iter()
        .filter_map(|cluster| Some((*cluster, cluster.installation.as_ref()?)));
    let mut findings = Vec::new();
    for (cluster, installation) in installed {
        findings.extend(even_etcd(cluster, installation));
        findings.extend(unknown_network(site, cluster, installation));
        findings.extend(unfit_names(cluster));
    }
    findings
}

/// All masters are members of etcd. With an even number of them, the loss of half of them stops it, and kubespray does
/// not begin.
fn even_etcd(cluster: &Cluster, installation: &Installation) -> Option<Finding> {
    let masters = installation.masters.len();
    let message = format!("the etcd of {} would have {masters} members", cluster.key);
    masters.is_multiple_of(2).then(|| {
        Finding::new(Code::EvenEtcd, message)
            .at(cluster.origin.at(["spec", "masters"]))
            .help("name an odd number of masters: kubespray refuses an even one, and it survives no more than one less")
            .of(&cluster.key)
    })
}

/// The installer of the default image ends with an error at `--network`.
fn unknown_network(site: &Site, cluster: &Cluster, installation: &Installation) -> Option<Finding> {
    let settings = &site.settings.provisioning;
    let is_public = settings.image == DEFAULT_IMAGE && settings.inventory == InventoryFormat::Ini;
    let network = installation.pod_subnet.as_ref().filter(|_| is_public)?;
    let message =
        format!("the public installer does not know `--network {network}`, and ends with an error");
    Some(
        Finding::new(Code::NetworkUnknown, message)
            .at(cluster.origin.at(["spec", "PodSubnet"]))
            .help("leave PodSubnet out, or name an installer that knows it by `provisioning.image` in sipgen.yaml")
            .of(&cluster.key),
    )
}

/// Kubernetes takes DNS names for its nodes.
fn unfit_names(cluster: &Cluster) -> Option<Finding> {
    let named = cluster
        .node_sets
        .iter()
        .filter_map(|(part, node_set)| Some((part.node.as_ref()?, node_set)));
    let unfit: Vec<(&NodeName, &NodeSet)> = named
        .filter(|(name, _)| name.as_str().parse::<ObjectName>().is_err())
        .collect();
    let (first, _) = unfit.first()?;
    let others = if unfit.len() == 1 {
        String::new()
    } else {
        format!(", nor of {} more", unfit.len() - 1)
    };
    let message = format!("Kubernetes takes no node of the name `{first}`{others}");
    let places = unfit
        .iter()
        .map(|(_, node_set)| cluster.origin.key(node_set.route.clone()));
    Some(
        places
            .fold(Finding::new(Code::UnfitNodeName, message), Finding::at)
            .help("use lower-case letters, digits, `-` and `.`: the name in the inventory becomes that of the node")
            .of(&cluster.key),
    )
}
