//! Properties of request kinds.

use yaml_serde::Value;

use super::decode_spec::permitted_value;
use super::documents::Spec;
use crate::base::api::host::Metadata;
use crate::base::api::names::Role;
use crate::base::api::object_kind::ObjectKind;
use crate::base::finding::Finding;
use crate::input::load::Document;
use crate::input::settings::Settings;

/// Properties of a request kind.
#[derive(Debug)]
pub struct RequestDescriptor {
    /// API group, version, kind, misspellings, and the label with the cluster's name.
    pub object: &'static ObjectKind,
    /// Name of the CustomResourceDefinition.
    pub definition: &'static str,
    /// Argument of `sipgen schema crd`; `None` for the default kind.
    pub schema_argument: Option<&'static str>,
    /// Set if Cluster API claims the hosts; otherwise an installer runs on them.
    pub uses_cluster_api: bool,
    /// Set if the request consists of Cluster API's objects, which make the Machines.
    pub makes_machines: bool,
    /// Annotation by which an object of this kind is a request; `None` if each of them is one.
    pub request_annotation: Option<&'static str>,
    /// Returns whether an object of this kind is a request.
    pub(crate) is_request: fn(&Metadata, &Settings) -> bool,
    /// Returns the route of the field with the hosts of a role.
    pub(crate) route_of_role: fn(Role) -> &'static [&'static str],
    /// Set if lists show the kind of the cluster's request. They omit the most common kind.
    pub is_named_in_lists: bool,
    /// Decodes the spec of a document, which is given as YAML too.
    pub(super) decode_spec: fn(&Document<'_>, Value) -> (Spec, Vec<Finding>),
}

impl RequestDescriptor {
    /// Returns whether Cluster API's objects of the same cluster may be beside the request.
    pub(crate) fn allows_cluster_beside(&self) -> bool {
        self.uses_cluster_api && !self.makes_machines
    }

    /// Decodes the spec of a document.
    pub(crate) fn decode(&self, document: &Document<'_>) -> (Spec, Vec<Finding>) {
        match permitted_value(document, self.object.kind) {
            Ok(value) => (self.decode_spec)(document, value),
            Err(found) => (None, found),
        }
    }
}
