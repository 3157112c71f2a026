//! Names and namespaces that `kustomize build` gives to objects.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use camino::Utf8Path;

use super::inputs::InputSelection;
use super::read_object::{ReadObject, RequestContent};
use crate::base::api::host::{self, BareMetalHost, Metadata};
use crate::base::api::names::{ClusterKey, HostKey, Namespace, NodePort, ObjectName};
use crate::base::api::object_kind::ObjectKind;
use crate::base::api::service::Service;
use crate::base::finding::{Code, Finding, Origin, Place};
use crate::base::layout::VARIABLE;
use crate::base::text::non_empty;
use crate::input::kustomize::Builds;
use crate::input::settings::Settings;
use crate::site::inventory::Evidence;
use crate::site::inventory::host_document::HostDocument;
use crate::site::request::provisioning::cluster_of;

/// A Service of the repo with NodePorts.
#[derive(Debug, Clone)]
pub struct ServiceWithPorts {
    /// Its position in the inputs.
    pub origin: Origin,
    /// Name of the Service.
    pub name: String,
    /// Namespaces that builds give it.
    pub namespaces: Vec<String>,
    /// NodePorts, each with its index among the Service's ports.
    pub node_ports: Vec<(usize, NodePort)>,
}

/// Returns each namespace that builds give to an object, with the kustomization that sets it;
/// without one, the object's own namespace.
pub(super) fn namespaces(
    builds: &Builds,
    inputs: &InputSelection<'_>,
    origin: &Origin,
    own: Option<&str>,
) -> Vec<(String, Option<Arc<Utf8Path>>)> {
    let own = own.filter(|namespace| !namespace.is_empty());
    let given = || {
        inputs
            .namespace(origin)
            .map_or_else(|| Namespace::default_namespace().to_string(), str::to_owned)
    };
    let own = || (own.map_or_else(given, str::to_owned), None);
    let mut namespaces: Vec<(String, Option<Arc<Utf8Path>>)> = Vec::new();
    for reach in builds.reach_of(origin).iter() {
        let namespace =
            reach.namespace.clone().map_or_else(own, |(namespace, file)| (namespace, Some(file)));
        if !namespaces.iter().any(|(other, _)| *other == namespace.0) {
            namespaces.push(namespace);
        }
    }
    if namespaces.is_empty() {
        namespaces.push(own());
    }
    namespaces
}

/// Names objects as builds do, and collects findings about names.
pub(super) struct BuildNames<'a> {
    builds: &'a Builds,
    pub(super) inputs: &'a InputSelection<'a>,
    pub(super) findings: Vec<Finding>,
}

impl<'a> BuildNames<'a> {
    pub(super) fn new(builds: &'a Builds, inputs: &'a InputSelection<'a>) -> Self {
        Self { builds, inputs, findings: Vec::new() }
    }

    /// Returns a copy for documents that are not inputs. Its findings are dropped.
    pub(super) fn quiet(&self) -> Self {
        Self::new(self.builds, self.inputs)
    }

    /// Returns the valid namespaces that builds give to an object; none for one that is no input.
    pub(super) fn input_namespaces(&self, origin: &Origin, metadata: &Metadata) -> Vec<Namespace> {
        if !self.inputs.contains(origin) || self.is_patch(origin) {
            return Vec::new();
        }
        let own = metadata.namespace.as_deref();
        let namespaces = namespaces(self.builds, self.inputs, origin, own).into_iter();
        namespaces.filter_map(|(namespace, _)| namespace.parse().ok()).collect()
    }

    /// Returns whether a document is a patch, which has a kind and a name but is no object.
    fn is_patch(&self, origin: &Origin) -> bool {
        !origin.is_rendered() && self.builds.is_patch(&origin.file)
    }

    /// Returns namespace and name of a host, or of another object; `None`, with a finding, if they are
    /// invalid.
    pub(super) fn host_key(
        &mut self,
        kind: &str,
        origin: &Origin,
        metadata: &Metadata,
    ) -> Option<HostKey> {
        if self.is_patch(origin) {
            return None;
        }
        let name = metadata.name.as_deref().unwrap_or_default();
        if name.is_empty() {
            self.findings.push(
                Finding::new(Code::InvalidName, format!("the {kind} has no name"))
                    .at(origin.at(["metadata"]))
                    .help("write metadata.name"),
            );
            return None;
        }
        let name: Option<ObjectName> = self.valid(name, || origin.at(["metadata", "name"]), "name");
        let own = metadata.namespace.as_deref();
        let namespaces = namespaces(self.builds, self.inputs, origin, own);
        // Two builds with different namespaces make two objects of one document.
        if let [(one, _), (two, _), ..] = namespaces.as_slice() {
            let mut finding = Finding::new(
                Code::TwoNamespaces,
                format!(
                    "the {kind} {} gets the namespace {one} from one kustomization and {two} from another",
                    metadata.name.as_deref().unwrap_or_default(),
                ),
            )
            .at(origin.at(["metadata", "name"]))
            .help(
                "let only one build reach the file; use a separate file for the same object under another name",
            );
            for (namespace, file) in &namespaces[..2] {
                if let Some(file) = file {
                    finding = finding
                        .see(self.builds.place_of_namespace(file), format!("gives it {namespace}"));
                }
            }
            self.findings.push(finding);
            return None;
        }
        let (namespace, given_by) = namespaces.into_iter().next()?;
        let builds = self.builds;
        let place = || {
            given_by.map_or_else(
                || origin.at(["metadata", "namespace"]),
                |file| builds.place_of_namespace(&file),
            )
        };
        let namespace: Option<Namespace> = self.valid(&namespace, place, "namespace");
        Some(HostKey { namespace: namespace?, name: name? })
    }

