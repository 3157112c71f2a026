//! The labels that assigned hosts bear, as chosen in the settings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};

use super::template::{NameTemplate, Variable};
use super::{
    CLUSTER_NAME, CLUSTER_NAMESPACE, Claim, LABELS, LEGACY_LABELS, NODE, NODE_SET, NODE_TYPE,
    NamedClaim,
};
use crate::base::api::cluster_api::FAILURE_DOMAIN;
use crate::base::api::names::{
    ClusterKey, Invalid, LabelMap, Part, Role, is_label_key, is_label_value,
};
use crate::base::api::unique;

/// The labels of assigned hosts, as templates over the cluster and the host's part in it.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(with = "LabelMap")]
pub struct Scheme {
    labels: Vec<LabelTemplate>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct LabelTemplate {
    key: NameTemplate,
    value: NameTemplate,
}

type VariableValues<'a> = BTreeMap<Variable, &'a str>;

/// An assignment in the labels of a host.
pub(crate) struct LabelAssignment {
    pub(crate) claim: Claim,
    /// Keys of the labels that take part in it.
    pub(crate) keys: Vec<String>,
}

impl Default for Scheme {
    /// Returns the labels of Airship's Support Infrastructure Provider.
    fn default() -> Self {
        let labels = [
            (CLUSTER_NAME, "{{ cluster.name }}"),
            (CLUSTER_NAMESPACE, "{{ cluster.namespace }}"),
            (NODE_TYPE, "{{ node_type }}"),
        ];
        let labels = labels.iter().filter_map(|(key, value)| LabelTemplate::parse(key, value).ok());
        Self { labels: labels.collect() }
    }
}

impl<'de> Deserialize<'de> for Scheme {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let labels: LabelMap = unique::map(deserializer)?;
        Self::try_from(labels).map_err(de::Error::custom)
    }
}

impl TryFrom<LabelMap> for Scheme {
    type Error = Invalid;

    fn try_from(labels: LabelMap) -> Result<Self, Invalid> {
        let parse = |(key, value): (&String, &String)| {
            LabelTemplate::parse(key, value)
                .map_err(|problem| format!("the label `{key}: {value}` {problem}"))
        };
        let labels: Result<Vec<LabelTemplate>, String> = labels.iter().map(parse).collect();
        let scheme = Self { labels: labels? };
        if scheme.is_default() {
            return Ok(scheme);
        }
        let mut taken = LABELS.into_iter().chain(LEGACY_LABELS).chain([FAILURE_DOMAIN]);
        if let Some(key) = taken.find(|key| scheme.has_key(key)) {
            return Err(Invalid::from(format!(
                "a label may have the key `{key}`, which has another meaning: choose another"
            )));
        }
        if !scheme.has(&[Variable::ClusterName]) {
            return Err("no label has `{{ cluster.name }}`, so none tells whose a host is".into());
        }
        if !scheme.has(&[Variable::Role, Variable::NodeType, Variable::NodeSet]) {
            return Err(Invalid::from(
                "no label has `{{ role }}` or `{{ node_set }}`, so none tells a control-plane host from a worker",
            ));
        }
        Ok(scheme)
    }
}

impl Scheme {
    /// Returns the labels of a host in a part of a cluster.
    pub(crate) fn labels(&self, cluster: &ClusterKey, part: &Part) -> LabelMap {
        let value = |variable| value(variable, cluster, part);
        let rendered = |label: &LabelTemplate| (label.key.render(value), label.value.render(value));
        let mut labels: LabelMap = self.labels.iter().map(rendered).collect();
        let node_set = part.node_set.as_ref().filter(|_| !self.has(&[Variable::NodeSet]));
        for (key, name) in [(NODE, part.node.as_ref()), (NODE_SET, node_set)] {
            labels.extend(name.map(|name| (key.to_owned(), name.to_string())));
        }
        labels
    }

