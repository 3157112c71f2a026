//! The patches of a kustomization: `patchesStrategicMerge`, `patches` and `patchesJson6902`.

use std::collections::HashMap;
use std::sync::Arc;

use camino::Utf8Path;
use serde::Deserialize;
use serde::de::IgnoredAny;
use yaml_serde::{Mapping, Value};

use super::json_patch::{self, Operation};
use super::merge::merge;
use super::object::{Id, Object, scalar_text, text_at};
use super::selector::{Selector, Target};
use super::{Evaluation, Failure, NotBuilt, Objects};
use crate::api::kustomization::{Patch, PatchOptions, PatchTarget};
use crate::finding::{Given, Origin, Place, Step};
use crate::kustomize::{Node, join};
use crate::load::objects;

/// A parsed patch.
enum ParsedPatch {
    Merge(Vec<MergePatch>),
    Json(Vec<Operation>, Place),
}

/// A document of a merge patch.
struct MergePatch {
    patch: Mapping,
    place: Place,
    /// Set if it is in a file of its own, where routes equal those of the object.
    is_document: bool,
    may_rename: bool,
    may_change_kind: bool,
}

/// The text of a patch and its place.
struct PatchSource<'a> {
    text: String,
    /// Entry in the list of patches.
    place: &'a Place,
    /// File of a patch that is not inline.
    file: Option<Arc<Utf8Path>>,
}

impl Evaluation<'_> {
    pub(super) fn apply_merge_patches(
        &self,
        node: &Node,
        directory: &Utf8Path,
        objects: &mut Objects,
    ) -> Result<(), Failure> {
        for (index, entry) in node
            .kustomization
            .patches_strategic_merge
            .iter()
            .flatten()
            .enumerate()
        {
            let place = node
                .origin
                .at([Step::from("patchesStrategicMerge"), index.into()]);
            // An entry is a path or an inline patch.
            let file = join(directory, entry).filter(|_| !entry.contains('\n'));
            let source = match file.and_then(|file| Some((self.repo.text(&file)?, file))) {
                Some((text, file)) => PatchSource {
                    text,
                    place: &place,
                    file: Some(Arc::from(file)),
                },
                None => PatchSource {
                    text: entry.clone(),
                    place: &place,
                    file: None,
                },
            };
            match source
                .parsed(&PatchOptions::default())
                .map_err(Failure::at(&place))?
            {
                ParsedPatch::Merge(patches) => {
                    let patches: Vec<MergePatch> =
                        patches.into_iter().map(MergePatch::copied).collect();
                    self.merge_by_id(&patches, &place, objects)?;
                }
                ParsedPatch::Json(..) => return Err(Failure::at(&place)(no_patch())),
            }
        }
        Ok(())
    }

    pub(super) fn apply_patches(
        &self,
        node: &Node,
        directory: &Utf8Path,
        objects: &mut Objects,
    ) -> Result<(), Failure> {
        self.apply_list(
            "patches",
            node.kustomization.patches.as_deref(),
            node,
            directory,
            objects,
        )
    }

    pub(super) fn apply_json_patches(
        &self,
        node: &Node,
        directory: &Utf8Path,
        objects: &mut Objects,
    ) -> Result<(), Failure> {
        self.apply_list(
            "patchesJson6902",
            node.kustomization.patches_json6902.as_deref(),
            node,
            directory,
            objects,
        )
    }

    fn apply_list(
        &self,
        list: &'static str,
        patches: Option<&[Patch]>,
        node: &Node,
        directory: &Utf8Path,
        objects: &mut Objects,
    ) -> Result<(), Failure> {
        for (index, entry) in patches.into_iter().flatten().enumerate() {
            let place = node.origin.at([Step::from(list), index.into()]);
            let failed = Failure::at(&place);
            let Patch::Entry {
                path,
                patch,
                target,
                options,
            } = entry
            else {
                return Err(failed(NotBuilt::Refused(
                    "an entry of `patches` must be a mapping".to_owned(),
                )));
            };
            let file = path.as_deref().and_then(|path| join(directory, path));
            let read = file.and_then(|file| Some((self.repo.text(&file)?, file)));
            let source = match (read, patch) {
                (Some((text, file)), None) => PatchSource {
                    text,
                    place: &place,
                    file: Some(Arc::from(file)),
                },
                (None, Some(text)) if path.is_none() => PatchSource {
                    text: text.clone(),
                    place: &place,
                    file: None,
                },
                _ => {
                    let path = path.as_deref().unwrap_or("without `path` and `patch`");
                    return Err(failed(NotBuilt::Refused(format!("missing patch {path}"))));
                }
            };
            let parsed = source
                .parsed(&options.clone().unwrap_or_default())
                .map_err(&failed)?;
            let selector = target
                .as_ref()
                .map(|target| Selector::new(&Target::from(target)));
            let selector = selector
                .transpose()
                .map_err(|why| failed(NotBuilt::Beyond(why)))?;
            match (parsed, selector) {
                (ParsedPatch::Merge(patches), None) => {
                    self.merge_by_id(&patches, &place, objects)?
                }
                (ParsedPatch::Merge(patches), Some(selector)) => {
                    let Ok([patch]) = <[MergePatch; 1]>::try_from(patches) else {
                        let why = "a patch with a target has several documents".to_owned();
                        return Err(failed(NotBuilt::Refused(why)));
                    };
                    let selected = (0..objects.list.len())
                        .filter(|index| selector.selects(&objects.list[*index]));
                    let selected: Vec<usize> = selected.collect();
                    self.merge_into(&patch.copied(), &selected, objects)?;
                }
                (ParsedPatch::Json(operations, from), Some(selector)) => {
                    for object in objects
                        .list
                        .iter_mut()
                        .filter(|object| selector.selects(object))
                    {
                        // `patchesJson6902` does not record the previous id.
                        if list == "patches" {
                            object.keep_id();
                        }
                        apply_operations(object, &operations, &from).map_err(|why| {
                            failed(NotBuilt::Refused(format!("the patch for the {why}")))
                        })?;
                    }
                }
                (ParsedPatch::Json(..), None) => {
                    return Err(failed(NotBuilt::Refused(
                        "a JSON patch has no target".to_owned(),
                    )));
                }
            }
        }
        Ok(())
    }

    /// Merges patches into the objects that their ids name.
    fn merge_by_id(
        &self,
        patches: &[MergePatch],
        place: &Place,
        objects: &mut Objects,
    ) -> Result<(), Failure> {
        let mut index = Index::new(&objects.list);
        for patch in patches {
            let id = patch.id();
            match index.0.get(&id).map(Vec::as_slice) {
                Some([only]) => {
                    let count = objects.list.len();
                    self.merge_into(patch, &[*only], objects)?;
                    if patch.may_rename || patch.may_change_kind || objects.list.len() != count {
                        index = Index::new(&objects.list);
                    }
                }
                None if objects.are_partial => {}
                None => {
                    let why = format!("a patch names the missing {}", id.shown());
                    return Err(Failure::at(place)(NotBuilt::Refused(why)));
                }
                Some(_) => {
                    let why = format!("a patch matches more than one {}", id.shown());
                    return Err(Failure::at(place)(NotBuilt::Refused(why)));
                }
            }
        }
        Ok(())
    }

    fn merge_into(
        &self,
        patch: &MergePatch,
        selected: &[usize],
        objects: &mut Objects,
    ) -> Result<(), Failure> {
        let mut deleted: Vec<usize> = Vec::new();
        for index in selected.iter().copied() {
            let Some(object) = objects.list.get_mut(index) else {
                continue;
            };
            match patch.merge_into(object) {
                Ok(true) => {}
                Ok(false) => deleted.push(index),
                // For kinds with a schema, kustomize may accept a patch that is refused here.
                Err(why) if self.wanted.vital.contains(&object.origin.file) => {
                    return Err(Failure::at(&patch.place)(NotBuilt::Refused(why)));
                }
                Err(_) => {}
            }
        }
        // From the back, so that earlier indices stay valid.
        for index in deleted.into_iter().rev() {
            objects.list.remove(index);
        }
        if patch.may_rename || patch.may_change_kind {
            self.check_unique(objects)
        } else {
            Ok(())
        }
    }
}

