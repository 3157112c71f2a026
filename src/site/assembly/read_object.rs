//! Objects as documents have them, before builds name them, and sorted by kind.

use std::collections::BTreeSet;
use std::sync::Arc;

use camino::Utf8Path;

use crate::base::api::firmware::FirmwareObject;
use crate::base::api::hardware_identity::HardwareIdentity;
use crate::base::api::host::{BareMetalHost, Metadata};
use crate::base::api::ipam::AddressObject;
use crate::base::api::kustomization::Kustomization;
use crate::base::api::names::ObjectName;
use crate::base::api::provisioning::SoftwareSpec;
use crate::base::api::service::Service;
use crate::base::finding::{Finding, Origin, Place};
use crate::input::decode::suspected_templates::SuspectedTemplate;
use crate::input::decode::yaml_ambiguity::Ambiguity;
use crate::input::kustomize::KustomizationRefusal;
use crate::input::load::Document;
use crate::input::settings::Settings;
use crate::input::settings::requests::ClusterSelection;
use crate::site::delivery::AgentObject;
use crate::site::inventory::networks::NetworkDataObject;
use crate::site::request::cluster_parts::PartDocument;
use crate::site::request::{ClusterKind, Spec};

/// A document of a relevant kind, as written or as builds deliver it.
pub(super) struct ReadObject<T = ReadContent> {
    pub(super) origin: Origin,
    pub(super) content: T,
    /// Mistakes in the document.
    pub(super) findings: Vec<Finding>,
}

/// The content of a document. A site has thousands, so all but small parts are boxed.
pub(super) enum ReadContent {
    Request(Box<RequestContent>),
    Software(Box<SoftwareContent>),
    /// An object that a Cluster of Cluster API consists of.
    ClusterPart(Box<PartDocument>),
    Host(Box<HostContent>),
    /// A pool with addresses for hosts.
    Address(Box<NamedContent<AddressObject>>),
    /// The identity of a host's machine in its HardwareData.
    Hardware(Box<NamedContent<HardwareIdentity>>),
    /// Firmware settings of a host, or their schema.
    Firmware(Box<NamedContent<FirmwareObject>>),
    Secret(SecretContent),
    Kustomization(Box<KustomizationContent>),
    Template(Box<SuspectedTemplate>),
    Agent(Box<AgentObject>),
    Service(Box<Service>),
    /// HAProxy templates of the SIP operator.
    OperatorsTemplates(Vec<Place>),
    /// The definition of a request kind, by its name.
    Definition(&'static str),
    /// A generated file with hosts.
    GeneratedHosts,
    /// A document that cannot be parsed, with the finding about it.
    Unreadable(UnreadableKind),
}

// In tests only: another compiler may lay it out otherwise, and must still build sipgen.
#[cfg(test)]
const _: () = assert!(size_of::<ReadObject>() <= 112);

/// A request: a SIPCluster, a Provisioning or a Cluster.
pub(super) struct RequestContent {
    pub(super) kind: ClusterKind,
    pub(super) metadata: Metadata,
    pub(super) spec: Spec,
}

/// The content of a Software, without one that cannot be decoded.
pub(super) type SoftwareContent = NamedContent<Option<Box<SoftwareSpec>>>;

/// An object with a namespace, and what decides about clusters and hosts.
pub(super) struct NamedContent<T> {
    pub(super) metadata: Metadata,
    pub(super) object: T,
}

pub(super) struct HostContent {
    /// Boxed, because documents move several times until they are joined.
    pub(super) host: Box<BareMetalHost>,
    pub(super) ambiguities: Vec<Ambiguity>,
}

pub(super) struct KustomizationContent {
    pub(super) kustomization: Kustomization,
    /// The reason if kustomize refuses to read it.
    pub(super) refusal: Option<KustomizationRefusal>,
}

/// What matters of a Secret.
pub(super) struct SecretContent {
    /// Registers a cluster in Argo CD.
    pub(super) agent: Option<Box<AgentObject>>,
    pub(super) plain: Option<Box<PlainSecret>>,
    pub(super) network_data: Option<Box<NetworkDataObject>>,
}

/// A Secret with values in plain text. Keys are not shown, because users swap keys and passwords.
pub(super) struct PlainSecret {
    pub(super) origin: Origin,
    /// Place of the name.
    pub(super) place: Place,
    pub(super) name: Option<ObjectName>,
}

/// The kind of a document that cannot be parsed, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnreadableKind {
    Host,
    /// An object of Cluster API, which matters only beside requests of that kind.
    ClusterPart,
    Other,
}

impl ReadObject<()> {
    fn with_content<C>(self, content: C) -> ReadObject<C> {
        ReadObject { origin: self.origin, content, findings: self.findings }
    }
}

impl ReadObject {
    pub(super) fn new(document: &Document<'_>, content: ReadContent) -> Self {
        ReadObject { origin: document.origin.clone(), content, findings: Vec::new() }
    }

    pub(super) fn unreadable(
        document: &Document<'_>,
        kind: UnreadableKind,
        finding: Finding,
    ) -> Self {
        Self::new(document, ReadContent::Unreadable(kind)).with(vec![finding])
    }

