//! IPPool (`ipam.metal3.io`), from which Metal3's IPAM gives addresses to hosts.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::host::Metadata;
use super::names::HostKey;

/// The API group.
pub const GROUP: &str = "ipam.metal3.io";
/// The kind.
pub const KIND: &str = "IPPool";

/// A pool of addresses.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IpPool {
    /// API group and version.
    #[serde(default)]
    pub api_version: String,
    /// Name and namespace.
    #[serde(default)]
    pub metadata: Metadata,
    /// The desired state.
    #[serde(default)]
    pub spec: IpPoolSpec,
}

/// A pool's spec.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct IpPoolSpec {
    /// Addresses by the claims that they are kept for.
    pub pre_allocations: BTreeMap<String, String>,
}

/// Returns the name of a host's claim, as CAPM3 forms it with `--enable-bmh-name-based-preallocation`.
pub fn claim_of(host: &HostKey, pool: &str) -> String {
    format!("{}-{pool}", host.name)
}
