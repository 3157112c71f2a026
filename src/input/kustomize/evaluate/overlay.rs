//! The objects that an overlay or component of the output patches, before and after its patches.

use std::collections::{BTreeMap, HashMap};

use camino::{Utf8Path, Utf8PathBuf};
use yaml_serde::{Mapping, Value};

use super::budget::BuildBudget;
use super::index::ObjectIndex;
use super::merge_patch::{MergePatch, ParsedPatch};
use super::object::{BuildObject, Id};
use super::patches::{PATCHES, PatchedObjects};
use super::selector::Selector;
use super::{BuildObjects, DeliveredBuild, StepResult, refuse};
use crate::base::api::host;
use crate::base::api::kustomization::Patch;
use crate::base::finding::{Origin, Place, RouteStep};
use crate::input::kustomize::Builds;

/// The objects of builds with hosts, as overlays and components of the output find them.
#[derive(Debug, Default)]
pub(crate) struct OverlayBases {
    /// The objects of a root's build, for an overlay on it.
    pub(super) roots: HashMap<usize, OverlayBase>,
    /// The objects where a kustomization lists a component of the output.
    pub(super) components: BTreeMap<Utf8PathBuf, Vec<OverlayBase>>,
}

/// The objects of a build below an overlay or component. Those of files that no kustomization
/// changes have only the fields of their ids.
#[derive(Debug)]
pub(crate) struct OverlayBase(BuildObjects);

/// A build with an overlay or component.
pub(crate) struct OverlayBuild<'a> {
    before: &'a [BuildObject],
    after: BuildObjects,
    index: ObjectIndex,
}

/// A file of patches.
pub(crate) enum PatchFile<'a> {
    Text(&'a str),
    /// The patches in a file that was not read.
    Known(Vec<Mapping>),
}

impl OverlayBases {
    /// Returns the bases of an overlay on a root, or of a component.
    pub(crate) fn for_root(&self, root: usize, component: Option<&Utf8Path>) -> Vec<&OverlayBase> {
        match component {
            Some(component) => self.components.get(component).into_iter().flatten().collect(),
            None => self.roots.get(&root).into_iter().collect(),
        }
    }
}

impl OverlayBase {
    /// Copies the objects of a build, if there are hosts among them.
    pub(super) fn new(objects: &BuildObjects) -> Option<Self> {
        objects.list.iter().map(BuildObject::kind).any(|kind| kind == host::KIND).then(|| {
            let list = objects.list.iter().map(BuildObject::unchanged).collect();
            let are_partial = objects.are_partial;
            OverlayBase(BuildObjects { list, are_partial, ..BuildObjects::default() })
        })
    }

    /// Returns objects of which only the ids are known.
    pub(crate) fn with_ids(objects: impl Iterator<Item = (Origin, Mapping)>) -> Self {
        OverlayBase(BuildObjects {
            list: objects.map(|(origin, id)| BuildObject::new(origin, id)).collect(),
            ..BuildObjects::default()
        })
    }

    /// Starts a build with an overlay.
    pub(crate) fn build(&self) -> OverlayBuild<'_> {
        let OverlayBase(before) = self;
        let index = ObjectIndex::new(&before.list);
        OverlayBuild { before: &before.list, after: before.clone(), index }
    }
}

impl OverlayBuild<'_> {
    /// Returns the position of the host that a patch finds.
    ///
    /// # Errors
    ///
    /// Returns the number of objects that it finds if that is not one.
    pub(crate) fn host(&self, name: &str, namespace: Option<&str>) -> Result<usize, usize> {
        match self.index.with_id(&Id::host(name, namespace)).collect::<Vec<_>>()[..] {
            [only] => Ok(only),
            ref found => Err(found.len()),
        }
    }

    /// Adds labels that an object is known to have, so that patches can remove them.
    pub(crate) fn add_known_labels<'k>(
        &mut self,
        position: usize,
        keys: impl Iterator<Item = &'k str>,
    ) {
        let metadata = self.after.list[position].value.get_mut("metadata");
        let Some(Value::Mapping(metadata)) = metadata else { return };
        for key in keys {
            let labels = metadata.entry("labels".into()).or_insert_with(|| Mapping::new().into());
            if let Value::Mapping(labels) = labels {
                labels.entry(key.into()).or_insert("".into());
            }
        }
    }

    /// Applies the patches of an overlay, whose files `file` returns.
    ///
    /// # Errors
    ///
    /// Returns why kustomize would refuse them.
    pub(crate) fn apply<'f>(
        &mut self,
        patches: &[Patch],
        file: impl Fn(&str) -> Option<PatchFile<'f>>,
        overlay: &Utf8Path,
    ) -> StepResult {
        let budget = BuildBudget::default();
        let place = Place::File(overlay.into());
        let (index, objects) = (&mut self.index, &mut self.after);
        let mut patched =
            PatchedObjects { vital: None, lacks_output: false, budget: &budget, index, objects };
        patches.iter().try_for_each(|entry| {
            let Patch::Entry { path, patch, target, options: None } = entry else {
                return refuse("a patch has another form");
            };
            let merged = match (path, patch) {
                (Some(path), None) => match file(path) {
                    Some(PatchFile::Text(text)) => MergePatch::in_written_text(text, &place),
                    Some(PatchFile::Known(patches)) => {
                        let patches = patches.into_iter().map(|it| (Value::Mapping(it), None));
                        MergePatch::read(patches.collect(), &place, None)
                    }
                    None => refuse(format!("`{path}` does not exist")),
                },
                (None, Some(text)) => MergePatch::in_written_text(text, &place),
                _ => refuse("a patch has both `path` and `patch`, or neither"),
            }?;
            patched
                .apply(ParsedPatch::Merge(merged), target.as_ref(), PATCHES)
                .map_err(|failure| failure.problem)
        })
    }

    /// Returns the objects before and after the patches, by position.
    pub(crate) fn objects(&self) -> impl Iterator<Item = (&BuildObject, &BuildObject)> {
        self.before.iter().zip(&self.after.list)
    }
}

