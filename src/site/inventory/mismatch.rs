//! Explains why a labelSelector matches no host: the requirements that exclude all hosts and likely
//! corrections.

use std::collections::BTreeSet;

use kube::core::{Expression, Selector, SelectorExt};

use super::natural;
use crate::base::api::label_query::required_label;
use crate::base::api::names::{is_label_key, is_label_value};
use crate::base::finding::{DocumentField, Finding, RouteStep};
use crate::base::text::suggest::alike;
use crate::base::text::{abbreviated, counted};
use crate::site::inventory::Host;

/// Maximum number of label values that a message lists.
const VALUES_SHOWN: usize = 8;

/// The requirements of a labelSelector that exclude all hosts, at least one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Mismatch {
    unmet: Vec<UnmetLabel>,
}

/// A requirement that no host meets, or all of them together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct UnmetLabel {
    /// Route from the labelSelector to the requirement.
    route: Vec<RouteStep>,
    /// Set if the label's key is wrong rather than its value.
    by_key: bool,
    /// Explanation: `no host has the label …`.
    what: String,
    /// Likely correction.
    hint: Option<String>,
}

impl Mismatch {
    /// Returns the explanation as a clause.
    pub fn what(&self) -> &str {
        self.unmet.first().map_or("", |unmet| unmet.what.as_str())
    }

    /// Returns likely corrections or the available values, one line per requirement.
    pub fn hints(&self) -> impl Iterator<Item = &str> {
        self.unmet.iter().filter_map(|unmet| unmet.hint.as_deref())
    }

    /// Adds the requirements to a finding as its places, inside the selector.
    pub fn point(&self, mut finding: Finding, selector: &DocumentField) -> Finding {
        for (index, unmet) in self.unmet.iter().enumerate() {
            let field = selector.below(unmet.route.iter().cloned());
            let place = if unmet.by_key { field.key() } else { field.place() };
            finding =
                if index == 0 { finding.at(place) } else { finding.see(place, unmet.what.clone()) };
        }
        finding
    }
}

/// Explains why a labelSelector matches no host; `None` if it matches one or there are no hosts.
pub fn mismatch(hosts: &[Host], selector: &Selector) -> Option<Mismatch> {
    if hosts.is_empty() || hosts.iter().any(|host| selector.matches(&host.labels)) {
        return None;
    }
    let requirements = requirements(selector).into_iter().map(|(route, requirement)| {
        let met = hosts.iter().filter(|host| requirement.matches(&host.labels)).count();
        (met, route, requirement)
    });
    let (met_by_none, met): (Vec<_>, Vec<_>) = requirements.partition(|(met, ..)| *met == 0);
    if met_by_none.is_empty() {
        let each = met.iter().map(|(met, _, requirement)| {
            let verb = if *met == 1 { "meets" } else { "meet" };
            format!("{} {verb} `{requirement}`", counted(*met, "host"))
        });
        let none_at_once = UnmetLabel {
            route: Vec::new(),
            by_key: false,
            what: "no host meets all of its requirements at once".to_owned(),
            hint: Some(each.collect::<Vec<_>>().join(", ")),
        };
        return Some(Mismatch { unmet: vec![none_at_once] });
    }
    let unmet = met_by_none.into_iter().map(|(_, route, requirement)| UnmetLabel {
        route,
        by_key: matches!(&requirement, Expression::Equal(key, _) if !has_label(hosts, key)),
        what: format!("no host {}", in_words(&requirement, hosts)),
        hint: hint(&requirement, hosts),
    });
    Some(Mismatch { unmet: unmet.collect() })
}

/// Returns the requirements of a selector with their routes. Only `matchLabels` yields `Equal`;
/// `matchExpressions` keep their order.
fn requirements(selector: &Selector) -> Vec<(Vec<RouteStep>, Expression)> {
    let mut expressions = 0;
    let mut route = |expression: &Expression| match expression {
        Expression::Equal(key, _) => vec!["matchLabels".into(), key.as_str().into()],
        _ => {
            expressions += 1;
            vec!["matchExpressions".into(), (expressions - 1).into()]
        }
    };
    selector.clone().into_iter().map(|expression| (route(&expression), expression)).collect()
}

