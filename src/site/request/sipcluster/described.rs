//! Validates services that only the descriptor of their kind describes.

use serde_json::Value;

use super::{OTHER_RANGE, RequestValidation, Route, ServiceDetails, below};
use crate::base::api::described_service::DescribedService;
use crate::base::api::names::NodePort;
use crate::base::api::service_kind::EntryDescriptor;
use crate::base::finding::Code;
use crate::site::request::service::KindSettings;

impl RequestValidation<'_, '_> {
    /// Returns the NodePorts of a service, and its other fields with their defaults. The types of all
    /// fields are those of the schema.
    pub(super) fn described(
        &mut self,
        descriptor: &EntryDescriptor,
        service: &DescribedService,
        route: &Route,
    ) -> ServiceDetails {
        let mut fields = service.fields.clone();
        fields.retain(|_, value| !value.is_null());
        let has = |field: &str| descriptor.fields.contains_key(field);
        let integer = |value: Option<Value>| value.as_ref().and_then(Value::as_i64);
        let node_ports = if has("nodePortRange") {
            self.node_port_range(fields.remove("nodePortRange"), route)
        } else if has("nodePort") {
            self.node_port(integer(fields.remove("nodePort")), route).map(|port| vec![port])
        } else {
            Some(Vec::new())
        };
        if has("replicas") {
            let replicas = self.replicas(integer(fields.remove("replicas")), route);
            fields.insert("replicas".to_owned(), replicas.into());
        }
        for (name, schema) in &descriptor.fields {
            let default = schema.keywords().get("default");
            let value = fields.get(name).or(default).cloned();
            let valid = match &value {
                Some(value) => schema.violation(value, name).map_or(Ok(()), Err),
                None if descriptor.required.contains(name) => Err(format!("{name} is missing")),
                None => Ok(()),
            };
            let help = "docs/reference/sipcluster.md has the fields of services";
            self.accept(valid, Code::InvalidField, below(route, [name.as_str()]), help)?;
            fields.extend(value.map(|value| (name.clone(), value)));
        }
        Some((node_ports?, KindSettings::Described(fields)))
    }

    fn node_port_range(&mut self, range: Option<Value>, route: &Route) -> Option<Vec<NodePort>> {
        let range_route = below(route, ["nodePortRange"]);
        let end = |field: &str| range.as_ref()?.get(field)?.as_i64();
        let (known, ports) = self.known_ports();
        let ends = end("start").zip(end("end")).ok_or("the service has no nodePortRange");
        let help = format!("write `nodePortRange: {{start: N, end: N}}` with ports of {ports}");
        let (start, end) = self.accept(ends, Code::MissingField, range_route.clone(), help)?;
        if start > end {
            let message = format!("the nodePortRange ends at {end} before it starts at {start}");
            let help = "write the lower port as `start`";
            self.report(Code::InvalidField, range_route, message, help);
            return None;
        }
        for (field, number) in [("start", start), ("end", end)] {
            let port = known.port(number).map_err(|error| format!("NodePort {number} {error}"));
            let help = format!("choose ports of {ports}{OTHER_RANGE}");
            self.accept(port, Code::InvalidField, below(&range_route, [field]), help)?;
        }
        (start..=end).map(|number| known.port(number).ok()).collect()
    }
}
