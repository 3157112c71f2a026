//! Converts SIPClusters of older generations into the current one.
//!
//! All four generations have one apiVersion, so they are told apart by their fields:
//!
//! | generation | what it has |
//! | --- | --- |
//! | November 2020 | `config.cluster-name`, `scheduling-constraints`, `infra` as a mapping, `nodePorts` |
//! | January 2021 | `cluster-name`, `vm-flavor`, `spreadTopology: per-rack`, `nodes.master`, `infra` as a list |
//! | March 2021 | `clusterName`, `vmFlavor`, `spreadTopology: PerRack`, `services.loadBalancer`, `SSHKey` |
//!
//! An older field becomes a current one wherever it stands, so a SIPCluster may have fields of
//! several generations; only one that says the same as a current one beside it is an error. What is
//! read carries a table of where it is written ([`Moved`]), so that findings point at what people
//! wrote. The same conversion says which edits rewrite the file.
//!
//! * `node_sets`: flavors, and spreading over racks and hosts.
//! * `services`: `infra`, and what was called otherwise under `services`.

mod node_sets;
mod services;

use yaml_serde::{Mapping, Value};

use crate::api::assignment::FORMER_NAME;
use crate::api::sipcluster;
use crate::finding::{Code, Finding, Moved, Origin, Step};
use crate::inventory::topology_labels::TopologyLabels;

/// The generations before the current one, the oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Generation {
    /// November and December 2020.
    November2020,
    /// January 2021.
    January2021,
    /// February and March 2021.
    March2021,
}

impl Generation {
    /// Its name, in words.
    pub fn words(self) -> &'static str {
        match self {
            Generation::November2020 => "November 2020",
            Generation::January2021 => "January 2021",
            Generation::March2021 => "March 2021",
        }
    }
}

/// One step of rewriting a document, by the routes that it has before any of them. Those that lie
/// deeper come first.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Edit {
    /// An entry gets another key.
    Rename(Vec<Step>, String),
    /// An entry becomes another one.
    Replace(Vec<Step>, String, Value),
    /// A text becomes the list of it, under another key.
    IntoList(Vec<Step>, String, Value),
    /// A mapping becomes the list of it, under another key.
    Wrap(Vec<Step>, String),
    /// An entry goes.
    Remove(Vec<Step>),
    /// The entries of a mapping take its place. Here is what they are called and are then.
    Lift(Vec<Step>, Mapping),
    /// The items of a list, by their indices, go into lists of their own.
    Group(Vec<Step>, String, Vec<(&'static str, Vec<usize>)>),
}

/// Conversion of an older SIPCluster.
#[derive(Debug, Clone)]
pub struct Conversion {
    /// The oldest generation that one of its fields is of.
    pub generation: Generation,
    /// The name by which hosts know the tenant, where that is not the SIPCluster's own and nothing
    /// else says it.
    pub former_name: Option<String>,
    /// The document as it is written.
    pub(crate) document: Value,
    /// Its `spec` in the current form.
    pub(crate) spec: Value,
    /// Places of its fields in the document.
    pub(crate) moved: Moved,
    /// Edits that rewrite the document.
    pub(crate) edits: Vec<Edit>,
    /// Older fields that cannot be converted.
    pub(crate) errors: Vec<Finding>,
    /// Unknown fields in older places.
    pub(crate) unknown: Vec<Finding>,
}

/// Returns whether a spec has a field of an older generation.
pub(crate) fn is_older(spec: &Value) -> bool {
    generation(spec).is_some()
}

/// Returns the oldest generation of the fields of a spec.
fn generation(spec: &Value) -> Option<Generation> {
    let mapping = spec.as_mapping()?;
    let has = |mapping: &Mapping, keys: &[&str]| keys.iter().any(|key| mapping.contains_key(*key));
    let node_sets: Vec<(&str, &Mapping)> = entries(mapping.get("nodes"))
        .filter_map(|(role, node_set)| Some((role, node_set.as_mapping()?)))
        .collect();
    let spread = |word: &str| {
        node_sets.iter().any(|(_, node_set)| {
            let spread = node_sets::SPREAD.iter().find_map(|key| node_set.get(*key));
            spread
                .and_then(Value::as_str)
                .is_some_and(|text| text.starts_with(word))
        })
    };
    if has(mapping, &["config"])
        || mapping.get("infra").is_some_and(Value::is_mapping)
        || node_sets
            .iter()
            .any(|(_, node_set)| has(node_set, &[node_sets::CONSTRAINTS]))
    {
        return Some(Generation::November2020);
    }
    if has(mapping, &["cluster-name", "infra"])
        || node_sets
            .iter()
            .any(|(role, set)| node_sets::older_role(role).is_some() || has(set, &["vm-flavor"]))
        || spread("per-")
    {
        return Some(Generation::January2021);
    }
    let is_march = has(mapping, &["clusterName"])
        || node_sets
            .iter()
            .any(|(_, set)| has(set, &["vmFlavor"]) || has(set, &node_sets::SPREAD))
        || services::has_older(mapping.get("services"));
    is_march.then_some(Generation::March2021)
}

/// The entries of a value that are found by a text; none where it is no mapping.
fn entries(value: Option<&Value>) -> impl Iterator<Item = (&str, &Value)> {
    value
        .and_then(Value::as_mapping)
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.as_str()?, value)))
}