/// Objects by each current and previous id.
struct Index(HashMap<Id, Vec<usize>>);

impl Index {
    fn new(objects: &[Object]) -> Self {
        let mut index: HashMap<Id, Vec<usize>> = HashMap::with_capacity(objects.len());
        for (at, object) in objects.iter().enumerate() {
            for id in object.ids() {
                let known = index.entry(id).or_default();
                // An object may have had the same id twice.
                if known.last() != Some(&at) {
                    known.push(at);
                }
            }
        }
        Index(index)
    }
}

fn no_patch() -> NotBuilt {
    NotBuilt::Refused("the patch is neither a merge patch nor a JSON patch".to_owned())
}

impl PatchSource<'_> {
    fn parsed(&self, options: &PatchOptions) -> Result<ParsedPatch, NotBuilt> {
        let values = yaml_serde::Deserializer::from_str(self.text.trim());
        let values: Option<Vec<Value>> = values
            .map(|document| Value::deserialize(document).ok())
            .collect();
        let values = values.ok_or_else(no_patch)?;
        if let Some(operations) = values.first().and_then(json_patch::operations) {
            // kustomize reads a text that begins with `[` as JSON, and any other as YAML.
            if self.text.trim().starts_with('[')
                && serde_json::from_str::<IgnoredAny>(self.text.trim()).is_err()
            {
                return Err(NotBuilt::Refused(
                    "a JSON patch that begins with `[` must be JSON".to_owned(),
                ));
            }
            let in_file = |file: &Arc<Utf8Path>| Origin::of_file(file.clone(), &self.text).start();
            let place = self
                .file
                .as_ref()
                .map_or_else(|| self.place.clone(), in_file);
            return operations
                .map(|operations| ParsedPatch::Json(operations, place))
                .map_err(NotBuilt::Refused);
        }
        let documents: Vec<(Value, Option<Origin>)> = match &self.file {
            Some(file) => objects(file, &self.text)
                .iter()
                .map(|document| Some((document.parse().ok()?, Some(document.origin.clone()))))
                .collect::<Option<_>>()
                .ok_or_else(no_patch)?,
            None => values.into_iter().map(|value| (value, None)).collect(),
        };
        let mut patches = Vec::new();
        for (value, origin) in documents {
            let patch = match value {
                Value::Null => continue,
                Value::Mapping(patch) => patch,
                _ => return Err(no_patch()),
            };
            if text_at(&patch, &["kind"]).is_none()
                || text_at(&patch, &["metadata", "name"]).is_none()
            {
                return Err(NotBuilt::Refused(
                    "a patch has no kind or no name".to_owned(),
                ));
            }
            patches.push(MergePatch {
                patch,
                is_document: origin.is_some(),
                place: origin
                    .as_ref()
                    .map_or_else(|| self.place.clone(), Origin::start),
                may_rename: options.allow_name_change == Some(true),
                may_change_kind: options.allow_kind_change == Some(true),
            });
        }
        if patches.is_empty() {
            Err(no_patch())
        } else {
            Ok(ParsedPatch::Merge(patches))
        }
    }
}

