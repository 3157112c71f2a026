//! Addresses that IPPools must keep for hosts.
//!
//! Metal3 then gives a Machine the address that the load balancer of its cluster has. Metal3 looks for
//! a kept address in the ranges of the pool, and gives a claim nothing if it is not there.

use std::collections::BTreeMap;
use std::net::IpAddr;

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::api::ipam::claim_of;
use crate::base::finding::{Code, Finding, Place};
use crate::plan::Placement;
use crate::site::Site;
use crate::site::inventory::Host;
use crate::site::inventory::addresses::{AddressPool, KeptAddress};
use crate::site::request::Cluster;

/// An IPPool with addresses to keep.
#[derive(Serialize, JsonSchema)]
pub(super) struct PinnedPool {
    /// Its name, as a regular expression that matches nothing else.
    name: String,
    /// Addresses by the claims of hosts.
    addresses: BTreeMap<String, IpAddr>,
}

/// Returns a regular expression that matches a name only. kustomize anchors it.
pub(super) fn exactly(name: &str) -> String {
    name.replace('.', "\\.")
}

/// Returns the pools of a cluster's namespace that are to keep the fixed addresses of its hosts. The
/// users' own entries stay, and an address that a pool cannot keep is an error.
pub(super) fn pinned(
    cluster: &Cluster,
    placement: &Placement,
    site: &Site,
) -> (Vec<PinnedPool>, Vec<Finding>) {
    let namespace = &cluster.key.namespace;
    let (mut pinned, mut findings) = (Vec::new(), Vec::new());
    let pools = site.inventory.pools.get(namespace).into_iter().flatten();
    // A pool without a Cluster may serve any.
    let own = |pool: &AddressPool| {
        let owner = pool.spec.cluster_name.as_deref().filter(|owner| !owner.is_empty());
        owner.is_none_or(|owner| owner == cluster.key.name.as_str())
    };
    for (name, pool) in pools.filter(|(_, pool)| own(pool)) {
        let mut addresses = BTreeMap::new();
        for assigned in placement.values().flatten() {
            let host = &site.inventory.hosts[assigned.host];
            let address = host.fixed_address(name);
            let Some(address) = address.filter(|_| host.key.namespace == *namespace) else {
                continue;
            };
            let claim = claim_of(&host.key.name, name);
            // A SIPCluster's services use the fixed address, whatever the entry is for.
            // A live copy may have what the component wrote.
            let kept = pool.kept_for(&claim);
            let kept = kept.filter(|kept| !kept.is_live || kept.address != address);
            if kept.is_some() && !cluster.kind.descriptor().makes_machines {
                continue;
            }
            match conflict(pool, &addresses, &claim, address, host) {
                Some((reason, place)) => {
                    let message = format!(
                        "the IPPool {namespace}/{name} cannot keep {address} for host {}: {reason}",
                        host.key
                    );
                    let finding = Finding::new(Code::PreAllocationConflict, message).at(place);
                    let finding = finding.see(host.origin.name(), "the host").help(
                        "correct the address of the host, or the ranges and `preAllocations` of the pool: Metal3 gives \
                         the Machine of this host another address than its services use",
                    );
                    findings.push(finding.for_cluster(&cluster.key));
                }
                None if kept.is_some() => {}
                None => {
                    addresses.insert(claim, address);
                }
            }
        }
        if !addresses.is_empty() {
            let name = exactly(name);
            pinned.push(PinnedPool { name, addresses });
        }
    }
    (pinned, findings)
}

/// Returns why a pool that is to keep `added` addresses cannot keep another one for a host, with the
/// place of the reason.
fn conflict(
    pool: &AddressPool,
    added: &BTreeMap<String, IpAddr>,
    claim: &str,
    address: IpAddr,
    host: &Host,
) -> Option<(String, Place)> {
    let origin = pool.origin.as_ref()?;
    if let Some(why) = pool.spec.unusable(address) {
        return Some((format!("it {why}"), origin.at(["spec"])));
    }
    if let Some(kept) = pool.kept_for(claim).filter(|kept| kept.address != address) {
        return Some((format!("it keeps {} for it", kept.address), kept.place.clone()));
    }
    if let Some(other) = pool.given.get(claim).filter(|given| **given != address) {
        return Some((format!("the claim `{claim}` has {other}"), origin.name()));
    }
    let holder = |all: &BTreeMap<String, IpAddr>| {
        let mut holders = all.iter().filter(|(other, held)| **held == address && *other != claim);
        holders.next().map(|(claim, _)| claim.clone())
    };
    let other_claim =
        |(other, kept): &(&String, &KeptAddress)| kept.address == address && *other != claim;
    if let Some((other, kept)) = pool.kept().find(other_claim) {
        let reason = format!("it keeps the address for the claim `{other}`");
        return Some((reason, kept.place.clone()));
    }
    if let Some(other) = holder(added) {
        let reason = format!("it is to keep the address for the claim `{other}`, too");
        return Some((reason, origin.name()));
    }
    // The claim of a host in use may be that of its Machine.
    let given = holder(&pool.given).filter(|_| host.live.usage.is_none());
    if let Some(other) = given {
        let reason = format!("the claim `{other}` has the address");
        return Some((reason, origin.name()));
    }
    pool.spec.excludes(address).then(|| {
        let reason = "none of its ranges has the address".to_owned();
        (reason, origin.at(["spec", "pools"]))
    })
}
