//! How the output is wired into the repo: which of its kustomizations and of its agents' objects come at the hosts.
//!
//! * `listings`: kustomizations of the repo that list a directory of ours.
//! * `components`: the kustomizations that include the components of hosts.
//! * `applied`: the directories that objects of the repo tell Flux or Argo CD to apply.
//! * `delivered`: those of them that have what sipgen writes, declared hosts aside.
//! * `rendered_twice`: what is wrong when those reach hosts that sipgen's own output reaches too.
//!
//! One object must have one renderer: two that differ in labels take them from each other for ever.

mod applied;
mod components;
mod delivered;
mod listings;
mod rendered_twice;

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};

use super::builds::Builds;
use super::gitops::Form;
use super::inventory::Inventory;
use super::settings::Settings;
use crate::api::names::HostKey;
use crate::finding::Finding;
use crate::layout;
use crate::source::{Files, Origin};

pub(super) use applied::AgentObject;
pub use components::Component;
pub use delivered::Delivered;

/// How the output is wired into the repo.
#[derive(Debug, Default)]
pub struct Wiring {
    /// The roots that objects of the repo's own make the chosen agent apply, with labels or still without: no object
    /// of ours is to apply them, too.
    pub applied: BTreeSet<usize>,
    /// The other directories of the output that they make it apply.
    pub delivered: Delivered,
    /// Where each root's hosts are patched, when that is done by components.
    pub components: BTreeMap<usize, Component>,
}

/// What the wiring is worked out from.
struct Repo<'a> {
    files: &'a Files,
    settings: &'a Settings,
    inventory: &'a Inventory,
    builds: &'a Builds,
    /// Every document that describes a host.
    documents: &'a [(HostKey, Origin)],
}

/// Works out how the output is wired into the repo, and what is wrong with that.
pub(super) fn wire(
    files: &Files,
    settings: &Settings,
    inventory: &Inventory,
    builds: &Builds,
    documents: &[(HostKey, Origin)],
    objects: Vec<AgentObject>,
) -> (Wiring, Vec<Finding>) {
    let repo = Repo { files, settings, inventory, builds, documents };
    let mut wiring = Wiring::default();
    let mut findings = Vec::new();
    match settings.hosts.form {
        Form::Overlay => findings.extend(listings::of_overlays(&repo)),
        Form::Component => {
            let (components, found) = components::included(&repo);
            wiring.components = components;
            findings.extend(found);
        }
    }
    findings.extend(rendered_twice::check(&repo, &mut wiring, &applied::directories(&repo, objects)));
    (wiring, findings)
}

impl Repo<'_> {
    /// The directory of a root's patches, relative to the repo's root.
    fn patches_of(&self, root: &Utf8Path) -> Utf8PathBuf {
        self.settings.output.join(layout::declared_directory(root))
    }
}

/// A directory as people read it.
fn shown(directory: &Utf8Path) -> String {
    if directory.as_str().is_empty() { "the repo's root".to_owned() } else { directory.to_string() }
}

/// The way from one directory of the repo to another.
fn relative(from: &Utf8Path, to: &Utf8Path) -> Utf8PathBuf {
    let shared = from.iter().zip(to.iter()).take_while(|(a, b)| a == b).count();
    let up = from.iter().skip(shared).map(|_| "..");
    up.chain(to.iter().skip(shared)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_leads_up_as_far_as_needed() {
        for (from, to, way) in [
            ("sites/lab/hosts", "overlays/hosts/declared/sites", "../../../overlays/hosts/declared/sites"),
            ("", "overlays/hosts", "overlays/hosts"),
            ("fleet/a", "fleet/overlays/hosts", "../overlays/hosts"),
        ] {
            assert_eq!(relative(Utf8Path::new(from), Utf8Path::new(to)), way);
        }
    }
}
