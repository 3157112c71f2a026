//! Addresses of hosts that are not in their network data.
//!
//! In order of precedence: the annotation of the host, the address that its Machine claimed, the
//! address that a pool keeps for it, the address that inspection found.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::hardware::HostHardware;
use crate::base::api::address::is_reachable;
use crate::base::api::ipam::{ADDRESSES, AddressObject, InterfaceAddresses, PoolSpec, claim_of};
use crate::base::api::names::{HostKey, Namespace};
use crate::base::finding::{Code, Finding, Origin, Place};

/// An address with its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownAddress {
    /// The address.
    pub address: IpAddr,
    /// Its source.
    pub source: AddressSource,
}

/// Sources of addresses, by precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, derive_more::Display)]
pub enum AddressSource {
    /// The annotation [`ADDRESSES`] of the host.
    #[display("the annotation {ADDRESSES}")]
    Annotation,
    /// An IPAddress that the host's Machine claimed.
    #[display("an IPAddress that its Machine claimed")]
    Claim,
    /// `preAllocations` of an IPPool.
    #[display("`preAllocations` of the IPPool")]
    Pool,
    /// The interface of that name during inspection.
    #[display("the inspection of its interface")]
    Inspection,
}

/// An object with the names that builds give it.
#[derive(Debug)]
pub(crate) struct NamedObject {
    pub(crate) namespace: Namespace,
    pub(crate) name: String,
    pub(crate) origin: Origin,
    pub(crate) object: AddressObject,
}

/// The addresses that objects give to hosts.
#[derive(Debug, Default)]
pub(crate) struct ClaimedAddresses {
    namespaces: BTreeMap<Namespace, NamespaceAddresses>,
}

#[derive(Debug, Default)]
struct NamespaceAddresses {
    /// Pools that keep or gave addresses.
    pools: BTreeMap<String, AddressPool>,
    /// Names of data by Metal3Machine.
    data: BTreeMap<String, Vec<String>>,
}

/// A pool of addresses.
#[derive(Debug, Clone, Default)]
pub struct AddressPool {
    /// The IPPool, if it is in the inputs.
    pub origin: Option<Origin>,
    /// Its spec, without what it keeps.
    pub spec: PoolSpec,
    /// Addresses that it keeps, by claim.
    pub kept: BTreeMap<String, IpAddr>,
    /// Addresses that claims got.
    pub given: BTreeMap<String, IpAddr>,
}

impl ClaimedAddresses {
    /// Reads the addresses, and reports texts that are none.
    pub(crate) fn new(objects: Vec<NamedObject>, findings: &mut Vec<Finding>) -> Self {
        let mut namespaces: BTreeMap<Namespace, NamespaceAddresses> = BTreeMap::new();
        for NamedObject { namespace, name, origin, object } in objects {
            let known = namespaces.entry(namespace).or_default();
            let mut read = |pool: &PoolSpec, text: &str, title: String, place: Place| {
                let address: Option<IpAddr> = text.parse().ok();
                let reason =
                    address.map_or(Some("is no IP address"), |address| pool.unusable(address));
                if let Some(reason) = reason {
                    let message = format!("`{text}` of {title} {reason}");
                    findings.push(
                        Finding::new(Code::InvalidHostAddress, message)
                            .at(place)
                            .help("write an address without a prefix length, such as `192.0.2.10`"),
                    );
                }
                address.filter(|_| reason.is_none())
            };
            match object {
                AddressObject::Pool(mut spec) => {
                    let pool = known.pools.entry(name.clone()).or_default();
                    for (claim, text) in &std::mem::take(&mut spec.pre_allocations) {
                        let place = origin.at(["spec", "preAllocations", claim.as_str()]);
                        let address =
                            read(&spec, text, format!("`{claim}` in the IPPool {name}"), place);
                        let kept = address.map(|address| (claim.clone(), address));
                        pool.kept.extend(kept);
                    }
                    pool.spec = spec;
                    pool.origin = Some(origin);
                }
                AddressObject::Address(spec) => {
                    let place = origin.at(["spec", "address"]);
                    let address = read(
                        &PoolSpec::default(),
                        &spec.address,
                        format!("the IPAddress {name}"),
                        place,
                    );
                    let pool = known.pools.entry(spec.pool.name).or_default();
                    let given = address.map(|address| (spec.claim.name, address));
                    pool.given.extend(given);
                }
                AddressObject::Data(spec) => {
                    known.data.entry(spec.claim.name).or_default().push(name);
                }
            }
        }
        Self { namespaces }
    }

