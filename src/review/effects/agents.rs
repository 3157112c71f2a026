//! Changes of Flux and Argo CD objects.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::Serialize;
use yaml_serde::Value;

use super::immutable::at;
use super::{ChangedFiles, FileState, documents};
use crate::base::api::gitops::{APPLICATION, FLUX_KIND};
use crate::base::layout;

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

/// Computes changes of agent objects. `is_gone` tells whether a file of the output directory is
/// deleted.
pub(super) fn changes(
    by_directory: BTreeMap<&Utf8Path, ChangedFiles<'_>>,
    is_gone: &dyn Fn(&Utf8Path) -> bool,
) -> Vec<AgentObjects> {
    let change = |(directory, files): (&Utf8Path, ChangedFiles<'_>)| {
        let before = deleting(&files, |(before, _)| before);
        let after = deleting(&files, |(_, after)| after);
        let lost = before.iter().filter(|(object, applied)| {
            let stays = |directory: &Utf8PathBuf| !is_gone(&directory.join(layout::KUSTOMIZATION));
            !after.contains_key(*object) && applied.as_ref().is_some_and(stays)
        });
        AgentObjects {
            directory: directory.to_owned(),
            state: FileState::by_witness(&files, layout::KUSTOMIZATION),
            deleting: lost.count(),
        }
    };
    by_directory.into_iter().map(change).collect()
}

/// Returns the objects on one side of some files whose deletion also deletes what they applied, with
/// the paths of that in the output directory: Flux with `prune`, Argo CD with a finalizer.
fn deleting<'a>(
    files: &ChangedFiles<'a>,
    state: impl Fn(super::Texts<'a>) -> Option<&'a str>,
) -> BTreeMap<Identity, Option<Utf8PathBuf>> {
    let mut found = BTreeMap::new();
    for texts in files.values() {
        let Some(text) = state(*texts) else { continue };
        for object in documents(text) {
            let Some(kind @ (FLUX_KIND | APPLICATION)) = object.get("kind").and_then(Value::as_str)
            else {
                continue;
            };
            let text = |field: &str| at(&object, field)?.as_str().map(str::to_owned);
            let finalizers = at(&object, "metadata.finalizers").and_then(Value::as_sequence);
            let deletes = at(&object, "spec.prune").and_then(Value::as_bool) == Some(true)
                || finalizers.is_some_and(|finalizers| !finalizers.is_empty());
            if let Some(name) = text("metadata.name").filter(|_| deletes) {
                let path = text("spec.path").or_else(|| text("spec.source.path"));
                let services = path.and_then(|path| layout::services_at_end(Utf8Path::new(&path)));
                found.insert((kind.to_owned(), text("metadata.namespace"), name), services);
            }
        }
    }
    found
}
