//! Validates label selectors like the API server.

use kube::core::{Expression, Selector};

use crate::base::api::names::{is_label, is_label_key, is_label_value};
use crate::base::api::sipcluster::{LabelSelector, Requirement};
use crate::base::finding::RouteStep;

/// A mistake in a selector.
#[derive(Debug)]
pub(crate) struct Mistake {
    /// Route from the selector to the mistake.
    pub(crate) route: Vec<RouteStep>,
    /// Set if the last key of the route is wrong rather than its value.
    pub(crate) by_key: bool,
    pub(crate) message: String,
    pub(crate) help: String,
}

impl Mistake {
    /// Returns a mistake in the value at a route.
    pub(crate) fn new(
        route: Vec<RouteStep>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self { route, by_key: false, message: message.into(), help: help.into() }
    }
}

/// Checks a selector.
///
/// # Errors
///
/// Returns all its mistakes.
pub(crate) fn check(selector: &LabelSelector) -> Result<Selector, Vec<Mistake>> {
    let unknown = selector.unknown.iter();
    let mut mistakes: Vec<Mistake> =
        unknown.map(|(key, value)| unknown_field("labelSelector", key, value)).collect();
    let mut expressions = Vec::new();
    for (key, value) in selector.match_labels.iter().flatten() {
        if !is_label(key, value) {
            let route = vec!["matchLabels".into(), key.as_str().into()];
            let message = format!("`{key}: {value}` is not a valid label");
            let help =
                "keys are `prefix/name`, values have at most 63 letters, digits, `-`, `_` and `.`";
            mistakes.push(Mistake::new(route, message, help));
        }
        expressions.push(Expression::Equal(key.clone(), value.clone()));
    }
    for (index, requirement) in selector.match_expressions.iter().flatten().enumerate() {
        match check_requirement(index, requirement) {
            Ok(expression) => expressions.push(expression),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    if mistakes.is_empty() { Ok(expressions.into_iter().collect()) } else { Err(mistakes) }
}

/// Reports an unknown field of the selector in `field`. Ignoring it would leave a selector that
/// matches everything.
pub(crate) fn unknown_field(field: &str, key: &str, value: &serde_json::Value) -> Mistake {
    // Such a field looks like a label that belongs under `matchLabels`.
    let help = if key.contains('/') || value.is_string() {
        format!("a label goes under `matchLabels`: `{field}: {{matchLabels: {{{key}: …}}}}`")
    } else {
        "a label selector has `matchLabels` and `matchExpressions`".to_owned()
    };
    let message =
        format!("unknown field `{key}` in a label selector: the selector would match everything");
    Mistake { by_key: true, ..Mistake::new(vec![key.into()], message, help) }
}

/// Checks the requirement with this index in a selector.
///
/// # Errors
///
/// Returns its first mistake.
pub(crate) fn check_requirement(
    index: usize,
    requirement: &Requirement,
) -> Result<Expression, Mistake> {
    let at = |steps: &[RouteStep], message: String, help: &str| {
        let route = [&["matchExpressions".into(), index.into()], steps].concat();
        Err(Mistake::new(route, message, help))
    };
    let mistake = |field: &str, message: String, help: &str| at(&[field.into()], message, help);
    let Requirement { key, operator, values } = requirement;
    let values = values.as_deref().unwrap_or_default();
    if !is_label_key(key) {
        return mistake("key", format!("`{key}` is not a valid label key"), "write `prefix/name`");
    }
    let key = key.clone();
    match operator.as_str() {
        "In" | "NotIn" if values.is_empty() => mistake(
            "values",
            format!("the operator {operator} needs values"),
            "list at least one under `values`",
        ),
        "Exists" | "DoesNotExist" if !values.is_empty() => mistake(
            "values",
            format!("the operator {operator} takes no values"),
            "remove `values`, or use In or NotIn",
        ),
        "In" | "NotIn" => match values.iter().position(|value| !is_label_value(value)) {
            Some(bad) => at(
                &["values".into(), bad.into()],
                format!("`{}` is not a valid label value", values[bad]),
                "use at most 63 characters: letters, digits, `-`, `_` and `.`, a letter or digit at both ends",
            ),
            None if operator == "In" => Ok(Expression::In(key, values.iter().cloned().collect())),
            None => Ok(Expression::NotIn(key, values.iter().cloned().collect())),
        },
        "Exists" => Ok(Expression::Exists(key)),
        "DoesNotExist" => Ok(Expression::DoesNotExist(key)),
        other => mistake(
            "operator",
            format!("unknown operator `{other}` in a label selector"),
            "use In, NotIn, Exists or DoesNotExist",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistakes(yaml: &str) -> Vec<String> {
        match check(&yaml_serde::from_str(yaml).unwrap()) {
            Ok(_) => Vec::new(),
            Err(mistakes) => mistakes
                .into_iter()
                .map(|mistake| format!("{} {}", mistake.message, mistake.help))
                .collect(),
        }
    }

    #[test]
    fn a_flat_selector_is_refused_and_says_what_was_meant() {
        let found = mistakes("vino.airshipit.org/flavor: worker");
        assert_eq!(found.len(), 1);
        assert!(
            found[0].contains("would match everything") && found[0].contains("matchLabels"),
            "{found:?}"
        );
    }

    #[test]
    fn each_malformed_requirement_is_named() {
        for (yaml, part) in [
            ("matchExpressions: [{key: a, operator: In}]", "needs values"),
            ("matchExpressions: [{key: a, operator: NotIn, values: []}]", "needs values"),
            ("matchExpressions: [{key: a, operator: Exists, values: [x]}]", "takes no values"),
            ("matchExpressions: [{key: a, operator: in, values: [x]}]", "unknown operator `in`"),
            ("matchExpressions: [{key: 'a b', operator: Exists}]", "is not a valid label key"),
            ("matchLabels: {a: 'x y'}", "is not a valid label"),
        ] {
            let found = mistakes(yaml);
            assert!(found.len() == 1 && found[0].contains(part), "{yaml}: {found:?}");
        }
    }

    #[test]
    fn every_operator_is_accepted() {
        let yaml = "matchLabels: {a: b}\nmatchExpressions: [{key: c, operator: In, values: [d]}, \
            {key: e, operator: NotIn, values: [f]}, {key: g, operator: Exists}, {key: h, operator: DoesNotExist}]";
        assert_eq!(mistakes(yaml), Vec::<String>::new());
        assert_eq!(mistakes("{}"), Vec::<String>::new());
    }
}
