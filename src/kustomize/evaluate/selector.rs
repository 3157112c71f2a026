//! Selectors of patches and replacements.

use regex::Regex;
use serde::Deserialize;
use yaml_serde::{Mapping, Value};

use super::object::{Id, Object, scalar_text};

/// The target of a patch or replacement as written.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Target {
    #[serde(default)]
    pub(super) group: String,
    #[serde(default)]
    pub(super) version: String,
    #[serde(default)]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) namespace: String,
    #[serde(default)]
    pub(super) label_selector: String,
    #[serde(default)]
    pub(super) annotation_selector: String,
}

/// A compiled target. Its regular expressions are anchored, as in kustomize.
#[derive(Debug)]
pub(super) struct Selector {
    group: Pattern,
    version: Pattern,
    kind: Pattern,
    name: Pattern,
    namespace: Pattern,
    labels: Requirements,
    annotations: Requirements,
    /// Set if it selects by labels and annotations only.
    has_no_id: bool,
}

#[derive(Debug)]
enum Pattern {
    Any,
    /// A text without special characters.
    Plain(String),
    Regex(Regex),
}

impl Pattern {
    fn new(pattern: &str) -> Result<Self, String> {
        if pattern.is_empty() {
            return Ok(Pattern::Any);
        }
        // Most patterns are plain names, which need no regular expression.
        if regex::escape(pattern) == pattern
            || pattern
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-')
        {
            return Ok(Pattern::Plain(pattern.to_owned()));
        }
        let regex = Regex::new(&format!("^(?:{pattern})$"));
        regex
            .map(Pattern::Regex)
            .map_err(|_| format!("unsupported regular expression `{pattern}`"))
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            Pattern::Any => true,
            Pattern::Plain(plain) => plain == text,
            Pattern::Regex(regex) => regex.is_match(text),
        }
    }
}

impl Selector {
    pub(super) fn new(target: &Target) -> Result<Self, String> {
        let id = [
            &target.group,
            &target.version,
            &target.kind,
            &target.name,
            &target.namespace,
        ];
        Ok(Selector {
            group: Pattern::new(&target.group)?,
            version: Pattern::new(&target.version)?,
            kind: Pattern::new(&target.kind)?,
            name: Pattern::new(&target.name)?,
            namespace: Pattern::new(&target.namespace)?,
            labels: Requirements::new(&target.label_selector)?,
            annotations: Requirements::new(&target.annotation_selector)?,
            has_no_id: id.into_iter().all(String::is_empty),
        })
    }

    /// Returns whether a patch with this target applies to an object, by its original or its
    /// current id.
    pub(super) fn selects(&self, object: &Object) -> bool {
        let (first, now) = (object.original_id(), object.id());
        let is_in_namespace = |id: &Id| self.namespace.matches(id.effective_namespace());
        self.is_of_kind(&now)
            && (self.name.matches(&first.name) || self.name.matches(&now.name))
            && (is_in_namespace(&first) || is_in_namespace(&now))
            && self.selects_by_labels(object)
    }

    /// Returns whether a replacement with this target applies to an id.
    pub(super) fn selects_id(&self, id: &Id) -> bool {
        self.is_of_kind(id) && self.name.matches(&id.name) && self.namespace.matches(&id.namespace)
    }

    /// Returns whether an object matches the label and annotation selectors.
    pub(super) fn selects_by_labels(&self, object: &Object) -> bool {
        self.labels.are_met(object, "labels") && self.annotations.are_met(object, "annotations")
    }

    pub(super) fn has_no_id(&self) -> bool {
        self.has_no_id
    }

    pub(super) fn has_labels(&self) -> bool {
        !self.labels.0.is_empty() || !self.annotations.0.is_empty()
    }

    fn is_of_kind(&self, id: &Id) -> bool {
        self.group.matches(&id.group)
            && self.version.matches(&id.version)
            && self.kind.matches(&id.kind)
    }
}

/// A label selector in text form.
#[derive(Debug)]
struct Requirements(Vec<Requirement>);

#[derive(Debug)]
struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Debug)]
enum Operator {
    Exists,
    DoesNotExist,
    In(Vec<String>),
    NotIn(Vec<String>),
}

impl Requirements {
    fn new(text: &str) -> Result<Self, String> {
        // Commas in parentheses separate values, not requirements.
        let mut depth = 0usize;
        let parts = text.split(|c: char| {
            depth = match c {
                '(' => depth + 1,
                ')' => depth.saturating_sub(1),
                _ => depth,
            };
            c == ',' && depth == 0
        });
        let parts = parts.map(str::trim).filter(|part| !part.is_empty());
        let requirements = parts.map(|part| {
            Requirement::new(part).ok_or_else(|| format!("invalid label selector `{part}`"))
        });
        Ok(Requirements(requirements.collect::<Result<_, _>>()?))
    }

    fn are_met(&self, object: &Object, field: &str) -> bool {
        if self.0.is_empty() {
            return true;
        }
        let none = Mapping::new();
        let metadata = object
            .value
            .get("metadata")
            .and_then(|metadata| metadata.get(field));
        let values = metadata.and_then(Value::as_mapping).unwrap_or(&none);
        self.0.iter().all(|requirement| {
            let value = values.get(requirement.key.as_str()).and_then(scalar_text);
            match &requirement.operator {
                Operator::Exists => value.is_some(),
                Operator::DoesNotExist => value.is_none(),
                Operator::In(of) => value.is_some_and(|value| of.contains(&value)),
                Operator::NotIn(of) => value.is_none_or(|value| !of.contains(&value)),
            }
        })
    }
}

impl Requirement {
    fn new(text: &str) -> Option<Self> {
        if let Some(list) = text.strip_suffix(')') {
            let (before, list) = list.split_once('(')?;
            let values = list
                .split(',')
                .map(|value| value.trim().to_owned())
                .collect();
            let (key, word) = before.trim().rsplit_once(char::is_whitespace)?;
            let operator = match word {
                "in" => Operator::In(values),
                "notin" => Operator::NotIn(values),
                _ => return None,
            };
            return Requirement::of_key(key, operator);
        }
        if let Some((key, value)) = text.split_once("!=") {
            return Requirement::of_key(key, Operator::NotIn(vec![value.trim().to_owned()]));
        }
        if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
            return Requirement::of_key(key, Operator::In(vec![value.trim().to_owned()]));
        }
        match text.strip_prefix('!') {
            Some(key) => Requirement::of_key(key, Operator::DoesNotExist),
            None => Requirement::of_key(text, Operator::Exists),
        }
    }

    fn of_key(key: &str, operator: Operator) -> Option<Self> {
        let key = key.trim();
        let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
        (!key.is_empty() && key.chars().all(is_key)).then(|| Requirement {
            key: key.to_owned(),
            operator,
        })
    }
}

#[cfg(test)]
mod tests {
    use camino::Utf8Path;
    use std::sync::Arc;

    use super::*;
    use crate::finding::Origin;

    fn object(text: &str) -> Object {
        let origin = Origin::of_file(Arc::from(Utf8Path::new("a.yaml")), text);
        Object::new(origin, yaml_serde::from_str(text).unwrap())
    }

    fn selects(target: &str, object: &Object) -> bool {
        Selector::new(&yaml_serde::from_str(target).unwrap())
            .unwrap()
            .selects(object)
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
        for target in [
            "labelSelector: 'a in b'",
            "labelSelector: 'a b'",
            "name: '('",
            "labelSelector: '=b'",
        ] {
            assert!(
                Selector::new(&yaml_serde::from_str(target).unwrap()).is_err(),
                "{target}"
            );
        }
    }
}