fn has_label(hosts: &[Host], key: &str) -> bool {
    hosts.iter().any(|host| host.labels.contains_key(key))
}

/// Describes the property that none of the hosts has, to follow `no host`.
fn in_words(requirement: &Expression, hosts: &[Host]) -> String {
    match requirement {
        Expression::Equal(key, _) | Expression::In(key, _) | Expression::Exists(key)
            if !has_label(hosts, key) =>
        {
            format!("has the label `{key}`")
        }
        Expression::Equal(key, value) => format!("has `{key}: {value}`"),
        _ => format!("meets `{requirement}`"),
    }
}

/// Suggests a correction for a requirement that none of the hosts meets.
fn hint(requirement: &Expression, hosts: &[Host]) -> Option<String> {
    let key = required_label(requirement);
    let wanted: Vec<&str> = match requirement {
        Expression::Equal(_, value) => vec![value],
        Expression::In(_, values) => values.iter().map(String::as_str).collect(),
        // Other requirements name no value that a host should have, so no value can be corrected.
        _ => Vec::new(),
    };
    let there = values(key, hosts);
    if there.is_empty() {
        let other = similar_key(key, hosts.iter()).filter(|other| *other != key)?;
        let there = values(other, hosts);
        let intended = intended(&wanted, &there)
            .map_or("that".to_owned(), |value| format!("`{other}: {value}`"));
        return Some(format!(
            "hosts have the label `{other}`, with {}: did you mean {intended}?",
            listed(&there)
        ));
    }
    let intended = intended(&wanted, &there)
        .map_or(String::new(), |value| format!(": did you mean `{value}`?"));
    Some(format!("hosts have `{key}` with {}{intended}", listed(&there)))
}

/// Returns the existing value that a wanted value probably misspells; `None` if one of the wanted
/// values exists.
fn intended<'a>(wanted: &[&str], there: &[&'a str]) -> Option<&'a str> {
    if wanted.iter().any(|value| there.contains(value)) {
        return None;
    }
    wanted.iter().find_map(|value| alike(value, there.iter().copied()))
}

/// Returns the label that was probably meant: one with the same name under another prefix, or one
/// with similar spelling.
pub(crate) fn similar_key<'a>(key: &str, hosts: impl Iterator<Item = &'a Host>) -> Option<&'a str> {
    let name = |key: &str| key.rsplit('/').next().unwrap_or_default().to_owned();
    let keys = hosts.flat_map(|host| host.labels.keys()).map(String::as_str);
    let keys: BTreeSet<&str> = keys.filter(|key| is_label_key(key)).collect();
    let wanted = name(key);
    let same_name = keys.iter().copied().find(|other| name(other) == wanted);
    same_name.or_else(|| alike(key, keys))
}

/// Returns the values of a label on some hosts, in natural order. Invalid label values are not
/// shown.
fn values<'a>(key: &str, hosts: &'a [Host]) -> Vec<&'a str> {
    let values = hosts.iter().filter_map(|host| host.labels.get(key)).map(String::as_str);
    let values: BTreeSet<&str> = values.filter(|value| is_label_value(value)).collect();
    let mut values: Vec<&str> = values.into_iter().collect();
    values.sort_by(|a, b| natural(a, b));
    values
}

