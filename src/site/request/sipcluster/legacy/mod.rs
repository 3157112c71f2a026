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
//! Validation checks the result as if it had been written.
//!
//! * `node_sets`: flavors, and spreading over racks and hosts.
//! * `services`: `infra`, and former names below `services`.

mod node_sets;
mod services;

use yaml_serde::{Mapping, Value};

use super::Route;
use crate::base::api::assignment::FORMER_NAME;
use crate::base::api::sipcluster::{KIND, SIPClusterSpec};
use crate::base::finding::{Code, Finding, Origin, RouteMapping, RouteStep, below};
use crate::input::decode::unknown_fields::{OF_SIPCLUSTER, unknown_field};
use crate::input::decode::unreadable;
use crate::input::load::{ParseError, in_plain_words};
use crate::site::inventory::topology_labels::TopologyLabels;
use crate::site::request::cluster_parts::ClusterParts;
use crate::site::request::decode_spec::fitting;
use crate::site::request::documents::{
    ClusterDocument, RequestContext, RequestSpec, RequestValidation, ValidatedRequest,
};

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
    /// Unknown fields inside older ones, then older fields that cannot be converted.
    pub(super) findings: Vec<Finding>,
}

impl Conversion {
    /// Returns whether all older fields were converted.
    pub(crate) fn is_complete(&self) -> bool {
        !self.findings.iter().any(Finding::is_error)
    }
}

/// A SIPCluster of an older generation.
pub(super) struct LegacySpec {
    /// The whole document.
    pub(super) document: Value,
    /// Set if it may be a template of another tool.
    pub(super) may_be_template: bool,
}

impl RequestSpec for LegacySpec {
    fn check(&self, document: &ClusterDocument, context: &RequestContext<'_>) -> ValidatedRequest {
        let (written, labels) = (self.document.clone(), context.topology_labels());
        let conversion = convert(written, &document.origin, labels);
        if self.may_be_template && !conversion.is_complete() {
            return None;
        }
        let generation = legacy_generation(document, &conversion);
        let origin = document.origin.clone().read_as(conversion.moved.clone());
        let document = ClusterDocument { origin, ..document.clone() };
        let mut check = RequestValidation::new(&document, context);
        check.findings.push(generation);
        check.findings.extend(conversion.findings.iter().cloned());
        let mut cluster = None;
        if conversion.is_complete() {
            let spec = conversion.document["spec"].clone();
            let (spec, found) = decode_converted(spec, &document.origin);
            check.findings.extend(found);
            cluster = spec.map(|spec| check.sipcluster(&spec));
        }
        let cluster = cluster.filter(|_| !check.findings.iter().any(Finding::is_error));
        let findings =
            check.findings.into_iter().map(|finding| finding.for_cluster(&document.key)).collect();
        let mut request = document.request(cluster);
        request.former_name = request.former_name.or_else(|| conversion.former_name.clone());
        request.older = Some(Box::new(conversion));
        Some((request, findings))
    }

    fn uses_hardware(&self, _: &ClusterParts, gives_addresses: bool) -> bool {
        let nodes = self.document["spec"]["nodes"].as_mapping();
        let mut node_sets = nodes.into_iter().flat_map(Mapping::values);
        gives_addresses || node_sets.any(|node_set| node_set.get("hardware").is_some())
    }
}

fn legacy_generation(document: &ClusterDocument, conversion: &Conversion) -> Finding {
    let (key, generation) = (&document.key, conversion.generation);
    let renamed = conversion.former_name.as_ref().map_or(String::new(), |former| {
        format!("; it is called {} and no longer `{former}`", key.name)
    });
    let message = format!(
        "the SIPCluster {key} is of the generation of {generation}, and is read as one of today{renamed}"
    );
    let help = "`sipgen migrate` prints it in today's form; docs/operations/migrating.md says what becomes of each field";
    Finding::new(Code::OlderGeneration, message).at(document.origin.at(["spec"])).help(help)
}

