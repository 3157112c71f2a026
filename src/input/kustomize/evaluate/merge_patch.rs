//! A patch as parsed, and how a merge patch changes an object.
//!
//! These are strategic merge patches for kinds without a schema in kustomize: mappings are merged,
//! other values are replaced.

use std::sync::Arc;

use camino::Utf8Path;
use serde::Deserialize;
use serde::de::IgnoredAny;
use yaml_serde::{Mapping, Value};

use super::budget::{BuildBudget, size};
use super::go_yaml;
use super::json_patch::JsonPatchOperation;
use super::object::{BuildObject, Id, scalar_text, text_at};
use super::{EvaluationError, StepResult, refuse};
use crate::base::api::kustomization::PatchOptions;
use crate::base::finding::{Origin, Place, RouteStep};
use crate::base::text::yaml;
use crate::base::text::yaml::bounded::{self, TextLimitExceeded};
use crate::input::load::{objects, texts_of_documents};

/// A parsed patch.
pub(super) enum ParsedPatch {
    /// Its documents, except empty ones.
    Merge(Vec<MergePatch>),
    Json(Vec<JsonPatchOperation>, Place),
}

/// A document of a merge patch.
pub(super) struct MergePatch {
    /// The id of the object that it names.
    pub(super) id: Id,
    /// Its fields, without those of the id that do not change the object.
    patch: Mapping,
    pub(super) place: Place,
    /// Set if it is in a file of its own, where routes equal those of the object.
    is_document: bool,
    pub(super) may_rename: bool,
    pub(super) may_change_kind: bool,
    /// The memory of the patch.
    pub(super) bytes: usize,
}

/// Removes the fields of a patch that name its object and do not change it.
fn without_id(mut patch: Mapping, may_rename: bool, may_change_kind: bool) -> Mapping {
    let remove = |mapping: &mut Mapping, key: &str| {
        if mapping.get(key).and_then(scalar_text).is_some() {
            mapping.remove(key);
        }
    };
    remove(&mut patch, "apiVersion");
    if !may_change_kind {
        remove(&mut patch, "kind");
    }
    if let Some(Value::Mapping(metadata)) = patch.get_mut("metadata") {
        remove(metadata, "namespace");
        if !may_rename {
            remove(metadata, "name");
        }
    }
    patch
}

pub(super) fn no_patch() -> EvaluationError {
    EvaluationError::Refused("the patch is neither a merge patch nor a JSON patch".to_owned())
}

/// Reads a document, with its merge keys (`<<`) resolved.
fn merged_value(document: yaml_serde::Deserializer<'_>) -> Result<Value, yaml_serde::Error> {
    let mut value = Value::deserialize(document)?;
    value.apply_merge()?;
    Ok(value)
}

impl ParsedPatch {
    /// Parses the text of a patch at a place in a list of patches, from its file unless it is inline.
    pub(super) fn new(
        text: &str,
        file: Option<Arc<Utf8Path>>,
        place: &Place,
        options: Option<&PatchOptions>,
    ) -> StepResult<Self> {
        for document in texts_of_documents(text) {
            let limit =
                |limit: TextLimitExceeded| EvaluationError::TooLarge(format!("a patch: {limit}"));
            bounded::check(document).map_err(limit)?;
        }
        let values: Result<Vec<Value>, _> =
            yaml_serde::Deserializer::from_str(text.trim()).map(merged_value).collect();
        let values = values.map_err(|error| {
            // kustomize accepts a key twice in a patch.
            if error.to_string().contains("duplicate") {
                EvaluationError::Beyond("a patch has a key twice".to_owned())
            } else {
                no_patch()
            }
        })?;
        if let Some(operations) = values.into_iter().next().filter(Value::is_sequence) {
            // kustomize reads a text that begins with `[` as JSON, and any other as YAML.
            if text.trim().starts_with('[')
                && serde_json::from_str::<IgnoredAny>(text.trim()).is_err()
            {
                return refuse("a JSON patch that begins with `[` must be JSON");
            }
            let in_file = |file| Origin::for_file(file, text).start();
            let place = file.map_or_else(|| place.clone(), in_file);
            // Unlike other YAML of kustomize, it has the types of YAML 1.1.
            let operations = go_yaml::parse(text.trim()).unwrap_or(operations);
            return yaml_serde::from_value(operations)
                .map(|operations| ParsedPatch::Json(operations, place))
                .map_err(|error| EvaluationError::Refused(error.to_string()));
        }
        let inline = Arc::from(Utf8Path::new(""));
        let documents = objects(file.as_ref().unwrap_or(&inline), text)
            .iter()
            .map(|document| {
                let origin = file.is_some().then(|| document.origin.clone());
                Some((document.parse().ok()?, origin))
            })
            .collect::<Option<_>>()
            .ok_or_else(no_patch)?;
        MergePatch::read(documents, place, options).map(ParsedPatch::Merge)
    }
}

