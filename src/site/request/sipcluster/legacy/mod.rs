//! Converts SIPClusters of older generations to the current one.
//!
//! All four generations have the same apiVersion, so they are distinguished by their fields:
//!
//! | generation | its fields |
//! | --- | --- |
//! | November 2020 | `config.cluster-name`, `scheduling-constraints`, `infra` as a mapping, `nodePorts` |
//! | January 2021 | `cluster-name`, `vm-flavor`, `spreadTopology: per-rack`, `nodes.master`, `infra` as a list |
//! | March 2021 | `clusterName`, `vmFlavor`, `spreadTopology: PerRack`, `services.loadBalancer`, `SSHKey` |
//!
//! An older field is converted wherever it is, so a SIPCluster may have fields of several
//! generations. It is an error only beside the current field with the same meaning. The result has
//! a table of the original positions ([`RouteMapping`]), so that findings point at the written text.
//!
//! * `node_sets`: flavors, and spreading over racks and hosts.
//! * `services`: `infra`, and former names below `services`.

mod node_sets;
mod services;

use yaml_serde::{Mapping, Value};

use crate::base::api::assignment::FORMER_NAME;
use crate::base::api::sipcluster;
use crate::base::finding::{Code, Finding, Origin, RouteMapping, RouteStep, below};
use crate::input::decode::unknown_fields::unknown_field;
use crate::site::inventory::topology_labels::TopologyLabels;

/// Generations before the current one, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, derive_more::Display)]
pub enum SipclusterGeneration {
    /// November and December 2020.
    #[display("November 2020")]
    November2020,
    /// January 2021.
    #[display("January 2021")]
    January2021,
    /// February and March 2021.
    #[display("March 2021")]
    March2021,
}

/// The conversion of an older SIPCluster.
#[derive(Debug, Clone)]
pub struct Conversion {
    /// The oldest generation of its fields.
    pub generation: SipclusterGeneration,
    /// Former name of the cluster in hosts' labels, if it differs from the SIPCluster's name and no
    /// annotation sets it.
    pub former_name: Option<String>,
    /// The document in today's form.
    pub(crate) document: Value,
    /// Original routes of its fields.
    pub(crate) moved: RouteMapping,
    /// Older fields that cannot be converted.
    pub(crate) errors: Vec<Finding>,
    /// Unknown fields inside older ones.
    pub(crate) unknown: Vec<Finding>,
}

/// Returns whether a spec has a field of an older generation.
pub(crate) fn is_legacy(spec: &Value) -> bool {
    generation(spec).is_some()
}

/// Returns the oldest generation of the fields in a spec.
fn generation(spec: &Value) -> Option<SipclusterGeneration> {
    let mapping = spec.as_mapping()?;
    let has = |mapping: &Mapping, keys: &[&str]| keys.iter().any(|key| mapping.contains_key(*key));
    let node_sets: Vec<(&str, &Mapping)> = entries(mapping.get("nodes"))
        .filter_map(|(role, node_set)| Some((role, node_set.as_mapping()?)))
        .collect();
    let spread = |word: &str| {
        node_sets.iter().any(|(_, node_set)| {
            let spread = node_sets::SPREAD.iter().find_map(|key| node_set.get(*key));
            spread.and_then(Value::as_str).is_some_and(|text| text.starts_with(word))
        })
    };
    if has(mapping, &["config"])
        || mapping.get("infra").is_some_and(Value::is_mapping)
        || node_sets.iter().any(|(_, node_set)| has(node_set, &[node_sets::CONSTRAINTS]))
    {
        return Some(SipclusterGeneration::November2020);
    }
    if has(mapping, &["cluster-name", "infra"])
        || node_sets
            .iter()
            .any(|(role, set)| node_sets::legacy_role(role).is_some() || has(set, &["vm-flavor"]))
        || spread("per-")
    {
        return Some(SipclusterGeneration::January2021);
    }
    let is_march = has(mapping, &["clusterName"])
        || node_sets.iter().any(|(_, set)| has(set, &["vmFlavor"]) || has(set, &node_sets::SPREAD))
        || services::has_legacy(mapping.get("services"));
    is_march.then_some(SipclusterGeneration::March2021)
}

/// Returns the entries of a mapping with text keys; empty for any other value.
fn entries(value: Option<&Value>) -> impl Iterator<Item = (&str, &Value)> {
    value
        .and_then(Value::as_mapping)
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.as_str()?, value)))
}

