//! The transformations of a kustomization, in the order of kustomize's built-in transformers.

use std::collections::BTreeMap;

use yaml_serde::Value;

use super::budget::VALUE_BYTES;
use super::object::{BuildObject, Id, value_at};
use super::patches::{JSON_PATCHES, MERGE_PATCHES, PATCHES};
use super::replacement::Replacement;
use super::{
    BuildEvaluation, BuildObjects, BuildResult, EvaluationError, FailureAt, StepResult, defer,
    refuse,
};
use crate::base::api::kustomization::{Kustomization, has};
use crate::base::finding::{Place, RouteStep, below};
use crate::base::text::{non_empty, yaml};
use crate::input::kustomize::BuildNode;

/// Kinds to which `replicas` applies without `configurations`.
const KINDS_WITH_REPLICAS: [&str; 4] =
    ["Deployment", "ReplicationController", "ReplicaSet", "StatefulSet"];

impl BuildEvaluation<'_> {
    /// Transforms the objects in kustomize's order.
    pub(super) fn transform(&self, node: &BuildNode, objects: &mut BuildObjects) -> BuildResult {
        let kustomization = &node.kustomization;
        self.budget.step(4 * objects.list.len()).at(&Place::File(node.origin.file.clone()))?;
        if kustomization.openapi.as_ref().is_some_and(|openapi| openapi.contains_key("path")) {
            let why = "`openapi` sets a custom schema for merge patches".to_owned();
            self.leave_to_kustomize(objects, why).at(&node.origin.at(["openapi"]))?;
        }
        // The order of kustomize's built-in transformers.
        let added = self.added_by_agent(&node.directory);
        let both = || [Some(node), added].into_iter().flatten();
        for list in [MERGE_PATCHES, PATCHES] {
            for node in both() {
                self.apply_patches(list, node, objects)?;
            }
        }
        // Agents write these fields over those of the kustomization.
        let naming = |field: &'static str, text: fn(&Kustomization) -> &Option<String>| {
            [added, Some(node)].into_iter().flatten().find_map(|node| {
                Some((non_empty(text(&node.kustomization))?, node.origin.at([field])))
            })
        };
        if let Some((namespace, place)) = naming("namespace", |own| &own.namespace) {
            set_namespace(objects, namespace, &place);
            self.check_unique(&objects.list)?;
        }
        if let Some((prefix, place)) = naming("namePrefix", |own| &own.name_prefix) {
            rename(objects, &place, |object| {
                object.prefixes.push(prefix.to_owned());
                format!("{prefix}{}", object.name())
            });
        }
        if let Some((suffix, place)) = naming("nameSuffix", |own| &own.name_suffix) {
            rename(objects, &place, |object| {
                object.suffixes.push(suffix.to_owned());
                format!("{}{suffix}", object.name())
            });
        }
        added.map_or(Ok(()), |added| check_unforced(node, added))?;
        for node in both() {
            self.set_labels_and_annotations(node, objects)?;
        }
        for node in both() {
            self.apply_patches(JSON_PATCHES, node, objects)?;
            self.check_replicas(node, objects)?;
        }
        for (place, entry) in node.listed_in("replacements", &kustomization.replacements) {
            self.replace(node, entry, &place, objects).at(&place)?;
        }
        for (list, entries, does) in [
            ("transformers", &kustomization.transformers, "change"),
            ("validators", &kustomization.validators, "refuse"),
        ] {
            if has(entries) {
                let why = format!("the `{list}` of `{}` may {does} anything", node.origin.file);
                self.leave_to_kustomize(objects, why).at(&node.origin.at([list]))?;
            }
        }
        if both().any(|node| node.kustomization.changes_objects()) {
            self.check_unique(&objects.list)?;
        }
        Ok(())
    }

    fn set_labels_and_annotations(
        &self,
        node: &BuildNode,
        objects: &mut BuildObjects,
    ) -> BuildResult {
        let own = &node.kustomization;
        let lists = own.labels.iter().flatten().enumerate().map(|(index, labels)| {
            let route = vec![RouteStep::from("labels"), index.into(), "pairs".into()];
            ("labels", route, &labels.pairs)
        });
        let common = [
            ("labels", vec!["commonLabels".into()], &own.common_labels),
            ("annotations", vec!["commonAnnotations".into()], &own.common_annotations),
        ];
        // Labels in selectors are skipped: no kind that sipgen reads has such selectors.
        for (field, route, pairs) in lists.chain(common) {
            let pairs = pairs.iter().flatten();
            for (name, value) in pairs.filter_map(|(name, value)| Some((name, value.as_str()?))) {
                let place = node.origin.at(below(&route, [name.as_str()]));
                self.set_all(&mut objects.list, field, (name, value), &place)?;
            }
        }
        if own.labels.iter().flatten().any(|labels| has(&labels.fields)) {
            let why = "its labels have custom `fields`".to_owned();
            self.leave_to_kustomize(objects, why).at(&node.origin.at(["labels"]))?;
        }
        Ok(())
    }

    /// Sets a label or annotation of all objects.
    pub(super) fn set_all(
        &self,
        objects: &mut [BuildObject],
        field: &str,
        (name, value): (&str, &str),
        place: &Place,
    ) -> BuildResult {
        let count = objects.len();
        self.budget.step(count).at(place)?;
        let bytes = count.saturating_mul(name.len() + value.len() + VALUE_BYTES);
        self.budget.allocate(bytes).at(place)?;
        for object in objects {
            let pairs = value_at(&object.value, &["metadata", field]);
            if pairs.is_some_and(|pairs| !pairs.is_mapping() && !pairs.is_null()) {
                let shown = object.id().shown();
                return refuse(format!("`metadata.{field}` of the {shown} is not a mapping"))
                    .at(place);
            }
            object.set(&["metadata", field, name], value, place);
        }
        Ok(())
    }

    /// Refuses an entry of `replicas` that applies to no object.
    fn check_replicas(&self, node: &BuildNode, objects: &BuildObjects) -> BuildResult {
        for (place, entry) in node.listed_in("replicas", &node.kustomization.replicas) {
            self.budget.step(objects.list.len()).at(&place)?;
            let name = entry.get("name").and_then(Value::as_str).unwrap_or_default();
            let has_replicas = |id: &Id| {
                id.name == name
                    && (KINDS_WITH_REPLICAS.contains(&id.kind.as_str())
                        || self.kinds_with_replicas.contains(&id.kind))
            };
            let is_found = objects.list.iter().any(|object| object.ids().iter().any(has_replicas));
            // Above the root, there may be further objects.
            if !is_found && !objects.are_partial && !self.is_above_root {
                let why = format!("`replicas` names `{name}`, which no object with replicas has");
                return refuse(why).at(&place);
            }
        }
        Ok(())
    }

    /// Applies an entry of `replacements`.
    fn replace(
        &self,
        node: &BuildNode,
        entry: &Value,
        place: &Place,
        objects: &mut BuildObjects,
    ) -> StepResult {
        let mut read: Vec<Value> = vec![entry.clone()];
        let path = entry.get("path").and_then(Value::as_str);
        if let Some(path) = path.filter(|path| !path.is_empty()) {
            let targets = entry.get("targets").and_then(Value::as_sequence);
            if targets.is_some_and(|targets| !targets.is_empty())
                || entry.get("source").is_some_and(|source| !source.is_null())
            {
                return refuse("a replacement has a `path` and fields of its own");
            }
            let Some(text) = self.text_of(node, path)? else {
                let why = format!("the replacements in `{path}` are not in the repo");
                return self.leave_to_kustomize(objects, why);
            };
            read = match yaml::from_str(&text) {
                Ok(Value::Sequence(replacements)) => replacements,
                Ok(replacement @ Value::Mapping(_)) => vec![replacement],
                _ => return refuse(format!("`{path}` has no replacements")),
            };
        }
        for replacement in read {
            let replacement: Replacement = yaml_serde::from_value(replacement)
                .map_err(|error| EvaluationError::Refused(error.to_string()))?;
            let why = match replacement.apply(&mut objects.list, place, self.budget) {
                Err(EvaluationError::Refused(_))
                    if self.lacks_output() && replacement.needs_output() =>
                {
                    continue;
                }
                Err(EvaluationError::Refused(why)) if objects.are_partial => why,
                Err(EvaluationError::Beyond(why)) => why,
                applied => {
                    applied?;
                    continue;
                }
            };
            let mut vital = objects.list.iter().filter(|object| self.is_vital(object));
            if vital.any(|object| replacement.may_be_for(object)) {
                return defer(why);
            }
        }
        Ok(())
    }
}

