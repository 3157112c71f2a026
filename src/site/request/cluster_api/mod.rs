//! Validates a Cluster of Cluster API with its control plane, MachineDeployments and templates, and
//! creates a [`Cluster`].
//!
//! * `scaled`: its control plane and MachineDeployments, written out or made of a ClusterClass;
//!   `rollout`: the Machines that they run beside their replicas.
//! * `host_selector`: the hosts that a machine template selects.
//! * `class_patches`: patches of a ClusterClass that change host selectors.
//! * `claimants`: objects that claim hosts and are no requests.
//! * `spread` and `hardware`: annotations of node sets.
//! * `health_checks`: MachineHealthChecks whose Machines find no host.
//! * `machine_objects`: Machines of the inputs, and the objects that make them.
//! * `agreement`: a SIPCluster beside the objects of Cluster API.

mod agreement;
mod claimants;
mod class_patches;
mod hardware;
mod health_checks;
mod host_selector;
mod machine_objects;
mod rollout;
mod scaled;
mod spread;

use std::collections::{BTreeMap, BTreeSet};

use kube::core::{Expression, Selector};

use super::cluster::{Cluster, HostTemplate, NodeSet, StandbyHosts};
use super::cluster_parts::ClusterParts;
use super::decode_spec;
use super::descriptor::RequestDescriptor;
use super::documents::{
    ClusterDocument, RequestContext, RequestFindings, RequestSpec, Spec, ValidatedRequest,
    annotation_meant, mistaken_annotations,
};
use super::object_name;
use crate::base::api::cluster_api::{
    self, ASSIGN, ClusterSpec, FAILURE_DOMAIN, HARDWARE, Metal3MachineSpec, SAME_DOMAIN, SPARE,
    SPREAD_CONSTRAINTS, TOPOLOGY_KEY,
};
use crate::base::api::host::Metadata;
use crate::base::api::names::{ClusterKey, NodeName, Part, has_all, is_label_key};
use crate::base::api::topology_spread::{MOST_HOSTS, TopologySpread, spread_requirements};
use crate::base::finding::{Code, DocumentField, Finding, shown_route};
use crate::base::grouping::grouped;
use crate::base::text::suggest::alike;
use crate::input::decode::label_selector::Mistake;
use crate::input::load::Document;
use crate::input::settings::Settings;
use crate::input::settings::assignment::AssignmentSettings;
use crate::input::settings::requests::ClusterSelection;

pub(crate) use agreement::disagreements;
pub(crate) use claimants::{Claimant, claimed_by_cluster, claimed_by_machines, unknown_claims};
use class_patches::{patched_selector, patched_strategy};
pub(crate) use machine_objects::{MachineFacts, MachineMaker, MachineObjects};
use scaled::{LocatedMetadata, ScaledMachines};

