//! Validates a SIPCluster and creates a [`Cluster`]. `described` validates services by the descriptor
//! of their kind; the others have a module each.

mod auth;
mod decode;
mod described;
mod jump_host;
pub mod legacy;
pub(crate) mod legacy_labels;
mod legacy_spec;
mod topology;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use kube::core::Selector;

use super::cluster::{Cluster, NodeSet, StandbyHosts};
use super::cluster_parts::ClusterParts;
use super::descriptor::RequestDescriptor;
use super::documents::{
    ClusterDocument, RequestContext, RequestFindings, RequestSpec, ValidatedRequest,
};
use super::hardware;
use super::service::{ClusterService, KindSettings, service_route};
use crate::base::api::address::is_reachable;
use crate::base::api::described_service::{DEFAULT_REPLICAS, MOST_REPLICAS};
use crate::base::api::machine_names::MachineNames;
use crate::base::api::names::{
    ClusterKey, Invalid, NodePort, NodePortRange, ObjectName, Part, Role, is_label,
};
use crate::base::api::service_fields;
use crate::base::api::service_kind::ServiceKind;
use crate::base::api::sipcluster::{self, SIPClusterSpec};
use crate::base::api::topology_spread::{MOST_HOSTS, TopologySpread, spread_requirements};
use crate::base::finding::{Code, DocumentField, Finding, RouteStep, below};
use crate::base::layout::VARIABLE;
use crate::input::decode::label_selector;
use crate::input::settings::provisioning::is_image;

pub(super) static DESCRIPTOR: RequestDescriptor = RequestDescriptor {
    object: &sipcluster::OBJECT,
    definition: sipcluster::DEFINITION,
    has_own_definition: true,
    schema_argument: None,
    uses_cluster_api: true,
    makes_machines: false,
    allows_cluster_beside: true,
    request_annotation: None,
    is_request: |_, _| true,
    route_of_role: |_| &["spec", "nodes"],
    name_source: "name",
    is_named_in_lists: false,
    decode: decode::decode,
};

impl RequestSpec for SIPClusterSpec {
    fn check(&self, document: ClusterDocument, context: &RequestContext<'_>) -> ValidatedRequest {
        let (cluster, findings) = check(self, &document, context);
        document.validated(cluster, findings)
    }

    fn uses_addresses(&self) -> bool {
        self.services.reach_hosts()
    }

    fn uses_hardware(&self, _: &ClusterParts) -> bool {
        self.nodes.iter().flatten().any(|(_, node_set)| node_set.hardware.is_some())
    }
}

/// Validates a SIPCluster. It is invalid if a finding is an error.
fn check(
    spec: &SIPClusterSpec,
    document: &ClusterDocument,
    context: &RequestContext<'_>,
) -> (Cluster, Vec<Finding>) {
    let mut check = SipclusterValidation {
        found: RequestFindings::new(document),
        node_ports: context.settings.services.node_port_range,
        default_spread: context.settings.topology.default_spread(),
    };
    document.check_name(&mut check.found);
    let priority = document.priority(&mut check.found);
    check.finalizers(document);
    let node_sets = check.node_sets(spec);
    let services = check.services(&spec.services);
    (Cluster { services, ..document.cluster(priority, node_sets) }, check.found.all)
}

/// The finalizer that the SIP operator adds to a SIPCluster and removes when it is deleted.
const OPERATORS_FINALIZER: &str = "sip.airship.airshipit.org/finalizer";

/// Checks one SIPCluster and collects findings.
struct SipclusterValidation<'a> {
    found: RequestFindings<'a>,
    node_ports: NodePortRange,
    default_spread: Vec<TopologySpread>,
}

/// Help for ports that are valid in another base cluster.
const OTHER_RANGE: &str = ", or write the base cluster's own range into sipgen.yaml: `services: {nodePortRange: FIRST-LAST}`";

type Route = Vec<RouteStep>;

