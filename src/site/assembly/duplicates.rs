//! Several documents of one request, or of one object of a Cluster: which of them counts.

use std::collections::{BTreeMap, BTreeSet};

use super::concern::{globs_of, is_example, is_named};
use crate::base::api::host::live_field;
use crate::base::api::ipam::{AddressObject, POOL};
use crate::base::finding::{Code, Finding, Origin};
use crate::input::kustomize::Builds;
use crate::input::settings::Settings;
use crate::input::settings::sources::{self, Globs};
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

/// The facts that decide ranks.
struct DocumentRanks<'a> {
    builds: &'a Builds,
    settings: &'a Settings,
    globs: Vec<Globs>,
}

impl<'a> DocumentRanks<'a> {
    fn new(builds: &'a Builds, settings: &'a Settings) -> Self {
        Self { builds, settings, globs: globs_of(settings) }
    }

    fn ranked(&self, origin: &Origin, is_manifest: bool) -> RankedOrigin {
        let is_built = origin.is_rendered() || !self.builds.reach(&origin.file).is_empty();
        let rank = DocumentRank {
            is_reached: is_built || is_named(&self.globs, &origin.file),
            is_manifest,
            is_no_example: !is_example(&origin.file),
        };
        RankedOrigin { rank, origin: origin.clone() }
    }

    /// Drops documents of which a better one of the same key exists, and reports them.
    fn without_outranked<T, K: Ord>(
        &self,
        documents: &mut Vec<T>,
        key: impl for<'d> Fn(&'d T) -> (K, &'d Origin),
        what: impl Fn(&T) -> String,
    ) -> Vec<Finding> {
        let ranked = documents.iter().map(|document| self.ranked(key(document).1, true));
        let ranked: Vec<RankedOrigin> = ranked.collect();
        let all_best = best_documents(documents.iter().map(|document| key(document).0), &ranked);
        let unused = documents.iter().zip(&ranked).map(|(document, own)| {
            let best = all_best.get(&key(document).0).map(|best| &ranked[*best]);
            let best = best.filter(|best| own.rank < best.rank)?;
            Some(self.unused(&what(document), own, best))
        });
        let unused: Vec<Option<Finding>> = unused.collect();
        let mut is_used = unused.iter().map(Option::is_none);
        documents.retain(|_| is_used.next().unwrap_or(true));
        unused.into_iter().flatten().collect()
    }

    /// Keeps the best document of each object. Reports the others, and errors for equal ones.
    fn joined<T>(
        &self,
        documents: Vec<T>,
        ranked: Vec<RankedOrigin>,
        key: impl Fn(&T) -> PartKey,
    ) -> (Vec<T>, Vec<Finding>) {
        let all_best = best_documents(documents.iter().map(&key), &ranked);
        let findings = documents.iter().zip(&ranked).filter_map(|(document, own)| {
            let key = key(document);
            let best = all_best.get(&key).map(|best| &ranked[*best]);
            // A snapshot may have any object.
            let best =
                best.filter(|best| best.origin.file != own.origin.file && own.rank.is_manifest)?;
            let PartKey { kind, namespace, name } = key;
            if own.rank < best.rank {
                return Some(self.unused(
                    &format!("{kind} `{namespace}/{name}` is there"),
                    own,
                    best,
                ));
            }
            let out = sources::leave_out(self.settings, &[&own.origin.file]);
            let message = format!("there are two {kind}s {namespace}/{name}");
            let finding = Finding::new(Code::DuplicateCluster, message)
                .at(own.origin.name())
                .see(best.origin.name(), "the other one");
            Some(finding.help(format!(
                "if this one is an example, keep it; {out}\notherwise give it another name"
            )))
        });
        let findings = findings.collect();
        let counting: BTreeSet<usize> = all_best.into_values().collect();
        let documents = documents.into_iter().enumerate();
        let best = documents.filter(|(index, _)| counting.contains(index));
        (best.map(|(_, document)| document).collect(), findings)
    }

    /// Reports a document that does not count. `what` completes "… more than once, and".
    fn unused(&self, what: &str, own: &RankedOrigin, best: &RankedOrigin) -> Finding {
        let why = if best.rank.is_reached != own.rank.is_reached {
            "no build reaches this one"
        } else {
            "this one is an example"
        };
        Finding::new(Code::UnusedObject, format!("{what} more than once, and {why}: ignored"))
            .at(own.origin.name())
            .see(best.origin.name(), "the one that counts")
            .help(sources::leave_out(self.settings, &[&own.origin.file]))
    }
}

struct RankedOrigin {
    rank: DocumentRank,
    origin: Origin,
}

/// Returns the index of the best document of each object, of equal ones the first.
fn best_documents<K: Ord>(
    keys: impl Iterator<Item = K>,
    ranked: &[RankedOrigin],
) -> BTreeMap<K, usize> {
    let mut all_best: BTreeMap<K, usize> = BTreeMap::new();
    for (index, key) in keys.enumerate() {
        let best = all_best.entry(key).or_insert(index);
        if ranked[index].rank > ranked[*best].rank {
            *best = index;
        }
    }
    all_best
}

/// Drops duplicate requests in examples, or reached by no build, if a better one of the same
/// cluster exists.
pub(super) fn without_duplicate_requests(
    documents: &mut Vec<(ClusterDocument, Spec)>,
    builds: &Builds,
    settings: &Settings,
) -> Vec<Finding> {
    let ranks = DocumentRanks::new(builds, settings);
    ranks.without_outranked(
        documents,
        |(document, _)| (document.key.clone(), &document.origin),
        |(document, _)| format!("{} `{}` is requested", document.kind, document.key),
    )
}

/// Drops duplicate manifests of IPPools. Reports those of which another document counts, and errors if
/// it is unknown which.
pub(super) fn without_duplicate_pools(
    objects: Vec<NamedObject>,
    builds: &Builds,
    settings: &Settings,
    findings: &mut Vec<Finding>,
) -> Vec<NamedObject> {
    let is_pool = |it: &NamedObject| matches!(it.object, AddressObject::Pool(_)) && !it.is_live;
    let (pools, others): (Vec<_>, Vec<_>) = objects.into_iter().partition(is_pool);
    let ranks = DocumentRanks::new(builds, settings);
    let ranked = pools.iter().map(|pool| ranks.ranked(&pool.origin, true)).collect();
    let key = |pool: &NamedObject| PartKey {
        kind: POOL.to_owned(),
        namespace: pool.namespace.clone(),
        name: pool.name.clone(),
    };
    let (pools, found) = ranks.joined(pools, ranked, key);
    findings.extend(found);
    others.into_iter().chain(pools).collect()
}

/// Joins the objects of Clusters in the same way.
pub(super) fn joined_parts(
    parts: Vec<(PartKey, PartDocument)>,
    builds: &Builds,
    settings: &Settings,
) -> (ClusterParts, Vec<Finding>) {
    let ranks = DocumentRanks::new(builds, settings);
    let ranked = parts.iter().map(|(_, document)| {
        ranks.ranked(&document.origin, live_field(&document.metadata).is_none())
    });
    let ranked = ranked.collect();
    let (parts, findings) = ranks.joined(parts, ranked, |(key, _)| key.clone());
    (ClusterParts::new(parts.into_iter()), findings)
}
