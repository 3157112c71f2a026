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
        let Ok(root) = listed.strip_prefix(&top) else { continue };
        let known = repo.inventory.roots.values().find(|known| known.directory == root);
        let around = around_of.get(listing.directory).copied();
        let finding = |code: Code, message: String, help: &str| {
            Finding::new(code, message).at(listing.place.clone()).help(help)
        };
        findings.push(match (listing.among, known, around) {
            (ListField::Components(_) | ListField::ComponentsOfComponent, ..) => finding(
                Code::ComponentMisplaced,
                format!("{listed} is listed as a component, but `hosts.form` is `overlay`"),
                "set `hosts: {form: component}` in sipgen.yaml, or remove the line",
            ),
            (ListField::Resources, Some(known), Some(around)) if known == around => finding(
                Code::ComponentMisplaced,
                format!("{listed} is based on {}, which lists it: that is a cycle", shown(root)),
                "remove the line and let the agent apply the overlay, or set `hosts: {form: component}` in sipgen.yaml",
            )
            .see(repo.builds.resources_of(known), "what it is based on"),
            (ListField::Resources, None, Some(around)) if around_of.get(root) == Some(&around) => {
                let (way, overlay) =
                    (relative(listing.directory, root), repo.patches_of(&around.directory));
                finding(
                    Code::RenderedByTwo,
                    format!(
                        "{} renders the hosts of {} twice: as they are, and by the overlay over them",
                        around.file,
                        shown(root)
                    ),
                    &format!(
                        "take {way} out of the resources and keep the overlay; or remove this line and let the agent apply \
                         {overlay}"
                    ),
                )
            }
            (ListField::Resources, ..) => continue,
        });
    }
    findings
}
