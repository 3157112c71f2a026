//! Validates a Cluster of Cluster API with its control plane, MachineDeployments and templates, and
//! creates a [`Cluster`].
//!
//! * `scaled`: its control plane and MachineDeployments, written out or made of a ClusterClass;
//!   `rollout`: the Machines that they run beside their replicas.
//! * `host_selector`: the hosts that a machine template selects.
//! * `class_patches`: patches of a ClusterClass that change host selectors.
//! * `claimants`: objects that claim hosts and are no requests.
//! * `annotations`: annotations of node sets.
//! * `health_checks`: MachineHealthChecks whose Machines find no host.
//! * `machine_objects`: Machines of the inputs, and the objects that make them.
//! * `agreement`: a SIPCluster beside the objects of Cluster API.

mod agreement;
mod annotations;
mod claimants;
mod class_patches;
mod health_checks;
mod host_selector;
mod machine_objects;
mod rollout;
mod scaled;

use std::collections::{BTreeMap, BTreeSet};

use kube::core::{Expression, Selector};
use yaml_serde::Value;

use super::cluster::{Cluster, HostTemplate, NodeSet, StandbyHosts};
use super::cluster_parts::ClusterParts;
use super::decode_spec::SpecEnvelope;
use super::descriptor::RequestDescriptor;
use super::documents::{
    ClusterDocument, RequestContext, RequestSpec, RequestValidation, Spec, ValidatedRequest,
    annotation_meant,
};
use super::object_name;
use crate::base::api::cluster_api::{
    self, ASSIGN, ClusterSpec, FAILURE_DOMAIN, HARDWARE, Metal3MachineSpec, SAME_DOMAIN, SPARE,
    SPREAD_CONSTRAINTS, TOPOLOGY_KEY,
};
use crate::base::api::host::Metadata;
use crate::base::api::names::{LabelMap, NodeName, Part, has_all};
use crate::base::api::topology_spread::{MOST_HOSTS, spread_requirements};
use crate::base::finding::{Code, DocumentField, Finding, Place};
use crate::base::grouping::grouped;
use crate::base::text::suggest::alike;
use crate::input::decode::label_selector::Mistake;
use crate::input::decode::unreadable;
use crate::input::load::Document;
use crate::input::settings::Settings;
use crate::input::settings::requests::ClusterSelection;

pub(crate) use agreement::disagreements;
pub(crate) use claimants::{Claimant, claimed_by_cluster, claimed_by_machines, unknown_claims};
use class_patches::{patched_selector, patched_strategy};
pub(crate) use machine_objects::{MachineFacts, MachineMaker, MachineObjects};
use scaled::ScaledMachines;

pub(super) static DESCRIPTOR: RequestDescriptor = RequestDescriptor {
    object: &cluster_api::OBJECT,
    definition: cluster_api::DEFINITION,
    schema_argument: None,
    uses_cluster_api: true,
    makes_machines: true,
    request_annotation: Some(ASSIGN),
    is_request: is_asked,
    route_of_role: |_| &["spec"],
    is_named_in_lists: true,
    decode_spec,
};

/// Returns whether sipgen is to assign the hosts of a Cluster, by its annotation or the settings.
pub(crate) fn is_asked(metadata: &Metadata, settings: &Settings) -> bool {
    let all = settings.requests.cluster_api.clusters == ClusterSelection::All;
    match metadata.annotation(ASSIGN) {
        Some(text) => text != "false",
        None => {
            let mut keys = metadata.annotations.iter().flat_map(|annotations| annotations.keys());
            all || keys.any(|key| annotation_meant(key) == Some(ASSIGN))
        }
    }
}

/// Returns whether the annotation of a Cluster decides whether it is a request.
pub(crate) fn is_annotated(metadata: &Metadata) -> bool {
    metadata.annotation(ASSIGN).is_some()
}

