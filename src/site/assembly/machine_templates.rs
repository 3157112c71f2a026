//! Machine templates, where the components of their clusters run.

use std::collections::BTreeMap;

use crate::base::api::names::ClusterKey;
use crate::base::grouping::grouped;
use crate::base::layout;
use crate::input::kustomize::{Builds, ListField, Listing};
use crate::input::settings::Settings;
use crate::site::request::{HostTemplate, Request};

/// Marks the templates that a cluster's component pins, and gives them their names there.
pub(super) fn pin(
    clusters: &mut BTreeMap<ClusterKey, Request>,
    builds: &Builds,
    settings: &Settings,
) {
    let tenants = settings.output.join(layout::TENANTS);
    let listings = grouped(builds.listings_below(&tenants));
    let clusters = clusters.values_mut().filter_map(|request| request.cluster.as_mut());
    for cluster in clusters {
        let component =
            settings.output.join(layout::tenant_directory(&cluster.key)).join(layout::CLUSTER_API);
        let Some(listings) = listings.get(component.as_path()) else {
            continue;
        };
        for template in &mut cluster.machine_templates {
            if let Some(listing) = listings.iter().find(|it| reaches(it, template, builds)) {
                let level = template.selector_at.origin.level(listing.directory);
                if let Some(name) = level.map(|level| level.name.clone()) {
                    template.name = name;
                }
                template.is_pinned = true;
            }
        }
    }
}

/// Returns whether a listed component changes a template.
fn reaches(listing: &Listing<'_>, template: &HostTemplate, builds: &Builds) -> bool {
    let before = match listing.among {
        ListField::Components(before) => before,
        ListField::ComponentsOfComponent => usize::MAX,
        ListField::Resources => return false,
    };
    builds
        .before_component(listing.directory, before)
        .contains_key(&*template.selector_at.origin.file)
}
