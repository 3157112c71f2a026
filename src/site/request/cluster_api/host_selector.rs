//! Host selectors as CAPM3 evaluates them.

use std::collections::BTreeMap;

use kube::core::{Expression, Selector, SelectorExt};

use crate::base::api::assignment;
use crate::base::api::cluster_api::{HostRequirement, HostSelector};
use crate::base::api::names::{is_label_key, is_label_value};
use crate::base::finding::RouteStep;
use crate::input::decode::label_selector::{Mistake, unknown_field};

/// Returns the requirements of a host selector, without those on the labels `assigned`, which sipgen
/// adds.
///
/// # Errors
///
/// Returns what CAPM3 refuses, and the operators that sipgen does not evaluate.
pub(super) fn requirements(
    selector: &HostSelector,
    assigned: &BTreeMap<String, String>,
) -> Result<Selector, Vec<Mistake>> {
    let mut mistakes = Vec::new();
    let mut expressions = Vec::new();
    let own = |key: &str| is_assigned(key, assigned);
    for (key, value) in &selector.match_labels {
        let (key, value) = (key.as_str(), value.as_str());
        if own(key) {
            continue;
        }
        if is_label_key(key) && is_label_value(value) {
            expressions.push(Expression::Equal(key.to_owned(), value.to_owned()));
        } else {
            mistakes.push(mistake(
                vec!["matchLabels".into(), key.into()],
                format!("`{key}: {value}` is not a label that a host can have"),
                "keys are `prefix/name`, values have at most 63 letters, digits, `-`, `_` and `.`",
            ));
        }
    }
    let unknown = selector.unknown.iter();
    mistakes.extend(unknown.map(|(key, value)| unknown_field("hostSelector", key, value)));
    let requirements = selector.match_expressions.iter().enumerate();
    for (index, requirement) in requirements {
        match expression(requirement) {
            Ok(expression) if !own(&requirement.key) => expressions.push(expression),
            Ok(_) => {}
            Err((field, message, help)) => {
                let route = vec!["matchExpressions".into(), index.into(), field.into()];
                mistakes.push(mistake(route, message, help));
            }
        }
    }
    if mistakes.is_empty() { Ok(expressions.into_iter().collect()) } else { Err(mistakes) }
}

/// Returns the expressions of a selector that exclude hosts with the labels `assigned`. CAPM3 requires
/// them as well as the labels that sipgen adds to the selector.
pub(super) fn exclusions(
    selector: &HostSelector,
    assigned: &BTreeMap<String, String>,
) -> Vec<Mistake> {
    let excluded = selector.match_expressions.iter().enumerate().filter_map(|(index, it)| {
        let value = assigned.get(&it.key)?;
        let required = Selector::from_iter([expression(it).ok()?]);
        let message = format!("assigned hosts have `{}: {value}`, which it excludes", it.key);
        let route = vec!["matchExpressions".into(), index.into()];
        let help = "remove it: the label itself selects the hosts";
        (!required.matches(assigned)).then(|| mistake(route, message, help))
    });
    excluded.collect()
}

/// Returns the labels that a selector matches, if sipgen adds one that it requires: one of `assigned`, or
/// an assignment to another cluster.
pub(super) fn assigned_labels(
    selector: &HostSelector,
    assigned: &BTreeMap<String, String>,
) -> Option<BTreeMap<String, String>> {
    let expressions = selector.match_expressions.iter().filter(|requirement| {
        matches!(requirement.operator.to_lowercase().as_str(), "in" | "=" | "==" | "exists")
    });
    let mut keys = selector.match_labels.keys().chain(expressions.map(|it| &it.key));
    keys.any(|key| is_assigned(key, assigned)).then(|| selector.match_labels.clone())
}

/// Returns whether sipgen adds a label: one of `assigned`, or one of another cluster.
pub(super) fn is_assigned(key: &str, assigned: &BTreeMap<String, String>) -> bool {
    assigned.contains_key(key) || assignment::LABELS.contains(&key)
}

fn mistake(route: Vec<RouteStep>, message: String, help: &str) -> Mistake {
    Mistake { route, by_key: false, message, help: help.to_owned() }
}

