//! Validates load balancers.

use std::ops::RangeInclusive;

use super::{OTHER_RANGE, Route, SipclusterValidation, below};
use crate::base::api::names::NodePort;
use crate::base::api::sipcluster::{self, LoadBalancerControlPlane, LoadBalancerWorker};
use crate::base::finding::Code;
use crate::site::request::service::{
    ApiServerCheck, ControlPlaneLoadBalancer, Detail, WorkerLoadBalancer,
};

impl SipclusterValidation<'_> {
    pub(super) fn load_balancer_control_plane(
        &mut self,
        entry: &LoadBalancerControlPlane,
        route: &Route,
    ) -> Option<Detail> {
        let node_port = self.node_port(entry.node_port, route);
        let replicas = self.replicas(entry.replicas, route);
        let health_check = self.health_check(entry.health_check.as_deref(), route);
        Some(Detail::ControlPlaneLoadBalancer(ControlPlaneLoadBalancer {
            node_port: node_port?,
            replicas: replicas?,
            health_check: health_check?,
        }))
    }

    fn health_check(&mut self, name: Option<&str>, route: &Route) -> Option<ApiServerCheck> {
        match name {
            None | Some("readyz") => Some(ApiServerCheck::Readyz),
            Some("tcp") => Some(ApiServerCheck::Tcp),
            Some(other) => {
                self.report(
                    Code::InvalidField,
                    below(route, ["healthCheck".into()]),
                    format!("unknown healthCheck `{other}`"),
                    "write `readyz` or `tcp`",
                );
                None
            }
        }
    }

    pub(super) fn load_balancer_worker(
        &mut self,
        entry: &LoadBalancerWorker,
        route: &Route,
    ) -> Option<Detail> {
        let node_ports = self.node_port_range(entry.node_port_range.as_ref(), route);
        let replicas = self.replicas(entry.replicas, route);
        Some(Detail::WorkerLoadBalancer(WorkerLoadBalancer {
            node_ports: node_ports?,
            replicas: replicas?,
        }))
    }

    fn node_port_range(
        &mut self,
        range: Option<&sipcluster::PortRange>,
        route: &Route,
    ) -> Option<Vec<NodePort>> {
        let Some(range) = range else {
            let help = format!(
                "write `nodePortRange: {{start: N, end: N}}` with ports of {}",
                self.node_ports()
            );
            self.report(
                Code::MissingField,
                below(route, ["nodePortRange".into()]),
                "the service has no nodePortRange",
                help,
            );
            return None;
        };
        let range_route = below(route, ["nodePortRange".into()]);
        if range.start > range.end {
            let message = format!(
                "the nodePortRange ends at {} before it starts at {}",
                range.end, range.start
            );
            self.report(
                Code::InvalidField,
                range_route,
                message,
                "write the lower port as `start`",
            );
            return None;
        }
        let ends: RangeInclusive<i64> = range.start..=range.end;
        for (field, number) in [("start", range.start), ("end", range.end)] {
            if let Err(error) = self.node_ports.port(number) {
                let route = below(&range_route, [field.into()]);
                self.report(
                    Code::InvalidField,
                    route,
                    format!("NodePort {number} {error}"),
                    format!("choose ports of {}{OTHER_RANGE}", self.node_ports()),
                );
                return None;
            }
        }
        ends.map(|number| self.node_ports.port(number).ok()).collect()
    }
}
