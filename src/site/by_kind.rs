//! The typed objects of a repo by kind.

use std::collections::BTreeSet;

use camino::Utf8PathBuf;

use super::concern::Concern;
use super::inputs::Inputs;
use super::interpret::{Object, is_kustomization};
use super::operators_templates::OperatorsTemplate;
use super::plaintext_secrets::PlainSecret;
use crate::api::hardware_identity::HardwareIdentity;
use crate::api::host::{BareMetalHost, Metadata};
use crate::api::ipam::AddressObject;
use crate::api::provisioning::SoftwareSpec;
use crate::api::service::Service;
use crate::decode::suspected_templates::SuspectedTemplate;
use crate::decode::yaml_ambiguity::Ambiguity;
use crate::delivery::AgentObject;
use crate::finding::{Code, Finding, Origin};
use crate::inventory::networks::NetworkDataObject;
use crate::kustomize::Builds;
use crate::request::cluster_api;
use crate::request::cluster_parts::PartDocument;
use crate::request::{ClusterKind, Spec};
use crate::settings::Settings;
use crate::settings::requests::ClusterSelection;

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
    pub(super) operators_templates: Vec<OperatorsTemplate>,
    pub(super) definitions: BTreeSet<&'static str>,
    pub(super) generated_hosts: Vec<Utf8PathBuf>,
    pub(super) unreadable: Vec<(Origin, Finding)>,
    pub(super) unreadable_hosts: Vec<(Origin, Finding)>,
}

pub(super) type ReadCluster = (Origin, ClusterKind, Box<Metadata>, Spec, Vec<Finding>);
pub(super) type ReadSoftware = (
    Origin,
    Box<Metadata>,
    Option<Box<SoftwareSpec>>,
    Vec<Finding>,
);
pub(super) type ReadHost = (
    Origin,
    Box<BareMetalHost>,
    Vec<Ambiguity>,
    Option<Box<Finding>>,
);

impl ByKind {
    pub(super) fn of(objects: impl Iterator<Item = Object>) -> Self {
        let mut all = Self::default();
        objects.for_each(|object| all.add(object));
        all
    }

    fn add(&mut self, object: Object) {
        match object {
            Object::Cluster(origin, kind, metadata, spec, found) => {
                self.clusters.push((origin, kind, metadata, spec, found));
            }
            Object::Software(origin, metadata, spec, found) => {
                self.software.push((origin, metadata, spec, found));
            }
            Object::ClusterPart(part) => self.cluster_parts.push(*part),
            Object::BrokenClusterPart(origin, finding) => {
                self.broken_cluster_parts.push((origin, *finding));
            }
            Object::Host(origin, host, doubts, found) => {
                self.hosts.push((origin, host, doubts, found));
            }
            Object::Secret(origin, object) => self.secrets.push((origin, object)),
            Object::PlainSecret(plain, network_data) => {
                self.plain_secrets.push(*plain);
                self.secrets.extend(network_data);
            }
            // Rendered kustomizations build nothing. Those of the repo were removed earlier.
            Object::Kustomization(..) => {}
            Object::Template(template) => self.templates.push(*template),
            Object::Agent(object) => self.agent_objects.push(*object),
            Object::ClusterSecret(object, plain) => {
                self.agent_objects.push(*object);
                self.plain_secrets.extend(plain.map(|plain| *plain));
            }
            Object::Service(origin, service) => self.services.push((origin, service)),
            Object::Address(origin, object) => {
                let (metadata, object) = *object;
                self.address_objects.push((origin, metadata, object));
            }
            Object::Hardware(origin, object) => {
                let (metadata, identity) = *object;
                self.hardware.push((origin, metadata, identity));
            }
            Object::OperatorsTemplates(templates) => self.operators_templates.extend(templates),
            Object::Definition(name) => {
                self.definitions.insert(name);
            }
            Object::GeneratedHosts(file) => self.generated_hosts.push(file),
            Object::Unreadable(origin, finding) => self.unreadable.push((origin, *finding)),
            Object::UnreadableHost(origin, finding) => {
                self.unreadable_hosts.push((origin, *finding));
            }
        }
    }

    pub(super) fn of_hosts(&self) -> impl Iterator<Item = (&Origin, &BareMetalHost)> {
        self.hosts
            .iter()
            .map(|(origin, host, ..)| (origin, &**host))
    }

    /// Returns whether a Cluster of Cluster API is a request, or any may be.
    pub(super) fn asks_for_cluster_api(&self, settings: &Settings) -> bool {
        let is_asked = |(_, kind, metadata, ..): &ReadCluster| {
            *kind == ClusterKind::ClusterApi && cluster_api::is_asked(metadata, settings)
        };
        settings.requests.cluster_api.clusters == ClusterSelection::All
            || self.clusters.iter().any(is_asked)
    }

    pub(super) fn of_requests(&self) -> impl Iterator<Item = &Origin> {
        let clusters = self.clusters.iter().map(|(origin, ..)| origin);
        clusters.chain(self.software.iter().map(|(origin, ..)| origin))
    }

    /// Takes the findings about unreadable documents that are inputs.
    pub(super) fn unreadable(
        &mut self,
        builds: &Builds,
        inputs: &Inputs<'_>,
        concern: &Concern<'_>,
    ) -> Vec<Finding> {
        // A patch may omit its apiVersion. It is not an object.
        let is_patch = |origin: &Origin, finding: &Finding| {
            finding.code == Code::NearMiss && builds.is_patch(&origin.file)
        };
        let mut findings = Vec::new();
        for (origin, finding) in self.unreadable.drain(..) {
            if is_kustomization(&origin.file) {
                findings.push(concern.of_kustomization(finding));
            } else if inputs.takes(&origin) && !is_patch(&origin, &finding) {
                findings.push(finding);
            }
        }
        for (origin, finding) in self.unreadable_hosts.drain(..) {
            if inputs.takes(&origin) && !is_patch(&origin, &finding) {
                findings.push(concern.of_host(finding, &origin));
            }
        }
        findings
    }
}
