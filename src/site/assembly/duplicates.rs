//! Several documents of one request, or of one object of a Cluster: which of them counts.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::concern::{globs_of, is_example, is_named};
use crate::base::api::host::live_field;
use crate::base::finding::{Code, Finding, Origin};
use crate::input::kustomize::Builds;
use crate::input::settings::Settings;
use crate::input::settings::sources::{self, Globs};
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

/// Returns the best document of each object, of equal ones the first.
fn best_documents<K: Ord>(
    documents: impl Iterator<Item = (K, RankedOrigin)>,
) -> BTreeMap<K, RankedOrigin> {
    let mut all_best: BTreeMap<K, RankedOrigin> = BTreeMap::new();
    for (key, document) in documents {
        match all_best.entry(key) {
            Entry::Vacant(entry) => drop(entry.insert(document)),
            Entry::Occupied(mut best) if document.rank > best.get().rank => {
                best.insert(document);
            }
            Entry::Occupied(_) => {}
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
    let ranked = |document: &ClusterDocument| ranks.ranked(&document.origin, true);
    let keyed = documents.iter().map(|(document, _)| (document.key.clone(), ranked(document)));
    let all_best = best_documents(keyed);
    let mut findings = Vec::new();
    documents.retain(|(document, _)| {
        let own = ranked(document);
        let best = all_best.get(&document.key).filter(|best| own.rank < best.rank);
        let what = || format!("{} `{}` is requested", document.kind, document.key);
        findings.extend(best.map(|best| ranks.unused(&what(), &own, best)));
        best.is_none()
    });
    findings
}

/// Joins the objects of Clusters, by kind and name. Reports those of which another document counts,
/// and errors if it is unknown which.
pub(super) fn joined_parts(
    parts: Vec<(PartKey, PartDocument)>,
    builds: &Builds,
    settings: &Settings,
) -> (ClusterParts, Vec<Finding>) {
    let ranks = DocumentRanks::new(builds, settings);
    let ranked = |document: &PartDocument| {
        ranks.ranked(&document.origin, live_field(&document.metadata).is_none())
    };
    let keyed = parts.iter().map(|(key, document)| (key, ranked(document)));
    let all_best = best_documents(keyed);
    let mut findings = Vec::new();
    for (key, document) in &parts {
        let (own, PartKey { kind, namespace, name }) = (ranked(document), key);
        let best = all_best.get(key).filter(|best| best.origin.file != own.origin.file);
        // A snapshot may have any object.
        let best = best.filter(|_| own.rank.is_manifest);
        findings.extend(best.map(|best| {
            if own.rank < best.rank {
                ranks.unused(&format!("{kind} `{namespace}/{name}` is there"), &own, best)
            } else {
                let out = sources::leave_out(settings, &[&own.origin.file]);
                let message = format!("there are two {kind}s {namespace}/{name}");
                Finding::new(Code::DuplicateCluster, message)
                    .at(own.origin.name())
                    .see(best.origin.name(), "the other one")
                    .help(format!(
                        "if this one is an example, keep it; {out}\notherwise give it another name"
                    ))
            }
        }));
    }
    let is_best: Vec<bool> = parts
        .iter()
        .map(|(key, it)| all_best.get(key).is_some_and(|best| best.origin == it.origin))
        .collect();
    drop(all_best);
    let best = parts.into_iter().zip(is_best).filter_map(|(part, is_best)| is_best.then_some(part));
    (ClusterParts::new(best), findings)
}
