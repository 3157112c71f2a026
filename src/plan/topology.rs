//! Topology domains: the values of topology keys on hosts.

use crate::inventory::Host;

/// Returns the topology domain of a host. An empty value counts as missing, because ViNO copies a
/// label that its node lacks as `""`.
pub(crate) fn domain<'a>(host: &'a Host, topology_key: &str) -> Option<&'a str> {
    host.labels
        .get(topology_key)
        .map(String::as_str)
        .filter(|domain| !domain.is_empty())
}

/// Returns the known topology domains of a host, each with its key.
pub(super) fn domains<'k, 'h>(host: &'h Host, keys: &[&'k str]) -> Vec<(&'k str, &'h str)> {
    keys.iter()
        .filter_map(|key| Some((*key, domain(host, key)?)))
        .collect()
}
