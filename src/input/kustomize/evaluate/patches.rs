//! The patches of a kustomization: `patchesStrategicMerge`, `patches` and `patchesJson6902`.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::json;
use yaml_serde::{Mapping, Value};

use super::budget::BuildBudget;
use super::index::ObjectIndex;
use super::json_patch::{self, JsonPatchOperation};
use super::merge_patch::{MergePatch, ParsedPatch, no_patch};
use super::object::BuildObject;
use super::selector::{Selector, text};
use super::{
    BuildEvaluation, BuildObjects, BuildResult, EvaluationError, FailureAt, StepResult, refuse,
};
use crate::base::api::kustomization::{Patch, PatchOptions, PatchTarget};
use crate::base::finding::{Place, RouteStep};
use crate::base::layout::KUSTOMIZATION;
use crate::base::text::credentials::masked_value;
use crate::base::text::{non_empty, yaml};
use crate::input::kustomize::{BuildNode, Builds, join};
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

/// Lists of patches, in the order of kustomize.
pub(super) const MERGE_PATCHES: &str = "patchesStrategicMerge";
pub(super) const PATCHES: &str = "patches";
pub(super) const JSON_PATCHES: &str = "patchesJson6902";

/// An entry of a list of patches.
struct PatchEntry<'k> {
    /// A path, or the patch itself.
    text: &'k str,
    is_inline: bool,
    target: Option<&'k PatchTarget>,
    options: Option<&'k PatchOptions>,
}

impl<'k> PatchEntry<'k> {
    /// Returns an entry of `patchesStrategicMerge`, which is a path or an inline patch.
    fn from_text(text: &'k str) -> Self {
        let is_inline = text.contains('\n') || yaml::from_str::<Mapping>(text).is_ok();
        PatchEntry { text, is_inline, target: None, options: None }
    }

    fn new(entry: &'k Patch) -> StepResult<Self> {
        let Patch::Entry { path, patch, target, options } = entry else {
            return refuse("an entry of `patches` must be a mapping");
        };
        let patch = patch.as_deref().map(str::trim).filter(|patch| !patch.is_empty());
        let (text, is_inline) = match (non_empty(path), patch) {
            (Some(path), None) => (path, false),
            (None, Some(patch)) => (patch, true),
            _ => return refuse("a patch must have either `path` or `patch`"),
        };
        Ok(PatchEntry { text, is_inline, target: target.as_ref(), options: options.as_ref() })
    }
}

impl BuildEvaluation<'_> {
    /// Returns whether a part of the output, which is not known yet, has changed objects.
    pub(super) fn lacks_output(&self) -> bool {
        self.wanted.output.is_some() && (self.is_above_root || !self.component_bases.is_empty())
    }

    /// Applies a list of patches.
    pub(super) fn apply_patches(
        &self,
        list: &'static str,
        node: &BuildNode,
        objects: &mut BuildObjects,
    ) -> BuildResult {
        let own = &node.kustomization;
        let (texts, patches) = match list {
            MERGE_PATCHES => (&own.patches_strategic_merge, &None),
            JSON_PATCHES => (&None, &own.patches_json6902),
            _ => (&None, &own.patches),
        };
        let texts = node.listed_in(list, texts);
        let texts = texts.map(|(place, text)| (place, Ok(PatchEntry::from_text(text))));
        let patches =
            node.listed_in(list, patches).map(|(place, patch)| (place, PatchEntry::new(patch)));
        let mut entries = texts.chain(patches).peekable();
        if entries.peek().is_none() {
            return Ok(());
        }
        let mut index = ObjectIndex::new(&objects.list);
        let mut patched = PatchedObjects {
            vital: Some(&self.wanted.vital),
            lacks_output: self.lacks_output(),
            budget: self.budget,
            index: &mut index,
            objects,
        };
        let mut has_patch = list != MERGE_PATCHES;
        for (place, entry) in entries {
            let entry = entry.at(&place)?;
            let parsed = self.parsed_patch(node, &entry, &place).at(&place)?;
            has_patch |=
                !matches!(&parsed, Some(ParsedPatch::Merge(patches)) if patches.is_empty());
            match parsed {
                Some(parsed) => patched.apply(parsed, entry.target, list).at(&place)?,
                None => {
                    let why =
                        format!("the patch `{}` is not in the repo", masked_value(entry.text));
                    self.leave_to_kustomize(patched.objects, why).at(&place)?;
                    patched.objects.are_partial = true;
                }
            }
        }
        if !has_patch {
            return refuse(format!("`{list}` has no patch")).at(&node.origin.at([list]));
        }
        patched.objects.list.retain(|object| !object.is_deleted);
        Ok(())
    }

    /// Parses a patch, or returns `None` if it is not in the repo.
    fn parsed_patch(
        &self,
        node: &BuildNode,
        entry: &PatchEntry<'_>,
        place: &Place,
    ) -> StepResult<Option<ParsedPatch>> {
        let PatchEntry { text, is_inline, options, .. } = *entry;
        if is_inline {
            return ParsedPatch::new(text, None, place, options).map(Some);
        }
        let file = join(&node.directory, text).map(|path| Arc::from(path.as_path()));
        let content = self.text_of(node, text)?;
        content.map(|content| ParsedPatch::new(&content, file, place, options)).transpose()
    }
}

/// Objects while the patches of a list change them.
pub(super) struct PatchedObjects<'a> {
    /// Files for whose objects a patch that fails is an error; `None` for all.
    pub(super) vital: Option<&'a HashSet<Arc<Utf8Path>>>,
    /// Set if patches of the output come first, whose values are not known yet.
    pub(super) lacks_output: bool,
    pub(super) budget: &'a BuildBudget,
    pub(super) index: &'a mut ObjectIndex,
    pub(super) objects: &'a mut BuildObjects,
}

