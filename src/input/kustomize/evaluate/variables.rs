//! Flux's post-build variable substitution, for variables whose values are in the repo.
//!
//! Flux replaces expressions in the text of each built object and parses it again, so values may
//! change types, keys and structure.

use std::collections::{BTreeMap, BTreeSet};

use yaml_serde::{Mapping, Value};

use super::budget::BuildBudget;
use super::envsubst::{self, MAX_BYTES, SubstitutedText};
use super::object::{BuildObject, Id, text_at};
use super::{BuildResult, EvaluationError, FailureAt, StepResult, go_yaml};
use crate::base::api::host::SUBSTITUTE;
use crate::base::finding::{ForeignValue, Place, RouteStep, each_text_in};
use crate::base::layout::variables;
use crate::base::text::static_regex;

/// The known substitution variables of a Flux Kustomization.
#[derive(Debug, Clone, Default)]
pub(crate) struct SubstitutionVariables {
    /// Values with their places; `None` if only the cluster knows the value.
    pub(crate) values: BTreeMap<String, Option<(String, Place)>>,
    /// Set if ConfigMaps or Secrets of the cluster may define more variables.
    pub(crate) are_partial: bool,
    /// Variables to which two Kustomizations that apply one build give different values.
    pub(crate) contested: BTreeSet<String>,
}

impl SubstitutionVariables {
    /// Substitutes the variables in the text of an object. Expressions with unknown values stay.
    pub(super) fn replace_in(&self, object: &mut BuildObject, budget: &BuildBudget) -> BuildResult {
        let is_off = |field| {
            text_at(&object.value, &["metadata", field, SUBSTITUTE]).as_deref() == Some("disabled")
        };
        // The keys and values with an expression. The route of a key is that of its value.
        let mut uses: Vec<(Vec<RouteStep>, String)> = Vec::new();
        let mut note = |text: &str, route: &[RouteStep]| {
            if text.contains("${") || text.contains("$$") {
                let keys = route.iter().filter_map(RouteStep::key);
                budget.allocate(text.len() + keys.map(str::len).sum::<usize>())?;
                uses.push((route.to_vec(), text.to_owned()));
            }
            Ok::<(), EvaluationError>(())
        };
        if !is_off("labels") && !is_off("annotations") {
            each_text_in(&object.value, &mut Vec::new(), &mut note)?;
        }
        if uses.is_empty() {
            return Ok(());
        }
        let substituted = self.substituted(&object.value, budget).or_else(|problem| {
            // The first expression that fails by itself. A failure may take several of them.
            let mut left = MAX_BYTES;
            let is_refused = |(_, text): &&(Vec<RouteStep>, String)| {
                let made = self.substitute(text, &mut left);
                let parsed = made.map(|made| go_yaml::parse_object(&format!("a: {}", made.text)));
                !parsed.is_ok_and(|parsed| parsed.is_ok())
            };
            let (route, _) = uses.iter().find(is_refused).unwrap_or(&uses[0]);
            Err(problem).at(&object.place_of(route))
        });
        let Some(mut value) = substituted? else { return Ok(()) };
        check_metadata(&mut value, object)?;
        object.value = value;
        let mut left = MAX_BYTES;
        for (route, text) in &uses {
            budget.step(1 + object.changes.len() / 8)?;
            let steps = route.iter().map(|step| {
                let made = step.key().and_then(|key| self.substitute(key, &mut left).ok());
                made.map_or_else(|| step.clone(), |made| made.text.into())
            });
            let steps = steps.collect();
            if let Some(place) = self.first_place(text) {
                object.note(ForeignValue { route: steps, place, goes_on: false, replaces: true });
            }
        }
        object.unsubstituted = uses;
        Ok(())
    }

