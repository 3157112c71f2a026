//! Hosts by kind of hardware.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use super::HostOverview;
use crate::base::api::hardware::UNKNOWN_KIND;
use crate::plan::host_state::HostState;
use crate::site::inventory::hardware::HardwareByHost;

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
pub(super) fn named(hosts: &mut [HostOverview], hardware: &HardwareByHost) -> Vec<HardwareKind> {
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
    let kinds = kinds.into_iter().map(|(kind, counts)| HardwareKind { kind, ..counts });
    let mut kinds: Vec<HardwareKind> = kinds.collect();
    if kinds.iter().all(|kind| kind.kind == UNKNOWN_KIND) {
        return Vec::new();
    }
    kinds.sort_by_key(|kind| Reverse(kind.hosts));
    kinds
}
