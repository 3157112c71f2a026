//! Racks: hosts with the same value of the rack label.

use std::collections::BTreeSet;

use serde::Serialize;

use super::HostOverview;
use crate::base::grouping::grouped;
use crate::base::text::known_names;
use crate::site::Site;
use crate::site::inventory::natural;

/// Maximum number of labels that an error message names.
const LABELS_SHOWN: usize = 12;

/// A rack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rack {
    /// Name of the rack; `None` for the hosts without one.
    pub name: Option<String>,
    /// Indices into the overview's hosts.
    pub hosts: Vec<usize>,
}

/// The requested rack label is missing from all hosts.
#[derive(Debug, thiserror::Error)]
#[error("no host has the label `{label}`; hosts have {known}")]
pub struct NoSuchLabel {
    label: String,
    known: String,
}

/// Returns the label if any host has it.
pub(super) fn checked(site: &Site, label: &str) -> Result<String, NoSuchLabel> {
    let hosts = &site.inventory.hosts;
    if hosts.iter().any(|host| host.domain(label).is_some()) {
        return Ok(label.to_owned());
    }
    let known: BTreeSet<&str> =
        hosts.iter().flat_map(|host| host.labels.keys()).map(String::as_str).collect();
    let known: Vec<&str> = known.into_iter().collect();
    Err(NoSuchLabel { label: label.to_owned(), known: known_names(&known, LABELS_SHOWN) })
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