impl BuildObject {
    /// Returns whether patches changed only labels and annotations, of the known and the unknown
    /// fields.
    pub(crate) fn has_only_new_metadata(&self) -> bool {
        let is_pair = |route: &[RouteStep]| {
            let mut steps = route.iter().map(RouteStep::key);
            steps.next() == Some(Some("metadata"))
                && matches!(steps.next(), Some(Some("labels" | "annotations")))
        };
        self.changes.iter().all(|change| is_pair(&change.route))
    }
}

impl Builds {
    /// Returns the objects of a build that a component patches where a kustomization lists it. The
    /// component runs before the patches of that kustomization, and before the components after it. A
    /// patch that would change its object once more is undone. Its place is that of the change that
    /// undoes it, or else of the field in the object's own document.
    pub(crate) fn targets<'d>(
        &self,
        component: &Utf8Path,
        listed_in: &Utf8Path,
        delivered: &'d DeliveredBuild,
    ) -> Vec<(&'d BuildObject, Option<Place>)> {
        let node = self.nodes.get(component);
        let entries = node.and_then(|node| node.kustomization.patches.as_ref());
        let patches: Vec<_> = entries.into_iter().flatten().filter_map(written_patches).collect();
        let mut targets = Vec::new();
        for object in &delivered.objects {
            let mut levels = object.levels.iter().filter(|level| level.directory == listed_in);
            let Some(level) = levels.next() else { continue };
            let there = Id { name: level.name.clone(), ..object.id() };
            let selecting = patches.iter().filter(|(selector, _)| selector.selects(object, &there));
            let mut selecting = selecting.map(|(_, patch)| patch).peekable();
            if selecting.peek().is_some() {
                targets.push((object, selecting.find_map(|patch| undone(object, patch))));
            }
        }
        targets
    }
}

/// Returns the target and the patches of an entry that sipgen wrote.
fn written_patches(entry: &Patch) -> Option<(Selector, Vec<MergePatch>)> {
    let Patch::Entry { patch: Some(text), target: Some(target), .. } = entry else { return None };
    let patches = MergePatch::in_written_text(text, &Place::File(Utf8Path::new("").into())).ok()?;
    Some((Selector::new(target).ok()?, patches))
}

/// Returns the place of the first field that an object lacks of what patches set.
fn undone(object: &BuildObject, patches: &[MergePatch]) -> Option<Place> {
    patches.iter().find_map(|patch| {
        let mut again = object.unchanged();
        patch.merge_into(&mut again, true, &BuildBudget::default()).ok()?;
        again.changes.first().map(|change| object.place_of(&change.route))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::text::yaml;

    /// Returns whether a patch changes only metadata of the host `h`, of which only the id is known;
    /// `None` if it deletes it.
    fn changes_only_metadata(patch: &str) -> Option<bool> {
        let host = "{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, metadata: {name: h}}";
        let origin = Origin::for_file(Utf8Path::new("h.yaml").into(), host);
        let base = OverlayBase::with_ids([(origin, yaml::from_str(host).unwrap())].into_iter());
        let mut build = base.build();
        let patches: Vec<Patch> = yaml::from_str("[{path: p.yaml}]").unwrap();
        let host = build.host("h", None).unwrap();
        build.add_known_labels(host, ["old"].into_iter());
        let file = |_: &str| Some(PatchFile::Text(patch));
        build.apply(&patches, file, Utf8Path::new("o")).unwrap();
        let (_, object) = build.objects().nth(host).unwrap();
        (!object.is_deleted).then(|| object.has_only_new_metadata())
    }

    #[test]
    fn changes_of_unknown_fields_are_seen() {
        for (fields, expected) in [
            ("metadata: {name: h, labels: {a: b, old: null}}", Some(true)),
            ("metadata: {name: h, annotations: {a: b}}", Some(true)),
            ("metadata: {name: h, labels: {a: b}, uid: x}", Some(false)),
            ("metadata: {name: h}, spec: {online: false}", Some(false)),
            ("metadata: {name: h}, spec: null", Some(false)),
            ("metadata: {name: h}, spec: {$patch: delete}", Some(false)),
            ("metadata: {name: h, $patch: replace}", Some(false)),
            ("metadata: {name: h}, $patch: delete", None),
        ] {
            let patch =
                format!("{{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, {fields}}}");
            assert_eq!(changes_only_metadata(&patch), expected, "{fields}");
        }
    }
}
