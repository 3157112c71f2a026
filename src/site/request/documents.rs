//! Decoded requests, and what the validation of all kinds has in common.

use std::sync::OnceLock;

use super::cluster::{Cluster, PartNodeSets};
use super::cluster_parts::ClusterParts;
use super::{ClusterKind, Request};
use crate::base::api::assignment::{FORMER_NAME, PRIORITY};
use crate::base::api::cluster_api::{
    ASSIGN, HARDWARE, MAX_PER_DOMAIN, SAME_DOMAIN, SPARE, SPREAD_CONSTRAINTS, TOPOLOGY_KEY,
};
use crate::base::api::host::{LAST_APPLIED, Metadata};
use crate::base::api::names::{ClusterKey, ObjectName, is_label_value};
use crate::base::api::provisioning::SoftwareSpec;
use crate::base::finding::{Code, DocumentField, Finding, Origin, RouteStep, below};
use crate::base::text::suggest::alike;
use crate::input::decode::label_selector::Mistake;
use crate::input::settings::Settings;
use crate::site::inventory::Inventory;
use crate::site::inventory::identity::HostsByMac;
use crate::site::inventory::topology_labels::TopologyLabels;

/// A decoded spec. Each kind of request implements it.
pub(crate) trait RequestSpec: Send {
    /// Validates a request.
    fn check(&self, document: &ClusterDocument, context: &RequestContext<'_>) -> ValidatedRequest;

    /// Returns whether the request may have requirements on the hardware of hosts, or depend on their
    /// addresses, if inspection gives hosts addresses.
    fn uses_hardware(&self, parts: &ClusterParts, gives_addresses: bool) -> bool;
}

/// A decoded spec; `None`, with findings, if it is invalid.
pub(crate) type Spec = Option<Box<dyn RequestSpec>>;

/// A decoded request.
#[derive(Clone)]
pub(crate) struct ClusterDocument {
    pub(crate) kind: ClusterKind,
    pub(crate) key: ClusterKey,
    /// The object's own name. The cluster of a Provisioning has a different one.
    pub(crate) name: ObjectName,
    pub(crate) origin: Origin,
    pub(crate) metadata: Metadata,
}

/// A request with its findings; `None` for a template of another tool. A request has no cluster if a
/// finding is an error.
pub(crate) type ValidatedRequest = Option<(Request, Vec<Finding>)>;

/// Data that requests refer to.
pub(crate) struct RequestContext<'a> {
    pub(crate) inventory: &'a Inventory,
    pub(crate) settings: &'a Settings,
    pub(crate) software: &'a [SoftwareDocument],
    pub(crate) cluster_parts: &'a ClusterParts,
    // Created on demand: few requests use these, and a site may have thousands of hosts.
    topology_labels: OnceLock<TopologyLabels<'a>>,
    hosts_by_mac: OnceLock<HostsByMac<'a>>,
}

impl<'a> RequestContext<'a> {
    pub(crate) fn new(
        inventory: &'a Inventory,
        settings: &'a Settings,
        software: &'a [SoftwareDocument],
        cluster_parts: &'a ClusterParts,
    ) -> Self {
        Self {
            inventory,
            settings,
            software,
            cluster_parts,
            topology_labels: OnceLock::new(),
            hosts_by_mac: OnceLock::new(),
        }
    }

    pub(crate) fn topology_labels(&self) -> &TopologyLabels<'a> {
        self.topology_labels
            .get_or_init(|| TopologyLabels::new(&self.settings.topology, &self.inventory.hosts))
    }

    pub(crate) fn hosts_by_mac(&self) -> &HostsByMac<'a> {
        self.hosts_by_mac.get_or_init(|| HostsByMac::new(&self.inventory.hosts))
    }
}

impl ClusterDocument {
    /// Returns the cluster that it requests, with nothing but hosts.
    pub(super) fn cluster(&self, priority: i64, node_sets: PartNodeSets) -> Cluster {
        let Metadata { labels, annotations, .. } = &self.metadata;
        let mut annotations = annotations.clone().unwrap_or_default();
        annotations.remove(LAST_APPLIED);
        Cluster {
            kind: self.kind,
            key: self.key.clone(),
            origin: self.origin.clone(),
            labels: labels.clone().unwrap_or_default(),
            annotations,
            priority,
            node_sets,
            services: Vec::new(),
            installation: None,
            machine_templates: Vec::new(),
            templates_beside: Vec::new(),
            without_failure_domains: None,
            kubernetes_version: None,
            endpoint: None,
        }
    }

    /// Returns the request. `cluster` is `None` if it is invalid.
    pub(crate) fn request(&self, cluster: Option<Cluster>) -> Request {
        Request {
            kind: self.kind,
            former_name: self.metadata.annotation(FORMER_NAME).map(str::to_owned),
            origin: self.origin.clone(),
            cluster,
            named: Default::default(),
            older: None,
        }
    }
}

/// Validation of one request, of any kind. The directory of each kind has the methods for its fields.
pub(super) struct RequestValidation<'a, 'i> {
    pub(super) document: &'a ClusterDocument,
    pub(super) context: &'a RequestContext<'i>,
    pub(super) findings: Vec<Finding>,
}

impl<'a, 'i> RequestValidation<'a, 'i> {
    pub(super) fn new(document: &'a ClusterDocument, context: &'a RequestContext<'i>) -> Self {
        Self { document, context, findings: Vec::new() }
    }

