//! Addresses that IPPools must keep for hosts.
//!
//! Metal3 then gives a Machine the address that the load balancer of its cluster has. Metal3 looks for
//! a kept address in the ranges of the pool, and gives a claim nothing if it is not there.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::planned_hosts::{PinnedPool, placed_hosts};
use super::renderer::Renderer;
use crate::base::api::ipam::claim_of;
use crate::base::api::names::ClusterKey;
use crate::base::finding::{Code, Finding, Place};
use crate::site::Site;
use crate::site::inventory::Host;
use crate::site::inventory::addresses::{AddressPool, KeptAddress};

/// Returns a regular expression of a name, in which variables match any text of their length.
/// kustomize anchors it.
pub(super) fn exactly(name: &str) -> String {
    name.replace('.', "\\.").replace(['$', '{', '}', ':', '='], ".")
}

/// Returns the pools of a cluster's namespace that are to keep the fixed addresses of its hosts. The
/// users' own entries stay, and an address that a pool cannot keep is an error.
pub(super) fn pinned(renderer: &mut Renderer<'_>) -> Vec<PinnedPool> {
    let Renderer { cluster, placement, site, .. } = *renderer;
    let namespace = &cluster.key.namespace;
    let mut pinned = Vec::new();
    let claimed = &site.inventory.claimed;
    // A pool without a Cluster may serve any.
    let own = |pool: &AddressPool| {
        let owner = pool.spec.cluster_name.as_deref().filter(|owner| !owner.is_empty());
        owner.is_none_or(|owner| owner == cluster.key.name.as_str())
    };
    for (name, pool) in claimed.pools(namespace).filter(|(_, pool)| own(pool)) {
        let recorded = site.state.pinned_pools.get(&cluster.key).and_then(|it| it.get(name));
        // A live copy has what the component wrote.
        let is_users = |(claim, kept): &(&String, &KeptAddress)| {
            let written = recorded.and_then(|recorded| recorded.get(*claim));
            !kept.is_live || written != kept.address.map(|it| it.to_string()).as_ref()
        };
        let kept: BTreeMap<&String, &KeptAddress> = pool.kept().filter(is_users).collect();
        let mut added = BTreeMap::new();
        let hosts = placed_hosts(site, placement);
        for (part, host) in hosts.filter(|(_, host)| host.key.namespace == *namespace) {
            let is_used = cluster.interfaces(part.role).contains(name.as_str());
            let Some(address) = host.fixed_address(name) else { continue };
            let claims = claimed.claims(&host.key, host.live.machine_in(namespace), name);
            let claim = claim_of(&host.key.name, name);
            let own =
                kept.get(&claim).filter(|kept| !kept.is_live || kept.address != Some(address));
            if own.is_some() && !is_used && !cluster.kind.descriptor().makes_machines {
                continue;
            }
            match conflict(pool, &kept, &added, &claims, address, host, is_used) {
                Some((reason, place)) => {
                    let message = format!(
                        "the IPPool {namespace}/{name} cannot keep {address} for host {}: {reason}",
                        host.key
                    );
                    let finding = Finding::new(Code::PreAllocationConflict, message).at(place).see(host.origin.name(), "the host").help(
                        "correct the address of the host, or the ranges and `preAllocations` of the pool: Metal3 gives \
                         the Machine of this host another address than its services use",
                    );
                    renderer.rendered.findings.push(finding);
                }
                None if own.is_some() => {}
                None => {
                    added.insert(claim, address);
                }
            }
        }
        if !added.is_empty() {
            let object = ["IPPool", name.as_str()];
            let finding = renderer.beyond_component(object, pool.origin.as_ref());
            renderer.rendered.findings.extend(finding);
            pinned.push(PinnedPool { name: exactly(name), addresses: added });
        }
    }
    pinned
}

/// Reports addresses that several clusters' components would write into one pool. IPAM refuses it.
pub(super) fn shared(site: &Site, pinned: &[(ClusterKey, PinnedPool)]) -> Vec<Finding> {
    let mut holders = BTreeMap::new();
    let mut findings = Vec::new();
    for (cluster, PinnedPool { name, addresses }) in pinned {
        let namespace = &cluster.namespace;
        for (claim, address) in addresses {
            let holder = (cluster, claim);
            let (other, held) = *holders.entry((namespace, name, address)).or_insert(holder);
            if other == cluster {
                continue;
            }
            let mut pools = site.inventory.claimed.pools(namespace);
            let pool = pools.find(|(pool, _)| exactly(pool) == *name);
            let Some((pool, origin)) =
                pool.and_then(|(it, pool)| Some((it, pool.origin.as_ref()?)))
            else {
                continue;
            };
            let message = format!(
                "the IPPool {namespace}/{pool} cannot keep {address} for the claim `{claim}` of {cluster}: it is to keep the \
                 address for the claim `{held}` of {other}, too"
            );
            let finding = Finding::new(Code::PreAllocationConflict, message).at(origin.name());
            let finding = finding.help("give one of the two hosts another address");
            findings.push(finding.for_cluster(cluster));
        }
    }
    findings
}

/// Returns why a pool that is to keep `added` addresses cannot keep another one for the `claims` of a
/// host, with the place of the reason.
fn conflict(
    pool: &AddressPool,
    kept: &BTreeMap<&String, &KeptAddress>,
    added: &BTreeMap<String, IpAddr>,
    claims: &[String],
    address: IpAddr,
    host: &Host,
    is_used: bool,
) -> Option<(String, Place)> {
    let origin = pool.origin.as_ref()?;
    if let Some(why) = pool.spec.unusable(address) {
        return Some((format!("it {why}"), origin.at(["spec"])));
    }
    // Without a service, nothing depends on the address that a Machine has by its data.
    let own = claims.iter().skip(if is_used { 0 } else { claims.len().saturating_sub(1) });
    let own_kept = own.clone().filter_map(|claim| kept.get(claim));
    let mut own_kept = own_kept.filter_map(|kept| Some((kept.address?, &kept.place)));
    if let Some((other, place)) = own_kept.find(|(other, _)| *other != address) {
        return Some((format!("it keeps {other} for it"), place.clone()));
    }
    let mut given = own.filter_map(|claim| Some((claim, pool.given.get(claim)?)));
    if let Some((claim, other)) = given.next().filter(|(_, given)| **given != address) {
        return Some((format!("the claim `{claim}` has {other}"), origin.name()));
    }
    let mut others = kept.iter().filter(|(claim, _)| !claims.contains(claim));
    if let Some((other, kept)) = others.find(|(_, kept)| kept.address == Some(address)) {
        let reason = format!("it keeps the address for the claim `{other}`");
        return Some((reason, kept.place.clone()));
    }
    let holder = |all: &BTreeMap<String, IpAddr>| {
        let mut others = all.iter().filter(|(claim, _)| !claims.contains(claim));
        others.find(|(_, held)| **held == address).map(|(claim, _)| claim.clone())
    };
    if let Some(other) = holder(added) {
        let reason = format!("it is to keep the address for the claim `{other}`, too");
        return Some((reason, origin.name()));
    }
    // Unless its data is known, the claim of a host in use may be that of its Machine.
    let is_known = host.live.usage.is_none() || claims.len() > 1;
    if let Some(other) = holder(&pool.given).filter(|_| is_known) {
        let reason = format!("the claim `{other}` has the address");
        return Some((reason, origin.name()));
    }
    pool.spec.excludes(address).then(|| {
        let reason = "none of its ranges has the address".to_owned();
        (reason, origin.at(["spec", "pools"]))
    })
}
