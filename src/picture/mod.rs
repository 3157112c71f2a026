//! The site as people look at it: clusters, spare hosts, and hosts in their racks, as the plan leaves them.
//!
//! * `clusters`: what each cluster wants and has, and where its services are reached.
//! * `hosts`: whose each host is, and why.
//! * `racks`: which hosts stand together.
//! * `spare`: how many hosts there are for whoever wants more.
//!
//! A picture is plain data, to be printed as text, as a page or as JSON; `docs/status-and-report.md` describes it.

mod clusters;
mod hosts;
mod racks;
mod spare;

use serde::Serialize;

use crate::generate::Generated;
use crate::plan::host_state;

pub use clusters::{ClusterPicture, Endpoint, NodeSetPicture, Wanted};
pub use hosts::HostPicture;
pub use racks::{NoSuchLabel, Rack};
pub use spare::Spare;

/// The version of the JSON: it grows when a field goes away or changes its meaning.
const VERSION: u32 = 1;

/// A site as the plan leaves it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Picture {
    /// The version of this structure as JSON.
    pub version: u32,
    /// The label whose values are the racks; none when the site has no such label.
    pub rack_by: Option<String>,
    /// Every cluster, those included that are gone and give their hosts back.
    pub clusters: Vec<ClusterPicture>,
    /// How many hosts each labelSelector of the site matches, and how many have what is asked of machines.
    pub spare: Vec<Spare>,
    /// The racks in natural order; the hosts without one come last.
    pub racks: Vec<Rack>,
    /// Every host, in natural order of their names.
    pub hosts: Vec<HostPicture>,
}

impl Picture {
    /// Draws what a run came to. `rack_by` is the label whose values are the racks; by default it is the topology key
    /// that most node sets use.
    ///
    /// # Errors
    ///
    /// When no host has the label.
    pub fn new(generated: &Generated, rack_by: Option<&str>) -> Result<Self, NoSuchLabel> {
        let Generated {
            site,
            plan,
            findings,
            ..
        } = generated;
        let rack_by = match rack_by {
            Some(label) => Some(racks::checked(site, label)?),
            None => racks::label(site),
        };
        let hosts = hosts::pictures(
            site,
            plan,
            &host_state::of_all(site, plan),
            rack_by.as_deref(),
        );
        Ok(Self {
            version: VERSION,
            clusters: clusters::pictures(site, plan, &hosts, findings),
            spare: spare::by_what_is_asked(site, &hosts),
            racks: racks::group(&hosts),
            rack_by,
            hosts,
        })
    }
}
