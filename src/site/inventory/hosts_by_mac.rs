//! Index of hosts by MAC address.

use std::collections::BTreeMap;

use super::host::Host;
use crate::base::api::mac::MacAddress;
use crate::base::grouping::grouped;

/// Hosts by the MAC addresses of their network cards.
pub(crate) struct HostsByMac<'a> {
    /// All hosts of the inventory.
    pub(crate) hosts: &'a [Host],
    by_mac: BTreeMap<MacAddress, Vec<usize>>,
}

impl<'a> HostsByMac<'a> {
    /// Indexes the hosts of an inventory.
    pub(crate) fn new(hosts: &'a [Host]) -> Self {
        let macs = hosts
            .iter()
            .enumerate()
            .flat_map(|(index, host)| host.machine.macs().map(move |mac| (mac, index)));
        Self { hosts, by_mac: grouped(macs) }
    }

    /// Returns the indices of the hosts that have a MAC address.
    pub(crate) fn hosts_with(&self, mac: MacAddress) -> &[usize] {
        self.by_mac.get(&mac).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns at most `most` MAC addresses that differ in one digit, each with a host that has it.
    pub(crate) fn near(&self, mac: MacAddress, most: usize) -> Vec<(MacAddress, &'a Host)> {
        let known = mac.near().filter_map(|near| Some((near, *self.hosts_with(near).first()?)));
        let near: BTreeMap<MacAddress, usize> = known.collect();
        near.into_iter().map(|(mac, host)| (mac, &self.hosts[host])).take(most).collect()
    }
}
