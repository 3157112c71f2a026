//! What a build makes of the patches of a component. The component runs before the patches of the
//! kustomization that lists it, and before the components after it.

use camino::Utf8Path;

use super::DeliveredBuild;
use super::budget::BuildBudget;
use super::merge_patch::ParsedPatch;
use super::object::{BuildObject, Id};
use super::selector::Selector;
use crate::base::api::kustomization::Patch;
use crate::base::finding::Place;
use crate::input::kustomize::Builds;

impl Builds {
    /// Returns the objects of a build that a component patches where a kustomization lists it. A
    /// patch that would change its object once more is undone: by the returned place, or that of the
    /// field in the object's own document.
    pub(crate) fn targets<'d>(
        &self,
        component: &Utf8Path,
        listed_in: &Utf8Path,
        delivered: &'d DeliveredBuild,
    ) -> Vec<(&'d BuildObject, Option<Place>)> {
        let node = self.nodes.get(component);
        let entries = node.and_then(|node| node.kustomization.patches.as_ref());
        let patches: Vec<_> = entries.into_iter().flatten().filter_map(read).collect();
        let mut targets = Vec::new();
        for object in &delivered.objects {
            let mut levels = object.levels.iter().filter(|level| level.directory == listed_in);
            let Some(level) = levels.next() else { continue };
            let there = Id { name: level.name.clone(), ..object.id() };
            let selecting =
                patches.iter().filter(|(selector, _)| selector.selects_as(object, &there));
            let mut selecting = selecting.map(|(_, patch)| patch).peekable();
            if selecting.peek().is_some() {
                targets.push((object, selecting.find_map(|patch| undone(object, patch))));
            }
        }
        targets
    }
}

/// Returns the target and the patch of an entry that sipgen wrote.
fn read(entry: &Patch) -> Option<(Selector, ParsedPatch)> {
    let Patch::Entry { patch: Some(text), target: Some(target), .. } = entry else {
        return None;
    };
    let patch = ParsedPatch::in_written_text(text, &Place::File(Utf8Path::new("").into())).ok()?;
    Some((Selector::new(target).ok()?, patch))
}

/// Returns the place of the first field that an object lacks of what a patch sets.
fn undone(object: &BuildObject, patch: &ParsedPatch) -> Option<Place> {
    let ParsedPatch::Merge(patches) = patch else {
        return None;
    };
    patches.iter().find_map(|patch| {
        let mut again = object.unchanged();
        patch.merge_into(&mut again, true, &BuildBudget::default()).ok()?;
        again.changes.first().map(|change| object.place_of(&change.route))
    })
}