/// Decodes the converted spec of an older SIPCluster.
fn decode_converted(spec: Value, origin: &Origin) -> (Option<Box<SIPClusterSpec>>, Vec<Finding>) {
    fitting(Some(&spec), OF_SIPCLUSTER.misfit(&spec, origin), || {
        yaml_serde::from_value(spec.clone()).map_err(|error| {
            let message = in_plain_words(&error.to_string());
            let error = ParseError { message, line: None, column: None };
            unreadable(&origin.as_written(), &error, KIND)
        })
    })
}

/// Returns whether a spec has a field of an older generation.
pub(super) fn is_legacy(spec: &Value) -> bool {
    generation(spec).is_some()
}

/// Returns the oldest generation of the fields in a spec.
fn generation(spec: &Value) -> Option<SipclusterGeneration> {
    let fields = entries(spec).filter_map(|(key, value)| match key {
        "config" => Some(SipclusterGeneration::November2020),
        "infra" if value.is_mapping() => Some(SipclusterGeneration::November2020),
        "infra" | "cluster-name" => Some(SipclusterGeneration::January2021),
        "clusterName" => Some(SipclusterGeneration::March2021),
        "nodes" => entries(value).filter_map(node_sets::generation).min(),
        "services" => services::has_legacy(value).then_some(SipclusterGeneration::March2021),
        _ => None,
    });
    fields.min()
}

/// Returns the entries of a mapping with text keys; empty for any other value.
fn entries(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let entries = value.as_mapping().into_iter().flatten();
    entries.filter_map(|(key, value)| Some((key.as_str()?, value)))
}

/// Converts a document with a spec that [`is_legacy`].
fn convert(document: Value, origin: &Origin, labels: &TopologyLabels<'_>) -> Conversion {
    let name = document["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let written = document["spec"].clone();
    let generation = generation(&written).unwrap_or(SipclusterGeneration::March2021);
    let mut converter = Converter {
        origin: origin.as_written(),
        labels,
        former_name: None,
        moved: RouteMapping::default(),
        findings: Vec::new(),
    };
    let spec = converter.spec(&written, &name);
    // An explicit annotation in the current form takes precedence.
    let annotated = document["metadata"]["annotations"].get(FORMER_NAME).is_some();
    let Converter { former_name, moved, mut findings, .. } = converter;
    findings.sort_by_key(Finding::is_error);
    let former_name = former_name.filter(|_| !annotated);
    let document = in_todays_form(document, spec, former_name.as_deref());
    Conversion { generation, former_name, document, moved, findings }
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
    findings: Vec<Finding>,
}

/// A mapping of older fields, its original route and its route in the result.
struct OlderMapping<'a> {
    fields: &'a Mapping,
    at: &'a [RouteStep],
    read: &'a [RouteStep],
}

impl Converter<'_> {
    fn error(&mut self, code: Code, route: Route, message: impl Into<String>, help: &str) {
        self.findings.push(Finding::new(code, message).at(self.origin.at(route)).help(help));
    }

    /// Returns the route in the result of a field of a mapping. Reports a renamed field whose current
    /// name is set as well, and returns `None`. `route` is where the field is written.
    fn read_route(
        &mut self,
        OlderMapping { fields, at, read }: &OlderMapping<'_>,
        [name, today]: [&str; 2],
        route: &[RouteStep],
    ) -> Option<Route> {
        let read = below(read, [today]);
        if name != today {
            if fields.contains_key(today) {
                self.twice(route.to_vec(), below(at, [today]));
                return None;
            }
            self.moved.add(read.clone(), route.to_vec());
        }
        Some(read)
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
        for (key, value) in entries(value) {
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
        let message = format!("`{key}` is another form of `{other}`, and both are set");
        let help = format!("remove `{key}`, if `{other}` says what you want");
        let finding = Finding::new(Code::SaidTwice, message).at(self.origin.at(older)).help(help);
        self.findings.push(finding.see(self.origin.at(at), format!("the `{other}`")));
    }

    fn unknown_field(&mut self, key: &str, route: Route, known: &[&str]) {
        let finding = unknown_field(KIND, key, known.iter().copied(), false);
        self.findings.push(finding.at(self.origin.key(route)));
    }
}