/// Decodes the spec of a Cluster. Unknown fields are left to Cluster API.
fn decode_spec(document: &Document<'_>, _: Value) -> (Spec, Vec<Finding>) {
    match document.parse_object::<SpecEnvelope<ClusterSpec>>() {
        Ok(object) => (Some(object.spec.unwrap_or_default()), Vec::new()),
        Err(error) => (None, vec![unreadable(&document.origin, &error, cluster_api::KIND)]),
    }
}

impl RequestSpec for ClusterSpec {
    fn check(&self, document: &ClusterDocument, context: &RequestContext<'_>) -> ValidatedRequest {
        let mut check = RequestValidation::new(document, context);
        check.assign_annotation();
        check.check_name();
        let priority = check.priority();
        let scaled = check.scaled(self);
        let mut node_sets = BTreeMap::new();
        for set in &scaled {
            let node_set = Box::new(check.scaled_node_set(set));
            if node_sets.insert(check.part(set), node_set).is_some() {
                let name = set.name.unwrap_or_default();
                let message = format!("two MachineDeployments of the Cluster are called `{name}`");
                check.report_field(Code::InvalidField, &set.at, message, "rename one of them");
            }
        }
        let is_annotated = is_annotated(&document.metadata);
        if is_annotated && node_sets.is_empty() && !check.findings.iter().any(Finding::is_error) {
            let message = "no control plane or MachineDeployment of the Cluster has a Metal3MachineTemplate, so it needs no hosts";
            let help = format!("write `{ASSIGN}: \"false\"`, or add the missing manifests");
            check.report(Code::NoMachineTemplate, ["spec"], message, help);
        }
        check.health_checks(&scaled, &node_sets);
        let cluster = Cluster {
            machine_templates: check.machine_templates(&scaled),
            without_failure_domains: check.without_failure_domains(self),
            kubernetes_version: check.kubernetes_version(self),
            endpoint: check.endpoint(self),
            ..document.cluster(priority, node_sets)
        };
        check.validated(cluster)
    }

    fn uses_hardware(&self, parts: &ClusterParts, _: bool) -> bool {
        annotations::may_require_hardware(self, parts)
    }
}

impl RequestValidation<'_, '_> {
    fn report_field(
        &mut self,
        code: Code,
        field: &DocumentField,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.findings.push(Finding::new(code, message).at(field.place()).help(help));
    }

    /// Checks the annotation that asks for hosts.
    fn assign_annotation(&mut self) {
        let text = self.document.metadata.annotation(ASSIGN).unwrap_or("true");
        if !matches!(text, "true" | "false") {
            let message = format!("`{ASSIGN}` is `{text}`, neither true nor false");
            let help = "write \"true\" or \"false\", in quotes";
            let route = ["metadata", "annotations", ASSIGN];
            self.report(Code::InvalidRequestAnnotation, route, message, help);
        }
    }

    /// Returns the part whose hosts a control plane or MachineDeployment gets.
    fn part(&self, set: &ScaledMachines<'_>) -> Part {
        Part { role: set.role(), node: None, node_set: set.name.and_then(node_set_name) }
    }

    fn scaled_node_set(&mut self, set: &ScaledMachines<'_>) -> NodeSet {
        for (metadata, at) in &set.metadata {
            self.check_annotations(metadata, at, true);
        }
        let active = self.machine_number(set);
        let standby = self.spare(set, active);
        let (mut selector, selector_at) = self.selector(set);
        if let Some(domain) = set.failure_domain {
            selector.extend([Expression::Equal(FAILURE_DOMAIN.to_owned(), domain.to_owned())]);
        }
        let topology_key = self.topology_key(set);
        let max_per_domain = self.annotated_max_per_domain(set, topology_key.is_some());
        let (topology_keys, topology_at): (Vec<_>, Vec<_>) = topology_key.into_iter().unzip();
        let spread = self.annotated_spread(set, &topology_keys);
        let hardware = self.annotated_hardware(set);
        selector.extend(spread_requirements(&spread));
        NodeSet {
            selector,
            namespace: Some(self.document.key.namespace.clone()),
            reservations: BTreeSet::new(),
            topology_keys,
            topology_at,
            max_per_domain,
            spread,
            active,
            standby,
            hardware,
            machine: None,
            machine_names: set.machine_names.clone(),
            at: set.at.clone(),
            selector_at,
            count_at: set.replicas_at(),
            active_at: set.replicas_at(),
            spare_at: set.annotation(SPARE).map(|_| set.annotation_at(SPARE)),
        }
    }

