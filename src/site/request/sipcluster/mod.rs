//! Validates a SIPCluster and creates a [`Cluster`]. `described` validates services by the descriptor
//! of their kind; the others have a module each.

mod auth;
mod described;
mod jump_host;
pub mod legacy;
pub(crate) mod legacy_labels;
mod topology;

use std::collections::BTreeSet;
use std::net::IpAddr;

use yaml_serde::Value;

use super::cluster::{Cluster, NodeSet, PartNodeSets, StandbyHosts};
use super::cluster_parts::ClusterParts;
use super::decode_spec::read_spec;
use super::descriptor::RequestDescriptor;
use super::documents::{
    ClusterDocument, RequestContext, RequestSpec, RequestValidation, Spec, ValidatedRequest,
};
use super::hardware;
use super::service::{ClusterService, KindSettings, service_route};
use crate::base::api::address::is_reachable;
use crate::base::api::described_service::{DEFAULT_REPLICAS, MOST_REPLICAS};
use crate::base::api::machine_names::MachineNames;
use crate::base::api::names::{
    ClusterKey, Invalid, NodePort, NodePortRange, ObjectName, Role, is_label,
};
use crate::base::api::service_fields::ServiceFields;
use crate::base::api::service_kind::ServiceKind;
use crate::base::api::sipcluster::{self, KIND, NodeSetFields, SIPClusterSpec, ServiceLists};
use crate::base::api::topology_spread::{MOST_HOSTS, spread_requirements};
use crate::base::finding::{Code, DocumentField, Finding, RouteStep, below};
use crate::base::layout::VARIABLE;
use crate::input::decode::label_selector;
use crate::input::decode::unknown_fields::OF_SIPCLUSTER;
use crate::input::load::Document;
use crate::input::settings::provisioning::is_image;

use legacy::LegacySpec;

pub(super) static DESCRIPTOR: RequestDescriptor = RequestDescriptor {
    object: &sipcluster::OBJECT,
    definition: sipcluster::DEFINITION,
    schema_argument: None,
    uses_cluster_api: true,
    makes_machines: false,
    request_annotation: None,
    is_request: |_, _| true,
    route_of_role: |_| &["spec", "nodes"],
    is_named_in_lists: false,
    decode_spec,
};

/// Decodes the spec of a SIPCluster. Validation converts older generations.
fn decode_spec(document: &Document<'_>, value: Value) -> (Spec, Vec<Finding>) {
    if legacy::is_legacy(&value["spec"]) {
        let spec = LegacySpec { document: value, may_be_template: document.looks_like_template() };
        return (Some(Box::new(spec)), Vec::new());
    }
    let (spec, found) = read_spec::<SIPClusterSpec>(document, &value, &OF_SIPCLUSTER, KIND);
    (spec.map(|spec| spec as Box<dyn RequestSpec>), found)
}

impl RequestSpec for SIPClusterSpec {
    fn check(&self, document: &ClusterDocument, context: &RequestContext<'_>) -> ValidatedRequest {
        let mut check = RequestValidation::new(document, context);
        let cluster = check.sipcluster(self);
        check.validated(cluster)
    }

    fn uses_hardware(&self, _: &ClusterParts, gives_addresses: bool) -> bool {
        gives_addresses && self.services.reach_hosts()
            || self.nodes.iter().flatten().any(|(_, node_set)| node_set.hardware.is_some())
    }
}

/// The finalizer that the SIP operator adds to a SIPCluster and removes when it is deleted.
const OPERATORS_FINALIZER: &str = "sip.airship.airshipit.org/finalizer";

/// Help for ports that are valid in another base cluster.
const OTHER_RANGE: &str = ", or write the base cluster's own range into sipgen.yaml: `services: {nodePortRange: FIRST-LAST}`";

type Route = Vec<RouteStep>;

/// The NodePorts of a service and the settings of its kind; `None`, with a finding, if they are invalid.
type ServiceDetails = Option<(Vec<NodePort>, KindSettings)>;

impl RequestValidation<'_, '_> {
    /// Validates a SIPCluster. It is invalid if a finding is an error.
    fn sipcluster(&mut self, spec: &SIPClusterSpec) -> Cluster {
        self.check_name();
        let priority = self.priority();
        self.finalizers();
        let node_sets = self.node_sets(spec);
        let services = self.services(&spec.services);
        Cluster { services, ..self.document.cluster(priority, node_sets) }
    }

