//! Converts services of older generations.

use yaml_serde::{Mapping, Value};

use super::{Converter, OlderMapping, Route, below, entries};
use crate::base::finding::{Code, RouteStep};

/// Older names of the field with a jump host's authorized keys.
const SSH_KEY: [&str; 3] = ["sshkey", "sshKey", "SSHKey"];

/// Fields below `optional`.
const OPTIONAL: [&str; 5] = ["clusterIP", "clusterIp", "sshkey", "sshKey", "SSHKey"];

/// The current key of load balancers under `services`. Older ones served the control plane only.
const LOAD_BALANCER: &str = "loadBalancerControlPlane";

/// Returns the current key under `services` of an older kind.
fn kind(older: &str) -> Option<&'static str> {
    match older {
        "loadbalancer" | "loadBalancer" => Some(LOAD_BALANCER),
        "jumppod" | "jumphost" => Some("jumpHost"),
        "authpod" | "auth" => Some("auth"),
        _ => None,
    }
}

/// Returns whether `services` has fields of early 2021.
pub(super) fn has_legacy(services: &Value) -> bool {
    let is_legacy = |(key, value): (&str, &Value)| match key {
        "serviceType" | "optional" | "nodelabels" | "nodePorts" | "clusterIp" => true,
        "nodeLabels" => value.is_sequence(),
        _ => SSH_KEY.contains(&key),
    };
    entries(services).any(|(name, list)| {
        let mut items = list.as_sequence().into_iter().flatten();
        name == "loadBalancer" || items.any(|item| entries(item).any(is_legacy))
    })
}

