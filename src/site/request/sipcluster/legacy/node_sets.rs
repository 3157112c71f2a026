//! Converts node sets of older generations.

use yaml_serde::{Mapping, Value};

use super::{Converter, Route, below};
use crate::base::api::names::{Role, is_label_key, is_label_value};
use crate::base::finding::{Code, RouteStep};
use crate::site::inventory::topology_labels::TopologyDomain;

/// Older names of the flavor.
const FLAVOR: [&str; 2] = ["vm-flavor", "vmFlavor"];
/// Older names of the spreading constraint, a single word.
pub(super) const SPREAD: [&str; 2] = ["spreadTopology", "spread-topology"];
/// Its oldest name, with a list of words that all apply.
pub(super) const CONSTRAINTS: &str = "scheduling-constraints";

/// Returns the role of an older name of a node set.
pub(super) fn legacy_role(name: &str) -> Option<Role> {
    match name {
        "master" => Some(Role::ControlPlane),
        "worker" => Some(Role::Worker),
        _ => None,
    }
}

impl Converter<'_> {
    pub(super) fn nodes(&mut self, written: &Value, at: &[RouteStep]) -> Value {
        let Some(node_sets) = written.as_mapping() else {
            return written.clone();
        };
        let mut converted = Mapping::new();
        for (name, node_set) in node_sets {
            let Some(text) = name.as_str() else {
                converted.insert(name.clone(), node_set.clone());
                continue;
            };
            let role = legacy_role(text).map_or(text, |role| role.as_str());
            let route = below(at, [text]);
            if role != text {
                if node_sets.contains_key(role) {
                    self.twice(route, below(at, [role]));
                    continue;
                }
                self.moved.add(below(at, [role]), route.clone());
            }
            let node_set = self.node_set(node_set, &route, &below(at, [role]));
            converted.insert(role.into(), node_set);
        }
        Value::Mapping(converted)
    }

    /// Converts a node set. `at` is its original route, `read` the route in the result.
    fn node_set(&mut self, written: &Value, at: &[RouteStep], read: &[RouteStep]) -> Value {
        let Some(fields) = written.as_mapping() else {
            return written.clone();
        };
        let mut converted = Mapping::new();
        for (key, value) in fields {
            let name = key.as_str().unwrap_or_default();
            let is_flavor = FLAVOR.contains(&name);
            let is_spread = SPREAD.contains(&name) || name == CONSTRAINTS;
            if !is_flavor && !is_spread {
                converted.insert(key.clone(), value.clone());
                continue;
            }
            let route = below(at, [name]);
            let current: &[&str] =
                if is_flavor { &["labelSelector"] } else { &["topologyKey", "topologyKeys"] };
            // Another older form of the same field may have been converted already.
            let known = current
                .iter()
                .find(|key| converted.contains_key(**key) || fields.contains_key(**key));
            if let Some(known) = known {
                self.twice(route, below(read, [*known]));
                continue;
            }
            let made = if is_flavor {
                self.flavor(value, &route)
            } else {
                self.spread(name, value, &route)
            };
            if let Some((key, value)) = made {
                self.moved.add(below(read, [key]), route);
                converted.insert(key.into(), value);
            }
        }
        Value::Mapping(converted)
    }

    /// Converts `KEY=VALUE`, a required label.
    fn flavor(&mut self, value: &Value, route: &[RouteStep]) -> Option<(&'static str, Value)> {
        let label = value.as_str().and_then(|text| {
            let (key, value) = text.split_once('=')?;
            let (key, value) = (key.trim(), value.trim());
            (is_label_key(key) && is_label_value(value)).then_some((key, value))
        });
        let Some((key, value)) = label else {
            self.error(
                Code::Unconvertible,
                route.to_vec(),
                "the flavor is not a label with its value",
                "write `vm-flavor: KEY=VALUE`; or, today, `labelSelector: {matchLabels: {KEY: VALUE}}`",
            );
            return None;
        };
        let labels = Mapping::from_iter([(Value::from(key), Value::from(value))]);
        let selector = Mapping::from_iter([(Value::from("matchLabels"), Value::Mapping(labels))]);
        Some(("labelSelector", Value::Mapping(selector)))
    }

    /// Converts the words of a spreading constraint to topology labels.
    fn spread(
        &mut self,
        name: &str,
        value: &Value,
        route: &[RouteStep],
    ) -> Option<(&'static str, Value)> {
        let words: Vec<(&Value, Route)> = match value {
            Value::Sequence(words) if name == CONSTRAINTS => {
                words.iter().enumerate().map(|(index, it)| (it, below(route, [index]))).collect()
            }
            Value::Null => Vec::new(),
            word => vec![(word, route.to_vec())],
        };
        let mut labels: Vec<String> = Vec::new();
        for (word, at) in words {
            let domain = match word.as_str().map(str::trim) {
                Some("") => continue,
                Some(text) => {
                    domain_of(text).ok_or_else(|| format!("unknown word `{text}` in `{name}`"))
                }
                None => Err(format!("`{name}` has an entry that is not a word")),
            };
            let domain = domain.map_err(|message| (message, KNOWN_WORDS.to_owned()));
            match domain.and_then(|domain| self.labels.value(domain)) {
                // Two words may mean the same label.
                Ok(label) if labels.contains(&label) => {}
                Ok(label) => labels.push(label),
                Err((message, help)) => self.error(Code::Unconvertible, at, message, help),
            }
        }
        match labels.len() {
            0 => None,
            1 => Some(("topologyKey", labels.remove(0).into())),
            _ => Some((
                "topologyKeys",
                labels.into_iter().map(Value::from).collect::<Vec<_>>().into(),
            )),
        }
    }
}

const KNOWN_WORDS: &str = "the words are per-rack and per-node, later PerRack and PerHost; or, today, name the label of \
                           racks or hosts by `topologyKey`";

/// Returns the topology domain that a word names.
fn domain_of(word: &str) -> Option<TopologyDomain> {
    match word {
        "per-rack" | "PerRack" => Some(TopologyDomain::Rack),
        "per-node" | "PerHost" => Some(TopologyDomain::Host),
        _ => None,
    }
}
