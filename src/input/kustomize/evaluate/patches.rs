//! The patches of a kustomization: `patchesStrategicMerge`, `patches` and `patchesJson6902`.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::json;
use yaml_serde::{Mapping, Value};

use super::budget::EvaluationBudget;
use super::index::ObjectIndex;
use super::json_patch::{self, JsonPatchOperation};
use super::merge_patch::{MergePatch, ParsedPatch, no_patch};
use super::selector::{Selector, text};
use super::{BuildEvaluation, BuildObjects, BuildResult, EvaluationError, FailureAt, StepResult};
use crate::base::api::kustomization::{Patch, PatchOptions, PatchTarget, has};
use crate::base::finding::{Place, RouteStep};
use crate::base::layout::KUSTOMIZATION;
use crate::base::text::credentials::masked_value;
use crate::base::text::yaml;
use crate::input::kustomize::{Builds, KustomizationNode, join};
use crate::input::load::Files;

/// Name of the file with objects to patch.
const PATCHED: &str = "objects.yaml";

/// Returns objects as kustomize patches them; `None` if it would fail.
pub(crate) fn patched(objects: &[Value], patches: &[&Value]) -> Option<Vec<Value>> {
    let fields = json!({"resources": [PATCHED], "patches": patches}).to_string();
    let objects: Result<Vec<String>, _> = objects.iter().map(yaml_serde::to_string).collect();
    let file = Utf8PathBuf::from(KUSTOMIZATION);
    let builds = Builds::default().with_files([(file.as_path(), fields.as_str())].into_iter());
    builds.roots().next()?;
    let objects = objects.ok()?.join("---\n").into_bytes();
    let files = [(PATCHED.into(), objects), (file, fields.into_bytes())];
    builds.built(&Files::in_memory(files), 0, BTreeMap::new()).ok()
}

impl BuildEvaluation<'_> {
    /// Applies `patchesStrategicMerge`.
    pub(super) fn apply_merge_patches(
        &self,
        node: &KustomizationNode,
        objects: &mut BuildObjects,
    ) -> BuildResult {
        const LIST: &str = "patchesStrategicMerge";
        let Some(entries) = &node.kustomization.patches_strategic_merge else {
            return Ok(());
        };
        let mut patched = self.patched(objects);
        let mut has_patch = entries.is_empty();
        for (place, entry) in node.listed_in(LIST, &node.kustomization.patches_strategic_merge) {
            // An entry is a path or an inline patch.
            let is_inline = entry.contains('\n') || yaml::from_str::<Mapping>(entry).is_ok();
            let options = PatchOptions::default();
            let parsed = self.parsed_patch(node, entry, is_inline, &place, &options);
            match parsed.at(&place)? {
                Some(ParsedPatch::Merge(patches)) => {
                    has_patch |= !patches.is_empty();
                    for patch in patches {
                        patched.merge_by_id(&patch.copied()).at(&place)?;
                    }
                }
                Some(ParsedPatch::Json(..)) => return Err(no_patch()).at(&place),
                None => {
                    self.leave_patch(patched.objects, entry).at(&place)?;
                    has_patch = true;
                }
            }
        }
        if !has_patch {
            let why = format!("`{LIST}` has no patch");
            return Err(EvaluationError::Refused(why)).at(&node.origin.at([LIST]));
        }
        patched.finish();
        Ok(())
    }

    /// Applies `patches` or `patchesJson6902`.
    pub(super) fn apply_patches(
        &self,
        list: &'static str,
        node: &KustomizationNode,
        objects: &mut BuildObjects,
    ) -> BuildResult {
        let is_json = list == "patchesJson6902";
        let entries = if is_json {
            &node.kustomization.patches_json6902
        } else {
            &node.kustomization.patches
        };
        if !has(entries) {
            return Ok(());
        }
        let mut patched = self.patched(objects);
        for (place, entry) in node.listed_in(list, entries) {
            let Patch::Entry { path, patch, target, options } = entry else {
                let why = "an entry of `patches` must be a mapping";
                return Err(EvaluationError::refused(why)).at(&place);
            };
            let path = path.as_deref().filter(|path| !path.is_empty());
            let patch = patch.as_deref().map(str::trim);
            let (text, is_inline) = match (path, patch.filter(|patch| !patch.is_empty())) {
                (Some(path), None) => (path, false),
                (None, Some(patch)) => (patch, true),
                _ => {
                    let why = "a patch must have either `path` or `patch`";
                    return Err(EvaluationError::refused(why)).at(&place);
                }
            };
            let options = options.clone().unwrap_or_default();
            match self.parsed_patch(node, text, is_inline, &place, &options).at(&place)? {
                Some(parsed) => patched.apply(parsed, target.as_ref(), is_json).at(&place)?,
                None => self.leave_patch(patched.objects, text).at(&place)?,
            }
        }
        patched.finish();
        Ok(())
    }

    /// Leaves a patch of unknown content to kustomize.
    fn leave_patch(&self, objects: &mut BuildObjects, path: &str) -> StepResult {
        let why = format!("the patch `{}` is not in the repo", masked_value(path));
        self.leave_to_kustomize(objects, why)?;
        objects.are_partial = true;
        Ok(())
    }

    fn patched<'o>(&'o self, objects: &'o mut BuildObjects) -> PatchedObjects<'o> {
        let index = ObjectIndex::new(&objects.list);
        PatchedObjects {
            vital: Some(&self.wanted.vital),
            lacks_output: self.wanted.output.is_some()
                && (self.is_above_root || !self.component_bases.is_empty()),
            budget: self.budget,
            index,
            objects,
        }
    }

    /// Parses a patch, or returns `None` if it is not in the repo.
    fn parsed_patch(
        &self,
        node: &KustomizationNode,
        entry: &str,
        is_inline: bool,
        place: &Place,
        options: &PatchOptions,
    ) -> StepResult<Option<ParsedPatch>> {
        if is_inline {
            return ParsedPatch::new(entry, None, place, options).map(Some);
        }
        let file = join(&node.directory, entry).map(|path| Arc::from(path.as_path()));
        let text = self.text_of(node, entry)?;
        text.map(|text| ParsedPatch::new(&text, file, place, options)).transpose()
    }
}

