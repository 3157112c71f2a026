//! Documents that describe hosts, before they are joined.

use std::collections::BTreeSet;
use std::sync::Arc;

use camino::Utf8Path;

use super::networks::Referring;
use crate::api::host::{BareMetalHost, Spec};
use crate::api::names::{HostKey, ObjectName};
use crate::finding::Origin;

/// A document of a host, with the name and namespace that its build gives it.
pub(crate) struct HostDocument {
    pub(crate) key: HostKey,
    pub(crate) origin: Origin,
    pub(crate) host: BareMetalHost,
    /// The outermost kustomizations that render it.
    pub(crate) roots: Vec<usize>,
    /// The file in the repo, if the document is not the output of a program.
    pub(crate) file: Option<Arc<Utf8Path>>,
    /// The namespace in the file.
    pub(crate) own_namespace: Option<String>,
    /// Set if only the settings give it a namespace.
    pub(crate) namespace_by_settings: bool,
    /// Set unless the document is probably an example, in which mistakes are warnings.
    pub(crate) is_meant: bool,
}

impl HostDocument {
    /// Returns the parts that decide which network data belongs to the host.
    pub(crate) fn referring(&self) -> Referring<'_> {
        Referring {
            key: &self.key,
            spec: self.host.spec.as_ref(),
            file: self.file.as_deref(),
        }
    }
}

/// Returns the Secrets that a host names. Metal3 reads them in the host's own namespace.
pub(crate) fn named_secrets(spec: &Spec) -> BTreeSet<ObjectName> {
    spec.references()
        .into_iter()
        .filter_map(|(_, name)| name.parse().ok())
        .collect()
}