impl PatchedObjects<'_> {
    /// Applies a patch of a list.
    pub(super) fn apply(
        &mut self,
        parsed: ParsedPatch,
        target: Option<&PatchTarget>,
        list: &str,
    ) -> BuildResult {
        let is_json = list == JSON_PATCHES;
        if is_json && target.is_none_or(|target| text(&target.name).is_empty()) {
            refuse::<()>("an entry of `patchesJson6902` must have a target with a name")?;
        }
        let selector = target.map(Selector::new).transpose()?;
        match (parsed, selector) {
            (ParsedPatch::Merge(_), _) if is_json => Err(no_patch().into()),
            (ParsedPatch::Json(operations, _), _)
                if list == MERGE_PATCHES || is_json && operations.is_empty() =>
            {
                Err(no_patch().into())
            }
            (ParsedPatch::Merge(patches), None) => patches.into_iter().try_for_each(|patch| {
                self.merge_by_id(if list == MERGE_PATCHES { patch.copied() } else { patch })
            }),
            (ParsedPatch::Merge(mut patches), Some(selector)) => {
                let Some(patch) = patches.pop() else { return Ok(()) };
                if !patches.is_empty() {
                    refuse::<()>("a patch with a target has several documents")?;
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
            (ParsedPatch::Json(..), None) => Ok(refuse("a JSON patch has no target")?),
        }
    }

    /// Returns an object, unless a patch has deleted it.
    fn object(&self, at: usize) -> Option<&BuildObject> {
        self.objects.list.get(at).filter(|object| !object.is_deleted)
    }

    /// Returns the positions of the objects that a target selects.
    fn selected(&self, selector: &Selector) -> StepResult<Vec<usize>> {
        let mut positions: Vec<usize> = match (selector.name.plain(), selector.namespace.plain()) {
            (Some(name), _) => self.index.with_name(name).collect(),
            (None, Some(namespace)) => self.index.in_namespace(namespace).collect(),
            (None, None) => (0..self.objects.list.len()).collect(),
        };
        self.budget.step(1 + positions.len())?;
        let selects = |object: &BuildObject| selector.selects(object, &object.id());
        positions.retain(|at| self.object(*at).is_some_and(selects));
        Ok(positions)
    }

    /// Merges a patch into the object that its id names.
    fn merge_by_id(&mut self, patch: MergePatch) -> BuildResult {
        let found = self.index.with_id(&patch.id).filter(|at| self.object(*at).is_some());
        let why = match found.collect::<Vec<_>>()[..] {
            [only] => return self.merge(&patch, &[only]).at(&patch.place),
            [] if self.objects.are_partial => return Ok(()),
            [] => format!("a patch names the missing {}", patch.id.shown()),
            _ => format!("a patch matches more than one {}", patch.id.shown()),
        };
        Ok(refuse(why)?)
    }

    /// Merges a patch into the objects at some positions.
    fn merge(&mut self, patch: &MergePatch, selected: &[usize]) -> StepResult {
        for at in selected.iter().copied() {
            let object = &mut self.objects.list[at];
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
                self.index.replace(at, &before, object.ids());
            }
        }
        if patch.may_rename || patch.may_change_kind {
            self.check_unique(selected)?;
        }
        Ok(())
    }

    /// Refuses objects at some positions that have the id of another object.
    fn check_unique(&self, positions: &[usize]) -> StepResult {
        for object in positions.iter().filter_map(|at| self.object(*at)) {
            let id = object.id();
            let alike = self.index.with_id(&id);
            self.budget.step(alike.clone().count())?;
            let is_same = |at: &usize| self.object(*at).is_some_and(|other| other.id() == id);
            if alike.filter(is_same).count() > 1 {
                return refuse(format!("duplicate {}", id.shown()));
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
        let object = &mut self.objects.list[at];
        let before = object.ids();
        if keeps_id {
            object.keep_id();
        }
        let shown = object.id().shown();
        object.untyped.clear();
        let mut given: Vec<(Vec<RouteStep>, bool)> = Vec::new();
        // kustomize stores former ids as annotations until the end of the build.
        let has_former_id = object.first_id().is_some();
        if has_former_id
            && let Some(Value::Mapping(metadata)) = object.value.get_mut("metadata")
            && metadata.get("annotations").is_none_or(Value::is_null)
        {
            metadata.insert("annotations".into(), Mapping::new().into());
        }
        let patched = object.change(|value| {
            for operation in operations {
                match json_patch::apply(value, operation, self.budget) {
                    Ok(set) => given.extend(set),
                    Err(EvaluationError::Refused(_))
                        if self.lacks_output && operation.needs_output() => {}
                    Err(problem) => return Err(problem),
                }
            }
            if value.is_mapping() { Ok(()) } else { refuse("the patch removes the whole object") }
        });
        patched.map_err(|problem| match problem {
            EvaluationError::Refused(why) => {
                EvaluationError::Refused(format!("the patch for the {shown} does not apply: {why}"))
            }
            beyond => beyond,
        })?;
        if has_former_id
            && let Some(Value::Mapping(metadata)) = object.value.get_mut("metadata")
            && let Some(Value::Mapping(annotations)) = metadata.get("annotations")
            && annotations.is_empty()
        {
            metadata.shift_remove("annotations");
        }
        object.note_all(given, place, false, self.budget)?;
        self.index.replace(at, &before, object.ids());
        Ok(())
    }
}
