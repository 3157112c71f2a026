//! Selectors of patches and replacements.

use std::collections::{BTreeMap, HashMap};

use kube::core::SelectorExt;
use regex::Regex;
use yaml_serde::Value;

use super::object::{BuildObject, Id, scalar_text, value_at};
use super::{EvaluationError, StepResult};
use crate::base::api::kustomization::PatchTarget;
use crate::base::api::label_query;

/// A compiled target. Its regular expressions are anchored, as in kustomize.
#[derive(Debug)]
pub(super) struct Selector {
    /// Match group, version and kind.
    kind: [AnchoredPattern; 3],
    pub(super) name: AnchoredPattern,
    /// Matches effective namespaces.
    pub(super) namespace: AnchoredPattern,
    labels: kube::core::Selector,
    annotations: kube::core::Selector,
}

/// A regular expression that matches whole texts, by its alternatives. In one regular expression,
/// thousands would take minutes.
#[derive(Debug, Default)]
pub(super) struct AnchoredPattern {
    /// Texts, each with whether a space may follow. Most patterns are plain names.
    texts: HashMap<String, bool>,
    regexes: Vec<Regex>,
}

impl AnchoredPattern {
    fn new(pattern: &str) -> StepResult<Self> {
        let is_plain = |text: &str| {
            text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
                || regex::escape(text) == text
        };
        // `[.]` is the only group without alternatives of its own.
        let is_complex = |part: &str| part.contains(['(', '[', '\\']);
        let has_groups = pattern.split("[.]").any(is_complex);
        let parts = pattern.split(|c| c == '|' && !has_groups);
        let mut made = AnchoredPattern::default();
        for part in parts.filter(|_| !pattern.is_empty()) {
            let name = part.strip_suffix(" ?");
            let (name, has_space) = (name.unwrap_or(part), name.is_some());
            if name.split("[.]").all(is_plain) {
                *made.texts.entry(name.replace("[.]", ".")).or_default() |= has_space;
            } else {
                let unsupported =
                    |_| EvaluationError::Beyond(format!("unsupported regular expression `{part}`"));
                made.regexes.push(Regex::new(&format!("^(?:{part})$")).map_err(unsupported)?);
            }
        }
        Ok(made)
    }

    /// Returns the only text that matches, if it is known.
    pub(super) fn plain(&self) -> Option<&str> {
        let mut texts = self.texts.iter();
        match (texts.next(), texts.next()) {
            (Some((text, false)), None) if self.regexes.is_empty() => Some(text),
            _ => None,
        }
    }

    /// Returns whether it is empty, and matches any text.
    fn is_any(&self) -> bool {
        self.texts.is_empty() && self.regexes.is_empty()
    }

    fn matches(&self, text: &str) -> bool {
        let has_space = || self.texts.get(text.strip_suffix(' ')?).copied();
        self.is_any()
            || self.texts.contains_key(text)
            || has_space() == Some(true)
            || self.regexes.iter().any(|regex| regex.is_match(text))
    }
}

/// Returns the text of a field of a target; empty if it is not set.
pub(super) fn text(field: &Option<String>) -> &str {
    field.as_deref().unwrap_or_default()
}

impl Selector {
    pub(super) fn new(target: &PatchTarget) -> StepResult<Self> {
        let pattern = |field: &Option<String>| AnchoredPattern::new(text(field));
        let query = |field: &Option<String>| {
            label_query::parse(text(field)).map_err(EvaluationError::Beyond)
        };
        Ok(Selector {
            kind: [pattern(&target.group)?, pattern(&target.version)?, pattern(&target.kind)?],
            name: pattern(&target.name)?,
            namespace: pattern(&target.namespace)?,
            labels: query(&target.label_selector)?,
            annotations: query(&target.annotation_selector)?,
        })
    }