/// Refuses labels and annotations that an agent adds to a kustomization that has them: Argo CD adds
/// them by `kustomize edit add`.
fn check_unforced(node: &BuildNode, added: &BuildNode) -> BuildResult {
    let (own, new) = (&node.kustomization, &added.kustomization);
    for (field, own, new) in [
        ("commonLabels", &own.common_labels, &new.common_labels),
        ("commonAnnotations", &own.common_annotations, &new.common_annotations),
    ] {
        let mut keys = new.iter().flat_map(BTreeMap::keys);
        let is_present = |key: &&String| own.as_ref().is_some_and(|own| own.contains_key(*key));
        if added.kustomization.unforced.contains(&field)
            && let Some(key) = keys.find(is_present)
        {
            let force = field.replacen("common", "forceCommon", 1);
            let why = format!(
                "Argo CD refuses `{key}`, which `{}` has, without `{force}`",
                node.origin.file
            );
            let place = added.origin.at([field, key]);
            return Err(EvaluationError::Undetermined(why)).at(&place);
        }
    }
    Ok(())
}

/// Sets the namespace of all namespaced objects.
fn set_namespace(objects: &mut BuildObjects, namespace: &str, place: &Place) {
    for object in &mut objects.list {
        object.keep_id();
        let id = object.id();
        if !id.is_cluster_scoped {
            object.set(&["metadata", "namespace"], namespace, place);
        } else if id.kind == "Namespace" {
            object.set(&["metadata", "name"], namespace, place);
        }
    }
}

/// Gives new names to all objects, except of the kinds that kustomize exempts from prefixes and
/// suffixes.
fn rename(
    objects: &mut BuildObjects,
    place: &Place,
    new_name: impl Fn(&mut BuildObject) -> String,
) {
    for object in &mut objects.list {
        let first = object.original_id();
        let keeps_name = matches!(first.kind.as_str(), "CustomResourceDefinition" | "Namespace")
            || first.kind == "APIService" && first.group == "apiregistration.k8s.io";
        if !keeps_name {
            object.keep_id();
            let name = new_name(object);
            object.set(&["metadata", "name"], &name, place);
        }
    }
}
