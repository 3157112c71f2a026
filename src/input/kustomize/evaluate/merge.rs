//! Strategic merge patches for kinds without a schema in kustomize: mappings are merged, other
//! values are replaced.

use yaml_serde::{Mapping, Value};

use crate::base::finding::RouteStep;

/// Key that selects a patch strategy other than merging.
const DIRECTIVE: &str = "$patch";

/// Callback for each value that a patch sets: its route, and whether it replaces another value.
pub(super) type ValueSetCallback<'a> = &'a mut dyn FnMut(&[RouteStep], bool);

/// Merges a patch into an object. Returns `None` if the patch deletes the object.
///
/// # Errors
///
/// Returns why kustomize refuses the patch.
pub(super) fn merge(
    object: Mapping,
    patch: &Mapping,
    on_set: ValueSetCallback<'_>,
) -> Result<Option<Mapping>, String> {
    let merged = merge_mapping(object, patch, &mut Vec::new(), on_set)?;
    Ok(merged.map(|merged| match merged {
        Value::Mapping(mapping) => mapping,
        _ => Mapping::new(),
    }))
}

/// Returns whether a patch replaces the whole object by its strategy.
pub(super) fn replaces_all(patch: &Mapping) -> bool {
    patch.get(DIRECTIVE).and_then(Value::as_str) == Some("replace")
}

fn merge_mapping(
    mut object: Mapping,
    patch: &Mapping,
    route: &mut Vec<RouteStep>,
    on_set: ValueSetCallback<'_>,
) -> Result<Option<Value>, String> {
    match patch.get(DIRECTIVE).and_then(Value::as_str) {
        Some("delete") => return Ok(None),
        Some("replace") => {
            on_set(route, true);
            return added(patch);
        }
        Some("merge") | None => {}
        Some(other) => return Err(format!("unknown patch strategy `{other}`")),
    }
    for (key, new) in patch {
        let Some(name) = key.as_str().filter(|name| *name != DIRECTIVE) else {
            continue;
        };
        route.push(RouteStep::from(name));
        let old = object.get_mut(name).map(std::mem::take);
        match merge_value(old, new, route, on_set)? {
            Some(value) => {
                object.insert(key.clone(), value);
            }
            None => {
                object.remove(name);
            }
        }
        route.pop();
    }
    Ok(Some(Value::Mapping(object)))
}

/// Returns a field's value after the patch, or `None` if the field is removed.
fn merge_value(
    old: Option<Value>,
    new: &Value,
    route: &mut Vec<RouteStep>,
    on_set: ValueSetCallback<'_>,
) -> Result<Option<Value>, String> {
    match (old, new) {
        // Null removes the field.
        (_, Value::Null) => {
            on_set(route, true);
            Ok(None)
        }
        (None | Some(Value::Null), Value::Mapping(new)) => {
            on_set(route, false);
            added(new)
        }
        (None | Some(Value::Null), new) => {
            on_set(route, false);
            Ok(Some(new.clone()))
        }
        (Some(Value::Mapping(old)), Value::Mapping(new)) => merge_mapping(old, new, route, on_set),
        (Some(old), new) if shape(&old) == shape(new) => {
            if old != *new {
                on_set(route, true);
            }
            Ok(Some(new.clone()))
        }
        (Some(old), new) => {
            let name = |step: &RouteStep| match step {
                RouteStep::Key(key) => key.clone(),
                RouteStep::Index(index) => index.to_string(),
            };
            let field = route.iter().map(name).collect::<Vec<_>>().join(".");
            Err(format!(
                "`{field}` is {} in the object and {} in the patch",
                shape(&old),
                shape(new)
            ))
        }
    }
}

/// Returns a patch mapping that has no counterpart to merge with: without directives and nulls.
fn added(patch: &Mapping) -> Result<Option<Value>, String> {
    match patch.get(DIRECTIVE).and_then(Value::as_str) {
        Some("delete") => return Ok(None),
        Some("merge" | "replace") | None => {}
        Some(other) => return Err(format!("unknown patch strategy `{other}`")),
    }
    let mut mapping = Mapping::new();
    for (key, value) in patch {
        let value = match value {
            _ if key.as_str() == Some(DIRECTIVE) => None,
            Value::Null => None,
            Value::Mapping(inner) => added(inner)?,
            other => Some(other.clone()),
        };
        if let Some(value) = value {
            mapping.insert(key.clone(), value);
        }
    }
    Ok(Some(Value::Mapping(mapping)))
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
        Ok(merge(mapping(object), &mapping(patch), &mut |_, _| {})?.map(Value::Mapping))
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