pub(super) static DESCRIPTOR: RequestDescriptor = RequestDescriptor {
    object: &cluster_api::OBJECT,
    definition: cluster_api::DEFINITION,
    has_own_definition: false,
    schema_argument: None,
    uses_cluster_api: true,
    makes_machines: true,
    allows_cluster_beside: false,
    request_annotation: Some(ASSIGN),
    is_request: is_asked,
    route_of_role: |_| &["spec"],
    name_source: "name",
    is_named_in_lists: true,
    decode,
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
fn decode(document: &Document<'_>) -> (Spec, Vec<Finding>) {
    match decode_spec::spec::<ClusterSpec>(document, cluster_api::KIND) {
        Ok(spec) => (Some(spec as Box<dyn RequestSpec>), Vec::new()),
        Err(findings) => (None, findings),
    }
}

impl RequestSpec for ClusterSpec {
    fn check(&self, document: ClusterDocument, context: &RequestContext<'_>) -> ValidatedRequest {
        let mut check = ClusterApiValidation {
            key: &document.key,
            found: RequestFindings::new(&document),
            objects: context.cluster_parts,
            assignment: &context.settings.assignment,
            default_spread: context.settings.topology.default_spread(),
            is_request: is_asked(&document.metadata, context.settings),
        };
        check.annotations(&document.metadata);
        document.check_name(&mut check.found);
        let priority = document.priority(&mut check.found);
        let scaled = check.scaled(self);
        let topology_key =
            context.settings.requests.cluster_api.control_plane_topology_key.as_deref();
        let mut node_sets = BTreeMap::new();
        for set in &scaled {
            let part = check.part(set);
            let node_set = check.node_set(set, topology_key);
            if node_sets.insert(part, Box::new(node_set)).is_some() {
                let message = format!(
                    "two MachineDeployments of the Cluster are called `{}`",
                    set.name.unwrap_or_default()
                );
                check.report(Code::InvalidField, set.at.clone(), message, "rename one of them");
            }
        }
        let is_annotated = is_annotated(&document.metadata);
        if is_annotated && node_sets.is_empty() && !check.found.all.iter().any(Finding::is_error) {
            check.found.report(
                Code::NoMachineTemplate,
                ["spec"],
                "no control plane or MachineDeployment of the Cluster has a Metal3MachineTemplate, so it needs no hosts",
                format!("write `{ASSIGN}: \"false\"`, or add the missing manifests"),
            );
        }
        check.health_checks(&scaled, &node_sets);
        let machine_templates = check.machine_templates(&scaled);
        let cluster = Cluster {
            machine_templates,
            without_failure_domains: check.without_failure_domains(self),
            kubernetes_version: check.kubernetes_version(self),
            endpoint: check.endpoint(self),
            ..document.cluster(priority, node_sets)
        };
        let findings = check.found.all;
        document.validated(cluster, findings)
    }

    fn uses_addresses(&self) -> bool {
        false
    }

    fn uses_hardware(&self, parts: &ClusterParts) -> bool {
        hardware::may_be_annotated(self, parts)
    }
}

/// Validation of one Cluster, with its findings.
struct ClusterApiValidation<'a> {
    key: &'a ClusterKey,
    found: RequestFindings<'a>,
    objects: &'a ClusterParts,
    assignment: &'a AssignmentSettings,
    default_spread: Vec<TopologySpread>,
    /// Unset for a Cluster beside a SIPCluster, or one that claims hosts by itself.
    is_request: bool,
}

impl<'a> ClusterApiValidation<'a> {
    fn report(
        &mut self,
        code: Code,
        field: DocumentField,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.found.all.push(Finding::new(code, message).at(field.place()).help(help));
    }

    /// Checks the annotation that asks for hosts.
    fn annotations(&mut self, metadata: &Metadata) {
        if let Some(text) =
            metadata.annotation(ASSIGN).filter(|text| !matches!(*text, "true" | "false"))
        {
            self.found.report(
                Code::InvalidRequestAnnotation,
                ["metadata", "annotations", ASSIGN],
                format!("`{ASSIGN}` is `{text}`, neither true nor false"),
                "write \"true\" or \"false\", in quotes",
            );
        }
    }

    /// Returns the part whose hosts a control plane or MachineDeployment gets.
    fn part(&self, set: &ScaledMachines<'_>) -> Part {
        Part { role: set.role(), node: None, node_set: set.name.and_then(node_set_name) }
    }

