//! Strategic merge patches for kinds without a schema in kustomize: mappings are merged, other
//! values are replaced.

use yaml_serde::{Mapping, Value};

/// Key that selects a patch strategy other than merging.
const DIRECTIVE: &str = "$patch";

/// Callback for each value that a patch sets: its route, and whether it replaces another value.
pub(super) type ValueSetCallback<'a> = &'a mut dyn FnMut(&[&str], bool);

/// Returns whether a patch replaces the whole object by its strategy.
pub(super) fn replaces_all(patch: &Mapping) -> bool {
    patch.get(DIRECTIVE).and_then(Value::as_str) == Some("replace")
}

/// Merges a patch into an object, or into the mapping at a route. Returns false if the patch removes
/// it.
///
/// # Errors
///
/// Returns why kustomize refuses the patch. Part of it may be merged then.
pub(super) fn merge<'p>(
    mapping: &mut Mapping,
    patch: &'p Mapping,
    route: &mut Vec<&'p str>,
    on_set: ValueSetCallback<'_>,
) -> Result<bool, String> {
    let mut ignored = |_: &[&str], _: bool| {};
    let mut on_set: ValueSetCallback<'_> = on_set;
    match patch.get(DIRECTIVE).and_then(Value::as_str) {
        Some("delete") => return Ok(false),
        Some("replace") => {
            on_set(route, true);
            mapping.clear();
            on_set = &mut ignored;
        }
        Some("merge") | None => {}
        Some(other) => return Err(format!("unknown patch strategy `{other}`")),
    }
    for (key, new) in patch {
        let Some(name) = key.as_str().filter(|name| *name != DIRECTIVE) else {
            continue;
        };
        route.push(name);
        let old = mapping.entry(Value::from(name)).or_insert(Value::Null);
        if !merge_value(old, new, route, on_set)? {
            mapping.remove(name);
        }
        route.pop();
    }
    Ok(true)
}

/// Merges a patch into a field's value, which is null if the field is missing. Returns false if the
/// patch removes the field.
fn merge_value<'p>(
    old: &mut Value,
    new: &'p Value,
    route: &mut Vec<&'p str>,
    on_set: ValueSetCallback<'_>,
) -> Result<bool, String> {
    match (old, new) {
        // Null removes the field.
        (_, Value::Null) => {
            on_set(route, true);
            Ok(false)
        }
        (old @ Value::Null, Value::Mapping(new)) => {
            on_set(route, false);
            let mut added = Mapping::new();
            let is_kept = merge(&mut added, new, route, &mut |_, _| {})?;
            *old = Value::Mapping(added);
            Ok(is_kept)
        }
        (old @ Value::Null, new) => {
            on_set(route, false);
            *old = new.clone();
            Ok(true)
        }
        (Value::Mapping(old), Value::Mapping(new)) => merge(old, new, route, on_set),
        (old, new) if shape(old) == shape(new) => {
            if old != new {
                on_set(route, true);
                *old = new.clone();
            }
            Ok(true)
        }
        (old, new) => Err(format!(
            "`{}` is {} in the object and {} in the patch",
            route.join("."),
            shape(old),
            shape(new)
        )),
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
        let is_kept = merge(&mut object, &mapping(patch), &mut Vec::new(), &mut |_, _| {})?;
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
