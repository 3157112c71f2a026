//! Kustomizations in the repo that list an overlay of declared hosts.

use std::collections::HashMap;

use camino::Utf8Path;

use super::repo::{DeliveryRepo, shown};
use crate::base::finding::{Code, Finding};
use crate::input::kustomize::{BuildRoot, ListField};
use crate::input::load::kustomize::relative;

/// Reports invalid listings of overlays. An overlay is a resource and replaces its base.
pub(super) fn overlay_listings(repo: &DeliveryRepo<'_>) -> Vec<Finding> {
    let top = repo.patches_of("".into());
    let listings = repo.listings_below(&top);
    let mut around_of: HashMap<&Utf8Path, &BuildRoot> = HashMap::new();
    for known in repo.inventory.roots.values().filter(|_| !listings.is_empty()) {
        around_of.extend(
            repo.builds.made_of(&known.directory).into_iter().map(|directory| (directory, known)),
        );
    }
    let mut findings = Vec::new();
    for (listed, listing) in listings {
        let Ok(root) = listed.strip_prefix(&top) else {
            continue;
        };
        let known = repo.inventory.roots.values().find(|known| known.directory == root);
        let around = around_of.get(listing.directory).copied();
        let way = relative(listing.directory, root);
        findings.extend(match (listing.among, known, around) {
            (ListField::Components(_) | ListField::ComponentsOfComponent, ..) => Some(
                Finding::new(
                    Code::ComponentMisplaced,
                    format!("{listed} is listed as a component, but `hosts.form` is `overlay`"),
                )
                .at(listing.place)
                .help("set `hosts: {form: component}` in sipgen.yaml, or remove the line"),
            ),
            (ListField::Resources, Some(known), Some(around)) if known == around => Some(
                Finding::new(
                    Code::ComponentMisplaced,
                    format!("{listed} is based on {}, which lists it: that is a cycle", shown(root)),
                )
                .at(listing.place)
                .see(repo.builds.resources_of(known), "what it is based on")
                .help(
                    "remove the line and let the agent apply the overlay, or set `hosts: {form: component}` in \
                         sipgen.yaml",
                ),
            ),
            (ListField::Resources, None, Some(around)) if around_of.get(root) == Some(&around) => Some(
                Finding::new(
                    Code::RenderedByTwo,
                    format!(
                        "{} renders the hosts of {} twice: as they are, and by the overlay over them",
                        around.file,
                        shown(root)
                    ),
                )
                .at(listing.place)
                .help(format!(
                    "take {way} out of the resources and keep the overlay; or remove this line and let the agent \
                     apply {}",
                    repo.patches_of(&around.directory)
                )),
            ),
            (ListField::Resources, ..) => None,
        });
    }
    findings
}
