//! JSON patches (RFC 6902), as lenient as the library that kustomize uses.

use serde::Deserialize;
use yaml_serde::Value;

use super::budget::BuildBudget;
use super::{EvaluationError, StepResult, defer, refuse};
use crate::base::finding::RouteStep;
use crate::base::text::pointer_key;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct JsonPatchOperation {
    op: String,
    path: String,
    from: String,
    value: Value,
}

/// Returns whether overlays and components of the output write a field, or a part of it.
pub(super) fn is_written_by_output(path: &str) -> bool {
    const WRITTEN: [&str; 7] = [
        "/metadata/labels",
        "/metadata/annotations",
        "/spec/template/spec/hostSelector",
        "/spec/template/spec/controlPlaneEndpoint",
        "/spec/controlPlaneEndpoint",
        "/spec/failureDomains",
        "/spec/preAllocations",
    ];
    WRITTEN.iter().any(|written| path.starts_with(written))
}

impl JsonPatchOperation {
    /// Returns whether a field that overlays and components of the output write decides if it
    /// applies.
    pub(super) fn needs_output(&self) -> bool {
        is_written_by_output(&self.path) || is_written_by_output(&self.from)
    }
}

/// Limit on the parts of a path. Each operation could nest a value deeper.
const MAX_PARTS: usize = 128;

/// Applies an operation. Returns the route that it sets, and whether it replaces another value.
///
/// # Errors
///
/// Returns why the operation does not apply.
pub(super) fn apply(
    object: &mut Value,
    operation: &JsonPatchOperation,
    budget: &BuildBudget,
) -> StepResult<Option<(Vec<RouteStep>, bool)>> {
    let JsonPatchOperation { op, path, from, value } = operation;
    if path.matches('/').count() > MAX_PARTS {
        return defer(format!("a path of a JSON patch has more than {MAX_PARTS} parts"));
    }
    budget.step(1 + (path.len() + from.len()) / 64)?;
    budget.copy(value)?;
    match op.as_str() {
        "add" => add(object, path, value.clone(), budget).map(Some),
        "remove" => remove(object, path, budget).map(|_| None),
        "replace" if path.is_empty() => {
            *object = value.clone();
            Ok(Some((Vec::new(), true)))
        }
        // Replacing a missing key adds it.
        "replace" if find(object, path)?.0.is_mapping() => {
            add(object, path, value.clone(), budget).map(Some)
        }
        "replace" => {
            let (items, key) = find(object, path)?;
            *existing(items, &key).ok_or_else(|| missing(path))? = value.clone();
            Ok(Some((route(path), true)))
        }
        "move" => {
            let moved = remove(object, from, budget)?;
            budget.copy(&moved)?;
            add(object, path, moved, budget).map(Some)
        }
        "copy" => {
            let copied = value_at(object, from)?;
            budget.copy(copied)?;
            let copied = copied.clone();
            add(object, path, copied, budget).map(Some)
        }
        "test" => {
            let found = if path.is_empty() { &*object } else { value_at(object, path)? };
            if found == value { Ok(None) } else { refuse(format!("the test of `{path}` fails")) }
        }
        other => refuse(format!("unknown operation `{other}`")),
    }
}

fn missing(path: &str) -> EvaluationError {
    EvaluationError::Refused(format!("missing path `{path}`"))
}

/// Returns the unescaped parts of a path.
fn parts(path: &str) -> Vec<String> {
    path.split('/').skip(1).map(pointer_key).collect()
}

fn route(path: &str) -> Vec<RouteStep> {
    let step = |part: String| part.parse::<usize>().map_or(RouteStep::from(part), RouteStep::from);
    parts(path).into_iter().map(step).collect()
}

/// Returns the collection at the end of a path, and the path's last part.
fn find<'a>(object: &'a mut Value, path: &str) -> StepResult<(&'a mut Value, String)> {
    let mut parts = parts(path);
    let key = parts.pop().ok_or_else(|| missing(path))?;
    let mut container = object;
    for part in parts {
        container = existing(container, &part).ok_or_else(|| missing(path))?;
    }
    let is_collection = container.is_mapping() || container.is_sequence();
    if is_collection { Ok((container, key)) } else { Err(missing(path)) }
}

/// Returns the value at a path. A missing key of a mapping gives null, as in kustomize's library.
fn value_at<'a>(object: &'a mut Value, path: &str) -> StepResult<&'a Value> {
    let (container, key) = find(object, path)?;
    let otherwise = if container.is_mapping() { Ok(&Value::Null) } else { Err(missing(path)) };
    existing(container, &key).map_or(otherwise, |value| Ok(&*value))
}

