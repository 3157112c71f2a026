//! A patch as parsed, and how a merge patch changes an object.

use std::sync::Arc;

use camino::Utf8Path;
use serde::Deserialize;
use serde::de::IgnoredAny;
use yaml_serde::{Mapping, Value};

use super::budget::{BuildBudget, size};
use super::go_yaml;
use super::json_patch::JsonPatchOperation;
use super::merge::{DIRECTIVE, StrategicMerge};
use super::object::{BuildObject, Id, scalar_text, text_at};
use super::{EvaluationError, StepResult, refuse};
use crate::base::api::kustomization::PatchOptions;
use crate::base::finding::{Origin, Place};
use crate::base::text::yaml;
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
        let Some(Value::Mapping(metadata)) = self.patch.get_mut("metadata") else {
            return self;
        };
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
        let version = object.text(&["apiVersion"]);
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