    /// Reports a mistake in the value at a route.
    pub(super) fn report<S: Into<RouteStep>>(
        &mut self,
        code: Code,
        route: impl IntoIterator<Item = S>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let place = self.document.origin.at(route);
        self.findings.push(Finding::new(code, message).at(place).help(help));
    }

    /// Returns the value at a route if it is valid; otherwise reports why it is not.
    pub(super) fn accept<T, S: Into<RouteStep>>(
        &mut self,
        value: Result<T, impl Into<String>>,
        code: Code,
        route: impl IntoIterator<Item = S>,
        help: impl Into<String>,
    ) -> Option<T> {
        value.map_err(|message| self.report(code, route, message, help)).ok()
    }

    /// Returns the value at a route if it is valid; otherwise reports all mistakes in it.
    pub(super) fn accept_checked<T>(
        &mut self,
        value: Result<T, Vec<Mistake>>,
        route: &[RouteStep],
    ) -> Option<T> {
        let origin = &self.document.origin;
        let finding = |Mistake { route: steps, by_key, message, help }: Mistake| {
            let route = below(route, steps);
            let place = if by_key { origin.key(route) } else { origin.at(route) };
            Finding::new(Code::InvalidField, message).at(place).help(help)
        };
        value.map_err(|mistakes| self.findings.extend(mistakes.into_iter().map(finding))).ok()
    }

    /// Reports a cluster's name that is too long for a label.
    pub(super) fn check_name(&mut self) {
        if !is_label_value(self.document.key.name.as_str()) {
            let message =
                "the cluster's name has more than 63 characters, the limit of label values";
            let route = ["metadata", "name"];
            self.report(Code::InvalidField, route, message, "choose a shorter name");
        }
    }

    /// Parses the priority annotation.
    pub(super) fn priority(&mut self) -> i64 {
        let Some(text) = self.document.metadata.annotation(PRIORITY) else { return 0 };
        let priority = text.trim().parse();
        let priority = priority.map_err(|_| format!("the priority `{text}` is not an integer"));
        let help = "write a number in quotes, such as \"10\"; clusters with a higher priority choose first";
        let route = ["metadata", "annotations", PRIORITY];
        self.accept(priority, Code::InvalidField, route, help).unwrap_or_default()
    }

    /// Returns the request of a cluster, and reports misspelled annotations. It has no cluster if a
    /// finding is an error.
    pub(super) fn validated(mut self, cluster: Cluster) -> ValidatedRequest {
        let ClusterDocument { key, origin, metadata, .. } = self.document;
        self.check_annotations(metadata, &DocumentField::new(origin, ["metadata"]), false);
        let valid = !self.findings.iter().any(Finding::is_error);
        let findings = self.findings.into_iter().map(|finding| finding.for_cluster(key)).collect();
        let machines = cluster.node_sets.values().filter_map(|set| set.machine.as_ref());
        let named = machines.filter_map(|machine| Some(machine.named?.1)).collect();
        Some((Request { named, ..self.document.request(valid.then_some(cluster)) }, findings))
    }

    /// Reports annotations that misspell one of sipgen's, or that only other objects have, on a
    /// request or one of its node sets. Ignoring one would assign other hosts.
    pub(super) fn check_annotations(
        &mut self,
        metadata: &Metadata,
        at: &DocumentField,
        is_node_set: bool,
    ) {
        let (elsewhere, readers) = match is_node_set {
            true => (&OF_REQUESTS[..], "the request"),
            false => (&OF_NODE_SETS[..], "control planes and MachineDeployments"),
        };
        for key in metadata.annotations.iter().flat_map(|annotations| annotations.keys()) {
            let (message, help) = match annotation_meant(key) {
                Some(meant) => (
                    format!("unknown annotation `{key}`"),
                    format!("write `{meant}`, or remove it"),
                ),
                None if elsewhere.contains(&key.as_str()) => (
                    format!("the annotation `{key}` has no effect here: it is one of {readers}"),
                    "move it there, or remove it".to_owned(),
                ),
                None => continue,
            };
            let route = below(&at.route, ["annotations", key]);
            let finding = Finding::new(Code::MisspelledField, message).at(at.origin.key(route));
            self.findings.push(finding.help(help));
        }
    }
}

/// Prefix of sipgen's annotations.
const PREFIX: &str = "sip.airshipit.org/";

/// Returns sipgen's annotation that the key of an annotation of a request misspells.
pub(super) fn annotation_meant(key: &str) -> Option<&'static str> {
    let known = || OF_REQUESTS.into_iter().chain(OF_NODE_SETS);
    let names = known().filter_map(|known| known.strip_prefix(PREFIX));
    let meant = alike(key.strip_prefix(PREFIX)?, names)?;
    known().find(|known| *known != key && known.ends_with(meant))
}

/// Annotations of sipgen on requests, and on control planes and MachineDeployments.
const OF_REQUESTS: [&str; 3] = [ASSIGN, FORMER_NAME, PRIORITY];
const OF_NODE_SETS: [&str; 6] =
    [HARDWARE, MAX_PER_DOMAIN, SAME_DOMAIN, SPARE, SPREAD_CONSTRAINTS, TOPOLOGY_KEY];

/// A decoded Software.
pub(crate) struct SoftwareDocument {
    /// Cluster that it applies to.
    pub(crate) key: ClusterKey,
    /// Name of the object.
    pub(crate) name: ObjectName,
    pub(crate) origin: Origin,
    /// Decoded spec; `None`, with a finding, if it is invalid.
    pub(crate) spec: Option<Box<SoftwareSpec>>,
}
