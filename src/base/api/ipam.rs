//! Objects from which the addresses of hosts follow: those of Metal3's IPAM and of Cluster API's,
//! and the data that CAPM3 makes for a Machine.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use k8s_openapi::api::core::v1::LocalObjectReference;
use serde::Deserialize;

use super::address::{is_reachable, unusable};
use super::group;
use super::host::Metadata;
use super::names::Invalid;
use super::network::IpNetwork;

/// Annotation on a host: its addresses, as `INTERFACE=ADDRESS` separated by commas.
pub const ADDRESSES: &str = "sip.airshipit.org/addresses";

/// The API group of Metal3's IPAM.
pub const GROUP: &str = "ipam.metal3.io";
/// The API group of Cluster API's IPAM, which other providers of addresses implement.
pub const CLUSTER_API_GROUP: &str = "ipam.cluster.x-k8s.io";
/// The kind of Metal3's pools.
pub const POOL: &str = "IPPool";
/// The kind of an address that a pool gave to a claim, in both groups.
pub const ADDRESS: &str = "IPAddress";
/// The kind of claims on an address of Metal3's pools.
pub const CLAIM: &str = "IPClaim";
/// The kind of Cluster API's claims on an address.
pub const CLUSTER_API_CLAIM: &str = "IPAddressClaim";
/// Annotation on a claim: the address that it requests.
pub const REQUESTED: &str = "ipAddress";
/// The kind of what CAPM3 renders for one Machine.
pub const DATA: &str = "Metal3Data";
const DATA_GROUP: &str = "infrastructure.cluster.x-k8s.io";

/// The live objects with claimed addresses: plural of the kind, and its versions, the newest first.
pub const LIVE: [(&str, &str, &[&str]); 3] = [
    (ADDRESS, "ipaddresses", &["ipam.metal3.io/v1alpha1"]),
    (ADDRESS, "ipaddresses", &["ipam.cluster.x-k8s.io/v1beta2", "ipam.cluster.x-k8s.io/v1beta1"]),
    (
        DATA,
        "metal3datas",
        &["infrastructure.cluster.x-k8s.io/v1beta2", "infrastructure.cluster.x-k8s.io/v1beta1"],
    ),
];

/// An object about addresses.
#[derive(Debug, Clone)]
pub enum AddressObject {
    /// A pool.
    Pool(PoolSpec),
    /// An address of a claim.
    Address(AddressSpec),
    /// The data of a Machine.
    Data(DataSpec),
}

/// The spec of a pool.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PoolSpec {
    /// The Cluster that the pool belongs to.
    pub cluster_name: Option<String>,
    /// Its ranges.
    pub pools: Vec<PoolRange>,
    /// Gateway of the ranges that have none of their own.
    pub gateway: Option<String>,
    /// Prefix length of the ranges that have none of their own.
    pub prefix: Option<u32>,
    /// Addresses by the claims that they are kept for.
    pub pre_allocations: BTreeMap<String, String>,
}

/// A range of a pool.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct PoolRange {
    /// First address.
    pub start: Option<String>,
    /// Last address.
    pub end: Option<String>,
    /// Network. Without a start, its own address is none of the range.
    pub subnet: Option<String>,
    /// Gateway.
    pub gateway: Option<String>,
    /// Prefix length.
    pub prefix: Option<u32>,
}

impl PoolRange {
    /// Returns whether Metal3 finds an address in the range; `None` if the range cannot be read.
    pub fn contains(&self, address: IpAddr) -> Option<bool> {
        let parse = |text: &Option<String>| text.as_deref().map(str::parse::<IpAddr>).transpose();
        let (start, end) = (parse(&self.start).ok()?, parse(&self.end).ok()?);
        let is_in_subnet = match &self.subnet {
            Some(subnet) => {
                let subnet = IpNetwork::parse(subnet)?;
                // Metal3 counts from the start, and ends at the first address outside.
                subnet.contains(address)
                    && start.map_or(address > subnet.address(), |start| subnet.contains(start))
            }
            None => start.is_some(),
        };
        let is_alike = |bound: &IpAddr| bound.is_ipv4() == address.is_ipv4();
        let is_after_start = start.is_none_or(|start| is_alike(&start) && start <= address);
        // Metal3 ignores the end of a range without a start.
        let end = end.filter(|_| start.is_some());
        let is_before_end = end.is_none_or(|end| is_alike(&end) && address <= end);
        Some(is_in_subnet && is_after_start && is_before_end)
    }
}

impl PoolSpec {
    /// Returns why no host can have an address of the pool.
    pub fn unusable(&self, address: IpAddr) -> Option<&'static str> {
        let mut ranges = self.pools.iter();
        let range = ranges.find(|range| range.contains(address) == Some(true));
        let prefix = range.and_then(|range| range.prefix).or(self.prefix);
        let ranges = self.pools.iter().map(|range| &range.gateway);
        let gateways = ranges.chain([&self.gateway]).flatten();
        unusable(address, prefix, gateways.filter_map(|gateway| gateway.parse().ok()))
    }

    /// Returns whether an address is in none of the ranges, as far as these can be read.
    pub fn excludes(&self, address: IpAddr) -> bool {
        let mut ranges = self.pools.iter();
        !self.pools.is_empty() && ranges.all(|range| range.contains(address) == Some(false))
    }

    /// Returns whether an address is in one of the ranges.
    pub fn includes(&self, address: IpAddr) -> bool {
        self.pools.iter().any(|range| range.contains(address) == Some(true))
    }
}

