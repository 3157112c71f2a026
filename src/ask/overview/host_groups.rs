//! Hosts grouped by kind of hardware, and by rack: the value of the rack label.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use super::HostOverview;
use crate::base::api::hardware::UNKNOWN_KIND;
use crate::base::grouping::grouped;
use crate::plan::host_state::HostState;
use crate::site::Site;
use crate::site::hypothesis::{UnknownSubject, label_keys};
use crate::site::inventory::hardware::HardwareByHost;
use crate::site::inventory::natural;

/// The hosts with a kind of hardware.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct HardwareKind {
    /// The kind: `32c-128g-x86_64-2nvme`, or `unknown` for hosts that nobody inspected.
    pub kind: String,
    /// Number of hosts.
    pub hosts: usize,
    /// Number of free hosts among them.
    pub free: usize,
}

/// Names the kind of each host, and returns all kinds. There is none if no host was inspected.
pub(super) fn hardware_kinds(
    hosts: &mut [HostOverview],
    hardware: &HardwareByHost,
) -> Vec<HardwareKind> {
    let mut kinds: BTreeMap<String, HardwareKind> = BTreeMap::new();
    for host in hosts {
        let found = hardware.get(&host.key);
        let word =
            found.map_or_else(|| UNKNOWN_KIND.to_owned(), |found| found.hardware.kind_word());
        let kind = kinds.entry(word.clone()).or_default();
        kind.hosts += 1;
        kind.free += usize::from(matches!(host.state, HostState::Free | HostState::Installed));
        host.hardware = Some(word);
    }
    let mut kinds: Vec<HardwareKind> =
        kinds.into_iter().map(|(kind, counts)| HardwareKind { kind, ..counts }).collect();
    if kinds.iter().all(|kind| kind.kind == UNKNOWN_KIND) {
        return Vec::new();
    }
    kinds.sort_by_key(|kind| Reverse(kind.hosts));
    kinds
}

/// A rack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rack {
    /// Name of the rack; `None` for the hosts without one.
    pub name: Option<String>,
    /// Indices into the overview's hosts.
    pub hosts: Vec<usize>,
}

/// Returns the label if any host has it.
pub(super) fn checked_rack_label(site: &Site, label: &str) -> Result<String, UnknownSubject> {
    match site.inventory.hosts.iter().any(|host| host.domain(label).is_some()) {
        true => Ok(label.to_owned()),
        false => Err(UnknownSubject::label(label, &label_keys(site))),
    }
}

/// Returns the racks in natural order, followed by the hosts without one.
pub(super) fn racks(hosts: &[HostOverview]) -> Vec<Rack> {
    let by_name =
        grouped(hosts.iter().enumerate().map(|(index, host)| (host.rack.as_deref(), index)));
    let rack =
        |(name, hosts): (Option<&str>, Vec<usize>)| Rack { name: name.map(str::to_owned), hosts };
    let mut racks: Vec<Rack> = by_name.into_iter().map(rack).collect();
    racks.sort_by(|a, b| match (&a.name, &b.name) {
        (Some(a), Some(b)) => natural(a, b),
        (a, b) => a.is_none().cmp(&b.is_none()),
    });
    racks
}
