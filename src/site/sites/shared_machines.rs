//! Machines that are hosts of two sites. Both base clusters would power them on and off.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::Location;
use crate::base::finding::{Code, Finding};
use crate::base::text::counted;
use crate::site::Site;
use crate::site::inventory::Host;
use crate::site::inventory::identity::{self, Identity};

/// Returns one warning per pair of sites that share machines, with the indices of both sites.
pub(crate) fn shared(sites: &[(&Location, &Site)]) -> Vec<([usize; 2], Finding)> {
    // Most repos have one site.
    if sites.len() < 2 {
        return Vec::new();
    }
    let hosts = sites.iter().enumerate().flat_map(|(index, (_, site))| {
        let hosts = site.inventory.hosts.iter();
        hosts.map(move |host| (index, host))
    });
    let all = identity::shared(hosts);
    let mut pairs: BTreeMap<[usize; 2], Vec<SharedMachine<'_>>> = BTreeMap::new();
    let mut known = HashSet::new();
    for shared in &all {
        // The first host of each site, in the order of sites.
        let mut first: Vec<(usize, &Host)> = shared.hosts.clone();
        first.dedup_by_key(|(site, _)| *site);
        for (at, (one, host)) in first.iter().enumerate() {
            for (other, second) in &first[at + 1..] {
                let pair = [*one, *other];
                // Hosts that share several identities are one machine.
                if known.insert((pair, &host.key, &second.key)) {
                    let (hosts, identity) = ([*host, *second], &shared.identity);
                    pairs.entry(pair).or_default().push(SharedMachine { hosts, identity });
                }
            }
        }
    }
    let report = |(pair, machines): ([usize; 2], Vec<SharedMachine<'_>>)| {
        let names = pair.map(|index| sites[index].0.name.as_str());
        (pair, finding(names, &machines))
    };
    pairs.into_iter().map(report).collect()
}

/// Hosts of two sites, with the identity that they share.
struct SharedMachine<'a> {
    hosts: [&'a Host; 2],
    identity: &'a Identity,
}

fn finding([one, other]: [&str; 2], machines: &[SharedMachine<'_>]) -> Finding {
    let message = match machines {
        [SharedMachine { hosts: [first, second], identity }] => format!(
            "host `{}` of the site `{one}` and host `{}` of the site `{other}` have {}: two base clusters control one \
             machine",
            first.key, second.key, identity
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
    let places = machines.iter().flat_map(|SharedMachine { hosts, identity }| {
        let words = |host: &Host| format!("{}, by {identity}", host.key);
        hosts.map(|host| (identity.place(host), words(host)))
    });
    // A base that both sites build has a single place.
    finding.see_each(places.filter(|(place, _)| seen.insert(format!("{place:?}"))))
}