impl MergePatch {
    /// Returns the patch as kustomize copies it for a target or from `patchesStrategicMerge`.
    ///
    /// Labels and annotations become strings, including null, so such a patch cannot remove a
    /// label.
    pub(super) fn copied(mut self) -> Self {
        let Some(Value::Mapping(metadata)) = self.patch.get_mut("metadata") else { return self };
        for field in ["labels", "annotations"] {
            match metadata.get_mut(field) {
                Some(Value::Mapping(pairs)) if !pairs.is_empty() => {
                    for value in pairs.values_mut() {
                        *value = match &*value {
                            Value::Null => "null".into(),
                            value => scalar_text(value).map_or(Value::Null, Value::from),
                        };
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
    ///
    /// # Errors
    ///
    /// Returns why kustomize refuses the patch, or may refuse it. `keeps_refused` leaves the object
    /// as it was then.
    pub(super) fn merge_into(
        &self,
        object: &mut BuildObject,
        keeps_refused: bool,
        budget: &BuildBudget,
    ) -> StepResult<bool> {
        let version = text_at(&object.value, &["apiVersion"]).unwrap_or_default();
        let Id { kind, name, namespace, .. } = object.id();
        if self.may_rename || self.may_change_kind {
            object.keep_id();
        }
        object.settle_types();
        // kustomize ignores a patch that replaces the whole object.
        if self.patch.get(DIRECTIVE).and_then(Value::as_str) == Some("replace") {
            return Ok(true);
        }
        let before = keeps_refused.then(|| object.value.clone());
        let mut merge = StrategicMerge::default();
        match merge.merge(&mut object.value, &self.patch) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(why) => {
                if let Some(before) = before {
                    object.value = before;
                }
                return refuse(why);
            }
        }
        object.note_all(merge.set, &self.place, self.is_document, budget)?;
        // A merge patch never changes apiVersion and namespace, and kind and name only with its
        // options.
        object.value.insert("apiVersion".into(), version.into());
        if !self.may_change_kind {
            object.value.insert("kind".into(), kind.into());
        }
        if !self.may_rename {
            object.restore("name", &name);
        }
        object.restore("namespace", &namespace);
        Ok(true)
    }

    /// Returns the merge patches in a text that sipgen wrote.
    pub(super) fn in_written_text(text: &str, place: &Place) -> StepResult<Vec<Self>> {
        let documents = texts_of_documents(text)
            .map(yaml::from_str::<Value>)
            .map(|value| Ok((value.map_err(|_| no_patch())?, None)))
            .collect::<StepResult<_>>()?;
        Self::read(documents, place, None)
    }

    /// Returns merge patches, each with the position of its document unless it is inline.
    pub(super) fn read(
        documents: Vec<(Value, Option<Origin>)>,
        place: &Place,
        options: Option<&PatchOptions>,
    ) -> StepResult<Vec<Self>> {
        let mut patches = Vec::new();
        for (value, origin) in documents {
            let bytes = size(&value, 0).unwrap_or_default();
            let patch = match value {
                Value::Null => continue,
                Value::Mapping(patch) if patch.is_empty() => continue,
                Value::Mapping(patch) => patch,
                _ => return Err(no_patch()),
            };
            if text_at(&patch, &["kind"]).is_none()
                || text_at(&patch, &["metadata", "name"]).is_none()
            {
                return refuse("a patch has no kind or no name");
            }
            let may_rename = options.is_some_and(|it| it.allow_name_change == Some(true));
            let may_change_kind = options.is_some_and(|it| it.allow_kind_change == Some(true));
            patches.push(MergePatch {
                id: Id::from_object(&patch),
                patch: without_id(patch, may_rename, may_change_kind),
                bytes,
                is_document: origin.is_some(),
                place: origin.as_ref().map_or_else(|| place.clone(), Origin::start),
                may_rename,
                may_change_kind,
            });
        }
        Ok(patches)
    }
}

/// Key that selects a patch strategy other than merging.
const DIRECTIVE: &str = "$patch";

/// A merge of a patch into an object.
#[derive(Default)]
struct StrategicMerge<'p> {
    /// Route to the current value.
    route: Vec<&'p str>,
    /// Set below a value that the patch sets as a whole.
    is_below_set: bool,
    /// The routes of the values that the patch sets, each set if it replaces another value.
    set: Vec<(Vec<RouteStep>, bool)>,
}

impl<'p> StrategicMerge<'p> {
    fn note(&mut self, replaces: bool) {
        if !self.is_below_set {
            let route = self.route.iter().map(|key| RouteStep::from(*key));
            self.set.push((route.collect(), replaces));
        }
    }

    /// Merges a patch into an object, or into the mapping at the route. Returns false if the patch
    /// removes it.
    ///
    /// # Errors
    ///
    /// Returns why kustomize refuses the patch. Part of it may be merged then.
    fn merge(&mut self, mapping: &mut Mapping, patch: &'p Mapping) -> Result<bool, String> {
        let is_below_set = self.is_below_set;
        match patch.get(DIRECTIVE).and_then(Value::as_str) {
            Some("delete") => return Ok(false),
            Some("replace") => {
                self.note(true);
                mapping.clear();
                self.is_below_set = true;
            }
            Some("merge") | None => {}
            Some(other) => return Err(format!("unknown patch strategy `{other}`")),
        }
        for (key, new) in patch {
            let Some(name) = key.as_str().filter(|name| *name != DIRECTIVE) else { continue };
            self.route.push(name);
            let old = mapping.entry(Value::from(name)).or_insert(Value::Null);
            if !self.merge_value(old, new)? {
                mapping.remove(name);
            }
            self.route.pop();
        }
        self.is_below_set = is_below_set;
        Ok(true)
    }

    /// Merges a patch into a field's value, which is null if the field is missing. Returns false if
    /// the patch removes the field.
    fn merge_value(&mut self, old: &mut Value, new: &'p Value) -> Result<bool, String> {
        match (old, new) {
            // Null removes the field.
            (_, Value::Null) => {
                self.note(true);
                Ok(false)
            }
            (old @ Value::Null, Value::Mapping(new)) => {
                self.note(false);
                let is_below_set = std::mem::replace(&mut self.is_below_set, true);
                let mut added = Mapping::new();
                let is_kept = self.merge(&mut added, new)?;
                self.is_below_set = is_below_set;
                *old = Value::Mapping(added);
                Ok(is_kept)
            }
            (Value::Mapping(old), Value::Mapping(new)) => self.merge(old, new),
            (old, new) if old.is_null() || shape(old) == shape(new) => {
                if old != new {
                    self.note(!old.is_null());
                    *old = new.clone();
                }
                Ok(true)
            }
            (old, new) => Err(format!(
                "`{}` is {} in the object and {} in the patch",
                self.route.join("."),
                shape(old),
                shape(new)
            )),
        }
    }
}

/// Returns the shape of a value. Values of different shapes cannot be merged.
fn shape(value: &Value) -> &'static str {
    match value {
        Value::Mapping(_) => "a mapping",
        Value::Sequence(_) => "a list",
        _ => "a scalar",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(object: &str, patch: &str) -> Result<Option<Value>, String> {
        let mapping = |text: &str| yaml_serde::from_str::<Mapping>(text).unwrap();
        let mut object = mapping(object);
        let is_kept = StrategicMerge::default().merge(&mut object, &mapping(patch))?;
        Ok(is_kept.then_some(Value::Mapping(object)))
    }

    #[test]
    fn mappings_are_merged_and_all_else_is_replaced() {
        for (object, patch, expected) in [
            ("a: {b: 1, c: 2}", "a: {b: 3}", "a: {b: 3, c: 2}"),
            ("a: {b: 1, c: 2}", "a: {b: null}", "a: {c: 2}"),
            ("a: [1, 2]", "a: [3]", "a: [3]"),
            ("a: {b: 1}", "a: {$patch: replace, c: 2}", "a: {c: 2}"),
            ("a: {b: 1}", "a: {$patch: delete}", "{}"),
            ("a: 1", "b: {c: null, d: {$patch: delete}, e: {f: 1}}", "a: 1\nb: {e: {f: 1}}"),
            ("a: null", "a: {b: 1}", "a: {b: 1}"),
        ] {
            let expected: Value = yaml_serde::from_str(expected).unwrap();
            assert_eq!(merged(object, patch), Ok(Some(expected)), "{object} + {patch}");
        }
        assert_eq!(merged("a: 1", "$patch: delete"), Ok(None));
    }

    #[test]
    fn shapes_that_differ_and_unknown_strategies_are_refused() {
        for (object, patch) in
            [("a: 1", "a: {b: 1}"), ("a: [1]", "a: 1"), ("a: {b: 1}", "a: {$patch: no}")]
        {
            assert!(merged(object, patch).is_err(), "{object} + {patch}");
        }
    }
}