/// Converts a document with a spec that [`is_legacy`].
pub(crate) fn convert(document: Value, origin: &Origin, labels: &TopologyLabels<'_>) -> Conversion {
    let name = document["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let written = document["spec"].clone();
    let generation = generation(&written).unwrap_or(SipclusterGeneration::March2021);
    let mut converter = Converter {
        origin: origin.as_written(),
        labels,
        former_name: None,
        moved: RouteMapping::default(),
        errors: Vec::new(),
        unknown: Vec::new(),
    };
    let spec = converter.spec(&written, &name);
    // An explicit annotation in the current form takes precedence.
    let annotated = document["metadata"]["annotations"].get(FORMER_NAME).is_some();
    let Converter { former_name, moved, errors, unknown, .. } = converter;
    let former_name = former_name.filter(|_| !annotated);
    let document = in_todays_form(document, spec, former_name.as_deref());
    Conversion { generation, former_name, document, moved, errors, unknown }
}

/// Returns a document with another spec, and with the former name as an annotation.
fn in_todays_form(mut document: Value, spec: Value, former_name: Option<&str>) -> Value {
    if let Some(fields) = document.as_mapping_mut() {
        fields.insert("spec".into(), spec);
    }
    if let Some(former) = former_name
        && let Some(metadata) = document.get_mut("metadata").and_then(Value::as_mapping_mut)
        && let Some(annotations) = metadata
            .entry("annotations".into())
            .or_insert_with(|| Mapping::new().into())
            .as_mapping_mut()
    {
        annotations.insert(FORMER_NAME.into(), former.into());
    }
    document
}

/// Converts one spec and collects the result.
struct Converter<'a> {
    origin: Origin,
    labels: &'a TopologyLabels<'a>,
    former_name: Option<String>,
    moved: RouteMapping,
    errors: Vec<Finding>,
    unknown: Vec<Finding>,
}

type Route = Vec<RouteStep>;

impl Converter<'_> {
    fn error(
        &mut self,
        code: Code,
        route: Route,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.errors.push(Finding::new(code, message).at(self.origin.at(route)).help(help));
    }

    fn spec(&mut self, written: &Value, name: &str) -> Value {
        let mut spec = Mapping::new();
        let at: Route = vec!["spec".into()];
        for (key, value) in written.as_mapping().into_iter().flatten() {
            match key.as_str() {
                Some("config") => self.config(value, &at, name),
                Some(key @ ("cluster-name" | "clusterName")) => {
                    self.cluster_name(value, name, below(&at, [key]));
                }
                Some("nodes") => {
                    let nodes = self.nodes(value, &below(&at, ["nodes"]));
                    spec.insert("nodes".into(), nodes);
                }
                Some("infra") => {
                    // `services` is the current form of `infra`.
                    if written.get("services").is_some() {
                        self.twice(below(&at, ["infra"]), below(&at, ["services"]));
                        continue;
                    }
                    let services = self.infra(value, &below(&at, ["infra"]));
                    spec.insert("services".into(), services);
                }
                Some("services") => {
                    let services = self.services(value, &below(&at, ["services"]));
                    spec.insert("services".into(), services);
                }
                _ => {
                    spec.insert(key.clone(), value.clone());
                }
            }
        }
        Value::Mapping(spec)
    }

    fn config(&mut self, value: &Value, at: &[RouteStep], name: &str) {
        let route = below(at, ["config"]);
        for (key, value) in entries(Some(value)) {
            if key == "cluster-name" {
                self.cluster_name(value, name, below(&route, [key]));
            } else {
                self.unknown_field(key, below(&route, [key]), &["cluster-name"]);
            }
        }
    }

    /// Records the tenant's name in hosts' labels. Today, it is the SIPCluster's name.
    fn cluster_name(&mut self, value: &Value, name: &str, route: Route) {
        match value {
            Value::String(former) if former == name || former.is_empty() => {}
            Value::String(former) => self.former_name = Some(former.clone()),
            Value::Null => {}
            _ => self.error(
                Code::WrongType,
                route,
                "the cluster's name is not text",
                "quote it, or remove it: the name of the SIPCluster is the cluster's name today",
            ),
        }
    }

    /// Reports two fields with the same meaning, because either may be the intended one. `at` is the
    /// route of the other one, in the document or in the result.
    fn twice(&mut self, older: Route, at: Route) {
        let at = self.moved.written(at);
        let [key, other] = [&older, &at]
            .map(|route| route.last().and_then(RouteStep::key).unwrap_or_default().to_owned());
        let finding = Finding::new(
            Code::SaidTwice,
            format!("`{key}` is another form of `{other}`, and both are set"),
        )
        .at(self.origin.at(older))
        .see(self.origin.at(at), format!("the `{other}`"))
        .help(format!("remove `{key}`, if `{other}` says what you want"));
        self.errors.push(finding);
    }

    fn unknown_field(&mut self, key: &str, route: Route, known: &[&str]) {
        let finding = unknown_field(sipcluster::KIND, key, known.iter().copied(), false);
        let list = if finding.is_error() { &mut self.errors } else { &mut self.unknown };
        list.push(finding.at(self.origin.key(route)));
    }
}
