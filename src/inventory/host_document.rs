//! Documents that describe hosts, before they are joined.

use std::collections::BTreeSet;
use std::sync::Arc;

use camino::Utf8Path;

use super::networks::Referring;
use crate::api::host::{BareMetalHost, Spec};
use crate::api::names::{HostKey, ObjectName};
use crate::finding::Origin;

/// A document of a host, with the key that its build gives the host.
pub(crate) struct HostDocument {
    pub(crate) key: HostKey,
    pub(crate) origin: Origin,
    pub(crate) host: BareMetalHost,
    /// The outermost kustomizations whose builds have it.
    pub(crate) roots: Vec<usize>,
    /// The file of the repo that a build reaches.
    pub(crate) file: Option<Arc<Utf8Path>>,
    /// The namespace that the file says.
    pub(crate) own_namespace: Option<String>,
    /// Whether it is the settings that give it a namespace.
    pub(crate) namespace_by_settings: bool,
    /// Whether it is no example, as far as is known: a mistake in it is an error.
    pub(crate) is_meant: bool,
}

impl HostDocument {
    /// The document, as far as its network data concerns it.
    pub(crate) fn referring(&self) -> Referring<'_> {
        Referring {
            key: &self.key,
            spec: self.host.spec.as_ref(),
            file: self.file.as_deref(),
        }
    }
}

/// Returns the Secrets that a host names, by their names: Metal3 reads them in the host's own namespace.
pub(crate) fn named_secrets(spec: &Spec) -> BTreeSet<ObjectName> {
    spec.references()
        .into_iter()
        .filter_map(|(_, name)| name.parse().ok())
        .collect()
}
