//! Overview of a site: clusters, spare hosts, racks and hosts, as planned.
//!
//! * `clusters`: requested and assigned hosts and endpoints of each cluster.
//! * `hosts`: owner and state of each host, with reasons.
//! * `host_groups`: hosts grouped by kind of hardware, and by the value of a label.
//! * `spare`: spare hosts by selector.
//!
//! The overview is plain data, formatted as text, page or JSON; `docs/reference/status.md`
//! describes it.

mod clusters;
mod host_groups;
mod hosts;
pub(super) mod spare;

use serde::Serialize;

use crate::generate::GeneratedSite;
use crate::plan::quotas::{self, QuotaUse};
use crate::site::hypothesis::UnknownSubject;
use crate::site::inventory::hardware::HardwareByHost;

pub use clusters::{
    ClusterOverview, HostsByDomain, NodeSetOverview, RequestedHosts, ServiceEndpoint,
};
pub use host_groups::{HardwareKind, Rack};
pub use hosts::HostOverview;
pub use spare::SpareHosts;

/// Version of the JSON format. It is incremented when a field is removed or changes its meaning.
const VERSION: u32 = 2;

/// A planned site.
#[derive(Debug, Clone, Serialize)]
pub struct Overview {
    /// Version of the JSON format.
    pub version: u32,
    /// Rack label; `None` if the site has none.
    pub by: Option<String>,
    /// Clusters of the site, including removed ones that release their hosts.
    pub clusters: Vec<ClusterOverview>,
    /// Numbers of hosts that match each labelSelector, or the requirements of machines.
    pub spare: Vec<SpareHosts>,
    /// Quotas of namespaces, in the order of the settings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quotas: Vec<QuotaUse>,
    /// Kinds of hardware, if that was read and any is known; the most common first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hardware: Vec<HardwareKind>,
    /// Racks in natural order. Hosts without a rack come last.
    pub racks: Vec<Rack>,
    /// Hosts of the site, in natural order of their names.
    pub hosts: Vec<HostOverview>,
}

impl Overview {
    /// Creates the overview of a run. `by` is the rack label; by default, it is the most used
    /// topology key.
    ///
    /// # Errors
    ///
    /// Fails if no host has the label.
    pub fn new(generated: &GeneratedSite, by: Option<&str>) -> Result<Self, UnknownSubject> {
        let by = match by {
            Some(label) => Some(host_groups::checked_rack_label(&generated.site, label)?),
            None => generated.site.rack_label.clone(),
        };
        Ok(Self::from_generated(generated, by))
    }

    /// Adds the kinds of hardware.
    #[must_use]
    pub fn with_hardware(mut self, hardware: &HardwareByHost) -> Self {
        self.hardware = host_groups::hardware_kinds(&mut self.hosts, hardware);
        self
    }

    /// Creates the overview of a run with a rack label, if there is one.
    pub(crate) fn from_generated(generated: &GeneratedSite, by: Option<String>) -> Self {
        let GeneratedSite { site, plan, .. } = generated;
        let hosts = hosts::overviews(generated, by.as_deref());
        Self {
            version: VERSION,
            clusters: clusters::overviews(generated, &hosts),
            spare: spare::by_requirements(site.valid_clusters(), site, &hosts),
            quotas: quotas::all(site, plan),
            hardware: Vec::new(),
            racks: host_groups::racks(&hosts),
            by,
            hosts,
        }
    }
}