    fn has(&self, wanted: &[Variable]) -> bool {
        let mut variables = self.labels.iter().flat_map(LabelTemplate::variables);
        variables.any(|variable| wanted.contains(&variable))
    }

    /// Returns a key that two labels of a host would have.
    pub(crate) fn collision(&self, cluster: &ClusterKey, part: &Part) -> Option<String> {
        let mut seen = BTreeSet::new();
        let value = |variable| value(variable, cluster, part);
        let mut keys = self.labels.iter().map(|label| label.key.render(value));
        keys.find(|key| !seen.insert(key.clone()))
    }

    /// Returns whether these are SIP's labels, which are read without a scheme.
    pub(crate) fn is_default(&self) -> bool {
        static DEFAULT: LazyLock<Scheme> = LazyLock::new(Scheme::default);
        *self == *DEFAULT
    }

    /// Returns the keys of the labels that tell a host's assignment.
    pub(crate) fn keys(&self, cluster: &ClusterKey, part: &Part) -> impl Iterator<Item = String> {
        let telling = self.labels.iter().filter(|label| label.variables().next().is_some());
        telling.map(|label| label.key.render(|variable| value(variable, cluster, part)))
    }

    /// Returns the key of a label with the cluster's name as the value.
    pub(crate) fn naming_key(&self) -> Option<&str> {
        let names = |label: &&LabelTemplate| {
            label.value.variables().any(|variable| variable == Variable::ClusterName)
        };
        self.labels.iter().find(names)?.key.constant()
    }

    /// Returns a key to which this and another scheme give different values.
    pub(crate) fn conflict(&self, other: &Self) -> Option<&str> {
        self.labels.iter().find_map(|label| {
            let key = label.key.constant()?;
            let differs = |other: &LabelTemplate| {
                other.key.constant() == Some(key) && other.value != label.value
            };
            other.labels.iter().any(differs).then_some(key)
        })
    }

    /// Returns whether a label with this key may be one of its labels.
    pub(crate) fn has_key(&self, key: &str) -> bool {
        self.labels.iter().any(|label| label.key.captures(key).is_some())
    }

    /// Reads the assignment of a host from its labels; `None` if no label names a cluster.
    ///
    /// Labels without the cluster claim nothing by themselves: their keys may be general ones that
    /// free hosts have, too.
    pub(crate) fn find(&self, labels: &LabelMap) -> Option<LabelAssignment> {
        let mut keys = Vec::new();
        let mut values = VariableValues::new();
        let (mut is_claimed, mut is_clear) = (false, true);
        for label in self.labels.iter().filter(|label| label.variables().next().is_some()) {
            let mut is_there = false;
            for (key, value) in label.candidates(labels) {
                is_there = true;
                keys.push(key.to_owned());
                is_claimed |= label.variables().any(Variable::is_of_cluster);
                let captures = label.captures(key, value);
                is_clear &= captures.is_some();
                for (variable, value) in captures.into_iter().flatten() {
                    is_clear &= *values.entry(variable).or_insert(value) == value;
                }
            }
            is_clear &= is_there;
        }
        if !is_claimed {
            return None;
        }
        let claim = if is_clear { claim_of(&values, labels, &keys) } else { None };
        let claim = claim.unwrap_or_else(|| Claim::Unclear(in_words(labels, &keys)));
        Some(LabelAssignment { claim, keys })
    }
}

/// Returns the value of a variable.
fn value<'a>(variable: Variable, cluster: &'a ClusterKey, part: &'a Part) -> &'a str {
    match variable {
        Variable::ClusterName => cluster.name.as_str(),
        Variable::ClusterNamespace => cluster.namespace.as_str(),
        Variable::Role => part.role.in_lower_case(),
        Variable::NodeType => part.role.as_str(),
        Variable::NodeSet => {
            let name = part.node_set.as_ref();
            name.map_or(part.role.in_lower_case(), |name| name.as_str())
        }
    }
}