    /// Returns an object after the substitution in its text; `None` if unknown values may complete
    /// it.
    fn substituted(&self, object: &Mapping, budget: &BuildBudget) -> StepResult<Option<Mapping>> {
        let text = go_yaml::to_text(object)
            .map_err(|error| EvaluationError::Undetermined(error.to_string()))?;
        let SubstitutedText { text, is_partial } = self.substitute(&text, &mut { MAX_BYTES })?;
        budget.allocate(text.len())?;
        // Go's parser takes these for line breaks in some places only.
        if text.contains(['\u{85}', '\u{2028}', '\u{2029}']) {
            let why = "it has Unicode line breaks beside variables".to_owned();
            return Err(EvaluationError::Undetermined(why));
        }
        match go_yaml::parse_object(&text) {
            Ok(value) => Ok(Some(value)),
            Err(_) if is_partial => Ok(None),
            Err(go_yaml::Error::Invalid) => {
                let why = "after the substitution of variables, an object is no valid YAML";
                Err(EvaluationError::Unapplied(why.to_owned()))
            }
            Err(error) => {
                let why = format!("the substitution of variables makes {error}");
                Err(EvaluationError::Undetermined(why))
            }
        }
    }

    /// Keeps the values that are equal in two Kustomizations that apply one build.
    pub(crate) fn agreed(mut self, other: Self) -> Self {
        let names: BTreeSet<String> =
            self.values.keys().chain(other.values.keys()).cloned().collect();
        for name in names {
            let [one, two] = [&self, &other].map(|all| all.values.get(&name));
            let text = |value: &Option<(String, Place)>| Some(value.as_ref()?.0.clone());
            if one.is_some() && one.and_then(text) == two.and_then(text) {
                continue;
            }
            // Only the cluster knows the value of a variable without one.
            if one.is_none_or(Option::is_some) && two.is_none_or(Option::is_some) {
                self.contested.insert(name.clone());
            }
            self.values.insert(name, None);
        }
        self.are_partial |= other.are_partial;
        self
    }

    /// Returns a variable of an id to which two Kustomizations give different values.
    pub(super) fn contested_in_id(&self, id: &Id) -> Option<&String> {
        let mut names = [&id.name, &id.namespace].into_iter().flat_map(|text| variables(text));
        names.find_map(|name| self.contested.get(name))
    }

    /// Returns the first variable with a name that Flux refuses, for whatever it is used.
    pub(super) fn invalid_name(&self) -> Option<(&str, Option<&Place>)> {
        let valid = static_regex!("^[A-Za-z_][A-Za-z0-9_]*$");
        let (name, value) = self.values.iter().find(|(name, _)| !valid.is_match(name))?;
        Some((name, value.as_ref().map(|(_, place)| place)))
    }

    fn substitute(&self, text: &str, bytes_left: &mut usize) -> StepResult<SubstitutedText> {
        envsubst::substitute(text, bytes_left, |name| self.value_of(name))
    }

    /// Returns the value of a variable, if it is known. Undefined variables are empty.
    fn value_of(&self, name: &str) -> Option<&str> {
        match self.values.get(name) {
            Some(value) => value.as_ref().map(|(text, _)| text.as_str()),
            None => (!self.are_partial).then_some(""),
        }
    }

    /// Returns the place of the first known variable of a text; without one, that of any variable.
    fn first_place(&self, text: &str) -> Option<Place> {
        let mut place = None;
        let _ = envsubst::substitute(text, &mut { MAX_BYTES }, |name| {
            if let (None, Some(Some((_, at)))) = (&place, self.values.get(name)) {
                place = Some(at.clone());
            }
            self.value_of(name)
        });
        let any = || self.values.values().flatten().next();
        place.or_else(|| any().map(|(_, place)| place.clone()))
    }
}

