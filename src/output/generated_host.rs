//! What a generated document says of a host.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::api::assignment::{self, Claim, GivenBack};
use crate::api::host;
use crate::api::names::{ClusterKey, HostKey, Part};
use crate::api::unique;
use crate::finding::Place;
use crate::layout;
use crate::load::Document;

/// A host of a generated file, and what the file says of it.
pub(crate) struct GeneratedHost {
    pub(crate) key: HostKey,
    /// The namespace by which a patch finds the host, or that of its object.
    pub(crate) namespace: Option<String>,
    pub(crate) says: Says,
}

/// What becomes of a host.
pub(crate) enum Says {
    /// A cluster has it.
    Held(ClusterKey, Part),
    /// It is observed, and is being given back.
    Released(Release),
    /// The labels in its manifest are patched away.
    Unlabelled,
}

/// An observed host that is being given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// How far that has come.
    pub given_back: GivenBack,
    /// The cluster that had the host, where the tree says so.
    pub by: Option<ClusterKey>,
}

/// Why a document says nothing.
pub(crate) struct Unreadable {
    pub(crate) reason: String,
    pub(crate) place: Place,
}

#[derive(Deserialize)]
struct Generated {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    #[serde(default)]
    namespace: Option<String>,
    #[serde(default, deserialize_with = "unique::map")]
    labels: BTreeMap<String, Option<String>>,
    #[serde(default, deserialize_with = "unique::map")]
    annotations: BTreeMap<String, String>,
}

impl GeneratedHost {
    /// Reads a document of a generated file.
    pub(crate) fn read(document: &Document<'_>) -> Result<Self, Unreadable> {
        let origin = &document.origin;
        let unreadable = |reason: &str, place: Place| Unreadable {
            reason: reason.to_owned(),
            place,
        };
        let Generated { metadata } = document.parse().map_err(|error| {
            let place = error.line.map_or(origin.start(), |line| {
                Place::Spot(origin.file.clone(), line, error.column)
            });
            unreadable(&error.message, place)
        })?;
        if document.kind() != Some(host::KIND) {
            return Err(unreadable("it is no BareMetalHost", origin.start()));
        }
        // A patch in a component has the namespace of the kustomization that includes it, and the name there, which gets
        // a prefix or suffix later; a comment says whose it is.
        let named = document.comments().find_map(layout::host_of_comment);
        let own = || {
            let namespace = metadata.namespace.as_ref()?.parse().ok()?;
            Some(HostKey {
                namespace,
                name: metadata.name.parse().ok()?,
            })
        };
        let key = named
            .filter(|host| host.name.as_str().contains(&metadata.name))
            .or_else(own);
        let key =
            key.ok_or_else(|| unreadable("its host has no valid name", origin.at(["metadata"])))?;
        let says = if let Some(given_back) = metadata.annotations.get(assignment::GIVEN_BACK) {
            let by = metadata
                .annotations
                .get(assignment::GIVEN_BACK_BY)
                .and_then(|by| by.parse().ok());
            Says::Released(Release {
                given_back: GivenBack::from_value(given_back),
                by,
            })
        } else {
            let labels = metadata
                .labels
                .into_iter()
                .filter_map(|(key, value)| Some((key, value?)))
                .collect();
            match assignment::claim(&labels) {
                Some(Claim::Cluster(cluster, part)) => Says::Held(cluster, part),
                Some(Claim::Older(_) | Claim::Unclear(_)) => {
                    return Err(unreadable(
                        "its labels are not those of a cluster",
                        origin.at(["metadata", "labels"]),
                    ));
                }
                None if origin.file.file_name() == Some(layout::UNLABELLED) => Says::Unlabelled,
                // What a file may be that was cut off.
                None => {
                    return Err(unreadable(
                        "its host is neither a cluster's nor given back",
                        origin.at(["metadata"]),
                    ));
                }
            }
        };
        Ok(Self {
            key,
            namespace: metadata.namespace,
            says,
        })
    }
}
