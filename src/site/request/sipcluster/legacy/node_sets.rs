//! Converts node sets of older generations.

use yaml_serde::{Mapping, Value};

use super::{Converter, OlderMapping, Route, SipclusterGeneration, below, entries};
use crate::base::api::names::{Role, is_label_key, is_label_value};
use crate::base::finding::{Code, RouteStep};
use crate::site::inventory::topology_labels::TopologyDomain;

/// Older names of the spreading constraint, a single word.
const SPREAD: [&str; 2] = ["spreadTopology", "spread-topology"];
/// Its oldest name, with a list of words that all apply.
const CONSTRAINTS: &str = "scheduling-constraints";

/// Returns the role of an older name of a node set.
fn legacy_role(name: &str) -> Option<Role> {
    match name {
        "master" => Some(Role::ControlPlane),
        "worker" => Some(Role::Worker),
        _ => None,
    }
}

/// Returns the oldest generation of the name and the fields of a node set.
pub(super) fn generation((name, node_set): (&str, &Value)) -> Option<SipclusterGeneration> {
    let is_in_2020s_words = |value: &Value| value.as_str().is_some_and(|it| it.starts_with("per-"));
    let fields = entries(node_set).filter_map(|(key, value)| match key {
        CONSTRAINTS => Some(SipclusterGeneration::November2020),
        "vm-flavor" => Some(SipclusterGeneration::January2021),
        "vmFlavor" => Some(SipclusterGeneration::March2021),
        _ if !SPREAD.contains(&key) => None,
        _ if is_in_2020s_words(value) => Some(SipclusterGeneration::January2021),
        _ => Some(SipclusterGeneration::March2021),
    });
    let role = legacy_role(name).filter(|_| node_set.is_mapping());
    fields.chain(role.map(|_| SipclusterGeneration::January2021)).min()
}

impl Converter<'_> {
    pub(super) fn nodes(&mut self, written: &Value, at: &[RouteStep]) -> Value {
        let Some(fields) = written.as_mapping() else { return written.clone() };
        let mut converted = Mapping::new();
        for (name, node_set) in fields {
            let Some(text) = name.as_str() else {
                converted.insert(name.clone(), node_set.clone());
                continue;
            };
            let role = legacy_role(text).map_or(text, |role| role.as_str());
            let (nodes, route) = (OlderMapping { fields, at, read: at }, below(at, [text]));
            if let Some(read) = self.read_route(&nodes, [text, role], &route) {
                converted.insert(role.into(), self.node_set(node_set, &route, &read));
            }
        }
        Value::Mapping(converted)
    }

    /// Converts a node set. `at` is its original route, `read` the route in the result.
    fn node_set(&mut self, written: &Value, at: &[RouteStep], read: &[RouteStep]) -> Value {
        let Some(fields) = written.as_mapping() else { return written.clone() };
        let mut converted = Mapping::new();
        for (key, value) in fields {
            let name = key.as_str().unwrap_or_default();
            let is_flavor = matches!(name, "vm-flavor" | "vmFlavor");
            if !is_flavor && !SPREAD.contains(&name) && name != CONSTRAINTS {
                converted.insert(key.clone(), value.clone());
                continue;
            }
            let route = below(at, [name]);
            let current: &[&str] =
                if is_flavor { &["labelSelector"] } else { &["topologyKey", "topologyKeys"] };
            // Another older form of the same field may have been converted already.
            let is_set = |key: &&&str| converted.contains_key(**key) || fields.contains_key(**key);
            if let Some(known) = current.iter().find(is_set) {
                self.twice(route, below(read, [*known]));
                continue;
            }
            let made = match is_flavor {
                true => self.flavor(value, &route),
                false => self.spread(name, value, &route),
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
            let message = "the flavor is not a label with its value";
            let help = "write `vm-flavor: KEY=VALUE`; or, today, `labelSelector: {matchLabels: {KEY: VALUE}}`";
            self.error(Code::Unconvertible, route.to_vec(), message, help);
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
        let mut labels: Vec<Value> = Vec::new();
        for (word, at) in words {
            let domain = match word.as_str().map(str::trim) {
                Some("") => continue,
                Some("per-rack" | "PerRack") => Ok(TopologyDomain::Rack),
                Some("per-node" | "PerHost") => Ok(TopologyDomain::Host),
                Some(text) => Err(format!("unknown word `{text}` in `{name}`")),
                None => Err(format!("`{name}` has an entry that is not a word")),
            };
            let domain = domain.map_err(|message| (message, KNOWN_WORDS.to_owned()));
            match domain.and_then(|domain| self.labels.value(domain)).map(Value::from) {
                // Two words may mean the same label.
                Ok(label) if labels.contains(&label) => {}
                Ok(label) => labels.push(label),
                Err((message, help)) => self.error(Code::Unconvertible, at, message, &help),
            }
        }
        match labels.len() {
            0 => None,
            1 => Some(("topologyKey", labels.remove(0))),
            _ => Some(("topologyKeys", labels.into())),
        }
    }
}

const KNOWN_WORDS: &str = "the words are per-rack and per-node, later PerRack and PerHost; or, today, name the label of \
                           racks or hosts by `topologyKey`";
