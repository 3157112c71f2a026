//! Host selectors as CAPM3 evaluates them.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelectorRequirement;
use kube::core::{Selector, SelectorExt};

use crate::base::api::assignment;
use crate::base::api::cluster_api::HostSelector;
use crate::base::api::label_query::required_label;
use crate::base::api::names::LabelMap;
use crate::base::api::sipcluster::{LabelSelector, Requirement};
use crate::input::decode::label_selector::{self, Mistake, check_requirement, unknown_field};

/// Returns the requirements of a host selector, without those on the labels `assigned`, which sipgen
/// adds.
///
/// # Errors
///
/// Returns what CAPM3 refuses, and the operators that sipgen does not evaluate.
pub(super) fn requirements(
    selector: &HostSelector,
    assigned: &LabelMap,
) -> Result<Selector, Vec<Mistake>> {
    let unknown = selector.unknown.iter();
    let mut mistakes: Vec<Mistake> =
        unknown.map(|(key, value)| unknown_field("hostSelector", key, value)).collect();
    let mut match_expressions = Vec::new();
    for (index, requirement) in selector.match_expressions.iter().enumerate() {
        match converted(index, requirement) {
            Ok(requirement) => match_expressions.push(requirement),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    let own = |key: &str| is_assigned(key, assigned);
    let match_labels = selector.match_labels.clone().into_iter().filter(|(key, _)| !own(key));
    let selector = label_selector::check(&LabelSelector {
        match_labels: Some(match_labels.collect()),
        match_expressions: Some(match_expressions),
        unknown: BTreeMap::new(),
    })?;
    Ok(selector.into_iter().filter(|it| !own(required_label(it))).collect())
}

/// Returns the expressions of a selector that exclude hosts with the labels `assigned`. CAPM3 requires
/// them as well as the labels that sipgen adds to the selector.
pub(super) fn exclusions(selector: &HostSelector, assigned: &LabelMap) -> Vec<Mistake> {
    let excluded = selector.match_expressions.iter().enumerate().filter_map(|(index, it)| {
        let value = assigned.get(&it.key)?;
        let required = check_requirement(index, &converted(index, it).ok()?).ok()?;
        let message = format!("assigned hosts have `{}: {value}`, which it excludes", it.key);
        let route = vec!["matchExpressions".into(), index.into()];
        let help = "remove it: the label itself selects the hosts";
        (!required.matches(assigned)).then(|| Mistake::new(route, message, help))
    });
    excluded.collect()
}

/// Returns the labels that a selector matches, if sipgen adds one that it requires: one of `assigned`, or
/// an assignment to another cluster.
pub(super) fn assigned_labels(selector: &HostSelector, assigned: &LabelMap) -> Option<LabelMap> {
    let expressions = selector.match_expressions.iter().filter(|requirement| {
        matches!(requirement.operator.to_lowercase().as_str(), "in" | "=" | "==" | "exists")
    });
    let mut keys = selector.match_labels.keys().chain(expressions.map(|it| &it.key));
    keys.any(|key| is_assigned(key, assigned)).then(|| selector.match_labels.clone())
}

/// Returns whether sipgen adds a label: one of `assigned`, or one of another cluster.
pub(super) fn is_assigned(key: &str, assigned: &LabelMap) -> bool {
    assigned.contains_key(key) || assignment::LABELS.contains(&key)
}

/// Converts a requirement to one of Kubernetes. CAPM3 makes the operator lower-case and gives it to
/// Kubernetes' labels, which have other names for operators than label selectors.
fn converted(index: usize, requirement: &LabelSelectorRequirement) -> Result<Requirement, Mistake> {
    let mistake = |field: &str, message: String, help: &str| {
        let route = vec!["matchExpressions".into(), index.into(), field.into()];
        Err(Mistake::new(route, message, help))
    };
    let LabelSelectorRequirement { key, operator, values } = requirement;
    let operator = operator.to_lowercase();
    let kubernetes_operator = match operator.as_str() {
        "in" => "In",
        "notin" => "NotIn",
        "exists" => "Exists",
        "!" => "DoesNotExist",
        "=" | "==" | "!=" if values.as_ref().is_none_or(|values| values.len() != 1) => {
            let message = format!("the operator {operator} needs one value");
            return mistake("values", message, "list exactly one under `values`");
        }
        "=" | "==" => "In",
        "!=" => "NotIn",
        "gt" | "lt" => {
            let message = format!("sipgen does not evaluate the operator {operator}");
            let help = "label hosts by class, and select the class with in";
            return mistake("operator", message, help);
        }
        "doesnotexist" => {
            let message =
                "CAPM3 does not know the operator DoesNotExist, so its Machines never get a host";
            let help = "write `operator: \"!\"` and `values: []`";
            return mistake("operator", message.to_owned(), help);
        }
        other => {
            let message = format!("CAPM3 does not know the operator `{other}`");
            return mistake("operator", message, "use in, notin, exists or \"!\"");
        }
    };
    let (key, operator) = (key.clone(), kubernetes_operator.to_owned());
    Ok(Requirement { key, operator, values: values.clone() })
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
