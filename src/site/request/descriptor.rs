//! Properties of request kinds.

use super::documents::Spec;
use crate::base::api::object_kind::ObjectKind;
use crate::base::finding::Finding;
use crate::input::load::Document;

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
    /// Source of the cluster's name, for messages.
    pub name_source: &'static str,
    /// Set if validation compares the hardware of hosts with requirements.
    pub(crate) uses_hardware: bool,
    /// Set if lists show the kind of the cluster's request. They omit the most common kind.
    pub is_named_in_lists: bool,
    /// Decodes the spec of a document.
    pub(crate) decode: fn(&Document<'_>) -> (Spec, Vec<Finding>),
}
