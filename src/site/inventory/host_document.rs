//! Documents that describe hosts, before they are joined.

use std::sync::Arc;

use camino::Utf8Path;

use super::evidence::Evidence;
use super::networks::ReferringHost;
use crate::base::api::host::{BareMetalHost, BareMetalHostSpec};
use crate::base::api::names::{HostKey, ObjectName};
use crate::base::finding::Origin;

/// A document of a host, with the name and namespace that its build gives it.
pub(crate) struct HostDocument {
    pub(crate) key: HostKey,
    pub(crate) origin: Origin,
    /// Boxed, because documents move several times until they are joined.
    pub(crate) host: Box<BareMetalHost>,
    /// Outermost kustomizations whose builds contain it.
    pub(crate) roots: Vec<usize>,
    /// File of the repo that a build reaches.
    pub(crate) file: Option<Arc<Utf8Path>>,
    /// Namespace in the file.
    pub(crate) own_namespace: Option<String>,
    /// Set if only the settings give it a namespace.
    pub(crate) namespace_by_settings: bool,
    /// Set unless it is an example: a mistake in it is an error.
    pub(crate) is_meant: bool,
    pub(crate) evidence: Evidence,
    /// Description of the agent that renders a host of this name by a program that sipgen does not run, such as Helm.
    pub(crate) rendered_by: Option<String>,
}

impl HostDocument {
    /// Returns the fields that refer to network data.
    pub(crate) fn referring(&self) -> ReferringHost<'_> {
        ReferringHost::new(&self.key, self.host.spec.as_ref())
    }
}

/// Returns the names of the Secrets that a host refers to. Metal3 reads them in the host's
/// namespace.
pub(crate) fn named_secrets(spec: &BareMetalHostSpec) -> Box<[ObjectName]> {
    spec.references().filter_map(|(_, name)| name.parse().ok()).collect()
}
