//! Addresses of hosts that are not in their network data.
//!
//! In order of precedence: the annotation of the host, the address that its Machine claimed, the
//! address that a pool keeps for it, the address that inspection found.

use std::collections::BTreeMap;
use std::mem;
use std::net::IpAddr;

use crate::base::api::address::is_reachable;
use crate::base::api::hardware::Hardware;
use crate::base::api::ipam::{
    ADDRESSES, AddressObject, AddressSpec, PoolSpec, claim_of, interface_addresses,
};
use crate::base::api::names::{HostKey, Namespace};
use crate::base::finding::{Code, Finding, Origin, Place};
use crate::base::grouping::occurrences;

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
    /// Set for the copy of a live object that no build renders.
    pub(crate) is_live: bool,
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
#[derive(Debug, Default)]
pub(crate) struct AddressPool {
    /// The IPPool, if it is in the inputs.
    pub(crate) origin: Option<Origin>,
    /// Set if only a live copy of it is in the inputs.
    is_live: bool,
    /// Its spec, without what it keeps.
    pub(crate) spec: PoolSpec,
    /// Addresses that it keeps, by claim.
    kept: BTreeMap<String, KeptAddress>,
    /// Addresses that claims got.
    pub(crate) given: BTreeMap<String, IpAddr>,
}

/// An address that a pool keeps for a claim.
#[derive(Debug)]
pub(crate) struct KeptAddress {
    /// The address; `None` if the value is none, or a variable of Flux.
    pub(crate) address: Option<IpAddr>,
    /// Its place.
    pub(crate) place: Place,
    /// Set if only a live copy of the pool has it. sipgen's component may have written it.
    pub(crate) is_live: bool,
    /// Set if IPAM accepts it.
    is_valid: bool,
}

impl AddressPool {
    /// Returns what the pool keeps, by claim. Live copies count only without a manifest.
    pub(crate) fn kept(&self) -> impl Iterator<Item = (&String, &KeptAddress)> {
        self.kept.iter().filter(|(_, kept)| kept.is_live == self.is_live)
    }
}

/// A function that returns why an address is invalid.
type WhyInvalid<'a> = dyn Fn(IpAddr) -> Option<&'static str> + 'a;

