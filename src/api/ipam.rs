//! Objects from which the addresses of hosts follow: those of Metal3's IPAM and of Cluster API's,
//! and the data that CAPM3 makes for a Machine.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::Deserialize;

use super::group;
use super::host::Metadata;
use super::names::Invalid;

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
/// The kind of what CAPM3 renders for one Machine.
pub const DATA: &str = "Metal3Data";
const DATA_GROUP: &str = "infrastructure.cluster.x-k8s.io";

/// The live objects with claimed addresses: plural of the kind, and its versions, the newest first.
pub const LIVE: [(&str, &str, &[&str]); 3] = [
    (ADDRESS, "ipaddresses", &["ipam.metal3.io/v1alpha1"]),
    (
        ADDRESS,
        "ipaddresses",
        &[
            "ipam.cluster.x-k8s.io/v1beta2",
            "ipam.cluster.x-k8s.io/v1beta1",
        ],
    ),
    (
        DATA,
        "metal3datas",
        &[
            "infrastructure.cluster.x-k8s.io/v1beta2",
            "infrastructure.cluster.x-k8s.io/v1beta1",
        ],
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
    /// Addresses by the claims that they are kept for.
    pub pre_allocations: BTreeMap<String, String>,
}

/// The spec of an address. Cluster API's field names end in `Ref`.
#[derive(Debug, Clone, Deserialize)]
pub struct AddressSpec {
    /// The address.
    pub address: String,
    /// The pool that it is from.
    #[serde(alias = "poolRef")]
    pub pool: Named,
    /// The claim that has it.
    #[serde(alias = "claimRef")]
    pub claim: Named,
}

/// The spec of a Machine's data.
#[derive(Debug, Clone, Deserialize)]
pub struct DataSpec {
    /// The claim for it, which has the name of the Metal3Machine.
    pub claim: Named,
}

/// A reference by name.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Named {
    /// The name.
    #[serde(default)]
    pub name: String,
}

/// An object with any spec.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WithSpec<T> {
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

/// Addresses by interface, in the form of [`ADDRESSES`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addresses(pub BTreeMap<String, IpAddr>);

impl FromStr for Addresses {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let mut addresses = BTreeMap::new();
        for entry in text.split(',') {
            let (interface, address) = entry
                .split_once('=')
                .ok_or_else(|| Invalid::because("is not of the form `INTERFACE=ADDRESS`"))?;
            let address = address.trim().parse().map_err(|_| {
                Invalid::because("has a value that is no IP address without prefix length")
            })?;
            if addresses
                .insert(interface.trim().to_owned(), address)
                .is_some()
            {
                return Err(Invalid::because("names an interface twice"));
            }
        }
        Ok(Self(addresses))
    }
}