impl SipclusterValidation<'_> {
    fn node_sets(&mut self, spec: &SIPClusterSpec) -> BTreeMap<Part, Box<NodeSet>> {
        let mut node_sets = BTreeMap::new();
        if spec.nodes.is_none() {
            // The field is required: if empty were valid, a typo would release every host of the
            // cluster.
            self.found.report(
                Code::MissingField,
                ["spec", "nodes"],
                "the SIPCluster has no node sets",
                "write the node sets ControlPlane and Worker under `spec.nodes`, or `nodes: {}` for none",
            );
        }
        for (name, node_set) in spec.nodes.iter().flatten() {
            let route: Route = vec!["spec".into(), "nodes".into(), name.as_str().into()];
            let role = name.parse::<Role>().map_err(|error| format!("`{name}` {error}"));
            let help = "name the node set ControlPlane or Worker";
            if let Some(role) = self.found.accept(role, Code::InvalidField, route.clone(), help) {
                let node_set = self.node_set(role, node_set, &route);
                node_sets.insert(role.into(), Box::new(node_set));
            }
        }
        node_sets
    }

    fn node_set(
        &mut self,
        role: Role,
        node_set: &sipcluster::NodeSetFields,
        route: &Route,
    ) -> NodeSet {
        let mut selector = match &node_set.label_selector {
            None => {
                self.found.report(
                    Code::NoSelector,
                    route.clone(),
                    format!("the {role} node set has no labelSelector, so it matches any host"),
                    "write a labelSelector, or `labelSelector: {}` for any host",
                );
                Selector::default()
            }
            Some(selector) => self
                .found
                .accept_checked(label_selector::check(selector), &below(route, ["labelSelector"]))
                .unwrap_or_default(),
        };
        let at = DocumentField::new(self.found.origin, route.clone());
        let (topology_keys, topology_at): (Vec<String>, Vec<DocumentField>) = self
            .topology_keys(node_set, route)
            .into_iter()
            .map(|(key, route)| (key, at.below(route)))
            .unzip();
        let hardware = node_set.hardware.as_ref().map(hardware::check);
        let hardware =
            hardware.and_then(|it| self.found.accept_checked(it, &below(route, ["hardware"])));
        let max_per_domain = self.max_per_domain(node_set, route);
        let spread = self.spread(node_set, &topology_keys, route);
        selector.extend(spread_requirements(&spread));
        let count_route = below(route, ["count"]);
        let count = node_set.count.clone().unwrap_or_default();
        if count.active.is_none() && count.standby.is_none() {
            // The field is required: a default of zero would release every host of the cluster
            // after a typo.
            self.found.report(
                Code::MissingField,
                below(&count_route, ["active"]),
                format!("the {role} node set has no count"),
                "write `count: {active: N, standby: N}`",
            );
        }
        let mut number = |field: &str, value: Option<i64>| {
            let value = value.unwrap_or_default();
            let valid = usize::try_from(value).ok().filter(|count| *count <= MOST_HOSTS);
            let valid =
                valid.ok_or_else(|| format!("`{field}: {value}` is not a valid number of hosts"));
            let help = format!("write 0 to {MOST_HOSTS}");
            let route = below(&count_route, [field]);
            self.found.accept(valid, Code::InvalidField, route, help).unwrap_or_default()
        };
        let active = number("active", count.active);
        let standby = StandbyHosts::Number(number("standby", count.standby));
        let count_at = |field: &str| at.below(["count".into(), field.into()]);
        NodeSet {
            selector,
            namespace: None,
            reservations: BTreeSet::new(),
            topology_keys,
            topology_at,
            max_per_domain,
            spread,
            active,
            standby,
            hardware: hardware.unwrap_or_default(),
            machine: None,
            machine_names: MachineNames::default(),
            selector_at: at.below(["labelSelector".into()]),
            count_at: at.below(["count".into()]),
            active_at: count_at("active"),
            spare_at: None,
            at,
        }
    }

    fn services(&mut self, services: &sipcluster::ServiceLists) -> Vec<ClusterService> {
        // Without `..`, a new field of `ServiceLists` does not compile until this function reads it.
        let sipcluster::ServiceLists { jump_host, auth, described } = services;
        let mut all = Vec::new();
        for kind in ServiceKind::all() {
            all.extend(match (kind.field.as_str(), &kind.entry) {
                (field, Some(descriptor)) => {
                    let entries = described.0.get(field).and_then(Option::as_deref);
                    self.entries(
                        kind,
                        entries,
                        |it| &it.service,
                        |check, entry, route| check.described(descriptor, entry, route),
                    )
                }
                ("jumpHost", None) => {
                    self.entries(kind, jump_host.as_deref(), |it| &it.service, Self::jump_host)
                }
                (_, None) => self.entries(kind, auth.as_deref(), |it| &it.service, Self::auth),
            });
        }
        all
    }

    /// Validates the services of a kind. `settings` returns their NodePorts and settings.
    fn entries<T>(
        &mut self,
        kind: &'static ServiceKind,
        entries: Option<&[T]>,
        common: fn(&T) -> &service_fields::ServiceFields,
        settings: impl Fn(&mut Self, &T, &Route) -> Option<(Vec<NodePort>, KindSettings)>,
    ) -> Vec<ClusterService> {
        let mut services = Vec::new();
        for (index, entry) in entries.into_iter().flatten().enumerate() {
            let found = settings(self, entry, &service_route(kind, index));
            services.extend(self.service(kind, common(entry), found, index));
        }
        services
    }

    /// Warns of the finalizer that only the SIP operator handles.
    fn finalizers(&mut self, document: &ClusterDocument) {
        let finalizers = document.metadata.finalizers.iter().flatten();
        let Some(index) =
            finalizers.into_iter().position(|finalizer| finalizer == OPERATORS_FINALIZER)
        else {
            return;
        };
        let ClusterKey { namespace, name } = &document.key;
        self.found.report(
            Code::OperatorsFinalizer,
            ["metadata".into(), "finalizers".into(), RouteStep::from(index)],
            format!(
                "the finalizer `{OPERATORS_FINALIZER}` keeps this object from being deleted, unless the SIP operator runs"
            ),
            format!(
                "remove it here, and once the operator is stopped from the live object: \
                 `kubectl patch sipcluster {name} -n {namespace} --type json -p \
                 '[{{\"op\": \"remove\", \"path\": \"/metadata/finalizers\"}}]'`"
            ),
        );
    }

    /// Validates the common settings of services. Returns no service without NodePorts and settings
    /// of its kind, which already have an error.
    fn service(
        &mut self,
        kind: &'static ServiceKind,
        service: &service_fields::ServiceFields,
        found: Option<(Vec<NodePort>, KindSettings)>,
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
        self.found.accept(valid, Code::MissingField, below(route, ["image"]), help);
        for (key, value) in service.node_labels.iter().flatten() {
            let valid = is_label(key, value).then_some(());
            let valid = valid.ok_or_else(|| format!("`{key}: {value}` is not a label"));
            let help = "name labels of the base cluster's nodes, such as `kubernetes.io/os: linux`";
            let route = below(route, ["nodeLabels", key.as_str()]);
            self.found.accept(valid, Code::InvalidField, route, help);
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
            self.found.report(
                Code::MissingField,
                below(route, ["nodeInterfaceId"]),
                "the service has no nodeInterfaceId, so its hosts' addresses are unknown",
                "write the id of a network in the hosts' network data, such as `nodeInterfaceId: oam-ipv4`",
            );
        }
        Some(service)
    }

    fn cluster_ip(
        &mut self,
        service: &service_fields::ServiceFields,
        route: &Route,
    ) -> Option<IpAddr> {
        let text = service.cluster_ip.as_deref().filter(|text| !text.is_empty())?;
        let address = text.parse().ok().filter(|address| is_reachable(*address));
        let address = address.ok_or_else(|| format!("`{text}` is not a reachable IP address"));
        let help = "write the base cluster's address under which its NodePorts are reached";
        self.found.accept(address, Code::InvalidField, below(route, ["clusterIP"]), help)
    }

    /// Returns the range of NodePorts for a help.
    fn node_ports(&self) -> String {
        format!("{} to {}", self.node_ports.first(), self.node_ports.last())
    }

    fn node_port(&mut self, number: Option<i64>, route: &Route) -> Option<NodePort> {
        let (route, ports) = (below(route, ["nodePort"]), self.node_ports());
        let (number, help) =
            (number.ok_or("the service has no nodePort"), format!("write a nodePort of {ports}"));
        let number = self.found.accept(number, Code::MissingField, route.clone(), help)?;
        let port = self.node_ports.port(number);
        let port = port.map_err(|error| format!("nodePort {number} {error}"));
        let help = format!("choose one of {ports}{OTHER_RANGE}");
        self.found.accept(port, Code::InvalidField, route, help)
    }

    /// Validates the number of pods.
    fn replicas(&mut self, number: Option<i64>, route: &Route) -> Option<u16> {
        let Some(number) = number else {
            return Some(DEFAULT_REPLICAS);
        };
        let valid =
            u16::try_from(number).ok().filter(|replicas| (1..=MOST_REPLICAS).contains(replicas));
        let valid = valid.ok_or_else(|| {
            format!("`replicas` must be from 1 to {MOST_REPLICAS}, found `{number}`")
        });
        let help = format!("write 1 to {MOST_REPLICAS}, or omit it for {DEFAULT_REPLICAS}");
        self.found.accept(valid, Code::InvalidField, below(route, ["replicas"]), help)
    }

    /// Parses the name of a Secret. Findings do not show it, because it may be a secret that was
    /// pasted by mistake.
    fn secret_name(&mut self, name: &str, route: Route) -> Option<ObjectName> {
        let parsed = name.parse();
        let parsed =
            parsed.map_err(|error: Invalid| format!("invalid name of a Secret: it {error}"));
        let help = "name a Secret in the cluster's namespace";
        self.found.accept(parsed, Code::WrongType, route, help)
    }
}