/// Objects while the patches of a list change them.
pub(super) struct PatchedObjects<'a> {
    /// Files for whose objects a patch that fails is an error; `None` for all.
    pub(super) vital: Option<&'a HashSet<Arc<Utf8Path>>>,
    /// Set if patches of the output come first, whose values are not known yet.
    pub(super) lacks_output: bool,
    pub(super) budget: &'a EvaluationBudget,
    pub(super) index: ObjectIndex,
    pub(super) objects: &'a mut BuildObjects,
}

impl PatchedObjects<'_> {
    /// Applies a patch.
    pub(super) fn apply(
        &mut self,
        parsed: ParsedPatch,
        target: Option<&PatchTarget>,
        is_json: bool,
    ) -> BuildResult {
        if is_json && target.is_none_or(|target| text(&target.name).is_empty()) {
            let why = "an entry of `patchesJson6902` must have a target with a name";
            return Err(EvaluationError::refused(why).into());
        }
        let selector = target.map(Selector::new).transpose()?;
        match (parsed, selector) {
            (ParsedPatch::Merge(_), _) if is_json => Err(no_patch().into()),
            (ParsedPatch::Json(operations, _), _) if is_json && operations.is_empty() => {
                Err(no_patch().into())
            }
            (ParsedPatch::Merge(patches), None) => {
                patches.iter().try_for_each(|patch| self.merge_by_id(patch))
            }
            (ParsedPatch::Merge(mut patches), Some(selector)) => {
                let Some(patch) = patches.pop() else { return Ok(()) };
                if !patches.is_empty() {
                    let why = "a patch with a target has several documents";
                    return Err(EvaluationError::refused(why).into());
                }
                let (patch, selected) = (patch.copied(), self.selected(&selector)?);
                self.merge(&patch, &selected).at(&patch.place)
            }
            (ParsedPatch::Json(operations, from), Some(selector)) => {
                for at in self.selected(&selector)? {
                    // `patchesJson6902` does not record the previous id.
                    let keeps_id = !is_json;
                    self.operate(at, &operations, &from, keeps_id)?;
                }
                Ok(())
            }
            (ParsedPatch::Json(..), None) => {
                Err(EvaluationError::refused("a JSON patch has no target").into())
            }
        }
    }

    /// Removes the objects that patches have deleted.
    fn finish(self) {
        self.objects.list.retain(|object| !object.is_deleted);
    }

    /// Returns the positions of the objects that a target selects.
    fn selected(&self, selector: &Selector) -> StepResult<Vec<usize>> {
        let list = &self.objects.list;
        let candidates = match (selector.name.plain(), selector.namespace.plain()) {
            (Some(name), _) => self.index.with_name(name),
            (None, Some(namespace)) => self.index.in_namespace(namespace),
            (None, None) => (0..list.len()).collect(),
        };
        self.budget.step(1 + candidates.len())?;
        let is_selected = |at: &usize| {
            list.get(*at).is_some_and(|object| !object.is_deleted && selector.selects(object))
        };
        Ok(candidates.into_iter().filter(is_selected).collect())
    }

    /// Merges a patch into the object that its id names.
    fn merge_by_id(&mut self, patch: &MergePatch) -> BuildResult {
        let id = &patch.id;
        let list = &self.objects.list;
        let found = self.index.with_id(id).iter().copied();
        let found: Vec<usize> =
            found.filter(|at| list.get(*at).is_some_and(|object| !object.is_deleted)).collect();
        let why = match found.as_slice() {
            [only] => return self.merge(patch, &[*only]).at(&patch.place),
            [] if self.objects.are_partial => return Ok(()),
            [] => format!("a patch names the missing {}", id.shown()),
            _ => format!("a patch matches more than one {}", id.shown()),
        };
        Err(EvaluationError::Refused(why).into())
    }

    /// Merges a patch into the objects at some positions.
    fn merge(&mut self, patch: &MergePatch, selected: &[usize]) -> StepResult {
        for at in selected.iter().copied() {
            let Some(object) = self.objects.list.get_mut(at) else {
                continue;
            };
            self.budget.step(1)?;
            self.budget.allocate(patch.bytes)?;
            let changes_id = patch.may_rename || patch.may_change_kind;
            let before = if changes_id { object.ids() } else { Vec::new() };
            let is_vital = self.vital.is_none_or(|vital| vital.contains(&object.origin.file));
            match patch.merge_into(object, !is_vital, self.budget) {
                // For kinds with a schema, kustomize may accept a patch that is refused here.
                Err(EvaluationError::Refused(_)) if !is_vital => {}
                is_kept => object.is_deleted = !is_kept?,
            }
            if changes_id {
                let after = object.ids();
                self.index.replace(at, &before, &after);
            }
        }
        if patch.may_rename || patch.may_change_kind {
            self.check_unique(selected)?;
        }
        Ok(())
    }

    /// Refuses objects at some positions that have the id of another object.
    fn check_unique(&self, positions: &[usize]) -> StepResult {
        let list = &self.objects.list;
        for object in positions.iter().filter_map(|at| list.get(*at)) {
            let id = object.id();
            let alike = self.index.with_id(&id);
            self.budget.step(alike.len())?;
            let alike = alike.iter().filter_map(|at| list.get(*at));
            let alike = alike.filter(|other| !other.is_deleted && other.id() == id);
            if !object.is_deleted && alike.count() > 1 {
                return Err(EvaluationError::Refused(format!("duplicate {}", id.shown())));
            }
        }
        Ok(())
    }

    /// Applies the operations of a JSON patch to an object.
    fn operate(
        &mut self,
        at: usize,
        operations: &[JsonPatchOperation],
        place: &Place,
        keeps_id: bool,
    ) -> StepResult {
        let Some(object) = self.objects.list.get_mut(at) else {
            return Ok(());
        };
        let before = object.ids();
        if keeps_id {
            object.keep_id();
        }
        let shown = object.id().shown();
        object.untyped.clear();
        let mut given: Vec<(Vec<RouteStep>, bool)> = Vec::new();
        // kustomize stores former ids as annotations until the end of the build.
        let has_annotations = object.first_id().is_some();
        let patched = object.change(|value| {
            if has_annotations && let Some(metadata) = metadata(value) {
                let annotations = metadata.entry(ANNOTATIONS.into()).or_insert(Value::Null);
                if annotations.is_null() {
                    *annotations = Mapping::new().into();
                }
            }
            for operation in operations {
                match json_patch::apply(value, operation, self.budget) {
                    Ok(set) => given.extend(set),
                    Err(EvaluationError::Refused(_))
                        if self.lacks_output && operation.needs_output() => {}
                    Err(problem) => return Err(problem),
                }
            }
            if has_annotations
                && let Some(metadata) = metadata(value)
                && let Some(Value::Mapping(annotations)) = metadata.get(ANNOTATIONS)
                && annotations.is_empty()
            {
                metadata.shift_remove(ANNOTATIONS);
            }
            if !value.is_mapping() {
                return Err(EvaluationError::refused("the patch removes the whole object"));
            }
            Ok(())
        });
        patched.map_err(|problem| match problem {
            EvaluationError::Refused(why) => {
                EvaluationError::Refused(format!("the patch for the {shown} does not apply: {why}"))
            }
            beyond => beyond,
        })?;
        object.note_all(given, place, false, self.budget)?;
        let after = object.ids();
        self.index.replace(at, &before, &after);
        Ok(())
    }
}

const ANNOTATIONS: &str = "annotations";

fn metadata(value: &mut Value) -> Option<&mut Mapping> {
    value.get_mut("metadata")?.as_mapping_mut()
}
