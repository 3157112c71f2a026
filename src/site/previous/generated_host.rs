//! Parser for the hosts in generated files.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::damaged_files;
use crate::base::api::assignment::{self, Claim, ReleaseProgress};
use crate::base::api::host;
use crate::base::api::names::{ClusterKey, HostKey, LabelMap, Part};
use crate::base::api::unique;
use crate::base::finding::{Finding, Place};
use crate::base::layout;
use crate::base::text::has_conflicts;
use crate::input::load::Document;

/// A host in a generated file.
pub(crate) struct GeneratedHost {
    pub(crate) key: HostKey,
    /// Namespace in the patch's target, or that of the object.
    pub(crate) namespace: Option<String>,
    pub(crate) says: GeneratedHostState,
    /// Its labels.
    pub(crate) labels: LabelMap,
    /// Its annotations.
    pub(crate) annotations: BTreeMap<String, String>,
}

/// The state of a host in the generated tree.
pub(crate) enum GeneratedHostState {
    /// Assigned to a cluster.
    Held(ClusterKey, Part),
    /// Observed, and being released.
    Released(PendingRelease),
    /// Declared, with the labels in its manifest patched away.
    Unlabelled,
}

/// An observed host that is being released.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingRelease {
    /// Progress of the release.
    pub given_back: ReleaseProgress,
    /// Cluster that the host was assigned to, if known.
    pub by: Option<ClusterKey>,
}

#[derive(Deserialize)]
struct GeneratedManifest {
    metadata: GeneratedMetadata,
}

#[derive(Deserialize)]
struct GeneratedMetadata {
    name: String,
    namespace: Option<String>,
    #[serde(default, deserialize_with = "unique::map")]
    labels: BTreeMap<String, Option<String>>,
    #[serde(default, deserialize_with = "unique::map")]
    annotations: BTreeMap<String, String>,
}

impl GeneratedHost {
    /// Reads the host in a document, or reports why it cannot be read.
    pub(crate) fn read(document: &Document<'_>) -> Result<Self, Finding> {
        let origin = &document.origin;
        let unreadable = |reason: &str, place: Place| {
            let is_merged = has_conflicts(document.text());
            let reason = if is_merged { "it has conflicts of a merge" } else { reason };
            damaged_files::unreadable(reason, &origin.file, place)
        };
        let GeneratedManifest { metadata } = document.parse().map_err(|error| {
            let place = error.line.map_or(origin.start(), |line| origin.spot(line, error.column));
            unreadable(&error.message, place)
        })?;
        if document.kind() != Some(host::KIND) {
            return Err(unreadable("it is not a BareMetalHost", origin.start()));
        }
        // A patch in a component has the namespace of the kustomization that includes it, and a
        // name without later prefixes and suffixes. Variables have no values where a patch is
        // applied. A comment therefore names the host.
        let named = document.comments().find_map(layout::host_of_comment);
        let own = || {
            let namespace = metadata.namespace.as_ref()?.parse().ok()?;
            Some(HostKey { namespace, name: metadata.name.parse().ok()? })
        };
        let is_of_patch = |host: &HostKey| {
            let name = metadata.name.as_str();
            name.contains(layout::VARIABLE) || host.name.as_str().contains(name)
        };
        let key = named.filter(is_of_patch).or_else(own);
        let key =
            key.ok_or_else(|| unreadable("its host has no valid name", origin.at(["metadata"])))?;
        let labels =
            metadata.labels.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
        let recorded = document.comments().find_map(layout::assignment_of_comment);
        let annotation = |key: &str| metadata.annotations.get(key);
        let recorded = recorded.map(|(cluster, part)| Claim::Cluster(cluster, part));
        let claim = || recorded.or_else(|| assignment::claim(&labels));
        let says = match annotation(assignment::GIVEN_BACK) {
            Some(given_back) => GeneratedHostState::Released(PendingRelease {
                given_back: ReleaseProgress::from_value(given_back),
                by: annotation(assignment::GIVEN_BACK_BY).and_then(|by| by.parse().ok()),
            }),
            None => match claim() {
                Some(Claim::Cluster(cluster, part)) => GeneratedHostState::Held(cluster, part),
                Some(Claim::Named(_) | Claim::Older(_) | Claim::Unclear(_)) => {
                    let place = origin.at(["metadata", "labels"]);
                    return Err(unreadable("its labels are not those of a cluster", place));
                }
                None if origin.file.file_name() == Some(layout::UNLABELLED) => {
                    GeneratedHostState::Unlabelled
                }
                // A truncated file may look like this.
                None => {
                    let place = origin.at(["metadata"]);
                    return Err(unreadable("its host is neither assigned nor released", place));
                }
            },
        };
        let GeneratedMetadata { namespace, annotations, .. } = metadata;
        Ok(Self { key, namespace, says, labels, annotations })
    }
}
