//! The typed objects of a repo by kind.

use std::collections::BTreeSet;

use camino::Utf8PathBuf;

use super::concern::Concern;
use super::inputs::InputSelection;
use super::interpret::{InterpretedObject, is_kustomization};
use super::plaintext_secrets::PlainSecret;
use crate::base::api::hardware_identity::HardwareIdentity;
use crate::base::api::host::{BareMetalHost, Metadata};
use crate::base::api::ipam::AddressObject;
use crate::base::api::provisioning::SoftwareSpec;
use crate::base::api::service::Service;
use crate::base::finding::{Code, Finding, Origin, Place};
use crate::input::decode::suspected_templates::SuspectedTemplate;
use crate::input::decode::yaml_ambiguity::Ambiguity;
use crate::input::kustomize::Builds;
use crate::input::settings::Settings;
use crate::input::settings::requests::ClusterSelection;
use crate::site::delivery::AgentObject;
use crate::site::inventory::networks::NetworkDataObject;
use crate::site::request::cluster_api;
use crate::site::request::cluster_parts::PartDocument;
use crate::site::request::{ClusterKind, Spec};

/// Objects by kind, before builds name them.
#[derive(Default)]
pub(super) struct ByKind {
    pub(super) clusters: Vec<ReadCluster>,
    pub(super) software: Vec<ReadSoftware>,
    pub(super) cluster_parts: Vec<PartDocument>,
    pub(super) broken_cluster_parts: Vec<(Origin, Finding)>,
    pub(super) hosts: Vec<ReadHost>,
    pub(super) secrets: Vec<(Origin, Box<NetworkDataObject>)>,
    pub(super) plain_secrets: Vec<PlainSecret>,
    pub(super) templates: Vec<SuspectedTemplate>,
    pub(super) agent_objects: Vec<AgentObject>,
    pub(super) services: Vec<(Origin, Box<Service>)>,
    pub(super) address_objects: Vec<(Origin, Metadata, AddressObject)>,
    pub(super) hardware: Vec<(Origin, Metadata, HardwareIdentity)>,
    pub(super) operators_templates: Vec<Place>,
    pub(super) definitions: BTreeSet<&'static str>,
    pub(super) generated_hosts: Vec<Utf8PathBuf>,
    pub(super) unreadable: Vec<(Origin, Finding)>,
    pub(super) unreadable_hosts: Vec<(Origin, Finding)>,
}

pub(super) type ReadCluster = (Origin, ClusterKind, Box<Metadata>, Spec, Vec<Finding>);
pub(super) type ReadSoftware = (Origin, Box<Metadata>, Option<Box<SoftwareSpec>>, Vec<Finding>);
pub(super) type ReadHost = (Origin, Box<BareMetalHost>, Vec<Ambiguity>, Option<Box<Finding>>);

impl ByKind {
    pub(super) fn from_objects(objects: impl Iterator<Item = InterpretedObject>) -> Self {
        let mut all = Self::default();
        objects.for_each(|object| all.add(object));
        all
    }

    fn add(&mut self, object: InterpretedObject) {
        match object {
            InterpretedObject::Cluster(origin, kind, metadata, spec, found) => {
                self.clusters.push((origin, kind, metadata, spec, found));
            }
            InterpretedObject::Software(origin, metadata, spec, found) => {
                self.software.push((origin, metadata, spec, found));
            }
            InterpretedObject::ClusterPart(part) => self.cluster_parts.push(*part),
            InterpretedObject::BrokenClusterPart(origin, finding) => {
                self.broken_cluster_parts.push((origin, *finding));
            }
            InterpretedObject::Host(origin, host, doubts, found) => {
                self.hosts.push((origin, host, doubts, found));
            }
            InterpretedObject::Secret(origin, object) => self.secrets.push((origin, object)),
            InterpretedObject::PlainSecret(plain, network_data) => {
                self.plain_secrets.push(*plain);
                self.secrets.extend(network_data);
            }
            // Rendered kustomizations build nothing. Those of the repo were removed earlier.
            InterpretedObject::Kustomization(..) => {}
            InterpretedObject::Template(template) => self.templates.push(*template),
            InterpretedObject::Agent(object) => self.agent_objects.push(*object),
            InterpretedObject::ClusterSecret(object, plain) => {
                self.agent_objects.push(*object);
                self.plain_secrets.extend(plain.map(|plain| *plain));
            }
            InterpretedObject::Service(origin, service) => self.services.push((origin, service)),
            InterpretedObject::Address(origin, object) => {
                let (metadata, object) = *object;
                self.address_objects.push((origin, metadata, object));
            }
            InterpretedObject::Hardware(origin, object) => {
                let (metadata, identity) = *object;
                self.hardware.push((origin, metadata, identity));
            }
            InterpretedObject::OperatorsTemplates(templates) => {
                self.operators_templates.extend(templates)
            }
            InterpretedObject::Definition(name) => {
                self.definitions.insert(name);
            }
            InterpretedObject::GeneratedHosts(file) => self.generated_hosts.push(file),
            InterpretedObject::Unreadable(origin, finding) => {
                self.unreadable.push((origin, *finding))
            }
            InterpretedObject::UnreadableHost(origin, finding) => {
                self.unreadable_hosts.push((origin, *finding));
            }
        }
    }

    pub(super) fn host_documents(&self) -> impl Iterator<Item = (&Origin, &BareMetalHost)> {
        self.hosts.iter().map(|(origin, host, ..)| (origin, &**host))
    }

    /// Returns whether a Cluster of Cluster API is a request, or any may be.
    pub(super) fn has_cluster_api_request(&self, settings: &Settings) -> bool {
        let is_asked = |(_, kind, metadata, ..): &ReadCluster| {
            *kind == ClusterKind::ClusterApi && cluster_api::is_asked(metadata, settings)
        };
        settings.requests.cluster_api.clusters == ClusterSelection::All
            || self.clusters.iter().any(is_asked)
    }

    pub(super) fn request_origins(&self) -> impl Iterator<Item = &Origin> {
        let clusters = self.clusters.iter().map(|(origin, ..)| origin);
        clusters.chain(self.software.iter().map(|(origin, ..)| origin))
    }

    /// Takes the findings about unreadable documents that are inputs.
    pub(super) fn unreadable(
        &mut self,
        builds: &Builds,
        inputs: &InputSelection<'_>,
        concern: &Concern<'_>,
    ) -> Vec<Finding> {
        // A patch may omit its apiVersion. It is not an object.
        let is_patch = |origin: &Origin, finding: &Finding| {
            finding.code == Code::NearMiss && builds.is_patch(&origin.file)
        };
        let mut findings = Vec::new();
        for (origin, finding) in self.unreadable.drain(..) {
            if is_kustomization(&origin.file) {
                findings.push(concern.kustomization_finding(finding));
            } else if inputs.contains(&origin) && !is_patch(&origin, &finding) {
                findings.push(finding);
            }
        }
        for (origin, finding) in self.unreadable_hosts.drain(..) {
            if inputs.contains(&origin) && !is_patch(&origin, &finding) {
                findings.push(concern.host_finding(finding, &origin));
            }
        }
        findings
    }
}