    /// Returns Metal3's pools in the inputs, by namespace and name.
    pub(crate) fn pools(&self) -> BTreeMap<Namespace, BTreeMap<String, AddressPool>> {
        let mut all: BTreeMap<Namespace, BTreeMap<String, AddressPool>> = BTreeMap::new();
        for (namespace, known) in &self.namespaces {
            for (name, pool) in known.pools.iter().filter(|(_, pool)| pool.origin.is_some()) {
                let namespace_pools = all.entry(namespace.clone()).or_default();
                namespace_pools.insert(name.clone(), pool.clone());
            }
        }
        all
    }

    /// Returns the addresses of a host by interface. `machine` is the Metal3Machine that uses it.
    fn host_addresses(
        &self,
        host: &HostKey,
        machine: Option<&str>,
    ) -> BTreeMap<String, KnownAddress> {
        let Some(known) = self.namespaces.get(&host.namespace) else {
            return BTreeMap::new();
        };
        let data = machine.and_then(|machine| known.data.get(machine));
        let address = |(name, pool): (&String, &AddressPool)| {
            let by_host = claim_of(&host.name, name);
            let by_data = data.into_iter().flatten().map(|data| claim_of(data, name));
            // A claim of the host's name without a Machine is left from an earlier one.
            let by_name = machine.map(|_| by_host.clone());
            let given = by_data.chain(by_name).find_map(|claim| pool.given.get(&claim));
            let (address, source) = match given {
                Some(address) => (address, AddressSource::Claim),
                None => (pool.kept.get(&by_host)?, AddressSource::Pool),
            };
            let address = *address;
            Some((name.clone(), KnownAddress { address, source }))
        };
        known.pools.iter().filter_map(address).collect()
    }
}

/// The facts about a host that its addresses follow from.
pub(crate) struct AddressFacts<'a> {
    pub(crate) host: &'a HostKey,
    /// The annotation with addresses, and the document with it.
    pub(crate) annotation: Option<(&'a str, &'a Origin)>,
    /// The Metal3Machine that uses it, in its namespace.
    pub(crate) machine: Option<&'a str>,
    /// Its hardware, if addresses of inspection count.
    pub(crate) inspected: Option<&'a HostHardware>,
}

/// Returns the addresses of a host by interface.
pub(crate) fn known_addresses(
    facts: &AddressFacts<'_>,
    claimed: &ClaimedAddresses,
    findings: &mut Vec<Finding>,
) -> BTreeMap<String, KnownAddress> {
    let mut addresses = BTreeMap::new();
    let found = facts.inspected.and_then(|hardware| hardware.found.as_ref());
    for nic in found.into_iter().flat_map(|found| &found.hardware.nics) {
        let address = nic.ip.as_ref().and_then(|ip| ip.trim().parse().ok());
        let address = address.filter(|address| is_reachable(*address));
        if let (Some(name), Some(address)) = (&nic.name, address) {
            let source = AddressSource::Inspection;
            // Of an IPv4 and an IPv6 address, the first counts.
            addresses.entry(name.clone()).or_insert(KnownAddress { address, source });
        }
    }
    addresses.extend(claimed.host_addresses(facts.host, facts.machine));
    let Some((text, origin)) = facts.annotation else {
        return addresses;
    };
    match text.parse() {
        Ok(InterfaceAddresses(annotated)) => {
            let source = AddressSource::Annotation;
            let pools = claimed.namespaces.get(&facts.host.namespace).map(|known| &known.pools);
            for (name, address) in annotated {
                let pool = pools.and_then(|pools| pools.get(&name));
                match pool.and_then(|pool| pool.spec.unusable(address)) {
                    Some(why) => findings.push(
                        Finding::new(Code::InvalidHostAddress, format!("`{address}` of `{ADDRESSES}` {why}"))
                            .at(origin.at(["metadata", "annotations", ADDRESSES]))
                            .help(format!("write another address of the IPPool {name}")),
                    ),
                    None => drop(addresses.insert(name, KnownAddress { address, source })),
                }
            }
        }
        Err(error) => findings.push(
            Finding::new(Code::InvalidHostAddress, format!("`{ADDRESSES}: {text}` {error}"))
                .at(origin.at(["metadata", "annotations", ADDRESSES]))
                .help("write the addresses by interface, such as `provisioning=192.0.2.10,oam=2001:db8::10`"),
        ),
    }
    addresses
}
