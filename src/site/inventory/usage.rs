//! Evidence that a host is in use, beside its status.
//!
//! Metal3 provisions a host as soon as it has an image or a custom deploy. Cluster API's Metal3
//! provider (CAPM3) skips hosts that have a consumer. A manifest shows these before any status
//! does; one that was exported from another cluster shows them for ever.

use super::host_document::HostDocument;
use crate::base::api::cluster_api::{self, MACHINE, METAL3_MACHINE};
use crate::base::api::host::NODE_REUSE;
use crate::base::finding::RouteStep;
use crate::base::text::non_empty;

/// The field of a host on which Metal3 installs nothing.
pub const EXTERNALLY_PROVISIONED: &str = "externallyProvisioned";

/// A reason why a host is in use, by its own fields and labels, as a clause that follows "the host".
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Display)]
pub enum HostUsage {
    /// `spec.consumerRef`.
    #[display("is in use by {_0}")]
    Consumer(HostConsumer),
    /// The field of the spec that says what runs on it: [`EXTERNALLY_PROVISIONED`], `image` or
    /// `customDeploy`.
    #[display("is in use: {}", said_by(_0))]
    System(&'static str),
    /// The label [`NODE_REUSE`], with the name of the control plane or MachineDeployment that the
    /// host is reserved for.
    #[display("is kept for {} by the label {NODE_REUSE}", machines_of(_0))]
    NodeReuse(String),
}

/// The object that consumes a host. Any reference counts, because Metal3 checks none of its fields.
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Display)]
#[display("{kind} {}", match name {
    Some(name) => format!("{namespace}/{name}"),
    None => format!("without a name in {namespace}"),
})]
pub struct HostConsumer {
    kind: String,
    namespace: String,
    name: Option<String>,
}

fn said_by(field: &str) -> String {
    match field {
        EXTERNALLY_PROVISIONED => format!("spec.{field} is true"),
        _ => format!("it has spec.{field}"),
    }
}

fn machines_of(owner: &str) -> String {
    if owner.is_empty() { "a Machine".to_owned() } else { format!("Machines of {owner}") }
}

impl HostUsage {
    /// Returns every usage in a host's document, the consumer first.
    pub(crate) fn all_of(document: &HostDocument) -> impl Iterator<Item = HostUsage> {
        let system = document.host.spec.iter().flat_map(|spec| {
            let is_external = spec.externally_provisioned == Some(true);
            [
                is_external.then_some(EXTERNALLY_PROVISIONED),
                spec.has_image().then_some("image"),
                spec.has_custom_deploy().then_some("customDeploy"),
            ]
        });
        let label = document.host.metadata.label(NODE_REUSE);
        let consumer = HostConsumer::new(document).map(HostUsage::Consumer);
        let system = system.flatten().map(HostUsage::System);
        let label = label.map(|owner| HostUsage::NodeReuse(owner.to_owned()));
        consumer.into_iter().chain(system).chain(label)
    }

    /// Returns namespace and name of the Metal3Machine that consumes the host.
    pub(crate) fn metal3_machine(&self) -> Option<(&str, &str)> {
        self.consumer_with_kind(METAL3_MACHINE)
    }

    /// Returns namespace and name of the Metal3Machine, or Machine of OpenShift, that consumes the host.
    pub(crate) fn machine(&self) -> Option<(&str, &str)> {
        self.metal3_machine().or_else(|| self.consumer_with_kind(MACHINE))
    }

    /// Returns namespace and name of the Cluster that consumes the host: CAPM3 1.14 names it while a
    /// host waits for its next Machine.
    pub(crate) fn waiting_cluster(&self) -> Option<(&str, &str)> {
        self.consumer_with_kind(cluster_api::KIND)
    }

    fn consumer_with_kind(&self, kind: &str) -> Option<(&str, &str)> {
        match self {
            HostUsage::Consumer(consumer) if consumer.kind == kind => {
                Some((&consumer.namespace, consumer.name.as_deref()?))
            }
            _ => None,
        }
    }

    /// Describes the user of the host.
    pub fn user(&self) -> String {
        match self {
            HostUsage::Consumer(consumer) => consumer.to_string(),
            HostUsage::NodeReuse(_) => format!("a future Machine ({NODE_REUSE})"),
            _ => format!("another owner (spec.{})", self.field()),
        }
    }

    /// Returns the rule as counted in summaries: "5 in use (consumerRef)".
    pub(crate) fn rule(&self) -> String {
        match self {
            HostUsage::NodeReuse(_) => "kept for a Machine (label node-reuse)".to_owned(),
            _ => format!("in use ({})", self.field()),
        }
    }

    /// Returns the route of the field or label.
    pub(crate) fn route(&self) -> Vec<RouteStep> {
        let above: &[&str] = match self {
            HostUsage::NodeReuse(_) => &["metadata", "labels"],
            _ => &["spec"],
        };
        above.iter().copied().chain([self.field()]).map(RouteStep::from).collect()
    }

    fn field(&self) -> &'static str {
        match self {
            HostUsage::Consumer(_) => "consumerRef",
            HostUsage::System(field) => field,
            HostUsage::NodeReuse(_) => NODE_REUSE,
        }
    }
}

impl HostConsumer {
    fn new(document: &HostDocument) -> Option<Self> {
        let consumer = document.host.spec.as_ref()?.consumer_ref.as_ref()?;
        let own = document.key.namespace.as_str();
        Some(Self {
            kind: non_empty(&consumer.kind).unwrap_or("object").to_owned(),
            namespace: non_empty(&consumer.namespace).unwrap_or(own).to_owned(),
            name: non_empty(&consumer.name).map(str::to_owned),
        })
    }
}