/// Parses a list index. Negative ones count from the end.
fn index(key: &str, length: usize) -> Option<usize> {
    let index: isize = key.parse().ok()?;
    let index = if index < 0 { index.checked_add_unsigned(length)? } else { index };
    usize::try_from(index).ok()
}

fn existing<'a>(container: &'a mut Value, key: &str) -> Option<&'a mut Value> {
    match container {
        Value::Mapping(mapping) => mapping.get_mut(key),
        Value::Sequence(items) => {
            let index = index(key, items.len())?;
            items.get_mut(index)
        }
        _ => None,
    }
}

/// Removes the value at a path, after which all later entries move.
fn remove(object: &mut Value, path: &str, budget: &BuildBudget) -> StepResult<Value> {
    let (container, key) = find(object, path)?;
    let removed = match container {
        Value::Mapping(mapping) => {
            budget.step(mapping.len() / 64)?;
            mapping.shift_remove(&key)
        }
        Value::Sequence(items) => {
            budget.step(items.len() / 64)?;
            let at = index(&key, items.len()).filter(|at| *at < items.len());
            at.map(|at| items.remove(at))
        }
        _ => None,
    };
    removed.ok_or_else(|| missing(path))
}

fn add(
    object: &mut Value,
    path: &str,
    value: Value,
    budget: &BuildBudget,
) -> StepResult<(Vec<RouteStep>, bool)> {
    let (container, key) = find(object, path)?;
    let mut route = route(path);
    let had = match container {
        Value::Mapping(mapping) => mapping.insert(Value::from(key), value).is_some(),
        Value::Sequence(items) => {
            let at = if key == "-" { Some(items.len()) } else { index(&key, items.len() + 1) };
            let at = at.filter(|at| *at <= items.len()).ok_or_else(|| missing(path))?;
            // All later items move.
            budget.step(1 + (items.len() - at) / 64)?;
            items.insert(at, value);
            // Later items have moved, so the whole list counts as set by the patch.
            route.pop();
            true
        }
        _ => return Err(missing(path)),
    };
    Ok((route, had))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patched(object: &str, operation: &str) -> StepResult<Value> {
        let mut object: Value = yaml_serde::from_str(object).unwrap();
        let operation = yaml_serde::from_str(operation).unwrap();
        apply(&mut object, &operation, &BuildBudget::default())?;
        Ok(object)
    }

    #[test]
    fn operations_do_what_the_library_of_kustomize_does() {
        for (object, operation, expected) in [
            ("a: 1", "{op: add, path: /b, value: 2}", "{a: 1, b: 2}"),
            ("a: 1", "{op: replace, path: /b, value: 2}", "{a: 1, b: 2}"),
            ("a: {b/c: 1}", "{op: remove, path: /a/b~1c}", "a: {}"),
            ("a: [1, 2]", "{op: add, path: /a/-, value: 3}", "a: [1, 2, 3]"),
            ("a: [1, 2]", "{op: add, path: /a/-1, value: 3}", "a: [1, 2, 3]"),
            ("a: [1, 2]", "{op: add, path: /a/0, value: 3}", "a: [3, 1, 2]"),
            ("a: [1, 2]", "{op: replace, path: /a/-1, value: 3}", "a: [1, 3]"),
            ("a: {b: 1}", "{op: move, from: /a/b, path: /c}", "{a: {}, c: 1}"),
            ("a: {b: 1}", "{op: copy, from: /a, path: /c}", "{a: {b: 1}, c: {b: 1}}"),
            ("a: 1", "{op: test, path: /a, value: 1}", "a: 1"),
        ] {
            let expected: Value = yaml_serde::from_str(expected).unwrap();
            assert_eq!(patched(object, operation), Ok(expected), "{object} {operation}");
        }
    }

    #[test]
    fn what_does_not_apply_is_refused() {
        for (object, operation) in [
            ("a: 1", "{op: add, path: /b/c, value: 2}"),
            ("a: 1", "{op: remove, path: /b}"),
            ("a: [1]", "{op: add, path: /a/3, value: 2}"),
            ("a: [1]", "{op: remove, path: /a/1}"),
            ("a: 1", "{op: test, path: /a, value: 2}"),
            ("a: 1", "{op: add, path: /a/b, value: 2}"),
            ("a: 1", "{op: spoil, path: /a}"),
        ] {
            assert!(patched(object, operation).is_err(), "{object} {operation}");
        }
    }
}