    fn node_sets(&mut self, spec: &SIPClusterSpec) -> PartNodeSets {
        let mut node_sets = PartNodeSets::new();
        if spec.nodes.is_none() {
            // The field is required: if empty were valid, a typo would release every host of the
            // cluster.
            let help = "write the node sets ControlPlane and Worker under `spec.nodes`, or `nodes: {}` for none";
            let message = "the SIPCluster has no node sets";
            self.report(Code::MissingField, ["spec", "nodes"], message, help);
        }
        for (name, node_set) in spec.nodes.iter().flatten() {
            let route: Route = vec!["spec".into(), "nodes".into(), name.as_str().into()];
            let role = name.parse::<Role>().map_err(|error| format!("`{name}` {error}"));
            let help = "name the node set ControlPlane or Worker";
            if let Some(role) = self.accept(role, Code::InvalidField, route.clone(), help) {
                let node_set = self.node_set(role, node_set, &route);
                node_sets.insert(role.into(), Box::new(node_set));
            }
        }
        node_sets
    }

    fn node_set(&mut self, role: Role, node_set: &NodeSetFields, route: &Route) -> NodeSet {
        let at = DocumentField::new(&self.document.origin, route.clone());
        if node_set.label_selector.is_none() {
            let message =
                format!("the {role} node set has no labelSelector, so it matches any host");
            let help = "write a labelSelector, or `labelSelector: {}` for any host";
            self.report(Code::NoSelector, route.clone(), message, help);
        }
        let selector_at = at.below(["labelSelector".into()]);
        let selector = node_set.label_selector.as_ref().map(label_selector::check);
        let mut selector =
            selector.and_then(|it| self.accept_checked(it, &selector_at.route)).unwrap_or_default();
        let (topology_keys, topology_at) = self.topology_keys(node_set, &at);
        let hardware = node_set.hardware.as_ref().map(hardware::check);
        let hardware = hardware.and_then(|it| self.accept_checked(it, &below(route, ["hardware"])));
        let max_per_domain = self.max_per_domain(node_set, route);
        let spread = self.spread(node_set, &topology_keys, route);
        selector.extend(spread_requirements(&spread));
        let count_at = at.below(["count".into()]);
        let active_at = count_at.below(["active".into()]);
        let count = node_set.count.clone().unwrap_or_default();
        if count.active.is_none() && count.standby.is_none() {
            // The field is required: a default of zero would release every host of the cluster
            // after a typo.
            let message = format!("the {role} node set has no count");
            let help = "write `count: {active: N, standby: N}`";
            self.report(Code::MissingField, active_at.route.clone(), message, help);
        }
        let mut number = |field: &str, value: Option<i64>| {
            let value = value.unwrap_or_default();
            let valid = usize::try_from(value).ok().filter(|count| *count <= MOST_HOSTS);
            let valid =
                valid.ok_or_else(|| format!("`{field}: {value}` is not a valid number of hosts"));
            let help = format!("write 0 to {MOST_HOSTS}");
            let route = below(&count_at.route, [field]);
            self.accept(valid, Code::InvalidField, route, help).unwrap_or_default()
        };
        NodeSet {
            selector,
            namespace: None,
            reservations: BTreeSet::new(),
            topology_keys,
            topology_at,
            max_per_domain,
            spread,
            active: number("active", count.active),
            standby: StandbyHosts::Number(number("standby", count.standby)),
            hardware: hardware.unwrap_or_default(),
            machine: None,
            machine_names: MachineNames::default(),
            selector_at,
            count_at,
            active_at,
            spare_at: None,
            at,
        }
    }

    fn services(&mut self, services: &ServiceLists) -> Vec<ClusterService> {
        // Without `..`, a new field of `ServiceLists` does not compile until this function reads it.
        let ServiceLists { jump_host, auth, described } = services;
        let mut all = Vec::new();
        for kind in ServiceKind::all() {
            match (kind.field.as_str(), &kind.entry) {
                (field, Some(descriptor)) => {
                    let entries = described.0.get(field).into_iter().flatten().flatten();
                    for (index, entry) in entries.enumerate() {
                        let found = self.described(descriptor, entry, &service_route(kind, index));
                        all.extend(self.service(kind, &entry.service, found, index));
                    }
                }
                ("jumpHost", None) => {
                    for (index, entry) in jump_host.iter().flatten().enumerate() {
                        let found = self.jump_host(entry, &service_route(kind, index));
                        all.extend(self.service(kind, &entry.service, found, index));
                    }
                }
                (_, None) => {
                    for (index, entry) in auth.iter().flatten().enumerate() {
                        let found = self.auth(entry, &service_route(kind, index));
                        all.extend(self.service(kind, &entry.service, found, index));
                    }
                }
            }
        }
        all
    }

    /// Warns of the finalizer that only the SIP operator handles.
    fn finalizers(&mut self) {
        let ClusterDocument { key: ClusterKey { namespace, name }, metadata, .. } = self.document;
        let mut finalizers = metadata.finalizers.iter().flatten();
        let Some(index) = finalizers.position(|finalizer| finalizer == OPERATORS_FINALIZER) else {
            return;
        };
        let message = format!(
            "the finalizer `{OPERATORS_FINALIZER}` keeps this object from being deleted, unless the SIP operator runs"
        );
        let help = format!(
            "remove it here, and once the operator is stopped from the live object: \
             `kubectl patch sipcluster {name} -n {namespace} --type json -p \
             '[{{\"op\": \"remove\", \"path\": \"/metadata/finalizers\"}}]'`"
        );
        let route = ["metadata".into(), "finalizers".into(), RouteStep::from(index)];
        self.report(Code::OperatorsFinalizer, route, message, help);
    }

