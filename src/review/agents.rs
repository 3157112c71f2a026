//! What becomes of the objects that tell an agent what to apply.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ChangedFiles, State};
use crate::api::gitops::{APPLICATION, FLUX_KIND};
use crate::layout;
use crate::load::document;

/// A directory of agents' objects of which anything changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentObjects {
    /// Relative to the output directory.
    #[schemars(with = "String")]
    pub directory: Utf8PathBuf,
    /// Whether it comes, changes or goes.
    pub state: State,
    /// How many objects go, or are others from now on, that delete what they applied with them, although it stays in
    /// the output directory.
    pub deleting: usize,
}

/// What an agent knows its object by: kind, namespace and name.
type Identity = (String, Option<String>, String);

/// An agent's object that deletes, when it goes itself, what it has applied: with Flux by `prune`, with Argo CD by a
/// finalizer.
#[derive(Deserialize)]
struct Object {
    metadata: Metadata,
    spec: Spec,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    namespace: Option<String>,
    #[serde(default)]
    finalizers: Vec<String>,
}

#[derive(Deserialize)]
struct Spec {
    #[serde(default)]
    prune: bool,
    path: Option<String>,
    source: Option<Source>,
}

#[derive(Deserialize)]
struct Source {
    path: Option<String>,
}

/// What changes of agents' objects in some files. `is_gone` says which files of the output directory go.
pub(super) fn changes(
    by_directory: BTreeMap<&Utf8Path, ChangedFiles<'_>>,
    is_gone: &dyn Fn(&Utf8Path) -> bool,
) -> Vec<AgentObjects> {
    let change = |(directory, files): (&Utf8Path, ChangedFiles<'_>)| {
        let after: BTreeSet<Identity> = deleting(&files, |(_, after)| after).into_keys().collect();
        let lost =
            deleting(&files, |(before, _)| before)
                .into_iter()
                .filter(|(object, applied)| {
                    let stays =
                        |directory: &Utf8PathBuf| !is_gone(&directory.join(layout::KUSTOMIZATION));
                    !after.contains(object) && applied.as_ref().is_some_and(stays)
                });
        AgentObjects {
            directory: directory.to_owned(),
            state: State::by_witness(&files, layout::KUSTOMIZATION),
            deleting: lost.count(),
        }
    };
    by_directory.into_iter().map(change).collect()
}

/// The objects in one of the two states of some files that delete what they apply, and where that lies in the output
/// directory.
fn deleting<'a>(
    files: &ChangedFiles<'a>,
    state: impl Fn(super::Texts<'a>) -> Option<&'a str>,
) -> BTreeMap<Identity, Option<Utf8PathBuf>> {
    let mut found = BTreeMap::new();
    for (path, texts) in files {
        let Some(text) = state(*texts) else { continue };
        for document in document::objects(&Arc::from(*path), text) {
            let kind = document.kind().unwrap_or_default();
            if let (FLUX_KIND | APPLICATION, Ok(Object { metadata, spec })) =
                (kind, document.parse::<Object>())
                && (spec.prune || !metadata.finalizers.is_empty())
            {
                let path = spec.path.or_else(|| spec.source?.path);
                let services = path.and_then(|path| layout::services_at_end(Utf8Path::new(&path)));
                found.insert(
                    (kind.to_owned(), metadata.namespace, metadata.name),
                    services,
                );
            }
        }
    }
    found
}
