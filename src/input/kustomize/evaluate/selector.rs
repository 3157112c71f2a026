//! Selectors of patches and replacements.

use std::collections::{BTreeMap, HashMap};

use kube::core::SelectorExt;
use regex::Regex;
use yaml_serde::Value;

use super::object::{BuildObject, Id, scalar_text};
use super::{EvaluationError, StepResult};
use crate::base::api::kustomization::PatchTarget;
use crate::base::api::label_query;

/// A compiled target. Its regular expressions are anchored, as in kustomize.
#[derive(Debug)]
pub(super) struct Selector {
    group: AnchoredPattern,
    version: AnchoredPattern,
    kind: AnchoredPattern,
    pub(super) name: AnchoredPattern,
    /// Matches effective namespaces.
    pub(super) namespace: AnchoredPattern,
    labels: kube::core::Selector,
    annotations: kube::core::Selector,
}

#[derive(Debug)]
pub(super) enum AnchoredPattern {
    Any,
    /// A text without special characters.
    Plain(String),
    /// Alternatives: texts, each with whether a space may follow, and others. In one regular
    /// expression, thousands would take minutes.
    OneOf(HashMap<String, bool>, Vec<Regex>),
    Regex(Regex),
}

impl AnchoredPattern {
    fn new(pattern: &str) -> StepResult<Self> {
        if pattern.is_empty() {
            return Ok(AnchoredPattern::Any);
        }
        // Most patterns are plain names, which need no regular expression.
        let is_plain = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        if is_plain(pattern) || regex::escape(pattern) == pattern {
            return Ok(AnchoredPattern::Plain(pattern.to_owned()));
        }
        // `[.]` is the only group without alternatives of its own.
        let is_complex = |part: &str| part.contains(['(', '[', '\\']);
        if pattern.contains('|') && !pattern.split("[.]").any(is_complex) {
            let (mut plain, mut regexes) = (HashMap::new(), Vec::new());
            for part in pattern.split('|') {
                let name = part.strip_suffix(" ?");
                let (name, has_space) = (name.unwrap_or(part), name.is_some());
                if name.split("[.]").all(is_plain) {
                    *plain.entry(name.replace("[.]", ".")).or_default() |= has_space;
                } else {
                    regexes.push(anchored(part)?);
                }
            }
            return Ok(AnchoredPattern::OneOf(plain, regexes));
        }
        anchored(pattern).map(AnchoredPattern::Regex)
    }

    /// Returns the matching text if it is a plain one.
    pub(super) fn plain(&self) -> Option<&str> {
        match self {
            AnchoredPattern::Plain(text) => Some(text),
            AnchoredPattern::Any | AnchoredPattern::OneOf(..) | AnchoredPattern::Regex(_) => None,
        }
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            AnchoredPattern::Any => true,
            AnchoredPattern::Plain(plain) => plain == text,
            AnchoredPattern::OneOf(plain, regexes) => {
                let has_space = || plain.get(text.strip_suffix(' ')?).copied();
                plain.contains_key(text)
                    || has_space() == Some(true)
                    || regexes.iter().any(|regex| regex.is_match(text))
            }
            AnchoredPattern::Regex(regex) => regex.is_match(text),
        }
    }
}

/// Returns the text of a field of a target; empty if it is not set.
pub(super) fn text(field: &Option<String>) -> &str {
    field.as_deref().unwrap_or_default()
}

fn anchored(pattern: &str) -> StepResult<Regex> {
    let unsupported =
        |_| EvaluationError::Beyond(format!("unsupported regular expression `{pattern}`"));
    Regex::new(&format!("^(?:{pattern})$")).map_err(unsupported)
}

impl Selector {
    pub(super) fn new(target: &PatchTarget) -> StepResult<Self> {
        let pattern = |field: &Option<String>| AnchoredPattern::new(text(field));
        let query = |field: &Option<String>| {
            label_query::parse(text(field)).map_err(EvaluationError::Beyond)
        };
        Ok(Selector {
            group: pattern(&target.group)?,
            version: pattern(&target.version)?,
            kind: pattern(&target.kind)?,
            name: pattern(&target.name)?,
            namespace: pattern(&target.namespace)?,
            labels: query(&target.label_selector)?,
            annotations: query(&target.annotation_selector)?,
        })
    }

    /// Returns whether a patch with this target applies to an object, by its original or its
    /// current id.
    pub(super) fn selects(&self, object: &BuildObject) -> bool {
        let now = object.id();
        let is_named = |id: &Id| self.name.matches(&id.name);
        let is_in_namespace = |id: &Id| self.namespace.matches(id.effective_namespace());
        let first = object.first_id().unwrap_or(&now);
        self.is_of_kind(&now)
            && (is_named(first) || is_named(&now))
            && (is_in_namespace(first) || is_in_namespace(&now))
            && self.selects_by_labels(object)
    }

    /// Returns whether it may select an object that has a name at some point of the build.
    pub(super) fn may_select(&self, object: &BuildObject, name: &str) -> bool {
        let had_name = || object.first_id().is_some_and(|id| self.name.matches(&id.name));
        let kind = || object.value.get("kind").and_then(Value::as_str).unwrap_or_default();
        (self.name.matches(name) || had_name()) && self.kind.matches(kind())
    }

    /// Returns whether a replacement with this target applies to an id.
    pub(super) fn selects_id(&self, id: &Id) -> bool {
        self.is_of_kind(id) && self.name.matches(&id.name) && self.namespace.matches(&id.namespace)
    }

    /// Returns whether an object matches the label and annotation selectors.
    pub(super) fn selects_by_labels(&self, object: &BuildObject) -> bool {
        are_met(&self.labels, object, "labels") && are_met(&self.annotations, object, "annotations")
    }

    /// Returns whether it selects by labels and annotations only.
    pub(super) fn has_no_id(&self) -> bool {
        let id = [&self.group, &self.version, &self.kind, &self.name, &self.namespace];
        id.into_iter().all(|pattern| matches!(pattern, AnchoredPattern::Any))
    }

    pub(super) fn has_labels(&self) -> bool {
        !self.labels.selects_all() || !self.annotations.selects_all()
    }

    fn is_of_kind(&self, id: &Id) -> bool {
        self.group.matches(&id.group)
            && self.version.matches(&id.version)
            && self.kind.matches(&id.kind)
    }
}

/// Returns whether the labels or annotations of an object meet a selector.
fn are_met(selector: &kube::core::Selector, object: &BuildObject, field: &str) -> bool {
    if selector.selects_all() {
        return true;
    }
    let metadata = object.value.get("metadata").and_then(|metadata| metadata.get(field));
    let values = metadata
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
        Selector::new(&yaml_serde::from_str(target).unwrap()).unwrap().selects(object)
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
