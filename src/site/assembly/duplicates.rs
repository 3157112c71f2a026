//! Several documents of one request, or of one object of a Cluster: which of them counts.

use std::collections::BTreeMap;

use super::concern::{Concern, is_example};
use crate::base::api::host::live_field;
use crate::base::api::ipam::{AddressObject, POOL};
use crate::base::finding::{Code, Finding, Origin};
use crate::input::settings::sources;
use crate::site::inventory::addresses::NamedObject;
use crate::site::request::cluster_parts::{ClusterParts, PartDocument, PartKey};
use crate::site::request::{ClusterDocument, Spec};

/// What speaks for a document among those of one object, most important first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct DocumentRank {
    /// Set if a build reaches it, or `sources` name its file.
    is_reached: bool,
    is_manifest: bool,
    is_no_example: bool,
}

/// A document of an object.
struct RankedDocument<'d, K> {
    key: K,
    origin: &'d Origin,
    /// Set unless it may be a snapshot, which may have any object.
    is_manifest: bool,
}

impl Concern<'_> {
    fn rank<K>(&self, document: &RankedDocument<'_, K>) -> DocumentRank {
        let RankedDocument { origin, is_manifest, .. } = *document;
        DocumentRank {
            is_reached: self.is_reached(origin),
            is_manifest,
            is_no_example: !is_example(&origin.file),
        }
    }

    /// Drops documents of which a better one of the same object exists, and reports them. `what`
    /// completes "… more than once, and".
    fn without_outranked<T, K: Ord>(
        &self,
        documents: &mut Vec<T>,
        read: impl Fn(&T) -> RankedDocument<'_, K>,
        what: impl Fn(&T) -> String,
    ) -> Vec<Finding> {
        let mut all_best: BTreeMap<K, (DocumentRank, Origin)> = BTreeMap::new();
        for document in documents.iter().map(&read) {
            let rank = self.rank(&document);
            if all_best.get(&document.key).is_none_or(|(best, _)| rank > *best) {
                all_best.insert(document.key, (rank, document.origin.clone()));
            }
        }
        let mut findings = Vec::new();
        documents.retain(|document| {
            let own = read(document);
            let (rank, (best, other)) = (self.rank(&own), &all_best[&own.key]);
            if rank < *best && own.is_manifest {
                let why = if rank.is_reached == best.is_reached {
                    "this one is an example"
                } else {
                    "no build reaches this one"
                };
                let message = format!("{} more than once, and {why}: ignored", what(document));
                let finding = Finding::new(Code::UnusedObject, message)
                    .at(own.origin.name())
                    .see(other.name(), "the one that counts")
                    .help(sources::leave_out(self.naming.settings, &[&own.origin.file]));
                findings.push(finding);
            }
            rank == *best
        });
        findings
    }

    /// Keeps the best document of each object. Reports the others, and errors for equal ones.
    fn joined<T>(
        &self,
        documents: &mut Vec<T>,
        read: impl Fn(&T) -> RankedDocument<'_, PartKey>,
    ) -> Vec<Finding> {
        let mut findings = self.without_outranked(documents, &read, |document| {
            let PartKey { kind, namespace, name } = read(document).key;
            format!("{kind} `{namespace}/{name}` is there")
        });
        let mut known: BTreeMap<PartKey, Origin> = BTreeMap::new();
        documents.retain(|document| {
            let RankedDocument { key, origin, is_manifest } = read(document);
            let Some(other) = known.get(&key) else {
                known.insert(key, origin.clone());
                return true;
            };
            if is_manifest && other.file != origin.file {
                let PartKey { kind, namespace, name } = key;
                let message = format!("there are two {kind}s {namespace}/{name}");
                let out = sources::leave_out(self.naming.settings, &[&origin.file]);
                let finding = Finding::new(Code::DuplicateCluster, message)
                    .at(origin.name())
                    .see(other.name(), "the other one");
                findings.push(finding.help(format!(
                    "if this one is an example, keep it; {out}\notherwise give it another name"
                )));
            }
            false
        });
        findings
    }
}

/// Drops duplicate requests in examples, or reached by no build, if a better one of the same
/// cluster exists.
pub(super) fn without_duplicate_requests(
    documents: &mut Vec<(ClusterDocument, Spec)>,
    concern: &Concern<'_>,
) -> Vec<Finding> {
    concern.without_outranked(
        documents,
        // A Cluster of Cluster API may be beside a request of its name.
        |(ClusterDocument { kind, key, origin, .. }, _)| RankedDocument {
            key: (kind.descriptor().makes_machines, key.clone()),
            origin,
            is_manifest: true,
        },
        |(document, _)| format!("{} `{}` is requested", document.kind, document.key),
    )
}

/// Drops duplicate manifests of IPPools. Reports those of which another document counts, and errors if
/// it is unknown which.
pub(super) fn without_duplicate_pools(
    objects: Vec<NamedObject>,
    concern: &Concern<'_>,
    findings: &mut Vec<Finding>,
) -> Vec<NamedObject> {
    let is_pool = |it: &NamedObject| matches!(it.object, AddressObject::Pool(_)) && !it.is_live;
    let (mut pools, others): (Vec<_>, Vec<_>) = objects.into_iter().partition(is_pool);
    findings.extend(concern.joined(
        &mut pools,
        |NamedObject { namespace, name, origin, .. }| {
            let (kind, namespace, name) = (POOL.to_owned(), namespace.clone(), name.clone());
            RankedDocument { key: PartKey { kind, namespace, name }, origin, is_manifest: true }
        },
    ));
    others.into_iter().chain(pools).collect()
}

/// Joins the objects of Clusters in the same way.
pub(super) fn joined_parts(
    mut parts: Vec<(PartKey, PartDocument)>,
    concern: &Concern<'_>,
) -> (ClusterParts, Vec<Finding>) {
    let findings = concern.joined(&mut parts, |(key, document)| RankedDocument {
        key: key.clone(),
        origin: &document.origin,
        is_manifest: live_field(&document.metadata).is_none(),
    });
    (ClusterParts::new(parts.into_iter()), findings)
}