impl MergePatch {
    /// Returns the id of the object that it names.
    fn id(&self) -> Id {
        let text = |route: &[&str]| text_at(&self.patch, route).unwrap_or_default();
        let (name, namespace) = (
            text(&["metadata", "name"]),
            text(&["metadata", "namespace"]),
        );
        Id::new(&text(&["apiVersion"]), &text(&["kind"]), &name, &namespace)
    }

    /// Returns the patch as kustomize copies it for a target or from `patchesStrategicMerge`.
    ///
    /// Labels and annotations become strings, including null, so such a patch cannot remove a
    /// label.
    fn copied(mut self) -> Self {
        let Some(Value::Mapping(metadata)) = self.patch.get_mut("metadata") else {
            return self;
        };
        for field in ["labels", "annotations"] {
            match metadata.get_mut(field) {
                Some(Value::Mapping(pairs)) if !pairs.is_empty() => {
                    for value in pairs.values_mut() {
                        let text = if value.is_null() {
                            Some("null".to_owned())
                        } else {
                            scalar_text(value)
                        };
                        *value = text.map_or(Value::Null, Value::from);
                    }
                }
                _ => {
                    metadata.remove(field);
                }
            }
        }
        self
    }

    /// Merges the patch into an object. Returns false if the patch deletes the object.
    fn merge_into(&self, object: &mut Object) -> Result<bool, String> {
        let (name, kind) = (object.name(), object.kind());
        let (namespace, version) = (
            object.text(&["metadata", "namespace"]),
            object.text(&["apiVersion"]),
        );
        if self.may_rename || self.may_change_kind {
            object.keep_id();
        }
        object.settle_types();
        let mut given: Vec<(Vec<Step>, bool)> = Vec::new();
        let merged = merge(object.value.clone(), &self.patch, &mut |route, replaces| {
            given.push((route.to_vec(), replaces))
        })?;
        let Some(merged) = merged else {
            return Ok(false);
        };
        object.value = merged;
        for (route, replaces) in given {
            object.note(self.given(route, replaces));
        }
        // A merge patch never changes apiVersion and namespace, and kind and name only with its
        // options.
        object
            .value
            .insert(Value::from("apiVersion"), Value::from(version));
        if !self.may_change_kind {
            object.value.insert(Value::from("kind"), Value::from(kind));
        }
        if !self.may_rename {
            object.restore("name", &name);
        }
        object.restore("namespace", &namespace);
        Ok(true)
    }

    fn given(&self, route: Vec<Step>, replaces: bool) -> Given {
        let place = match &self.place {
            Place::Node(origin, base) if self.is_document => {
                Place::Node(origin.clone(), base.iter().chain(&route).cloned().collect())
            }
            other => other.clone(),
        };
        Given {
            route,
            place,
            goes_on: self.is_document,
            replaces,
        }
    }
}

/// Applies the operations of a JSON patch. The error starts with the object.
fn apply_operations(
    object: &mut Object,
    operations: &[Operation],
    place: &Place,
) -> Result<(), String> {
    let shown = object.id().shown();
    object.untyped.clear();
    let mut given: Vec<(Vec<Step>, bool)> = Vec::new();
    let patched = json_patch::as_value(object.value.clone(), |value| {
        operations.iter().try_for_each(|operation| {
            given.extend(json_patch::apply(value, operation)?);
            Ok(())
        })
    });
    object.value = patched.map_err(|why| format!("{shown} does not apply: {why}"))?;
    for (route, replaces) in given {
        object.note(Given {
            route,
            place: place.clone(),
            goes_on: false,
            replaces,
        });
    }
    Ok(())
}

impl From<&PatchTarget> for Target {
    fn from(target: &PatchTarget) -> Self {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        Target {
            group: text(&target.group),
            version: text(&target.version),
            kind: text(&target.kind),
            name: text(&target.name),
            namespace: text(&target.namespace),
            label_selector: text(&target.label_selector),
            annotation_selector: text(&target.annotation_selector),
        }
    }
}