/// Returns the claim of labels with these values; `None` if they are invalid or contradict each
/// other.
fn claim_of(values: &VariableValues<'_>, labels: &LabelMap, keys: &[String]) -> Option<Claim> {
    let value = |variable| values.get(&variable).copied();
    let roles = [
        value(Variable::Role).map(role_of),
        value(Variable::NodeType).map(|text| text.parse().ok()),
    ];
    let roles = roles.into_iter().flatten().collect::<Option<Vec<Role>>>()?;
    if roles.iter().any(|role| *role != roles[0]) {
        return None;
    }
    let role = roles.first().copied();
    let own = |key: &str| labels.get(key).map(String::as_str).filter(|name| !name.is_empty());
    let node_set = value(Variable::NodeSet);
    // A role in its place means that the host has no node set.
    let role = role.or_else(|| node_set.map(|name| role_of(name).unwrap_or(Role::Worker)))?;
    let node_set = node_set.filter(|name| *name != role.in_lower_case()).or_else(|| own(NODE_SET));
    let part = Part {
        role,
        node: own(NODE).map(str::parse).transpose().ok()?,
        node_set: node_set.map(str::parse).transpose().ok()?,
    };
    let name = value(Variable::ClusterName)?.parse().ok()?;
    Some(match value(Variable::ClusterNamespace) {
        Some(namespace) => {
            Claim::Cluster(ClusterKey { namespace: namespace.parse().ok()?, name }, part)
        }
        None => Claim::Named(NamedClaim { name, part, labels: in_words(labels, keys) }),
    })
}

impl LabelTemplate {
    fn parse(key: &str, value: &str) -> Result<Self, Invalid> {
        /// A value that every variable may have.
        const ANY: &str = "a";
        let label = Self { key: key.parse()?, value: value.parse()? };
        let (cluster_variables, part_variables): (Vec<_>, Vec<_>) =
            label.variables().partition(|variable| variable.is_of_cluster());
        if !is_label_key(&label.key.render(|_| ANY))
            || !is_label_value(&label.value.render(|_| ANY))
        {
            return Err("is not a label that a host can have".into());
        }
        if !cluster_variables.is_empty() && !part_variables.is_empty() {
            return Err("names both the cluster and a part of it: use two labels".into());
        }
        Ok(label)
    }

    fn variables(&self) -> impl Iterator<Item = Variable> {
        self.key.variables().chain(self.value.variables())
    }

    /// Returns the labels of a host that may be this one.
    ///
    /// A key with variables may match foreign labels, so their value must match, too. An empty
    /// value means that the label is not set.
    fn candidates<'a>(&'a self, labels: &'a LabelMap) -> impl Iterator<Item = (&'a str, &'a str)> {
        let constant = self.key.constant();
        let may_be_this = move |(key, value): &(&String, &String)| match constant {
            Some(constant) => *key == constant && !value.is_empty(),
            None => self.captures(key, value).is_some(),
        };
        labels.iter().filter(may_be_this).map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Returns the values of the variables in a label.
    fn captures<'a>(&self, key: &'a str, value: &'a str) -> Option<Vec<(Variable, &'a str)>> {
        let mut captures = self.key.captures(key)?;
        captures.extend(self.value.captures(value)?);
        Some(captures)
    }
}

fn role_of(text: &str) -> Option<Role> {
    Role::ALL.into_iter().find(|role| role.in_lower_case() == text)
}

