//! Evidence that a host is in use, beside its status.
//!
//! Metal3 provisions a host as soon as it has an image or a custom deploy. Cluster API's Metal3
//! provider (CAPM3) skips hosts that have a consumer. A manifest shows these before any status
//! does; one that was exported from another cluster shows them for ever.

use std::fmt;

use super::host_document::HostDocument;
use crate::base::api::cluster_api::{self, MACHINE, METAL3_MACHINE};
use crate::base::api::host::{BareMetalHostSpec, NODE_REUSE};
use crate::base::finding::RouteStep;
use crate::base::text::non_empty;

/// A reason why a host is in use, by its own fields and labels, as a clause that follows "the host".
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Display)]
pub enum HostUsage {
    /// `spec.consumerRef`.
    #[display("is in use by {_0}")]
    Consumer(HostConsumer),
    /// `spec.externallyProvisioned`.
    #[display("is in use: spec.externallyProvisioned is true")]
    ExternallyProvisioned,
    /// `spec.image`.
    #[display("is in use: it has spec.image")]
    Image,
    /// `spec.customDeploy`.
    #[display("is in use: it has spec.customDeploy")]
    CustomDeploy,
    /// The label [`NODE_REUSE`], with the name of the control plane or MachineDeployment that the
    /// host is reserved for.
    #[display("is kept for {} by the label {NODE_REUSE}", machines_of(_0))]
    NodeReuse(String),
}

/// The object that consumes a host. Any reference counts, because Metal3 checks none of its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostConsumer {
    kind: String,
    namespace: String,
    name: Option<String>,
}

impl fmt::Display for HostConsumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, namespace, name } = self;
        match name {
            Some(name) => write!(f, "{kind} {namespace}/{name}"),
            None => write!(f, "{kind} without a name in {namespace}"),
        }
    }
}

fn machines_of(owner: &str) -> String {
    if owner.is_empty() { "a Machine".to_owned() } else { format!("Machines of {owner}") }
}

impl HostUsage {
    /// Returns every usage in a host's document, the consumer first.
    pub(crate) fn all_of(document: &HostDocument) -> impl Iterator<Item = HostUsage> {
        let spec = document.host.spec.as_ref();
        let label = document.host.metadata.label(NODE_REUSE);
        let spec_usage = |is: fn(&BareMetalHostSpec) -> bool, usage: HostUsage| {
            spec.is_some_and(is).then_some(usage)
        };
        [
            HostConsumer::new(document).map(HostUsage::Consumer),
            spec_usage(
                |spec| spec.externally_provisioned == Some(true),
                HostUsage::ExternallyProvisioned,
            ),
            spec_usage(BareMetalHostSpec::has_image, HostUsage::Image),
            spec_usage(BareMetalHostSpec::has_custom_deploy, HostUsage::CustomDeploy),
            label.map(|owner| HostUsage::NodeReuse(owner.to_owned())),
        ]
        .into_iter()
        .flatten()
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
        match self {
            HostUsage::NodeReuse(_) => {
                vec!["metadata".into(), "labels".into(), self.field().into()]
            }
            _ => vec!["spec".into(), self.field().into()],
        }
    }

    fn field(&self) -> &'static str {
        match self {
            HostUsage::Consumer(_) => "consumerRef",
            HostUsage::ExternallyProvisioned => "externallyProvisioned",
            HostUsage::Image => "image",
            HostUsage::CustomDeploy => "customDeploy",
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
