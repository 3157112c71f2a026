//! Names and namespaces that `kustomize build` gives to objects.

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

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
use crate::input::load::Files;
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

/// Inputs of the names that builds give to objects.
#[derive(Clone, Copy)]
pub(super) struct NamingContext<'a> {
    pub(super) repo: &'a Files,
    /// Files that were read, sorted.
    pub(super) files: &'a [Utf8PathBuf],
    pub(super) builds: &'a Builds,
    pub(super) inputs: &'a InputSelection<'a>,
    pub(super) settings: &'a Settings,
}

impl NamingContext<'_> {
    /// Returns each namespace that builds give to an object, with the kustomization that sets it;
    /// without one, the object's own namespace.
    pub(super) fn namespaces(
        &self,
        origin: &Origin,
        own: Option<&str>,
    ) -> Vec<(String, Option<Arc<Utf8Path>>)> {
        let own = own.filter(|namespace| !namespace.is_empty());
        let own = || match own.or_else(|| self.inputs.namespace(origin)) {
            Some(namespace) => (namespace.to_owned(), None),
            None => (Namespace::default_namespace().to_string(), None),
        };
        let mut namespaces: Vec<(String, Option<Arc<Utf8Path>>)> = Vec::new();
        for reach in self.builds.reach_of(origin).iter() {
            let given = reach.namespace.clone();
            let namespace = given.map_or_else(own, |(namespace, file)| (namespace, Some(file)));
            if !namespaces.iter().any(|(other, _)| *other == namespace.0) {
                namespaces.push(namespace);
            }
        }
        if namespaces.is_empty() {
            namespaces.push(own());
        }
        namespaces
    }

    /// Returns the valid namespaces that builds give to an object; none for one that is no input.
    pub(super) fn input_namespaces(&self, origin: &Origin, metadata: &Metadata) -> Vec<Namespace> {
        if !self.inputs.contains(origin) || self.is_patch(origin) {
            return Vec::new();
        }
        let namespaces = self.namespaces(origin, metadata.namespace.as_deref()).into_iter();
        namespaces.filter_map(|(namespace, _)| namespace.parse().ok()).collect()
    }

    /// Returns whether a document is a patch, which has a kind and a name but is no object.
    fn is_patch(&self, origin: &Origin) -> bool {
        !origin.is_rendered() && self.builds.is_patch(&origin.file)
    }

    /// Returns namespace and name of a host, or of another object. A patch has neither.
    ///
    /// # Errors
    ///
    /// Returns findings about invalid ones.
    pub(super) fn host_key(
        &self,
        kind: &str,
        origin: &Origin,
        metadata: &Metadata,
    ) -> Result<HostKey, Vec<Finding>> {
        if self.is_patch(origin) {
            return Err(Vec::new());
        }
        let Some(name) = non_empty(&metadata.name) else {
            let finding = Finding::new(Code::InvalidName, format!("the {kind} has no name"));
            return Err(vec![finding.at(origin.at(["metadata"])).help("write metadata.name")]);
        };
        let place_of_name = || origin.at(["metadata", "name"]);
        let valid_name = valid::<ObjectName>(name, place_of_name, "name");
        let namespaces = self.namespaces(origin, metadata.namespace.as_deref());
        // Two builds with different namespaces make two objects of one document.
        if let [(one, _), (two, _), ..] = namespaces.as_slice() {
            let message = format!(
                "the {kind} {name} gets the namespace {one} from one kustomization and {two} from another"
            );
            let given = namespaces.iter().take(2).filter_map(|(namespace, file)| {
                let place = self.builds.place_of_namespace(file.as_ref()?);
                Some((place, format!("gives it {namespace}")))
            });
            let finding = Finding::new(Code::TwoNamespaces, message)
                .at(place_of_name())
                .help(
                    "let only one build reach the file; use a separate file for the same object under another name",
                )
                .see_each(given);
            return Err(valid_name.err().into_iter().chain([finding]).collect());
        }
        let (namespace, given_by) = namespaces.into_iter().next().unwrap_or_default();
        let place = || match given_by {
            Some(file) => self.builds.place_of_namespace(&file),
            None => origin.at(["metadata", "namespace"]),
        };
        match (valid_name, valid(&namespace, place, "namespace")) {
            (Ok(name), Ok(namespace)) => Ok(HostKey { namespace, name }),
            (name, namespace) => Err(name.err().into_iter().chain(namespace.err()).collect()),
        }
    }

    /// Returns the cluster that a document concerns, and the document's own name.
    ///
    /// # Errors
    ///
    /// Returns findings about invalid names.
    pub(super) fn cluster(
        &self,
        object: &ObjectKind,
        origin: &Origin,
        metadata: &Metadata,
    ) -> Result<(ClusterKey, ObjectName), Vec<Finding>> {
        let HostKey { namespace, name: own_name } = self.host_key(object.kind, origin, metadata)?;
        let name = match object.cluster_label {
            Some(_) => cluster_of(object.kind, origin, metadata).map_err(|it| vec![it])?,
            None => own_name.clone(),
        };
        Ok((ClusterKey { namespace, name }, own_name))
    }

    /// Returns the clusters that inputs request.
    pub(super) fn requested_clusters<'o>(
        &self,
        requests: impl Iterator<Item = (&'o Origin, &'o RequestContent)>,
    ) -> BTreeSet<ClusterKey> {
        let asked = requests.filter(|(origin, request)| {
            self.inputs.contains(origin) && request.is_asked(self.settings)
        });
        let keys = asked.filter_map(|(origin, RequestContent { kind, metadata, .. })| {
            Some(self.cluster(kind.descriptor().object, origin, metadata).ok()?.0)
        });
        keys.collect()
    }

    /// Returns a host with its key and its builds.
    ///
    /// # Errors
    ///
    /// Returns findings about an invalid key.
    pub(super) fn host(
        &self,
        origin: Origin,
        host: Box<BareMetalHost>,
        is_meant: bool,
    ) -> Result<HostDocument, Vec<Finding>> {
        let key = self.host_key(host::KIND, &origin, &host.metadata)?;
        let own_namespace = non_empty(&host.metadata.namespace).map(str::to_owned);
        let reach = self.builds.reach_of(&origin);
        let mut known = HashSet::new();
        let roots = reach.iter().map(|reach| reach.root).filter(|root| known.insert(*root));
        let is_given =
            own_namespace.is_some() || reach.iter().any(|reach| reach.namespace.is_some());
        Ok(HostDocument {
            key,
            roots: roots.collect(),
            file: (!origin.is_rendered()).then(|| origin.file.clone()),
            namespace_by_settings: !is_given && self.inputs.namespace(&origin).is_some(),
            own_namespace,
            is_meant,
            evidence: Evidence::Loose,
            rendered_by: None,
            origin,
            host,
        })
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
        let namespaces = self.namespaces(&origin, service.metadata.namespace.as_deref());
        let namespaces = namespaces.into_iter().map(|(namespace, _)| namespace).collect();
        let name = service.metadata.name.clone()?;
        (!node_ports.is_empty()).then_some(ServiceWithPorts {
            origin,
            name,
            namespaces,
            node_ports,
        })
    }
}

/// Parses a name, or reports why Kubernetes refuses it.
fn valid<T: FromStr<Err: fmt::Display>>(
    text: &str,
    place: impl FnOnce() -> Place,
    field: &str,
) -> Result<T, Finding> {
    text.parse().map_err(|error: T::Err| {
        let (why, help) = if text.contains(VARIABLE) {
            let help = format!(
                "only Flux knows the variable: write its value in `postBuild.substitute`, or the {field} here"
            );
            ("has a variable whose value is unknown".to_owned(), help)
        } else {
            (error.to_string(), format!("fix the {field}: Kubernetes refuses it"))
        };
        let finding = Finding::new(Code::InvalidName, format!("the {field} `{text}` {why}"));
        finding.at(place()).help(help)
    })
}
