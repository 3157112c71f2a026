//! Changes of Flux and Argo CD objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ChangedFiles, FileState};
use crate::base::api::gitops::{APPLICATION, FLUX_KIND};
use crate::base::layout;
use crate::input::load::objects;

/// A directory of agent objects with changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AgentObjects {
    /// Path relative to the output directory.
    #[schemars(with = "String")]
    pub directory: Utf8PathBuf,
    /// Created, changed or deleted.
    pub state: FileState,
    /// Number of removed or replaced objects whose deletion also deletes what they applied,
    /// although it remains in the output directory.
    pub deleting: usize,
}

/// Identity of an object: kind, namespace and name.
type Identity = (String, Option<String>, String);

/// An agent object whose deletion also deletes what it applied: Flux with `prune`, Argo CD with a
/// finalizer.
#[derive(Deserialize)]
struct PruningObject {
    metadata: PruningMetadata,
    spec: PruningSpec,
}

#[derive(Deserialize)]
struct PruningMetadata {
    name: String,
    namespace: Option<String>,
    #[serde(default)]
    finalizers: Vec<String>,
}

#[derive(Deserialize)]
struct PruningSpec {
    #[serde(default)]
    prune: bool,
    path: Option<String>,
    source: Option<PruningSource>,
}

#[derive(Deserialize)]
struct PruningSource {
    path: Option<String>,
}

/// Computes changes of agent objects. `is_gone` tells whether a file of the output directory is
/// deleted.
pub(super) fn changes(
    by_directory: BTreeMap<&Utf8Path, ChangedFiles<'_>>,
    is_gone: &dyn Fn(&Utf8Path) -> bool,
) -> Vec<AgentObjects> {
    let change = |(directory, files): (&Utf8Path, ChangedFiles<'_>)| {
        let after: BTreeSet<Identity> = deleting(&files, |(_, after)| after).into_keys().collect();
        let lost =
            deleting(&files, |(before, _)| before).into_iter().filter(|(object, applied)| {
                let stays =
                    |directory: &Utf8PathBuf| !is_gone(&directory.join(layout::KUSTOMIZATION));
                !after.contains(object) && applied.as_ref().is_some_and(stays)
            });
        AgentObjects {
            directory: directory.to_owned(),
            state: FileState::by_witness(&files, layout::KUSTOMIZATION),
            deleting: lost.count(),
        }
    };
    by_directory.into_iter().map(change).collect()
}

/// Returns the pruning objects on one side of some files, with the paths that they apply in the
/// output directory.
fn deleting<'a>(
    files: &ChangedFiles<'a>,
    state: impl Fn(super::Texts<'a>) -> Option<&'a str>,
) -> BTreeMap<Identity, Option<Utf8PathBuf>> {
    let mut found = BTreeMap::new();
    for (path, texts) in files {
        let Some(text) = state(*texts) else { continue };
        for document in objects(&Arc::from(*path), text) {
            let kind = document.kind().unwrap_or_default();
            if let (FLUX_KIND | APPLICATION, Ok(PruningObject { metadata, spec })) =
                (kind, document.parse::<PruningObject>())
                && (spec.prune || !metadata.finalizers.is_empty())
            {
                let path = spec.path.or_else(|| spec.source?.path);
                let services = path.and_then(|path| layout::services_at_end(Utf8Path::new(&path)));
                found.insert((kind.to_owned(), metadata.namespace, metadata.name), services);
            }
        }
    }
    found
}