    /// Returns the number of Machines that always run: the replicas, or what the autoscaler may ask
    /// for.
    fn machine_number(&mut self, set: &ScaledMachines<'_>) -> usize {
        let most = self.annotated_count(set, cluster_api::AUTOSCALER_MAXIMUM).unwrap_or(0);
        let replicas = set.replicas.unwrap_or(1);
        let valid = usize::try_from(replicas).ok().filter(|replicas| *replicas <= MOST_HOSTS);
        if valid.is_none() {
            let message = format!("`replicas: {replicas}` is not a valid number of hosts");
            let help = format!("write 0 to {MOST_HOSTS}");
            self.report_field(Code::InvalidField, &set.replicas_at(), message, help);
        }
        valid.unwrap_or_default().max(most)
    }

    /// Returns the hosts beside the replicas.
    fn spare(&mut self, set: &ScaledMachines<'_>, active: usize) -> StandbyHosts {
        let strategy = set.strategy.as_ref();
        let class = set.template.class.filter(|_| set.name.is_none());
        let patched = class.and_then(|class| patched_strategy(set, &class, &self.document.key));
        let evaluated = patched.as_ref().or(strategy.map(|it| it.0));
        let surge = match rollout::surge(set.kind, set.update_strategy, evaluated) {
            Some(surge) if surge.count(active) <= MOST_HOSTS => surge,
            _ => {
                let at = strategy.map_or(&set.at, |(_, surge_at)| surge_at);
                let message = "`maxSurge` of the rollout is neither a number nor a percentage";
                let help = "write a number such as 1, or a percentage such as \"25%\"";
                self.report_field(Code::InvalidField, at, message, help);
                StandbyHosts::Number(0)
            }
        };
        self.annotated_count(set, SPARE).map_or(surge, StandbyHosts::Number)
    }

    /// Returns the hosts that a machine template selects, and where it says so.
    fn selector(&mut self, set: &ScaledMachines<'_>) -> (Selector, DocumentField) {
        let at = set.template.selector_at();
        let Metal3MachineSpec { host_selector: selector, others } =
            &set.template.spec.template.spec;
        if let Some(key) = others.keys().find(|key| alike(key, ["hostSelector"]).is_some()) {
            let message =
                format!("the unknown field `{key}`: the API server drops it, and any host matches");
            let help = format!("write `hostSelector`, or remove `{key}`");
            let field = set.template.field(key);
            self.report_field(Code::InvalidRequestAnnotation, &field, message, help);
        }
        let RequestValidation { document: ClusterDocument { key, metadata, .. }, context, .. } =
            *self;
        let assigned = context.settings.assignment.labels_of(key, &self.part(set));
        let mut patched = None;
        if let Some(class) = &set.template.class {
            let (selector, mistakes) = patched_selector(set, class, key, &assigned);
            self.report_mistakes(&DocumentField::new(class.origin, ["spec"]), mistakes);
            patched = Some(selector);
        }
        let selector = patched.as_ref().unwrap_or(selector);
        let mut mistakes = Vec::new();
        // A Cluster beside a SIPCluster, or one that claims hosts by itself, is no request.
        if is_asked(metadata, context.settings) {
            mistakes = host_selector::exclusions(selector, &assigned);
        }
        let selector = host_selector::requirements(selector, &assigned).unwrap_or_else(|refused| {
            mistakes.extend(refused);
            Selector::default()
        });
        self.report_mistakes(&at, mistakes);
        (selector, at)
    }

    /// Reports mistakes in a host selector below a field.
    fn report_mistakes(&mut self, at: &DocumentField, mistakes: Vec<Mistake>) {
        for Mistake { route, message, help, .. } in mistakes {
            self.report_field(Code::InvalidRequestAnnotation, &at.below(route), message, help);
        }
    }

