//! Topology domains: the values of topology keys on hosts.

use crate::base::api::cluster_api::FAILURE_DOMAIN;
use crate::base::api::names::{Part, Role};
pub(super) use crate::base::grouping::occurrences;
use crate::site::inventory::Host;
use crate::site::request::Cluster;

/// Returns the known topology domains of a host, each with its key.
pub(super) fn domains<'k, 'h>(host: &'h Host, keys: &'k [String]) -> Vec<(&'k str, &'h str)> {
    keys.iter().filter_map(|key| Some((key.as_str(), host.domain(key)?))).collect()
}

/// Returns the topology domain of a control-plane host that becomes its failure domain in Cluster API.
///
/// A failure domain that others have set stays.
pub(crate) fn failure_domain<'a>(
    cluster: &Cluster,
    part: &Part,
    host: &'a Host,
) -> Option<&'a str> {
    let is_one = cluster.without_failure_domains.is_some() && part.role == Role::ControlPlane;
    let node_set = cluster.node_set(part).filter(|_| is_one)?;
    let domain = host.domain(node_set.topology_keys.first()?)?;
    let other = host.labels.get(FAILURE_DOMAIN);
    other.is_none_or(|other| other == domain).then_some(domain)
}