    /// Returns the cluster that a document concerns, and the document's own name; `None`, with a
    /// finding, if either is invalid.
    pub(super) fn cluster(
        &mut self,
        object: &ObjectKind,
        origin: &Origin,
        metadata: &Metadata,
    ) -> Option<(ClusterKey, ObjectName)> {
        let HostKey { namespace, name: own_name } = self.host_key(object.kind, origin, metadata)?;
        if object.cluster_label.is_none() {
            return Some((ClusterKey { namespace, name: own_name.clone() }, own_name));
        }
        let name = cluster_of(object.kind, origin, metadata)
            .map_err(|finding| self.findings.push(finding))
            .ok()?;
        Some((ClusterKey { namespace, name }, own_name))
    }

    /// Returns the clusters that inputs request.
    pub(super) fn requested_clusters<'o>(
        &self,
        requests: impl Iterator<Item = (&'o Origin, &'o RequestContent)>,
        settings: &Settings,
    ) -> BTreeSet<ClusterKey> {
        let mut names = self.quiet();
        let keys = requests.filter_map(|(origin, RequestContent { kind, metadata, .. })| {
            let descriptor = kind.descriptor();
            let is_asked =
                self.inputs.contains(origin) && (descriptor.is_request)(metadata, settings);
            let name = is_asked.then(|| names.cluster(descriptor.object, origin, metadata));
            Some(name.flatten()?.0)
        });
        keys.collect()
    }

    /// Returns a host with its key and its builds.
    pub(super) fn host(
        &mut self,
        origin: Origin,
        host: Box<BareMetalHost>,
    ) -> Option<HostDocument> {
        let key = self.host_key(host::KIND, &origin, &host.metadata)?;
        let own_namespace = non_empty(&host.metadata.namespace).map(str::to_owned);
        let reach = self.builds.reach_of(&origin);
        let mut known = HashSet::new();
        let roots = reach.iter().map(|reach| reach.root).filter(|root| known.insert(*root));
        let is_given =
            own_namespace.is_some() || reach.iter().any(|reach| reach.namespace.is_some());
        Some(HostDocument {
            key,
            roots: roots.collect(),
            file: (!origin.is_rendered()).then(|| origin.file.clone()),
            namespace_by_settings: !is_given && self.inputs.namespace(&origin).is_some(),
            own_namespace,
            is_meant: true,
            evidence: Evidence::Loose,
            rendered_by: None,
            origin,
            host,
        })
    }

    fn valid<T: std::str::FromStr<Err: std::fmt::Display>>(
        &mut self,
        text: &str,
        place: impl FnOnce() -> Place,
        field: &str,
    ) -> Option<T> {
        let parsed = text.parse();
        let report = |error: &T::Err| {
            let (why, help) = if text.contains(VARIABLE) {
                let help = format!(
                    "only Flux knows the variable: write its value in `postBuild.substitute`, or the {field} here"
                );
                ("has a variable whose value is unknown".to_owned(), help)
            } else {
                (error.to_string(), format!("fix the {field}: Kubernetes refuses it"))
            };
            let finding = Finding::new(Code::InvalidName, format!("the {field} `{text}` {why}"));
            self.findings.push(finding.at(place()).help(help));
        };
        parsed.inspect_err(report).ok()
    }

    /// Returns a Service with its NodePorts, if it has any. Its other mistakes are not reported.
    pub(super) fn service(&self, object: ReadObject<Box<Service>>) -> Option<ServiceWithPorts> {
        let ReadObject { origin, content: service, .. } = object;
        // Patches have the kind of their target but are not objects.
        if self.builds.is_patch(&origin.file) {
            return None;
        }
        let ports = service.spec.iter().flat_map(|spec| spec.ports.iter().flatten()).enumerate();
        let node_ports: Vec<(usize, NodePort)> = ports
            .filter_map(|(index, port)| Some((index, NodePort::try_from(port.node_port?).ok()?)))
            .collect();
        let own = service.metadata.namespace.as_deref();
        let namespaces = namespaces(self.builds, self.inputs, &origin, own).into_iter();
        let namespaces = namespaces.map(|(namespace, _)| namespace).collect();
        let name = service.metadata.name.clone()?;
        (!node_ports.is_empty()).then_some(ServiceWithPorts {
            origin,
            name,
            namespaces,
            node_ports,
        })
    }
}
