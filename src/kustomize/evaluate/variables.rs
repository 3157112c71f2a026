//! Flux's post-build variable substitution, for variables whose values are in the repo.

use std::collections::BTreeMap;

use yaml_serde::Value;

use super::object::{Object, text_at};
use super::replacement::plain;
use crate::finding::{Given, Place, Step};

/// The known substitution variables of a Flux Kustomization.
#[derive(Debug, Clone, Default)]
pub(crate) struct Variables {
    /// Values with their places; `None` if only the cluster knows the value.
    pub(crate) values: BTreeMap<String, Option<(String, Place)>>,
    /// Set if ConfigMaps or Secrets of the cluster may define more variables.
    pub(crate) are_partial: bool,
}

/// Label or annotation that disables substitution for an object if its value is `disabled`.
const SWITCH: &str = "kustomize.toolkit.fluxcd.io/substitute";

impl Variables {
    /// Substitutes the known variables in all texts of an object.
    pub(super) fn replace_in(&self, object: &mut Object) {
        let is_off = |field| {
            text_at(&object.value, &["metadata", field, SWITCH]).as_deref() == Some("disabled")
        };
        if is_off("labels") || is_off("annotations") {
            return;
        }
        let mut given = Vec::new();
        for (key, value) in &mut object.value {
            if let Some(key) = key.as_str() {
                self.replace(value, &mut vec![Step::from(key)], &mut given);
            }
        }
        given.into_iter().for_each(|given| object.note(given));
    }

    fn replace(&self, value: &mut Value, route: &mut Vec<Step>, given: &mut Vec<Given>) {
        match value {
            Value::String(text) if text.contains("${") => {
                let (replaced, place) = self.replaced(text);
                let Some(place) = place else { return };
                // Flux substitutes in the text of the whole build and parses it again, so a value's
                // type may change.
                let is_metadata = route.first() == Some(&Step::from("metadata"));
                *value = if is_metadata {
                    Value::from(replaced)
                } else {
                    plain(&replaced)
                };
                given.push(Given {
                    route: route.clone(),
                    place,
                    goes_on: false,
                    replaces: true,
                });
            }
            Value::Mapping(mapping) => {
                for (key, value) in mapping {
                    if let Some(key) = key.as_str() {
                        route.push(Step::from(key));
                        self.replace(value, route, given);
                        route.pop();
                    }
                }
            }
            Value::Sequence(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    route.push(Step::from(index));
                    self.replace(item, route, given);
                    route.pop();
                }
            }
            _ => {}
        }
    }

    /// Substitutes the variables of a text. Returns the place of the first value that was used.
    fn replaced(&self, text: &str) -> (String, Option<Place>) {
        let (mut out, mut rest, mut place) = (String::new(), text, None);
        while let Some(start) = rest.find("${") {
            let Some(length) = rest[start..].find('}') else {
                break;
            };
            let (before, variable, behind) = (
                &rest[..start],
                &rest[start..=start + length],
                &rest[start + length + 1..],
            );
            match (before.strip_suffix('$'), self.value(&variable[2..length])) {
                // `$${…}` is an escape for the literal text.
                (Some(before), _) => out.extend([before, variable]),
                (None, Some((value, at))) => {
                    out.extend([before, &value]);
                    place = place.or(at);
                }
                (None, None) => out.extend([before, variable]),
            }
            rest = behind;
        }
        out.push_str(rest);
        (out, place)
    }

    /// Returns the value of an expression in braces, if it is known.
    fn value(&self, variable: &str) -> Option<(String, Option<Place>)> {
        let end = variable
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(variable.len());
        let (name, rest) = variable.split_at(end);
        let default = [":=", ":-", "=", "-"]
            .into_iter()
            .find_map(|operator| rest.strip_prefix(operator));
        match (self.values.get(name), default) {
            (Some(Some((value, place))), default) if rest.is_empty() || default.is_some() => {
                let is_default = value.is_empty() && rest.starts_with(':');
                let value = if is_default {
                    default.unwrap_or_default()
                } else {
                    value
                };
                Some((value.to_owned(), Some(place.clone())))
            }
            // The variable is defined nowhere, so the default applies.
            (None, Some(default)) if !self.are_partial => {
                let place = self
                    .values
                    .values()
                    .flatten()
                    .next()
                    .map(|(_, place)| place.clone());
                Some((default.to_owned(), place))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use camino::Utf8Path;

    use super::*;

    #[test]
    fn known_variables_are_replaced_and_others_stay() {
        let place = Place::File(Arc::from(Utf8Path::new("flux.yaml")));
        let known =
            |name: &str, value: &str| (name.to_owned(), Some((value.to_owned(), place.clone())));
        let undecided = ("SECRET".to_owned(), None);
        let values = BTreeMap::from([known("RACK", "r1"), known("EMPTY", ""), undecided]);
        let whole = Variables {
            values: values.clone(),
            are_partial: false,
        };
        let partial = Variables {
            values,
            are_partial: true,
        };
        for (text, with_all, with_some) in [
            ("${RACK}", "r1", "r1"),
            ("a-${RACK}-${RACK}", "a-r1-r1", "a-r1-r1"),
            ("${ROOM}", "${ROOM}", "${ROOM}"),
            ("${ROOM:=b2}", "b2", "${ROOM:=b2}"),
            ("${EMPTY:=b2}${EMPTY}", "b2", "b2"),
            ("${RACK^^}", "${RACK^^}", "${RACK^^}"),
            ("${RACK", "${RACK", "${RACK"),
            ("a$${RACK}${RACK}", "a${RACK}r1", "a${RACK}r1"),
            (
                "${SECRET}${SECRET:=x}",
                "${SECRET}${SECRET:=x}",
                "${SECRET}${SECRET:=x}",
            ),
        ] {
            assert_eq!(whole.replaced(text).0, with_all);
            assert_eq!(partial.replaced(text).0, with_some);
        }
    }
}
