//! MachineHealthChecks with CAPM3's remediation.
//!
//! It marks the host of a Machine that it cannot repair as unhealthy, and the Machine is replaced. No
//! Machine may claim that host any more, so the next one needs another.

use kube::core::SelectorExt;

use super::scaled::ScaledMachines;
use crate::base::api::cluster_api::{
    CLUSTER_NAME, CONTROL_PLANE_LABEL, DEPLOYMENT_NAME, HEALTH_CHECK, HealthCheckSpec,
    REMEDIATION_TEMPLATE, SPARE, TOPOLOGY_DEPLOYMENT_NAME,
};
use crate::base::api::names::LabelMap;
use crate::base::finding::{Code, Finding, Place};
use crate::input::decode::label_selector;
use crate::site::request::cluster::PartNodeSets;
use crate::site::request::cluster_parts::PartSpec;
use crate::site::request::documents::RequestValidation;

impl RequestValidation<'_, '_> {
    /// Reports MachineHealthChecks that replace Machines of node sets without spare hosts.
    pub(super) fn health_checks(&mut self, sets: &[ScaledMachines<'_>], node_sets: &PartNodeSets) {
        let key = &self.document.key;
        let objects = self.context.cluster_parts.parts_with_kind(HEALTH_CHECK, &key.namespace);
        let checks = objects.filter_map(|(name, document)| match &document.spec {
            Ok(PartSpec::HealthCheck(check)) if check.cluster_name == key.name.as_str() => {
                let title = format!("the MachineHealthCheck {}/{name}", key.namespace);
                Some((title, check, document.origin.name()))
            }
            _ => None,
        });
        let checks: Vec<_> = checks.collect();
        for set in sets {
            let node_set = node_sets.get(&self.part(set));
            if !node_set.is_some_and(|it| it.active > 0 && it.standby() == 0) {
                continue;
            }
            let labels = self.machine_labels(set);
            let title = "the MachineHealthCheck of the topology";
            let made = set.health_check;
            let made = made.map(|check| (title.to_owned(), check, self.document.origin.name()));
            let selecting = checks.iter().filter(|(_, check, _)| selects(check, &labels)).cloned();
            for (title, _, place) in made.into_iter().chain(selecting).filter(is_by_capm3) {
                let set_title = set.title();
                let message =
                    format!("{title} replaces Machines of {set_title}, which has no spare host");
                let help = format!(
                    "the next Machine waits until a snapshot shows the unhealthy host and sipgen replaces it: annotate \
                     {set_title} with `{SPARE}: \"1\"`"
                );
                let finding = Finding::new(Code::RemediationWithoutSpare, message).at(place);
                self.findings.push(finding.see(set.at.place(), "its hosts").help(help));
            }
        }
    }

    /// Returns the labels of a node set's Machines.
    fn machine_labels(&self, set: &ScaledMachines<'_>) -> LabelMap {
        let given = set.machine_labels.iter().rev().copied().flatten();
        let mut labels: LabelMap = given.map(|(key, value)| (key.clone(), value.clone())).collect();
        labels.insert(CLUSTER_NAME.to_owned(), self.document.key.name.to_string());
        let own = match set.name {
            None => vec![(CONTROL_PLANE_LABEL, "")],
            Some(name) => vec![(DEPLOYMENT_NAME, name), (TOPOLOGY_DEPLOYMENT_NAME, name)],
        };
        labels.extend(own.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())));
        labels
    }
}

fn is_by_capm3((_, check, _): &(String, &HealthCheckSpec, Place)) -> bool {
    check.remediation().is_some_and(|template| template.kind == REMEDIATION_TEMPLATE)
}

fn selects(check: &HealthCheckSpec, labels: &LabelMap) -> bool {
    let selector = check.selector.as_ref().map(label_selector::check);
    matches!(selector, Some(Ok(selector)) if selector.matches(labels))
}