/// The spec of an address. Cluster API's field names end in `Ref`.
#[derive(Debug, Clone, Deserialize)]
pub struct AddressSpec {
    /// The address.
    pub address: String,
    /// Gateway of its network.
    pub gateway: Option<String>,
    /// Prefix length of its network.
    pub prefix: Option<u32>,
    /// The pool that it is from.
    #[serde(alias = "poolRef")]
    pub pool: LocalObjectReference,
    /// The claim that has it.
    #[serde(alias = "claimRef")]
    pub claim: LocalObjectReference,
}

/// The spec of a claim.
#[derive(Debug, Clone, Deserialize)]
pub struct ClaimSpec {
    /// The pool.
    #[serde(alias = "poolRef")]
    pub pool: LocalObjectReference,
}

/// The spec of a Machine's data.
#[derive(Debug, Clone, Deserialize)]
pub struct DataSpec {
    /// The claim for it, which has the name of the Metal3Machine.
    pub claim: LocalObjectReference,
}

/// An object with any spec.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SpecObject<T> {
    /// API group and version.
    #[serde(default)]
    pub api_version: String,
    /// Name and namespace.
    #[serde(default)]
    pub metadata: Metadata,
    /// The desired state.
    pub spec: T,
}

/// Returns whether a kind of a group is one of these objects.
pub fn is_address_object(kind: &str, api_version: &str) -> bool {
    let group = group(api_version);
    match kind {
        POOL => group == GROUP,
        ADDRESS => group == GROUP || group == CLUSTER_API_GROUP,
        CLAIM => group == GROUP,
        CLUSTER_API_CLAIM => group == CLUSTER_API_GROUP,
        DATA => group == DATA_GROUP,
        _ => false,
    }
}

/// Returns the name of the claim on a pool's address for a host or its data, as CAPM3 forms it. It
/// names claims after hosts with `--enable-bmh-name-based-preallocation`, else after the data of
/// their Machines.
pub fn claim_of(holder: impl fmt::Display, pool: &str) -> String {
    format!("{holder}-{pool}")
}

/// Parses addresses by interface, in the form of [`ADDRESSES`].
///
/// # Errors
///
/// Returns why the text has another form, or an address is not usable.
pub fn interface_addresses(text: &str) -> Result<BTreeMap<String, IpAddr>, Invalid> {
    let mut addresses = BTreeMap::new();
    for entry in text.split(',') {
        let (interface, address) =
            entry.split_once('=').ok_or("is not of the form `INTERFACE=ADDRESS`")?;
        let address = address.trim().parse();
        let address =
            address.map_err(|_| "has a value that is no IP address without prefix length")?;
        if !is_reachable(address) {
            return Err("has an address by which no other machine reaches the host".into());
        }
        if addresses.insert(interface.trim().to_owned(), address).is_some() {
            return Err("names an interface twice".into());
        }
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_the_addresses_that_metal3_finds_in_it() {
        let range = |start: &str, end: &str, subnet: &str| {
            let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            let (start, end, subnet) = (text(start), text(end), text(subnet));
            PoolRange { start, end, subnet, ..PoolRange::default() }
        };
        for (start, end, subnet, address, expected) in [
            ("192.0.2.10", "192.0.2.50", "", "192.0.2.10", Some(true)),
            ("192.0.2.10", "192.0.2.50", "", "192.0.2.50", Some(true)),
            ("192.0.2.10", "192.0.2.50", "", "192.0.2.51", Some(false)),
            ("192.0.2.10", "192.0.2.50", "", "203.0.113.77", Some(false)),
            ("192.0.2.10", "", "192.0.2.0/24", "192.0.2.200", Some(true)),
            ("192.0.2.10", "", "192.0.2.0/24", "192.0.3.1", Some(false)),
            ("10.0.0.1", "", "192.0.2.0/24", "192.0.2.200", Some(false)),
            ("192.0.1.250", "", "192.0.2.0/24", "192.0.2.200", Some(false)),
            ("", "", "192.0.2.0/24", "192.0.2.1", Some(true)),
            ("", "", "192.0.2.0/24", "192.0.2.0", Some(false)),
            ("", "", "2001:db8::/64", "2001:db8::9", Some(true)),
            ("", "", "2001:db8::/64", "2001:db9::9", Some(false)),
            ("192.0.2.10", "192.0.2.50", "", "2001:db8::9", Some(false)),
            ("", "192.0.2.50", "", "192.0.2.10", Some(false)),
            ("${START}", "192.0.2.50", "", "192.0.2.10", None),
            ("", "", "${SUBNET}", "192.0.2.10", None),
        ] {
            let found = range(start, end, subnet).contains(address.parse().unwrap());
            assert_eq!(found, expected, "{start} {end} {subnet} {address}");
        }
    }
}