    fn node_set(&mut self, set: &ScaledMachines<'_>, settings_key: Option<&str>) -> NodeSet {
        for LocatedMetadata { metadata, at } in &set.metadata {
            self.found.all.extend(mistaken_annotations(metadata, at, true));
        }
        let active = self.replicas(set);
        let standby = self.spare(set, active);
        let (mut selector, selector_at) = self.selector(set);
        if let Some(domain) = set.failure_domain {
            selector.extend([Expression::Equal(FAILURE_DOMAIN.to_owned(), domain.to_owned())]);
        }
        let annotated = set.annotation(TOPOLOGY_KEY);
        if let Some(bad) = annotated.filter(|key| !is_label_key(key)) {
            self.report(
                Code::InvalidRequestAnnotation,
                set.annotation_at(TOPOLOGY_KEY),
                format!("`{bad}` is not a valid label key"),
                "name the label whose value is the host's rack or room, such as `topology.example.com/rack`",
            );
        }
        let settings_key = settings_key.filter(|_| set.name.is_none());
        let (key, key_at) = match annotated {
            Some(key) => (Some(key), set.annotation_at(TOPOLOGY_KEY)),
            None => (settings_key, set.at.clone()),
        };
        let max_per_domain = self.max_per_domain(set, key.is_some());
        let topology_keys: Vec<String> = key.map(str::to_owned).into_iter().collect();
        let spread = self.spread(set, &topology_keys);
        let hardware = self.hardware(set);
        selector.extend(spread_requirements(&spread));
        NodeSet {
            selector,
            namespace: Some(self.key.namespace.clone()),
            reservations: BTreeSet::new(),
            topology_at: topology_keys.iter().map(|_| key_at.clone()).collect(),
            topology_keys,
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
    fn replicas(&mut self, set: &ScaledMachines<'_>) -> usize {
        let most = set
            .annotation(cluster_api::AUTOSCALER_MAXIMUM)
            .map_or(0, |text| self.number(set, cluster_api::AUTOSCALER_MAXIMUM, text));
        let replicas = set.replicas.unwrap_or(1);
        let valid = usize::try_from(replicas).ok().filter(|replicas| *replicas <= MOST_HOSTS);
        if valid.is_none() {
            self.report(
                Code::InvalidField,
                set.replicas_at(),
                format!("`replicas: {replicas}` is not a valid number of hosts"),
                format!("write 0 to {MOST_HOSTS}"),
            );
        }
        valid.unwrap_or_default().max(most)
    }

    /// Returns the hosts beside the replicas.
    fn spare(&mut self, set: &ScaledMachines<'_>, active: usize) -> StandbyHosts {
        let strategy = set.strategy.as_ref();
        let class = set.template.class.filter(|_| set.name.is_none());
        let patched = class.and_then(|class| patched_strategy(set, &class, self.key));
        let evaluated = patched.as_ref().or(strategy.map(|it| it.0));
        let surge = match rollout::surge(set.kind, set.update_strategy, evaluated) {
            Some(surge) if surge.count(active) <= MOST_HOSTS => surge,
            _ => {
                let at = strategy.map_or(&set.at, |(_, surge_at)| surge_at).clone();
                let message = "`maxSurge` of the rollout is neither a number nor a percentage";
                let help = "write a number such as 1, or a percentage such as \"25%\"";
                self.report(Code::InvalidField, at, message, help);
                StandbyHosts::Number(0)
            }
        };
        let spare = set.annotation(SPARE);
        spare.map_or(surge, |text| StandbyHosts::Number(self.number(set, SPARE, text)))
    }

    fn number(&mut self, set: &ScaledMachines<'_>, key: &str, text: &str) -> usize {
        let number = text.trim().parse().ok().filter(|number| *number <= MOST_HOSTS);
        if number.is_none() {
            let message = format!("`{text}` is not a number of hosts");
            let (code, at) = (Code::InvalidRequestAnnotation, set.annotation_at(key));
            self.report(code, at, message, format!("write 0 to {MOST_HOSTS}, in quotes"));
        }
        number.unwrap_or_default()
    }

    /// Returns the hosts that a machine template selects, and where it says so.
    fn selector(&mut self, set: &ScaledMachines<'_>) -> (Selector, DocumentField) {
        let at = set.template.selector_at();
        let Metal3MachineSpec { host_selector: selector, others } =
            &set.template.spec.template.spec;
        if let Some(key) = others.keys().find(|key| alike(key, ["hostSelector"]).is_some()) {
            self.report(
                Code::InvalidRequestAnnotation,
                set.template.field(key),
                format!("the unknown field `{key}`: the API server drops it, and any host matches"),
                format!("write `hostSelector`, or remove `{key}`"),
            );
        }
        let assigned = self.assignment.labels_of(self.key, &self.part(set));
        let class = set.template.class;
        let mut patched = None;
        if let Some(class) = &class {
            let (selector, mistakes) = patched_selector(set, class, self.key, &assigned);
            self.report_mistakes(&DocumentField::new(class.origin, ["spec"]), mistakes);
            patched = Some(selector);
        }
        let selector = patched.as_ref().unwrap_or(selector);
        let mut mistakes = Vec::new();
        if self.is_request {
            mistakes = host_selector::exclusions(selector, &assigned);
        }
        let selector = host_selector::requirements(selector, &assigned);
        let selector = selector.unwrap_or_else(|refused| {
            mistakes.extend(refused);
            Selector::default()
        });
        self.report_mistakes(&at, mistakes);
        (selector, at)
    }

    /// Reports mistakes in a host selector below a field.
    fn report_mistakes(&mut self, at: &DocumentField, mistakes: Vec<Mistake>) {
        for Mistake { route, message, help, .. } in mistakes {
            self.report(Code::InvalidRequestAnnotation, at.below(route), message, help);
        }
    }

    /// Returns what the annotation of a node set asks for in JSON, and reports mistakes in it. `kind`
    /// completes "`…` is not a …".
    fn json_annotation<T>(
        &mut self,
        set: &ScaledMachines<'_>,
        (key, kind, example): (&str, &str, &str),
        parse: impl FnOnce(&str) -> serde_json::Result<Result<T, Vec<Mistake>>>,
    ) -> Option<T> {
        let text = set.annotation(key)?;
        let (code, at) = (Code::InvalidRequestAnnotation, set.annotation_at(key));
        match parse(text) {
            Ok(Ok(value)) => return Some(value),
            Ok(Err(mistakes)) => {
                for Mistake { route, message, help, .. } in mistakes {
                    let message = format!("{}: {message}", shown_route(&route));
                    self.report(code, at.clone(), message, help);
                }
            }
            Err(error) => {
                let message = format!("`{key}` is not a {kind} in JSON: {error}");
                self.report(code, at, message, format!("write it as in `{example}`"));
            }
        }
        None
    }

    /// Returns the machine templates with the labels by which they select assigned hosts.
    ///
    /// Node sets of one role may share a template if any of their hosts fits all of them.
    fn machine_templates(&mut self, sets: &[ScaledMachines<'_>]) -> Vec<HostTemplate> {
        let templates = grouped(sets.iter().map(|set| (set.template.name, set)));
        let mut found = Vec::new();
        for (name, sets) in templates {
            let Some((first, others)) = sets.split_first() else {
                continue;
            };
            let is_special = |set: &ScaledMachines<'_>| {
                let keys = [HARDWARE, SAME_DOMAIN, SPREAD_CONSTRAINTS, TOPOLOGY_KEY];
                set.failure_domain.is_some() || keys.iter().any(|key| set.annotation(key).is_some())
            };
            let conflict = others.iter().find(|other| {
                other.role() != first.role() || is_special(first) || is_special(other)
            });
            if let Some(other) = conflict.filter(|_| first.template.class.is_none()) {
                let finding = shared_template([first.title(), other.title()], name)
                    .at(first.at.place())
                    .see(other.at.place(), "the other one");
                self.found.all.push(finding);
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
                        let (patched, _) = patched_selector(set, &class, self.key, &labels);
                        let own = self.labels(&set.role().into());
                        has_all(&patched.match_labels, &own)
                    })
                });
            found.push(HostTemplate {
                name: name.to_owned(),
                is_pinned,
                selected: if is_pinned {
                    Some(labels.clone())
                } else {
                    host_selector::assigned_labels(selector, &labels)
                },
                labels,
                is_of_class: first.template.class.is_some(),
                selector_at: first.template.selector_at(),
            });
        }
        found
    }

    fn labels(&self, part: &Part) -> BTreeMap<String, String> {
        self.assignment.labels.labels(self.key, part)
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
                let titles = [first, &cluster].map(|it| format!("the Cluster {}", it.key));
                let finding = shared_template(titles, &template.name)
                    .at(first.origin.name())
                    .see(cluster.origin.name(), "the other one");
                findings.push(finding.for_cluster(&first.key).for_cluster(&cluster.key));
            }
        }
    }
    findings
}

fn shared_template([first, other]: [String; 2], name: &str) -> Finding {
    Finding::new(
        Code::SharedMachineTemplate,
        format!("{first} and {other} share the Metal3MachineTemplate `{name}`, so neither can be limited to its own hosts"),
    )
    .help("give each a Metal3MachineTemplate of its own")
}

/// Returns the name of a MachineDeployment as the value of a label.
pub(crate) fn node_set_name(name: &str) -> Option<NodeName> {
    const LONGEST: usize = 63;
    name.parse().ok().or_else(|| object_name::shortened(name, name, LONGEST).parse().ok())
}
