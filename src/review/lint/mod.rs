//! Likely mistakes in valid input, such as a selector that matches no host.
//!
//! Each file is one rule: a function of the site that returns warnings with the exact node to
//! check.
//!
//! * `selectors`: a labelSelector matches no host.
//! * `topology_keys`: no host has the label of a topologyKey; an error, found before planning.
//! * `output_labels`: an output sets a label by which hosts are chosen; an error.
//! * `claimants`: an object that is no request claims hosts.
//! * `interfaces`: a service uses a network that no host has, or that some hosts spell differently.
//! * `images`: a container image without a version, or too old for the rendered configuration.
//! * `logins`: an auth service without any way to log in.
//! * `machine_templates`: a machine template does not select the assigned hosts.
//! * `former_labels`: hosts have two sets of labels.
//! * `installers`: an installer cannot do as requested.
//! * `load_balancers`: a load balancer has no node set.
//! * `addresses`: two hosts have one address, or a clusterIP is the address of a host.
//! * `bmc_transport`: a jump host logs in to BMCs that no certificate identifies.
//! * `namespaces`: clusters have hosts that Cluster API cannot claim.
//! * `network_data`: unused network data, and hosts whose network data is missing.
//! * `node_ports`: a Service of the repo conflicts with a NodePort of a cluster.
//! * `definitions`: an agent applies requests together with hosts, but nothing defines their kind.
//! * `templates`: the directory of templates is empty, or templates of the SIP operator are not
//!   used.
//!
//! `node_sets` finds the hosts of each node set once for all rules, so that no rule scans all hosts
//! per cluster. Problems that errors already report are skipped.

mod addresses;
mod bmc_transport;
mod claimants;
mod definitions;
mod former_labels;
mod images;
mod installers;
mod interfaces;
mod load_balancers;
mod logins;
mod machine_templates;
mod namespaces;
mod network_data;
mod node_ports;
mod node_sets;
mod output_labels;
mod selectors;
mod templates;
mod topology_keys;

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use crate::base::api::names::{ClusterKey, Part};
use crate::base::finding::{Finding, Place};
use crate::plan::Plan;
use crate::site::Site;
use crate::site::inventory::Host;
use crate::site::request::{Cluster, ClusterService};

use node_sets::NodeSets;

pub(crate) use output_labels::label_user;
pub(crate) use templates::{no_templates, operators_templates};
pub(crate) use topology_keys::without_label as unknown_topology_keys;

/// Clusters and node sets that the rules skip.
#[derive(Debug, Default)]
pub struct LintExceptions {
    /// Clusters that were not requested on the command line.
    pub clusters: BTreeSet<ClusterKey>,
    /// Node sets whose shortage is already an error.
    pub short: BTreeSet<(ClusterKey, Part)>,
}

/// Runs all rules. Findings are in the order of rules, clusters, roles and services.
pub fn lint(site: &Site, plan: &Plan, except: &LintExceptions) -> Vec<Finding> {
    let node_sets = NodeSets::new(site, except);
    let clusters = node_sets.clusters.as_slice();
    let by_service = |rule: fn(&Cluster, &ClusterService) -> Option<Finding>| -> Vec<Finding> {
        let found = services(clusters).filter_map(|(cluster, service)| {
            Some(rule(cluster, service)?.for_cluster(&cluster.key))
        });
        found.collect()
    };
    type Rule<'a> = &'a (dyn Fn() -> Vec<Finding> + Sync);
    let rules: [Rule<'_>; 18] = [
        &|| selectors::unmatched(&node_sets),
        &|| output_labels::selected(site),
        &|| interfaces::unknown(&node_sets),
        &|| by_service(load_balancers::without_node_set),
        &|| by_service(images::unsuitable),
        &|| by_service(logins::impossible),
        &|| machine_templates::unpinned(site, clusters),
        &|| former_labels::kept(site).into_iter().collect(),
        &|| installers::failing(site, clusters),
        &|| addresses::host_addresses(site, clusters),
        &|| addresses::shared_addresses(site, plan, clusters),
        &|| bmc_transport::unverified(site, plan, clusters).into_iter().collect(),
        &|| network_data::unnamed(site),
        &|| network_data::missing(&node_sets),
        &|| node_ports::repo_node_ports(site, clusters),
        &|| definitions::missing(site),
        &|| claimants::foreign(site, plan),
        &|| namespaces::unclaimable(site, plan, clusters).into_iter().collect(),
    ];
    rules.par_iter().flat_map_iter(|rule| rule()).collect()
}

/// Returns the hosts that a plan assigns to a cluster.
fn assigned_hosts<'a>(
    site: &'a Site,
    plan: &'a Plan,
    cluster: &Cluster,
) -> impl Iterator<Item = &'a Host> {
    let placement = plan.clusters.get(&cluster.key).into_iter().flat_map(BTreeMap::values);
    placement.flatten().map(|assigned| &site.inventory.hosts[assigned.host])
}

/// Returns the services of clusters.
fn services<'a>(
    clusters: &[&'a Cluster],
) -> impl Iterator<Item = (&'a Cluster, &'a ClusterService)> {
    let services = |cluster: &'a Cluster| cluster.services.iter().map(move |it| (cluster, it));
    clusters.iter().copied().flat_map(services)
}

/// Returns the place of a field of a service.
fn service_field(cluster: &Cluster, service: &ClusterService, field: &'static str) -> Place {
    cluster.origin.at(service.route().into_iter().chain([field.into()]))
}
