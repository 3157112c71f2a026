//! Strategic merge patches for kinds without a schema in kustomize: mappings are merged, other
//! values are replaced.

use yaml_serde::{Mapping, Value};

use crate::base::finding::RouteStep;

/// Key that selects a patch strategy other than merging.
pub(super) const DIRECTIVE: &str = "$patch";

/// A merge of a patch into an object.
#[derive(Default)]
pub(super) struct StrategicMerge<'p> {
    /// Route to the current value.
    route: Vec<&'p str>,
    /// Set below a value that the patch sets as a whole.
    is_below_set: bool,
    /// The routes of the values that the patch sets, each set if it replaces another value.
    pub(super) set: Vec<(Vec<RouteStep>, bool)>,
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
    pub(super) fn merge(
        &mut self,
        mapping: &mut Mapping,
        patch: &'p Mapping,
    ) -> Result<bool, String> {
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
            let Some(name) = key.as_str().filter(|name| *name != DIRECTIVE) else {
                continue;
            };
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