    /// Adds findings.
    pub(super) fn with(mut self, findings: Vec<Finding>) -> Self {
        self.findings.extend(findings);
        self
    }

    /// Returns whether the object configures an agent.
    pub(super) fn is_for_agents(&self) -> bool {
        match &self.content {
            ReadContent::Secret(secret) => secret.agent.is_some(),
            other => matches!(other, ReadContent::Agent(_)),
        }
    }

    /// Returns whether the object is a Cluster of Cluster API that requests hosts.
    pub(super) fn is_cluster_api_request(&self, settings: &Settings) -> bool {
        match &self.content {
            ReadContent::Request(request) => request.is_cluster_api_request(settings),
            _ => false,
        }
    }
}

impl RequestContent {
    /// Returns whether this is a request, and not a Cluster that sipgen leaves alone.
    pub(super) fn is_asked(&self, settings: &Settings) -> bool {
        (self.kind.descriptor().is_request)(&self.metadata, settings)
    }

    /// Returns whether this is a Cluster of Cluster API that requests hosts.
    fn is_cluster_api_request(&self, settings: &Settings) -> bool {
        self.kind.descriptor().makes_machines && self.is_asked(settings)
    }
}

/// Objects by kind.
#[derive(Default)]
pub(super) struct ObjectsByKind {
    pub(super) requests: Vec<ReadObject<Box<RequestContent>>>,
    pub(super) software: Vec<ReadObject<Box<SoftwareContent>>>,
    pub(super) cluster_parts: Vec<ReadObject<Box<PartDocument>>>,
    pub(super) hosts: Vec<ReadObject<Box<HostContent>>>,
    pub(super) network_data: Vec<ReadObject<Box<NetworkDataObject>>>,
    pub(super) services: Vec<ReadObject<Box<Service>>>,
    pub(super) addresses: Vec<ReadObject<Box<NamedContent<AddressObject>>>>,
    pub(super) hardware: Vec<ReadObject<Box<NamedContent<HardwareIdentity>>>>,
    pub(super) firmware: Vec<ReadObject<Box<NamedContent<FirmwareObject>>>>,
    pub(super) unreadable: Vec<ReadObject<UnreadableKind>>,
    pub(super) plain_secrets: Vec<PlainSecret>,
    pub(super) templates: Vec<SuspectedTemplate>,
    pub(super) agents: Vec<AgentObject>,
    pub(super) operators_templates: Vec<Place>,
    pub(super) definitions: BTreeSet<&'static str>,
    pub(super) generated_hosts: Vec<Arc<Utf8Path>>,
}

impl ObjectsByKind {
    pub(super) fn new(objects: impl Iterator<Item = ReadObject>) -> Self {
        let mut all = Self::default();
        objects.for_each(|object| all.add(object));
        all
    }

    fn add(&mut self, object: ReadObject) {
        let ReadObject { origin, content, findings } = object;
        let object = ReadObject { origin, content: (), findings };
        match content {
            ReadContent::Request(content) => self.requests.push(object.with_content(content)),
            ReadContent::Software(content) => self.software.push(object.with_content(content)),
            ReadContent::ClusterPart(content) => {
                self.cluster_parts.push(object.with_content(content))
            }
            ReadContent::Host(content) => self.hosts.push(object.with_content(content)),
            ReadContent::Secret(SecretContent { agent, plain, network_data }) => {
                self.agents.extend(agent.map(|agent| *agent));
                self.plain_secrets.extend(plain.map(|plain| *plain));
                self.network_data.extend(network_data.map(|content| object.with_content(content)));
            }
            ReadContent::Service(content) => self.services.push(object.with_content(content)),
            ReadContent::Address(content) => self.addresses.push(object.with_content(content)),
            ReadContent::Hardware(content) => self.hardware.push(object.with_content(content)),
            ReadContent::Firmware(content) => self.firmware.push(object.with_content(content)),
            ReadContent::Unreadable(content) => self.unreadable.push(object.with_content(content)),
            ReadContent::Template(template) => self.templates.push(*template),
            ReadContent::Agent(object) => self.agents.push(*object),
            ReadContent::OperatorsTemplates(templates) => {
                self.operators_templates.extend(templates);
            }
            ReadContent::Definition(name) => _ = self.definitions.insert(name),
            ReadContent::GeneratedHosts => self.generated_hosts.push(object.origin.file),
            // Rendered kustomizations build nothing. Those of the repo were removed earlier.
            ReadContent::Kustomization(_) => {}
        }
    }

    /// Returns whether a Cluster of Cluster API is a request, or any may be.
    pub(super) fn has_cluster_api_request(&self, settings: &Settings) -> bool {
        let mut requests = self.requests.iter();
        settings.requests.cluster_api.clusters == ClusterSelection::All
            || requests.any(|request| request.content.is_cluster_api_request(settings))
    }

    /// Returns the origins of requests and Softwares.
    pub(super) fn request_origins(&self) -> impl Iterator<Item = &Origin> {
        let requests = self.requests.iter().map(|request| &request.origin);
        requests.chain(self.software.iter().map(|software| &software.origin))
    }
}