fn in_words(labels: &LabelMap, keys: &[String]) -> String {
    let label = |key: &String| format!("{key}={}", labels.get(key).map_or("", String::as_str));
    keys.iter().map(label).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(labels: &[(&str, &str)]) -> LabelMap {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        labels.iter().map(owned).collect()
    }

    fn scheme(labels: &[(&str, &str)]) -> Scheme {
        map(labels).try_into().unwrap()
    }

    fn parts() -> Vec<Part> {
        let worker =
            |name: &str| Part { node_set: Some(name.parse().unwrap()), ..Role::Worker.into() };
        let machine = Part { node: Some("node_1".parse().unwrap()), ..Role::ControlPlane.into() };
        vec![Role::ControlPlane.into(), Role::Worker.into(), worker("md-0"), machine]
    }

    #[test]
    fn an_assignment_is_read_back_from_its_labels() {
        let schemes = [
            Scheme::default(),
            scheme(&[("cluster", "{{ cluster.name }}"), ("cluster-role", "{{ role }}")]),
            scheme(&[
                ("example.com/owner", "{{ cluster.namespace }}_{{ cluster.name }}"),
                ("pool-{{ node_set }}", ""),
                ("managed-by", "sipgen"),
            ]),
            scheme(&[
                ("c-{{ cluster.name }}", "x{{ cluster.namespace }}"),
                ("role", "{{ role }}"),
                ("pool", "{{ node_set }}"),
            ]),
        ];
        for scheme in schemes {
            for cluster in ["a/edge", "b-c/d.e-f"] {
                let cluster: ClusterKey = cluster.parse().unwrap();
                for part in parts() {
                    let mut labels = scheme.labels(&cluster, &part);
                    let bears = labels.len();
                    labels.extend(map(&[("c-other", "free"), ("rack", "r7"), ("pool-x", "no")]));
                    let found = scheme.find(&labels).unwrap();
                    assert!(found.keys.len() <= bears);
                    let has_namespace = scheme
                        .labels
                        .iter()
                        .flat_map(LabelTemplate::variables)
                        .any(|variable| variable == Variable::ClusterNamespace);
                    match found.claim {
                        Claim::Cluster(key, found) if has_namespace => {
                            assert_eq!((key, found), (cluster.clone(), part));
                        }
                        Claim::Named(named) if !has_namespace => {
                            assert_eq!((named.name, named.part), (cluster.name.clone(), part));
                        }
                        other => panic!("{scheme:?} {labels:?}: {other:?}"),
                    }
                }
            }
        }
    }

    #[test]
    fn half_an_assignment_is_unclear() {
        let scheme = scheme(&[("cluster", "{{ cluster.name }}"), ("role", "{{ role }}")]);
        for labels in [
            &[("cluster", "edge")][..],
            &[("cluster", "edge"), ("role", "")],
            &[("cluster", "edge"), ("role", "master")],
            &[("cluster", "Edge_1"), ("role", "worker")],
        ] {
            let found = scheme.find(&map(labels)).unwrap();
            assert!(matches!(found.claim, Claim::Unclear(_)), "{labels:?}");
        }
        for labels in [&[("role", "worker")][..], &[("cluster", "")], &[("size", "big")]] {
            assert!(scheme.find(&map(labels)).is_none(), "{labels:?}");
        }
    }

    #[test]
    fn a_scheme_tells_clusters_and_roles_apart() {
        for (labels, part) in [
            (&[][..], "cluster.name"),
            (&[("cluster", "edge"), ("role", "{{ role }}")], "cluster.name"),
            (&[("cluster", "{{ cluster.name }}")], "{{ role }}"),
            (&[("pool", "{{ cluster.name }}_{{ role }}")], "two labels"),
            (&[("/", "{{ cluster.name }}")], "not a label"),
            (&[("c", "{{ cluster.name }} ")], "not a label"),
            (&[(CLUSTER_NAME, "x{{ cluster.name }}")], "another meaning"),
            (&[("sip.airshipit.org/{{ cluster.name }}", "")], "another meaning"),
            (&[(FAILURE_DOMAIN, "{{ cluster.name }}")], "another meaning"),
        ] {
            let error = Scheme::try_from(map(labels)).unwrap_err().to_string();
            assert!(error.contains(part), "{labels:?}: {error}");
        }
    }
}