impl Converter<'_> {
    /// Converts `infra`: a mapping with one service per kind, or a list of services.
    pub(super) fn infra(&mut self, written: &Value, at: &[RouteStep]) -> Value {
        let today: Route = vec!["spec".into(), "services".into()];
        self.moved.add(today.clone(), at.to_vec());
        let listed: Vec<(Option<&str>, &Value, Route)> = match written {
            Value::Mapping(by_kind) => {
                let by_kind = by_kind.iter();
                by_kind.map(|(name, it)| (name.as_str(), it, below(at, name.as_str()))).collect()
            }
            Value::Sequence(list) => {
                let list = list.iter().enumerate();
                list.map(|(index, it)| {
                    let name = it.get("serviceType").and_then(Value::as_str);
                    (name, it, below(at, [index]))
                })
                .collect()
            }
            Value::Null => Vec::new(),
            other => return other.clone(),
        };
        let mut services = Mapping::new();
        for (name, service, route) in listed {
            let Some(kind) = name.and_then(kind) else {
                let field = service.get("serviceType").map(|_| "serviceType");
                let message = "unknown kind of service";
                let help = "the kinds are loadbalancer, jumphost (once jumppod) and auth (once authpod); today they are lists \
                            under `spec.services`: loadBalancerControlPlane, loadBalancerWorker, jumpHost, auth";
                let field = field.filter(|_| written.is_sequence());
                self.error(Code::Unconvertible, below(&route, field), message, help);
                continue;
            };
            let today = below(&today, [kind]);
            if written.is_mapping() {
                if services.contains_key(kind) {
                    self.twice(route, today);
                    continue;
                }
                // The only service of a mapping becomes the first item of a list.
                self.moved.add(today.clone(), route.clone());
            }
            // Services keep their order within a kind, because it decides their numbers.
            let list = services.entry(kind.into()).or_insert_with(|| Value::Sequence(Vec::new()));
            let Value::Sequence(list) = list else { continue };
            let read = below(&today, [list.len()]);
            self.moved.add(read.clone(), route.clone());
            list.push(self.service(service, &route, &read));
        }
        Value::Mapping(services)
    }

    /// Converts `services` of early 2021.
    pub(super) fn services(&mut self, written: &Value, at: &[RouteStep]) -> Value {
        let Some(fields) = written.as_mapping() else { return written.clone() };
        let mut services = Mapping::new();
        for (name, list) in fields {
            let Some(text) = name.as_str() else { continue };
            let today = if text == "loadBalancer" { LOAD_BALANCER } else { text };
            let (lists, route) = (OlderMapping { fields, at, read: at }, below(at, [text]));
            let Some(read) = self.read_route(&lists, [text, today], &route) else { continue };
            let list = match list {
                Value::Sequence(items) => {
                    let convert = |(index, item): (usize, &Value)| {
                        self.service(item, &below(&route, [index]), &below(&read, [index]))
                    };
                    Value::Sequence(items.iter().enumerate().map(convert).collect())
                }
                other => other.clone(),
            };
            services.insert(today.into(), list);
        }
        Value::Mapping(services)
    }

    /// Converts a service. `at` is its original route, `read` the route in the result.
    fn service(&mut self, written: &Value, at: &[RouteStep], read: &[RouteStep]) -> Value {
        let Some(fields) = written.as_mapping() else { return written.clone() };
        let place = OlderMapping { fields, at, read };
        let mut service = Mapping::new();
        for (key, value) in fields {
            match key.as_str() {
                None | Some("serviceType") => {}
                Some("optional") => self.optional(value, &place, &mut service),
                Some(name) => {
                    self.service_field(name, value, &below(at, [name]), &place, &mut service);
                }
            }
        }
        Value::Mapping(service)
    }

    /// Moves the fields below `optional` up.
    fn optional(&mut self, written: &Value, place: &OlderMapping<'_>, service: &mut Mapping) {
        for (name, value) in entries(written) {
            let route = below(place.at, ["optional", name]);
            if !OPTIONAL.contains(&name) {
                self.unknown_field(name, route, &OPTIONAL);
            } else if place.fields.contains_key(name) {
                self.twice(route, below(place.at, [name]));
            } else {
                self.moved.add(below(place.read, [name]), route.clone());
                self.service_field(name, value, &route, place, service);
            }
        }
    }

    /// Adds a field to a service with its current name and value.
    fn service_field(
        &mut self,
        name: &str,
        value: &Value,
        route: &[RouteStep],
        place: &OlderMapping<'_>,
        service: &mut Mapping,
    ) {
        let today = match name {
            "clusterIp" => "clusterIP",
            "nodelabels" => "nodeLabels",
            "nodePorts" => "nodePort",
            name if SSH_KEY.contains(&name) => "sshAuthorizedKeys",
            name => name,
        };
        let Some(read) = self.read_route(place, [name, today], route) else { return };
        let value = match today {
            "sshAuthorizedKeys" if today != name => self.ssh_keys(value, route, &read),
            "nodeLabels" if value.is_sequence() => self.node_labels(value, route),
            "nodePort" if today != name => match self.node_ports(value, route, &read) {
                Some(port) => port,
                None => return,
            },
            _ => value.clone(),
        };
        service.insert(today.into(), value);
    }

    /// Converts a text with one key per line. Their validity is checked with the current form.
    fn ssh_keys(&mut self, value: &Value, route: &[RouteStep], read: &[RouteStep]) -> Value {
        let Some(text) = value.as_str() else { return value.clone() };
        let keys: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        for index in 0..keys.len() {
            self.moved.add(below(read, [index]), route.to_vec());
        }
        keys.into_iter().map(Value::from).collect::<Vec<_>>().into()
    }

    /// Converts the list of node labels of the oldest generation.
    fn node_labels(&mut self, list: &Value, route: &[RouteStep]) -> Value {
        let mut labels = Mapping::new();
        for (index, item) in list.as_sequence().into_iter().flatten().enumerate() {
            match item.as_str().and_then(|text| text.split_once('=')) {
                Some((key, value)) => {
                    labels.insert(key.trim().into(), value.trim().into());
                }
                None => self.error(
                    Code::Unconvertible,
                    below(route, [index]),
                    "the label of a node has no value",
                    "write `KEY=VALUE`; or, today, a mapping such as `nodeLabels: {kubernetes.io/os: linux}`; or leave \
                     nodeLabels out for the base cluster's control-plane nodes",
                ),
            }
        }
        Value::Mapping(labels)
    }

    /// Converts the list of ports that the oldest generation had for a while.
    fn node_ports(
        &mut self,
        value: &Value,
        route: &[RouteStep],
        read: &[RouteStep],
    ) -> Option<Value> {
        let ports = match value {
            Value::Sequence(ports) => ports.as_slice(),
            Value::Null => &[],
            other => std::slice::from_ref(other),
        };
        match ports {
            [] => None,
            [port] => {
                let item = value.is_sequence().then_some(0);
                self.moved.add(read.to_vec(), below(route, item));
                Some(port.clone())
            }
            _ => {
                let message = "the service has several NodePorts, but supports only one";
                let help = "keep the port that clients use: `nodePort: PORT`";
                self.error(Code::Unconvertible, route.to_vec(), message, help);
                None
            }
        }
    }
}
