//! Documents that describe hosts, before they are joined.

use std::sync::Arc;

use camino::Utf8Path;

use super::evidence::Evidence;
use crate::base::api::host::BareMetalHost;
use crate::base::api::names::{HostKey, SecretKey};
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
    /// Returns the Secrets that may have its network data, by precedence. A kustomization changes the
    /// namespace of a Secret, but not the reference in a host.
    pub(super) fn network_secrets(&self) -> Vec<SecretKey> {
        let spec = self.host.spec.as_ref();
        let reference = spec.and_then(|spec| spec.network_data.as_ref());
        let name = reference
            .and_then(|reference| reference.name.as_deref())
            .or(spec.and_then(|spec| spec.preprovisioning_network_data_name.as_deref()))
            .filter(|name| !name.is_empty());
        let Some(Ok(name)) = name.map(str::parse) else { return Vec::new() };
        let namespace =
            reference.and_then(|reference| reference.namespace.as_deref()).map(str::parse);
        let own = SecretKey { namespace: self.key.namespace.clone(), name };
        match namespace {
            Some(Ok(namespace)) if namespace != own.namespace => {
                vec![SecretKey { namespace, ..own.clone() }, own]
            }
            _ => vec![own],
        }
    }

    /// Returns the Secret with network data for inspection. It counts as used even if another one
    /// gives the addresses.
    pub(super) fn inspection_secret(&self) -> Option<SecretKey> {
        let spec = self.host.spec.as_ref()?;
        let name = spec.preprovisioning_network_data_name.as_deref()?.parse().ok()?;
        Some(SecretKey { namespace: self.key.namespace.clone(), name })
    }
}