/// Refuses names, labels and annotations that are no texts, as the API server does. Like it, makes
/// null the empty text.
fn check_metadata(value: &mut Mapping, object: &BuildObject) -> BuildResult {
    let Some(Value::Mapping(metadata)) = value.get_mut("metadata") else {
        let why = "after the substitution of variables, an object has no metadata".to_owned();
        return Err(EvaluationError::Unapplied(why).into());
    };
    for field in ["name", "namespace", "labels", "annotations"] {
        let entries: Vec<(Option<String>, &mut Value)> = match metadata.get_mut(field) {
            Some(Value::Mapping(entries)) if field.ends_with('s') => entries
                .iter_mut()
                .map(|(key, value)| (key.as_str().map(str::to_owned), value))
                .collect(),
            value => value.into_iter().map(|value| (None, value)).collect(),
        };
        for (key, value) in entries {
            let made = match value {
                Value::String(_) => continue,
                Value::Null => {
                    *value = Value::from("");
                    continue;
                }
                Value::Bool(_) => "a boolean",
                Value::Number(_) => "a number",
                _ => "no text",
            };
            let shown = key.as_deref().unwrap_or(field);
            let why = format!(
                "the substitution of variables makes {made} of `{shown}`, which must be a text"
            );
            let steps = ["metadata".into(), field.into()].into_iter();
            let steps: Vec<RouteStep> = steps.chain(key.map(RouteStep::from)).collect();
            return Err(EvaluationError::Unapplied(why)).at(&object.place_of(&steps));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use camino::Utf8Path;

    use super::*;
    use crate::base::finding::Origin;

    #[test]
    fn unknown_values_stay_as_written() {
        let place = Place::File(Arc::from(Utf8Path::new("flux.yaml")));
        let known =
            |name: &str, value: &str| (name.to_owned(), Some((value.to_owned(), place.clone())));
        let undecided = ("SECRET".to_owned(), None);
        let values = BTreeMap::from([known("RACK", "r1"), known("EMPTY", ""), undecided]);
        let whole = SubstitutionVariables { values: values.clone(), ..Default::default() };
        let partial = SubstitutionVariables { values, are_partial: true, ..Default::default() };
        for (text, with_all, with_some) in [
            ("${RACK}", "r1", "r1"),
            ("a-${RACK}-${RACK}", "a-r1-r1", "a-r1-r1"),
            ("${ROOM}", "", "${ROOM}"),
            ("${ROOM:=b2}", "b2", "${ROOM:=b2}"),
            ("${EMPTY:=b2}${EMPTY}", "b2", "b2"),
            ("${RACK^^}", "R1", "R1"),
            ("a$${RACK}${RACK}", "a${RACK}r1", "a${RACK}r1"),
            (
                "${RACK:=${ROOM}}${EMPTY:=${SECRET}}",
                "r1${EMPTY:=${SECRET}}",
                "r1${EMPTY:=${SECRET}}",
            ),
        ] {
            assert_eq!(whole.substitute(text, &mut { MAX_BYTES }).unwrap().text, with_all);
            assert_eq!(partial.substitute(text, &mut { MAX_BYTES }).unwrap().text, with_some);
        }
        assert!(whole.substitute("${RACK", &mut { MAX_BYTES }).is_err());
    }

    #[test]
    fn texts_that_get_too_long_are_not_each_substituted() {
        let place = Place::File(Arc::from(Utf8Path::new("flux.yaml")));
        let value = Some(("x".repeat(1 << 20), place));
        let variables = SubstitutionVariables {
            values: BTreeMap::from([("A".to_owned(), value)]),
            ..Default::default()
        };
        let texts = (0..5000).map(|index| format!("  a{index}: ${{A}}${{A}}${{A}}\n"));
        let text = format!("metadata: {{name: a}}\nspec:\n{}", texts.collect::<String>());
        let origin = Origin::for_file(Arc::from(Utf8Path::new("a.yaml")), &text);
        let mut object = BuildObject::new(origin, yaml_serde::from_str(&text).unwrap());
        let failed = variables.replace_in(&mut object, &BuildBudget::default()).err();
        assert!(matches!(failed.unwrap().problem, EvaluationError::Undetermined(_)));
    }
}
