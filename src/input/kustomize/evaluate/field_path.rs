//! Paths to fields of objects, as replacements and variables of kustomizations write them.

use regex::Regex;
use yaml_serde::{Mapping, Value};

use super::object::scalar_text;
use super::{EvaluationError, StepResult, defer, refuse};
use crate::base::finding::RouteStep;
use crate::base::text::yaml;

/// Visits all values at a path, and creates missing ones if `create` is set.
pub(super) struct FieldPathWalk<F> {
    pub(super) create: bool,
    /// Route to the current value.
    pub(super) route: Vec<RouteStep>,
    pub(super) set: F,
}

impl<F: FnMut(&mut Value, &[RouteStep], bool) -> StepResult> FieldPathWalk<F> {
    pub(super) fn at(&mut self, value: &mut Value, parts: &[String], is_new: bool) -> StepResult {
        let Some((part, rest)) = parts.split_first() else {
            return (self.set)(value, &self.route, is_new);
        };
        if let Ok(index) = part.parse::<usize>() {
            let items = list(value, part)?;
            let is_new = items.len() == index && self.create;
            if is_new {
                items.push(Value::Null);
            } else if items.len() <= index {
                return refuse(format!("a list has no item {index}"));
            }
            return self.step(&mut items[index], index.into(), rest, is_new);
        }
        if part == "*" {
            let items = list(value, part)?;
            return items
                .iter_mut()
                .enumerate()
                .try_for_each(|(index, item)| self.step(item, index.into(), rest, false));
        }
        if let Some(entry) = part.strip_prefix('[').and_then(|part| part.strip_suffix(']')) {
            return self.entries(value, entry, rest);
        }
        if self.create && matches!(value, Value::Null) {
            *value = Value::Mapping(Mapping::new());
        }
        match value {
            Value::Mapping(mapping) => self.field(mapping, part, rest),
            Value::Null => Ok(()),
            // kustomize parses the scalar's text and continues in it.
            Value::String(_) | Value::Number(_) | Value::Bool(_) => {
                defer("a replacement's path continues inside a scalar")
            }
            _ => refuse(format!("`{part}` is not an index of a list")),
        }
    }

    fn field(&mut self, mapping: &mut Mapping, part: &str, rest: &[String]) -> StepResult {
        let is_new = mapping.get(part).is_none_or(Value::is_null);
        if is_new && !self.create {
            return Ok(());
        }
        let value = mapping.entry(Value::from(part)).or_insert(Value::Null);
        self.step(value, part.into(), rest, is_new)
    }

    fn step(
        &mut self,
        value: &mut Value,
        step: RouteStep,
        rest: &[String],
        is_new: bool,
    ) -> StepResult {
        self.route.push(step);
        self.at(value, rest, is_new)?;
        self.route.pop();
        Ok(())
    }

    /// Visits the list items that match `[field=pattern]`.
    fn entries(&mut self, value: &mut Value, entry: &str, rest: &[String]) -> StepResult {
        let not_read = || EvaluationError::Beyond(format!("unsupported path `[{entry}]`"));
        let (field, pattern) = entry.split_once('=').ok_or_else(not_read)?;
        let regex = Regex::new(pattern).map_err(|_| not_read())?;
        let items = list(value, entry)?;
        let is_meant =
            |item: &Value| field_text(item, field).is_some_and(|text| regex.is_match(text.trim()));
        let mut meant: Vec<usize> =
            (0..items.len()).filter(|index| is_meant(&items[*index])).collect();
        if meant.is_empty() && self.create {
            meant.push(items.len());
            items.push(match field {
                "" => plain(pattern),
                field => Mapping::from_iter([(Value::from(field), plain(pattern))]).into(),
            });
        }
        // An item that is a scalar has no fields, so the rest of the path is ignored.
        let rest = if field.is_empty() { &[] } else { rest };
        meant
            .into_iter()
            .try_for_each(|index| self.step(&mut items[index], index.into(), rest, false))
    }
}

fn list<'a>(value: &'a mut Value, part: &str) -> StepResult<&'a mut Vec<Value>> {
    if value.is_null() {
        *value = Value::Sequence(Vec::new());
    }
    value
        .as_sequence_mut()
        .ok_or_else(|| EvaluationError::Refused(format!("`{part}` requires a list")))
}

/// Returns whether a value is neither a mapping nor a list.
pub(super) fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::Mapping(_) | Value::Sequence(_))
}

/// Parses a text as an unquoted YAML scalar.
pub(super) fn plain(text: &str) -> Value {
    let read = yaml::from_str::<Value>(text).ok();
    read.filter(|value| matches!(value, Value::Number(_) | Value::Bool(_)))
        .unwrap_or_else(|| Value::from(text))
}

/// Returns the text of a field of a list item, or of the item itself if the field has no name.
fn field_text(item: &Value, field: &str) -> Option<String> {
    scalar_text(if field.is_empty() { item } else { item.get(field)? })
}

/// Returns the value at a path, which may have indices and `[field=value]`.
pub(super) fn lookup<'a>(object: &'a Mapping, path: &[String]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    let mut value = object.get(first.trim())?;
    for part in rest.iter().map(|part| part.trim()) {
        value = match value {
            Value::Sequence(items) => match (part.parse::<usize>(), part) {
                (Ok(index), _) => items.get(index)?,
                (Err(_), "-") => items.last()?,
                (Err(_), _) => {
                    let (field, wanted) =
                        part.strip_prefix('[')?.strip_suffix(']')?.split_once('=')?;
                    items.iter().find(|item| field_text(item, field).as_deref() == Some(wanted))?
                }
            },
            other => other.get(part)?,
        };
    }
    Some(value)
}

/// Splits a path at its dots, except escaped dots and dots in brackets.
pub(super) fn split(path: &str) -> Vec<String> {
    let path = path.strip_prefix('.').unwrap_or(path).replace("\\.", "\0");
    let mut pieces = path.split('.').map(|piece| piece.replace('\0', "."));
    let mut parts: Vec<String> = Vec::new();
    while let Some(mut part) = pieces.next() {
        if part.starts_with('[') && !part.ends_with(']') {
            for piece in pieces.by_ref() {
                part.push('.');
                part.push_str(&piece);
                if piece.ends_with(']') {
                    break;
                }
            }
            // Only list conditions keep their brackets.
            if !part.contains('=') {
                part = part.trim_matches(['[', ']']).to_owned();
            }
        }
        parts.push(part);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_parted_at_its_dots() {
        for (path, parts) in [
            ("spec.bmc.address", vec!["spec", "bmc", "address"]),
            (r"metadata.labels.example\.org/rack", vec!["metadata", "labels", "example.org/rack"]),
            ("metadata.annotations.[a.b.c]", vec!["metadata", "annotations", "a.b.c"]),
            ("spec.ports.[name=a.b].port", vec!["spec", "ports", "[name=a.b]", "port"]),
            ("a.0.*", vec!["a", "0", "*"]),
        ] {
            assert_eq!(split(path), parts, "{path}");
        }
    }
}