    /// Validates the common settings of services. Returns no service without NodePorts and settings
    /// of its kind, which already have an error.
    fn service(
        &mut self,
        kind: &'static ServiceKind,
        service: &ServiceFields,
        found: ServiceDetails,
        index: usize,
    ) -> Option<ClusterService> {
        let route = &service_route(kind, index);
        let image = service.image.clone().unwrap_or_default();
        let valid = match image.as_str() {
            "" => Err("the service has no container image"),
            text if text.contains(char::is_whitespace) => {
                Err("the name of the container image contains a space")
            }
            text if !text.contains(VARIABLE) && !is_image(text) => {
                Err("`image` is no reference that container runtimes accept")
            }
            _ => Ok(()),
        };
        let help = format!("write `image: {}`", kind.image.example);
        self.accept(valid, Code::MissingField, below(route, ["image"]), help);
        for (key, value) in service.node_labels.iter().flatten() {
            let valid = is_label(key, value).then_some(());
            let valid = valid.ok_or_else(|| format!("`{key}: {value}` is not a label"));
            let help = "name labels of the base cluster's nodes, such as `kubernetes.io/os: linux`";
            let route = below(route, ["nodeLabels", key.as_str()]);
            self.accept(valid, Code::InvalidField, route, help);
        }
        let cluster_ip = self.cluster_ip(service, route);
        let interface = service.node_interface_id.clone().filter(|interface| !interface.is_empty());
        let (node_ports, settings) = found?;
        let service = ClusterService {
            kind,
            ordinal: index + 1,
            image,
            node_labels: service.node_labels.clone().unwrap_or_default(),
            interface,
            cluster_ip,
            node_ports,
            settings,
        };
        if service.interface.is_none() && !kind.roles.is_empty() {
            let message = "the service has no nodeInterfaceId, so its hosts' addresses are unknown";
            let help = "write the id of a network in the hosts' network data, such as `nodeInterfaceId: oam-ipv4`";
            self.report(Code::MissingField, below(route, ["nodeInterfaceId"]), message, help);
        }
        Some(service)
    }

    fn cluster_ip(&mut self, service: &ServiceFields, route: &Route) -> Option<IpAddr> {
        let text = service.cluster_ip.as_deref().filter(|text| !text.is_empty())?;
        let address = text.parse().ok().filter(|address| is_reachable(*address));
        let address = address.ok_or_else(|| format!("`{text}` is not a reachable IP address"));
        let help = "write the base cluster's address under which its NodePorts are reached";
        self.accept(address, Code::InvalidField, below(route, ["clusterIP"]), help)
    }

    /// Returns the base cluster's NodePorts, and their description for a help.
    fn known_ports(&self) -> (NodePortRange, String) {
        let range = self.context.settings.services.node_port_range;
        (range, format!("{} to {}", range.first(), range.last()))
    }

    fn node_port(&mut self, number: Option<i64>, route: &Route) -> Option<NodePort> {
        let (route, (range, ports)) = (below(route, ["nodePort"]), self.known_ports());
        let number = number.ok_or("the service has no nodePort");
        let help = format!("write a nodePort of {ports}");
        let number = self.accept(number, Code::MissingField, route.clone(), help)?;
        let port = range.port(number).map_err(|error| format!("nodePort {number} {error}"));
        let help = format!("choose one of {ports}{OTHER_RANGE}");
        self.accept(port, Code::InvalidField, route, help)
    }

    /// Validates the number of pods.
    fn replicas(&mut self, number: Option<i64>, route: &Route) -> Option<u16> {
        let Some(number) = number else { return Some(DEFAULT_REPLICAS) };
        let valid =
            u16::try_from(number).ok().filter(|replicas| (1..=MOST_REPLICAS).contains(replicas));
        let valid = valid.ok_or_else(|| {
            format!("`replicas` must be from 1 to {MOST_REPLICAS}, found `{number}`")
        });
        let help = format!("write 1 to {MOST_REPLICAS}, or omit it for {DEFAULT_REPLICAS}");
        self.accept(valid, Code::InvalidField, below(route, ["replicas"]), help)
    }

    /// Parses the name of a Secret. Findings do not show it, because it may be a secret that was
    /// pasted by mistake.
    fn secret_name(&mut self, name: &str, route: Route) -> Option<ObjectName> {
        let parsed =
            name.parse().map_err(|error: Invalid| format!("invalid name of a Secret: it {error}"));
        let help = "name a Secret in the cluster's namespace";
        self.accept(parsed, Code::WrongType, route, help)
    }
}