impl ClaimedAddresses {
    /// Reads the addresses, and reports texts that are none.
    pub(crate) fn new(mut objects: Vec<NamedObject>, findings: &mut Vec<Finding>) -> Self {
        // The last counts: a manifest is what will be applied.
        objects.sort_by_key(|object| !object.is_live);
        let mut namespaces: BTreeMap<Namespace, NamespaceAddresses> = BTreeMap::new();
        for NamedObject { namespace, name, origin, object, is_live } in objects {
            let known = namespaces.entry(namespace).or_default();
            let mut read = |why: &WhyInvalid<'_>, text: &str, title: String, place: Place| {
                let address: Option<IpAddr> = text.parse().ok();
                let reason = address.map_or(Some("is no IP address"), why);
                if let Some(reason) = reason {
                    let message = format!("`{text}` of {title} {reason}");
                    let help = match address {
                        Some(_) => "write another address of a range of the pool",
                        None => "write an address without a prefix length, such as `192.0.2.10`",
                    };
                    let finding = Finding::new(Code::InvalidHostAddress, message);
                    findings.push(finding.at(place).help(help));
                }
                address.filter(|_| reason.is_none())
            };
            match object {
                AddressObject::Pool(mut spec) => {
                    let pool = known.pools.entry(name.clone()).or_default();
                    let entries = mem::take(&mut spec.pre_allocations);
                    let addresses = entries.values().filter_map(|text| text.parse().ok());
                    let claims: BTreeMap<IpAddr, usize> = occurrences(addresses);
                    // IPAM refuses a pool with such an entry.
                    let why = |address: IpAddr| {
                        let outside = spec.excludes(address).then_some("is in none of its ranges");
                        let is_shared = claims.get(&address).is_some_and(|count| *count > 1);
                        let shared = is_shared.then_some("is kept for another claim, too");
                        spec.unusable(address).or(outside).or(shared)
                    };
                    for (claim, text) in &entries {
                        let place = origin.at(["spec", "preAllocations", claim.as_str()]);
                        let title = format!("`{claim}` in the IPPool {name}");
                        let address = text.parse().ok();
                        let is_valid = !text.contains("${")
                            && read(&why, text, title, place.clone()).is_some();
                        let kept = KeptAddress { address, place, is_live, is_valid };
                        pool.kept.insert(claim.clone(), kept);
                    }
                    *pool = AddressPool { origin: Some(origin), is_live, spec, ..mem::take(pool) };
                }
                AddressObject::Address(spec) => {
                    let place = origin.at(["spec", "address"]);
                    let AddressSpec { gateway, prefix, .. } = spec.clone();
                    let network = PoolSpec { gateway, prefix, ..PoolSpec::default() };
                    let why = |address| network.unusable(address);
                    let address = read(&why, &spec.address, format!("the IPAddress {name}"), place);
                    let pool = known.pools.entry(spec.pool.name).or_default();
                    pool.given.extend(address.map(|address| (spec.claim.name, address)));
                }
                AddressObject::Data(spec) => {
                    known.data.entry(spec.claim.name).or_default().push(name);
                }
            }
        }
        Self { namespaces }
    }

    /// Returns Metal3's pools of a namespace in the inputs, by name.
    pub(crate) fn pools(
        &self,
        namespace: &Namespace,
    ) -> impl Iterator<Item = (&String, &AddressPool)> {
        let pools = self.namespaces.get(namespace).into_iter().flat_map(|known| &known.pools);
        pools.filter(|(_, pool)| pool.origin.is_some())
    }

    /// Returns the claims of a host on a pool, by precedence: those of its Metal3Machine's data, and
    /// that of its name.
    pub(crate) fn claims(&self, host: &HostKey, machine: Option<&str>, pool: &str) -> Vec<String> {
        let known = self.namespaces.get(&host.namespace);
        let data = known.zip(machine).and_then(|(known, machine)| known.data.get(machine));
        let holders = data.into_iter().flatten().map(String::as_str).chain([host.name.as_str()]);
        holders.map(|holder| claim_of(holder, pool)).collect()
    }

    /// Reads the addresses in the annotation of a host, and reports mistakes in them.
    pub(crate) fn annotated_addresses(
        &self,
        namespace: &Namespace,
        text: &str,
        origin: &Origin,
        findings: &mut Vec<Finding>,
    ) -> BTreeMap<String, KnownAddress> {
        let mut report = |message: String, help: String| {
            let finding = Finding::new(Code::InvalidHostAddress, message);
            let place = origin.at(["metadata", "annotations", ADDRESSES]);
            findings.push(finding.at(place).help(help));
        };
        let mut addresses = BTreeMap::new();
        match interface_addresses(text) {
            Ok(annotated) => {
                let source = AddressSource::Annotation;
                let pools = self.namespaces.get(namespace).map(|known| &known.pools);
                for (name, address) in annotated {
                    let pool = pools.and_then(|pools| pools.get(&name));
                    match pool.and_then(|pool| pool.spec.unusable(address)) {
                        Some(why) => report(
                            format!("`{address}` of `{ADDRESSES}` {why}"),
                            format!("write another address of the IPPool {name}"),
                        ),
                        None => drop(addresses.insert(name, KnownAddress { address, source })),
                    }
                }
            }
            Err(error) => report(
                format!("`{ADDRESSES}: {text}` {error}"),
                "write the addresses by interface, such as `provisioning=192.0.2.10,oam=2001:db8::10`"
                    .to_owned(),
            ),
        }
        addresses
    }

    /// Returns the addresses of a host by interface. `machine` is the Metal3Machine that uses it.
    pub(crate) fn host_addresses(
        &self,
        host: &HostKey,
        machine: Option<&str>,
    ) -> BTreeMap<String, KnownAddress> {
        let Some(known) = self.namespaces.get(&host.namespace) else { return BTreeMap::new() };
        let address = |(name, pool): (&String, &AddressPool)| {
            let claims = self.claims(host, machine, name);
            let mut kept = claims.iter().filter_map(|claim| pool.kept.get(claim));
            // A claim of the host's name without a Machine is left from an earlier one.
            let claims = claims.iter().filter(|_| machine.is_some());
            let (address, source) = match claims.filter_map(|claim| pool.given.get(claim)).next() {
                Some(address) => (*address, AddressSource::Claim),
                None => (kept.find(|kept| kept.is_valid)?.address?, AddressSource::Pool),
            };
            Some((name.clone(), KnownAddress { address, source }))
        };
        known.pools.iter().filter_map(address).collect()
    }
}

/// Returns the addresses that inspection found, by interface.
pub(crate) fn inspected_addresses(hardware: &Hardware) -> BTreeMap<String, KnownAddress> {
    let mut addresses = BTreeMap::new();
    for nic in &hardware.nics {
        let address = nic.ip.as_ref().and_then(|ip| ip.trim().parse().ok());
        let address = address.filter(|address| is_reachable(*address));
        if let (Some(name), Some(address)) = (&nic.name, address) {
            let source = AddressSource::Inspection;
            // Of an IPv4 and an IPv6 address, the first counts.
            addresses.entry(name.clone()).or_insert(KnownAddress { address, source });
        }
    }
    addresses
}
