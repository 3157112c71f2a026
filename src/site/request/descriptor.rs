//! Properties of request kinds.

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
    /// Set if `sipgen schema crd` prints the definition; otherwise another program installs it.
    pub has_own_definition: bool,
    /// Argument of `sipgen schema crd`; `None` for the default kind.
    pub schema_argument: Option<&'static str>,
    /// Set if Cluster API claims the hosts; otherwise an installer runs on them.
    pub uses_cluster_api: bool,
    /// Set if the request consists of Cluster API's objects, which make the Machines.
    pub makes_machines: bool,
    /// Set if Cluster API's objects of the same cluster may be beside the request.
    pub allows_cluster_beside: bool,
    /// Annotation by which an object of this kind is a request; `None` if each of them is one.
    pub request_annotation: Option<&'static str>,
    /// Returns whether an object of this kind is a request.
    pub(crate) is_request: fn(&Metadata, &Settings) -> bool,
    /// Returns the route of the field with the hosts of a role.
    pub(crate) route_of_role: fn(Role) -> &'static [&'static str],
    /// Source of the cluster's name, for messages.
    pub name_source: &'static str,
    /// Set if lists show the kind of the cluster's request. They omit the most common kind.
    pub is_named_in_lists: bool,
    /// Decodes the spec of a document.
    pub(crate) decode: fn(&Document<'_>) -> (Spec, Vec<Finding>),
}