    /// Returns whether a patch with this target applies to an object while it has an id, by its
    /// original id or that one.
    pub(super) fn selects(&self, object: &BuildObject, now: &Id) -> bool {
        let is_named = |id: &Id| self.name.matches(&id.name);
        let is_in_namespace = |id: &Id| self.namespace.matches(id.effective_namespace());
        let first = object.first_id().unwrap_or(now);
        self.is_of_kind(now)
            && (is_named(first) || is_named(now))
            && (is_in_namespace(first) || is_in_namespace(now))
            && self.selects_by_labels(object)
    }

    /// Returns whether a replacement with this target applies to an id.
    pub(super) fn selects_id(&self, id: &Id) -> bool {
        self.is_of_kind(id) && self.name.matches(&id.name) && self.namespace.matches(&id.namespace)
    }

    /// Returns whether an object matches the label and annotation selectors.
    pub(super) fn selects_by_labels(&self, object: &BuildObject) -> bool {
        are_met(&self.labels, object, "labels") && are_met(&self.annotations, object, "annotations")
    }

    /// Returns whether a replacement leaves out an object by this target. kustomize compares labels or
    /// ids, not both together.
    pub(super) fn rejects(&self, object: &BuildObject, ids: &[Id]) -> bool {
        let mut id = self.kind.iter().chain([&self.name, &self.namespace]);
        let has_labels = !self.labels.selects_all() || !self.annotations.selects_all();
        has_labels && self.selects_by_labels(object)
            || !id.all(AnchoredPattern::is_any) && ids.iter().any(|id| self.selects_id(id))
    }

    fn is_of_kind(&self, id: &Id) -> bool {
        let texts = [&id.group, &id.version, &id.kind];
        self.kind.iter().zip(texts).all(|(pattern, text)| pattern.matches(text))
    }
}

/// Returns whether the labels or annotations of an object meet a selector.
fn are_met(selector: &kube::core::Selector, object: &BuildObject, field: &str) -> bool {
    if selector.selects_all() {
        return true;
    }
    let values = value_at(&object.value, &["metadata", field])
        .and_then(Value::as_mapping)
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.as_str()?.to_owned(), scalar_text(value)?)));
    selector.matches(&values.collect::<BTreeMap<String, String>>())
}

#[cfg(test)]
mod tests {
    use camino::Utf8Path;
    use std::sync::Arc;

    use super::*;
    use crate::base::finding::Origin;

    fn object(text: &str) -> BuildObject {
        let origin = Origin::for_file(Arc::from(Utf8Path::new("a.yaml")), text);
        BuildObject::new(origin, yaml_serde::from_str(text).unwrap())
    }

    fn selects(target: &str, object: &BuildObject) -> bool {
        let selector = Selector::new(&yaml_serde::from_str(target).unwrap()).unwrap();
        selector.selects(object, &object.id())
    }

    #[test]
    fn a_target_is_met_in_all_its_fields() {
        let object = object(
            "{apiVersion: v1, kind: Secret, metadata: {name: r1-bmc, labels: {rack: r1, a: b}}}",
        );
        for target in [
            "kind: Secret",
            "name: r1-.*",
            "name: r1-bmc|other",
            "namespace: default",
            "labelSelector: rack=r1",
            "labelSelector: 'rack in (r1, r2), a==b, !c'",
            "labelSelector: 'rack notin (r2),c!=d'",
            "version: v1",
        ] {
            assert!(selects(target, &object), "{target}");
        }
        for target in [
            "kind: ConfigMap",
            "name: r1",
            "name: other|r1",
            "namespace: metal",
            "labelSelector: c",
            "labelSelector: rack!=r1",
            "annotationSelector: rack=r1",
            "group: metal3.io",
        ] {
            assert!(!selects(target, &object), "{target}");
        }
    }

    #[test]
    fn what_is_no_selector_is_refused() {
        for target in
            ["labelSelector: 'a in b'", "labelSelector: 'a b'", "name: '('", "labelSelector: '=b'"]
        {
            assert!(Selector::new(&yaml_serde::from_str(target).unwrap()).is_err(), "{target}");
        }
    }
}