/// Converts a document whose spec [`is_older`].
pub(crate) fn convert(document: Value, origin: &Origin, labels: &TopologyLabels<'_>) -> Conversion {
    let name = document
        .get("metadata")
        .and_then(|metadata| metadata.get("name"))
        .and_then(Value::as_str);
    let name = name.unwrap_or_default().to_owned();
    let written = document.get("spec").cloned().unwrap_or_default();
    let generation = generation(&written).unwrap_or(Generation::March2021);
    let mut converter = Converter {
        origin: origin.as_written(),
        labels,
        former_name: None,
        moved: Moved::default(),
        edits: Vec::new(),
        errors: Vec::new(),
        unknown: Vec::new(),
    };
    let spec = converter.spec(&written, &name);
    // Whoever wrote it in today's form, meant it.
    let annotations = document
        .get("metadata")
        .and_then(|metadata| metadata.get("annotations"));
    let annotated = annotations.is_some_and(|annotations| annotations.get(FORMER_NAME).is_some());
    converter.former_name = converter.former_name.filter(|_| !annotated);
    let Converter {
        former_name,
        moved,
        edits,
        errors,
        unknown,
        ..
    } = converter;
    Conversion {
        generation,
        former_name,
        document,
        spec,
        moved,
        edits,
        errors,
        unknown,
    }
}

/// Converts one spec, and collects what is found on the way.
struct Converter<'a> {
    origin: Origin,
    labels: &'a TopologyLabels<'a>,
    former_name: Option<String>,
    moved: Moved,
    edits: Vec<Edit>,
    errors: Vec<Finding>,
    unknown: Vec<Finding>,
}

type Route = Vec<Step>;

/// A route with more steps.
fn below(route: &[Step], steps: impl IntoIterator<Item = impl Into<Step>>) -> Route {
    route
        .iter()
        .cloned()
        .chain(steps.into_iter().map(Into::into))
        .collect()
}

impl Converter<'_> {
    fn error(
        &mut self,
        code: Code,
        route: Route,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.errors.push(
            Finding::new(code, message)
                .at(self.origin.at(route))
                .help(help),
        );
    }

    fn spec(&mut self, written: &Value, name: &str) -> Value {
        let mut spec = Mapping::new();
        let at: Route = vec!["spec".into()];
        for (key, value) in written.as_mapping().into_iter().flatten() {
            match key.as_str() {
                Some("config") => self.config(value, &at, name),
                Some(key @ ("cluster-name" | "clusterName")) => {
                    self.cluster_name(value, name, below(&at, [key]));
                    self.edits.push(Edit::Remove(below(&at, [key])));
                }
                Some("nodes") => {
                    let nodes = self.nodes(value, &below(&at, ["nodes"]));
                    spec.insert("nodes".into(), nodes);
                }
                Some("infra") => {
                    if written.get("services").is_some() {
                        self.twice(below(&at, ["infra"]), "services", below(&at, ["services"]));
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

    fn config(&mut self, value: &Value, at: &[Step], name: &str) {
        let route = below(at, ["config"]);
        for (key, value) in entries(Some(value)) {
            if key == "cluster-name" {
                self.cluster_name(value, name, below(&route, [key]));
            } else {
                self.unknown_field(key, below(&route, [key]));
            }
        }
        self.edits.push(Edit::Remove(route));
    }

    /// The tenant's name, by which hosts knew it. Its SIPCluster's name is what it is called today.
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

    /// Two fields say the same thing, and nobody knows which of them is meant.
    fn twice(&mut self, older: Route, current: &str, at: Route) {
        let key = match older.last() {
            Some(Step::Key(key)) => key.clone(),
            _ => String::new(),
        };
        let finding = Finding::new(
            Code::SaidTwice,
            format!("`{key}` is the older form of `{current}`, and both are set"),
        )
        .at(self.origin.at(older))
        .see(self.origin.at(at), format!("the `{current}`"))
        .help(format!("remove `{key}`, if `{current}` says what you want"));
        self.errors.push(finding);
    }

    fn unknown_field(&mut self, key: &str, route: Route) {
        let finding = crate::decode::unknown_fields::unknown_field(sipcluster::KIND, key, None);
        self.unknown.push(finding.at(self.origin.key(route)));
    }
}
