//! Addresses that pools of Metal3's IPAM keep for hosts.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::api::ip_pool::{IpPoolSpec, claim_of};
use crate::api::names::{HostKey, Namespace};
use crate::finding::{Code, Finding, Origin};

/// A pool, with the names that builds give it.
#[derive(Debug)]
pub(crate) struct NamedPool {
    pub(crate) namespace: Namespace,
    pub(crate) name: String,
    pub(crate) origin: Origin,
    pub(crate) spec: IpPoolSpec,
}

/// The addresses of all pools.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    pools: BTreeMap<Namespace, Vec<Pool>>,
}

#[derive(Debug)]
struct Pool {
    name: String,
    /// Addresses by claim.
    addresses: BTreeMap<String, IpAddr>,
}

impl Pools {
    /// Reads the addresses, and reports texts that are none.
    pub(crate) fn new(named: Vec<NamedPool>, findings: &mut Vec<Finding>) -> Self {
        let mut pools: BTreeMap<Namespace, Vec<Pool>> = BTreeMap::new();
        for pool in named {
            let mut addresses = BTreeMap::new();
            for (claim, text) in &pool.spec.pre_allocations {
                match text.parse() {
                    Ok(address) => {
                        addresses.insert(claim.clone(), address);
                    }
                    Err(_) => findings.push(
                        Finding::new(
                            Code::InvalidPreAllocation,
                            format!(
                                "`{claim}: {text}` of the IPPool {} is no IP address",
                                pool.name
                            ),
                        )
                        .at(pool.origin.at(["spec", "preAllocations", claim.as_str()]))
                        .help("write an address without a prefix length, such as `192.0.2.10`"),
                    ),
                }
            }
            let of_namespace = pools.entry(pool.namespace).or_default();
            of_namespace.push(Pool {
                name: pool.name,
                addresses,
            });
        }
        Self { pools }
    }

    /// Returns the addresses that are kept for a host, by pool.
    pub(crate) fn of(&self, host: &HostKey) -> BTreeMap<String, IpAddr> {
        let pools = self.pools.get(&host.namespace).into_iter().flatten();
        let kept = pools.filter_map(|Pool { name, addresses }| {
            Some((name.clone(), *addresses.get(&claim_of(host, name))?))
        });
        kept.collect()
    }
}
