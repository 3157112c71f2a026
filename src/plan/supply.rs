//! The hosts that demands compete for.

use std::collections::BTreeSet;

use super::eligibility::Availability;
use crate::site::inventory::Host;

/// Hosts of a site with their availability.
#[derive(Clone, Copy)]
pub(super) struct HostSupply<'h, 's> {
    pub(super) hosts: &'h [Host],
    /// The availability of each host.
    pub(super) availability: &'s [Availability],
    /// Hosts that count as if they did not exist.
    pub(super) gone: &'s BTreeSet<usize>,
}

impl HostSupply<'_, '_> {
    /// Returns the hosts that some cluster may take, in inventory order.
    pub(super) fn candidates(self) -> Vec<usize> {
        let is_refused = |host: usize| matches!(self.availability[host], Availability::Refused(_));
        let all = 0..self.availability.len();
        all.filter(|host| !is_refused(*host) && !self.gone.contains(host)).collect()
    }
}