/// Converts a requirement. CAPM3 makes the operator lower-case and gives it to Kubernetes' labels,
/// which have other names for operators than label selectors.
fn expression(
    requirement: &HostRequirement,
) -> Result<Expression, (&'static str, String, &'static str)> {
    let HostRequirement { key, operator, values } = requirement;
    if !is_label_key(key) {
        let message = format!("`{key}` is not a valid label key");
        return Err(("key", message, "write `prefix/name`"));
    }
    if let Some(bad) = values.iter().find(|value| !is_label_value(value)) {
        let message = format!("`{bad}` is not a valid label value");
        return Err((
            "values",
            message,
            "use at most 63 characters: letters, digits, `-`, `_` and `.`, a letter or digit at both ends",
        ));
    }
    let set = || values.iter().cloned().collect();
    let operator = operator.to_lowercase();
    match (operator.as_str(), values.as_slice()) {
        ("in", [_, ..]) => Ok(Expression::In(key.clone(), set())),
        ("notin", [_, ..]) => Ok(Expression::NotIn(key.clone(), set())),
        ("in" | "notin", []) => Err((
            "values",
            format!("the operator {operator} needs values"),
            "list at least one under `values`",
        )),
        ("=" | "==", [value]) => Ok(Expression::Equal(key.clone(), value.clone())),
        ("!=", [value]) => Ok(Expression::NotEqual(key.clone(), value.clone())),
        ("=" | "==" | "!=", _) => Err((
            "values",
            format!("the operator {operator} needs one value"),
            "list exactly one under `values`",
        )),
        ("exists", []) => Ok(Expression::Exists(key.clone())),
        ("!", []) => Ok(Expression::DoesNotExist(key.clone())),
        ("exists" | "!", _) => Err((
            "values",
            format!("the operator {operator} takes no values"),
            "remove `values`, or use in or notin",
        )),
        ("gt" | "lt", _) => Err((
            "operator",
            format!("sipgen does not evaluate the operator {operator}"),
            "label hosts by class, and select the class with in",
        )),
        ("doesnotexist", _) => Err((
            "operator",
            "CAPM3 does not know the operator DoesNotExist, so its Machines never get a host"
                .to_owned(),
            "write `operator: \"!\"` and `values: []`",
        )),
        (other, _) => Err((
            "operator",
            format!("CAPM3 does not know the operator `{other}`"),
            "use in, notin, exists or \"!\"",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(yaml: &str) -> Result<Selector, Vec<String>> {
        let mistakes = |mistakes: Vec<Mistake>| {
            let message = |mistake: Mistake| mistake.message;
            mistakes.into_iter().map(message).collect()
        };
        let assigned = BTreeMap::from([("cluster".to_owned(), "edge".to_owned())]);
        requirements(&yaml_serde::from_str(yaml).unwrap(), &assigned).map_err(mistakes)
    }

    #[test]
    fn operators_are_those_of_capm3_in_any_case() {
        let labels = [("size", "big"), ("rack", "r1")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        let labels = labels.into_iter().collect();
        for (requirement, matches) in [
            ("{key: size, operator: in, values: [big, small]}", true),
            ("{key: size, operator: In, values: [small]}", false),
            ("{key: size, operator: NotIn, values: [big]}", false),
            ("{key: size, operator: '=', values: [big]}", true),
            ("{key: size, operator: '!=', values: [big]}", false),
            ("{key: size, operator: Exists}", true),
            ("{key: size, operator: '!'}", false),
            ("{key: other, operator: '!'}", true),
        ] {
            let selector = read(&format!("matchExpressions: [{requirement}]")).unwrap();
            assert_eq!(selector.matches(&labels), matches, "{requirement}");
        }
    }

    #[test]
    fn what_capm3_refuses_is_refused() {
        for (requirement, part) in [
            ("{key: a, operator: In}", "needs values"),
            ("{key: a, operator: '=', values: [b, c]}", "needs one value"),
            ("{key: a, operator: Exists, values: [b]}", "takes no values"),
            ("{key: a, operator: DoesNotExist}", "does not know"),
            ("{key: a, operator: near}", "does not know"),
            ("{key: a, operator: Gt, values: ['1']}", "does not evaluate"),
            ("{key: '/', operator: In, values: [b]}", "label key"),
            ("{key: a, operator: In, values: ['b c']}", "label value"),
        ] {
            let mistakes = read(&format!("matchExpressions: [{requirement}]")).unwrap_err();
            assert!(mistakes[0].contains(part), "{requirement}: {mistakes:?}");
        }
    }

    #[test]
    fn what_the_api_server_drops_is_refused() {
        for (selector, part) in [
            ("{role: w}", "unknown field `role`"),
            ("{matchLabels: {}, role: w}", "unknown field `role`"),
            ("{matchlabels: {role: w}}", "unknown field `matchlabels`"),
            ("{matchExpression: []}", "unknown field `matchExpression`"),
        ] {
            let mistakes = read(selector).unwrap_err();
            assert!(mistakes[0].contains(part), "{selector}: {mistakes:?}");
        }
    }

    #[test]
    fn an_expression_that_excludes_assigned_hosts_is_a_mistake() {
        let assigned = BTreeMap::from([("cluster".to_owned(), "edge".to_owned())]);
        for (requirement, is_mistake) in [
            ("{key: cluster, operator: In, values: [old]}", true),
            ("{key: cluster, operator: NotIn, values: [edge]}", true),
            ("{key: cluster, operator: '!'}", true),
            ("{key: cluster, operator: In, values: [old, edge]}", false),
            ("{key: cluster, operator: exists}", false),
            ("{key: size, operator: In, values: [old]}", false),
        ] {
            let selector = format!("matchExpressions: [{requirement}]");
            let mistakes = exclusions(&yaml_serde::from_str(&selector).unwrap(), &assigned);
            assert_eq!(!mistakes.is_empty(), is_mistake, "{requirement}");
        }
    }

    #[test]
    fn assignment_labels_are_no_requirements() {
        let selector = read(
            "matchLabels: {sip.airshipit.org/cluster-name: edge, size: big, cluster: edge}\n\
             matchExpressions: [{key: sip.airshipit.org/node-set, operator: in, values: [md-0]}, \
             {key: cluster, operator: In, values: [old, edge]}]",
        );
        assert_eq!(selector.unwrap().to_string(), "size=big");
    }
}
