//! Machines that are hosts of two sites. Both base clusters would power them on and off.

use std::collections::{BTreeMap, BTreeSet};

use super::Location;
use crate::api::host as api;
use crate::finding::{Code, Finding, Place};
use crate::inventory::Host;
use crate::layout::VARIABLE;
use crate::site::Site;
use crate::text::counted;
use crate::text::credentials::masked_value;

/// Maximum number of places in a finding.
const SHOWN: usize = 5;

/// A value that identifies a machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Identity {
    Bmc(String),
    BootMac(String),
}

impl Identity {
    /// Returns the identities of a host's machine.
    fn of(host: &Host) -> impl Iterator<Item = Self> {
        let address = host.bmc.as_ref().map(|bmc| api::without_user(&bmc.address));
        let address = address.filter(|address| !address.is_empty() && !address.contains(VARIABLE));
        let mac = host.network.boot_mac.map(|mac| mac.to_string());
        let bmc = address.map(Self::Bmc).into_iter();
        bmc.chain(mac.map(Self::BootMac))
    }

    /// Returns the place of the identity in a host.
    fn place(&self, host: &Host) -> Place {
        match self {
            Self::Bmc(_) => host.origin.at(["spec", "bmc", "address"]),
            Self::BootMac(_) => host.origin.at(["spec", "bootMACAddress"]),
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Bmc(address) => format!("the BMC address `{}`", masked_value(address)),
            Self::BootMac(mac) => format!("the boot MAC address `{mac}`"),
        }
    }
}

/// Returns one warning per pair of sites that share machines, with the indices of both sites.
pub(crate) fn shared(sites: &[(&Location, &Site)]) -> Vec<([usize; 2], Finding)> {
    // Most repos have one site, and the map below is large.
    if sites.len() < 2 {
        return Vec::new();
    }
    // The first host of each site, in the order of sites.
    let mut known: BTreeMap<Identity, Vec<(usize, &Host)>> = BTreeMap::new();
    for (index, (_, site)) in sites.iter().enumerate() {
        for host in &site.inventory.hosts {
            for identity in Identity::of(host) {
                let hosts = known.entry(identity).or_default();
                if hosts.last().is_none_or(|(site, _)| *site != index) {
                    hosts.push((index, host));
                }
            }
        }
    }
    let mut pairs: BTreeMap<[usize; 2], Vec<[Shared<'_>; 2]>> = BTreeMap::new();
    for (identity, of_sites) in &known {
        let of_sites: Vec<(usize, Shared<'_>)> = of_sites
            .iter()
            .map(|(site, host)| (*site, Shared { host, identity }))
            .collect();
        for (at, (one, first)) in of_sites.iter().enumerate() {
            for (other, second) in &of_sites[at + 1..] {
                let pair = pairs.entry([*one, *other]).or_default();
                // A host that shares both address and MAC address is one machine.
                if !pair
                    .iter()
                    .any(|[a, b]| a.host.key == first.host.key && b.host.key == second.host.key)
                {
                    pair.push([*first, *second]);
                }
            }
        }
    }
    let report = |(pair, machines): ([usize; 2], Vec<[Shared<'_>; 2]>)| {
        let names = pair.map(|index| sites[index].0.name.as_str());
        (pair, finding(names, &machines))
    };
    pairs.into_iter().map(report).collect()
}

/// A host of one of two sites, with the identity that they share.
#[derive(Clone, Copy)]
struct Shared<'a> {
    host: &'a Host,
    identity: &'a Identity,
}

fn finding([one, other]: [&str; 2], machines: &[[Shared<'_>; 2]]) -> Finding {
    let message = match machines {
        [[first, second]] => format!(
            "host `{}` of the site `{one}` and host `{}` of the site `{other}` have {}: two base clusters control one \
             machine",
            first.host.key,
            second.host.key,
            first.identity.words()
        ),
        _ => format!(
            "{} are hosts of both the site `{one}` and the site `{other}`: two base clusters control them",
            counted(machines.len(), "machine")
        ),
    };
    let finding = Finding::new(Code::SharedMachine, message).help(format!(
        "remove the hosts from `{one}` or `{other}`, or fix the addresses; Metal3 of either base cluster may \
         power the machines off"
    ));
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let places = machines.iter().take(SHOWN).flatten();
    let places = places.map(|shared| (shared, shared.identity.place(shared.host)));
    // A base that both sites build has a single place.
    let places = places.filter(|(_, place)| seen.insert(format!("{place:?}")));
    places.fold(finding, |finding, (shared, place)| {
        finding.see(
            place,
            format!("{}, by {}", shared.host.key, shared.identity.words()),
        )
    })
}