    /// Returns the machine templates with the labels by which they select assigned hosts.
    ///
    /// Node sets of one role may share a template if any of their hosts fits all of them.
    fn machine_templates(&mut self, sets: &[ScaledMachines<'_>]) -> Vec<HostTemplate> {
        let templates = grouped(sets.iter().map(|set| (set.template.name, set)));
        let mut found = Vec::new();
        for (name, sets) in templates {
            let Some((first, others)) = sets.split_first() else { continue };
            let is_special = |set: &ScaledMachines<'_>| {
                let keys = [HARDWARE, SAME_DOMAIN, SPREAD_CONSTRAINTS, TOPOLOGY_KEY];
                set.failure_domain.is_some() || keys.iter().any(|key| set.annotation(key).is_some())
            };
            let conflict = others.iter().find(|other| {
                other.role() != first.role() || is_special(first) || is_special(other)
            });
            if let Some(other) = conflict.filter(|_| first.template.class.is_none()) {
                let sharing = [first, other].map(|set| (set.title(), set.at.place()));
                self.findings.push(shared_template(name, sharing));
            }
            let mut labels = self.labels(&self.part(first));
            for other in others {
                let other_labels = self.labels(&self.part(other));
                labels.retain(|key, value| other_labels.get(key) == Some(value));
            }
            let selector = &first.template.spec.template.spec.host_selector;
            let is_pinned = has_all(&selector.match_labels, &labels)
                || sets.iter().all(|set| {
                    set.template.class.is_some_and(|class| {
                        let (patched, _) =
                            patched_selector(set, &class, &self.document.key, &labels);
                        let own = self.labels(&set.role().into());
                        has_all(&patched.match_labels, &own)
                    })
                });
            let selected = match is_pinned {
                true => Some(labels.clone()),
                false => host_selector::assigned_labels(selector, &labels),
            };
            found.push(HostTemplate {
                name: name.to_owned(),
                is_pinned,
                selected,
                labels,
                is_of_class: first.template.class.is_some(),
                selector_at: first.template.selector_at(),
            });
        }
        found
    }

    fn labels(&self, part: &Part) -> LabelMap {
        self.context.settings.assignment.labels.labels(&self.document.key, part)
    }
}

fn missing_part(kind: &str, name: &str) -> String {
    format!("the {kind} `{name}` is not in the inputs")
}

/// Reports Clusters that share a template, which selects the hosts of one cluster only.
pub(crate) fn shared_templates<'a>(clusters: impl Iterator<Item = &'a Cluster>) -> Vec<Finding> {
    let mut users: BTreeMap<_, (&Cluster, &HostTemplate)> = BTreeMap::new();
    let mut findings = Vec::new();
    for cluster in clusters {
        for template in cluster.machine_templates.iter().filter(|template| !template.is_of_class) {
            let name = (&cluster.key.namespace, &template.name);
            let (first, other) = users.entry(name).or_insert((cluster, template));
            if other.labels != template.labels && first.key != cluster.key {
                let sharing = [*first, cluster]
                    .map(|it| (format!("the Cluster {}", it.key), it.origin.name()));
                let finding = shared_template(&template.name, sharing);
                findings.push(finding.for_cluster(&first.key).for_cluster(&cluster.key));
            }
        }
    }
    findings
}

/// Reports two objects that share a template, by their titles and places.
fn shared_template(name: &str, [(first, at), (other, other_at)]: [(String, Place); 2]) -> Finding {
    let message = format!(
        "{first} and {other} share the Metal3MachineTemplate `{name}`, so neither can be limited to its own hosts"
    );
    Finding::new(Code::SharedMachineTemplate, message)
        .at(at)
        .see(other_at, "the other one")
        .help("give each a Metal3MachineTemplate of its own")
}

/// Returns the name of a MachineDeployment as the value of a label.
pub(crate) fn node_set_name(name: &str) -> Option<NodeName> {
    const LONGEST: usize = 63;
    name.parse().ok().or_else(|| object_name::shortened(name, name, LONGEST).parse().ok())
}
