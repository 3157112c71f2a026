//! Endpoints of clusters that users know, and open NodePorts.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::{ChangedFiles, Texts, below, changed_keys, config_map};
use crate::base::api::names::{ClusterKey, NodePort};
pub use crate::base::api::service_kind::EndpointKind;
use crate::base::api::service_kind::ServiceKind;
use crate::base::layout;
use crate::site::previous::node_ports;

/// Change of a cluster's endpoint.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct EndpointChange {
    /// Kind of the endpoint.
    pub kind: EndpointKind,
    /// Name of the service's directory.
    pub service: String,
    /// Value before.
    pub before: Option<String>,
    /// Value after.
    pub after: Option<String>,
}

/// Computes the changes of a cluster's endpoints.
pub(super) fn changes(cluster: &ClusterKey, files: &ChangedFiles<'_>) -> Vec<EndpointChange> {
    let mut changes = Vec::new();
    let told = layout::tenant_directory(cluster).join(layout::ENDPOINTS);
    if let Some(texts) = files.get(told.as_path()) {
        changes.extend(changed(*texts, |text| {
            let data = config_map(text).into_iter();
            data.filter_map(|(key, value)| Some((known(&key)?, value))).collect()
        }));
    }
    for (path, texts) in below(files, &layout::cluster_directory(cluster)) {
        if let Some((service, layout::SERVICE)) = path.as_str().split_once('/') {
            changes.extend(changed(texts, |text| {
                let ports: BTreeSet<NodePort> = node_ports(text).into_iter().collect();
                let ports = NodePort::ranges(ports).join(", ");
                let endpoint = (EndpointKind::NodePorts, service.to_owned());
                BTreeMap::from_iter((!ports.is_empty()).then_some((endpoint, ports)))
            }));
        }
    }
    changes.sort();
    changes
}

type Endpoints = BTreeMap<(EndpointKind, String), String>;

/// Returns the endpoints in which two texts differ.
fn changed(texts: Texts<'_>, read: impl Fn(&str) -> Endpoints) -> Vec<EndpointChange> {
    let [before, after] = texts.map(|text| text.map(&read).unwrap_or_default());
    let change = |(endpoint, _): (&(EndpointKind, String), _)| EndpointChange {
        kind: endpoint.0,
        service: endpoint.1.clone(),
        before: before.get(endpoint).cloned(),
        after: after.get(endpoint).cloned(),
    };
    changed_keys(&before, &after).map(change).collect()
}

/// Maps a key to its endpoint: `jump-host2-endpoint` belongs to the second jump host.
fn known(key: &str) -> Option<(EndpointKind, String)> {
    ServiceKind::all().iter().find_map(|kind| {
        let endpoint = kind.endpoint.as_ref()?;
        let number = key.strip_prefix(&endpoint.prefix)?.strip_suffix(&endpoint.suffix)?;
        let is_number = number.chars().all(|c| c.is_ascii_digit());
        is_number.then(|| (endpoint.kind, format!("{}{number}", kind.component)))
    })
}

impl EndpointChange {
    /// Reports whether open ports are closed.
    pub(super) fn closes_ports(&self) -> bool {
        let ports = |text: &Option<String>| -> BTreeSet<u16> {
            let ranges = text.iter().flat_map(|text| text.split(", "));
            let ends = ranges.map(|range| range.split_once('-').unwrap_or((range, range)));
            ends.filter_map(|(first, last)| Some(first.parse::<u16>().ok()?..=last.parse().ok()?))
                .flatten()
                .collect()
        };
        self.kind == EndpointKind::NodePorts && !ports(&self.before).is_subset(&ports(&self.after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node_ports(before: &str, after: &str) -> EndpointChange {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let service = "loadbalancer-worker".to_owned();
        EndpointChange {
            kind: EndpointKind::NodePorts,
            service,
            before: text(before),
            after: text(after),
        }
    }

    #[test]
    fn a_range_that_grows_closes_no_port() {
        assert!(!node_ports("30080-30082", "30079-30085").closes_ports());
        assert!(!node_ports("", "30080").closes_ports());
    }

    #[test]
    fn a_port_that_is_no_longer_there_is_closed() {
        assert!(node_ports("30080-30082", "30081-30085").closes_ports());
        assert!(node_ports("30022", "30023").closes_ports());
        assert!(node_ports("30022", "").closes_ports());
    }

    #[test]
    fn a_second_service_of_a_kind_is_told_by_its_number() {
        assert_eq!(
            known("jump-host2-endpoint"),
            Some((EndpointKind::JumpHost, "jumphost2".to_owned()))
        );
        assert_eq!(known("oidc-issuer-url"), Some((EndpointKind::Issuer, "auth".to_owned())));
        for other in ["control-plane-endpoint-port", "oidc-client-id", "control-planes-endpoint"] {
            assert_eq!(known(other), None, "{other}");
        }
    }
}
