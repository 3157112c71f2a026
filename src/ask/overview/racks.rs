//! Racks: hosts with the same value of the rack label.

use serde::Serialize;

use super::HostOverview;
use crate::base::grouping::grouped;
use crate::site::Site;
use crate::site::hypothesis::{UnknownSubject, label_keys};
use crate::site::inventory::natural;

/// A rack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rack {
    /// Name of the rack; `None` for the hosts without one.
    pub name: Option<String>,
    /// Indices into the overview's hosts.
    pub hosts: Vec<usize>,
}

/// Returns the label if any host has it.
pub(super) fn checked(site: &Site, label: &str) -> Result<String, UnknownSubject> {
    match site.inventory.hosts.iter().any(|host| host.domain(label).is_some()) {
        true => Ok(label.to_owned()),
        false => Err(UnknownSubject::label(label, &label_keys(site))),
    }
}

/// Returns the racks in natural order, followed by the hosts without one.
pub(super) fn group(hosts: &[HostOverview]) -> Vec<Rack> {
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