/// Lists values: ``the value `a` ``, ``the values `a`, `b` and 3 more``.
fn listed(values: &[&str]) -> String {
    let quoted: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
    let s = if values.len() == 1 { "" } else { "s" };
    format!("the value{s} {}", abbreviated(&quoted, VALUES_SHOWN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::load::Files;
    use crate::input::settings::Settings;
    use crate::site::Site;

    /// Returns explanation, hints and routes for a selector over hosts with these labels.
    fn said(labels: &[&str], selector: &str) -> Option<(String, Vec<String>, Vec<Vec<RouteStep>>)> {
        let directory = tempfile::tempdir().unwrap();
        let host = |(index, labels): (usize, &&str)| {
            format!(
                "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\n\
                 metadata: {{name: h{index}, namespace: m, labels: {{{labels}}}}}\nspec: {{online: true}}\n"
            )
        };
        let text: String = labels.iter().enumerate().map(host).collect();
        std::fs::write(directory.path().join("hosts.yaml"), text).unwrap();
        let repo = Files::on_disk(camino::Utf8Path::from_path(directory.path()).unwrap());
        let (site, _) = Site::read(&repo, Settings::default()).unwrap();
        let selector =
            crate::input::decode::label_selector::check(&yaml_serde::from_str(selector).unwrap())
                .unwrap();
        let found = mismatch(&site.inventory.hosts, &selector)?;
        let routes = found.unmet.iter().map(|unmet| unmet.route.clone()).collect();
        Some((found.what().to_owned(), found.hints().map(str::to_owned).collect(), routes))
    }

    const FLEET: [&str; 3] = [
        "vino.airshipit.org/flavor: control-plane, rack: r1",
        "vino.airshipit.org/flavor: worker, rack: r1",
        "vino.airshipit.org/flavor: worker, rack: r2",
    ];

    #[test]
    fn a_label_under_another_prefix_is_found() {
        let (what, hints, routes) =
            said(&FLEET, "matchLabels: {airshipit.org/flavor: worker, rack: r1}").unwrap();

        assert_eq!(what, "no host has the label `airshipit.org/flavor`");
        assert_eq!(
            hints,
            [
                "hosts have the label `vino.airshipit.org/flavor`, with the values `control-plane`, `worker`: did you \
              mean that?"
            ]
        );
        assert_eq!(routes, [vec!["matchLabels".into(), "airshipit.org/flavor".into()]]);
    }

    #[test]
    fn a_label_under_another_prefix_whose_value_is_spelled_otherwise_too() {
        let (_, hints, _) =
            said(&FLEET, "matchLabels: {airshipit.org/flavor: controlplane}").unwrap();

        assert!(
            hints[0].ends_with("did you mean `vino.airshipit.org/flavor: control-plane`?"),
            "{hints:?}"
        );
    }

    #[test]
    fn a_value_in_another_spelling_is_found_where_it_stands() {
        let selector = "matchExpressions: [{key: rack, operator: Exists}, \
            {key: vino.airshipit.org/flavor, operator: In, values: [gpu, ControlPlane]}]";
        let (what, hints, routes) = said(&FLEET, selector).unwrap();

        assert_eq!(what, "no host meets `vino.airshipit.org/flavor in (ControlPlane,gpu)`");
        assert_eq!(
            hints,
            [
                "hosts have `vino.airshipit.org/flavor` with the values `control-plane`, `worker`: did you mean \
              `control-plane`?"
            ]
        );
        assert_eq!(routes, [vec![RouteStep::from("matchExpressions"), 1.into()]]);
    }

    #[test]
    fn requirements_that_no_host_meets_at_once_are_counted() {
        let selector = "matchLabels: {a: x, b: x, c: x}";
        let (what, hints, routes) = said(&["a: x", "b: x", "b: x", "c: x"], selector).unwrap();

        assert_eq!(what, "no host meets all of its requirements at once");
        assert_eq!(hints, ["1 host meets `a=x`, 2 hosts meet `b=x`, 1 host meets `c=x`"]);
        assert_eq!(routes, [Vec::new()]);
    }

    #[test]
    fn a_selector_that_matches_a_host_has_no_mismatch() {
        assert_eq!(said(&FLEET, "matchLabels: {rack: r2}"), None);
        assert_eq!(said(&FLEET, "{}"), None);
        assert_eq!(said(&[], "matchLabels: {rack: r2}"), None);
    }
}
