//! Changes outside of clusters.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::Serialize;
use yaml_serde::Value;

use super::hosts::{ReviewFacts, entries};
use super::{ChangedFiles, FileState, OutputChange, at, changed_keys, documents, is_true};
use crate::base::api::gitops::{APPLICATION, FLUX_KIND};
use crate::base::api::names::{ClusterKey, HostKey};
use crate::base::layout;
use crate::input::settings::gitops::HostsForm;
use crate::site::previous::generated_host::GeneratedHostState;

/// Changes outside of clusters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Shared")]
pub struct SharedChanges {
    /// Kustomizations that apply declared hosts.
    pub roots: Vec<ChangedRoot>,
    /// Outputs for the whole site, by name.
    pub outputs: Vec<OutputChange>,
    /// Definitions that services require.
    pub definitions: Vec<ChangedDirectory>,
    /// Objects that make an agent apply the output.
    pub agents: Vec<AgentObjects>,
    /// Observed hosts that are released: they lose their labels, and are free once a snapshot
    /// confirms it.
    pub released: Vec<ReleasedObservedHost>,
    /// Observed hosts that are no longer listed as released.
    pub no_longer_released: Vec<HostKey>,
    /// Declared hosts whose patch removes labels of their manifest.
    pub unlabelled: Vec<HostKey>,
    /// Declared hosts that keep the labels of their manifest again.
    pub no_longer_unlabelled: Vec<HostKey>,
}

/// A directory of agent objects with changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AgentObjects {
    /// Path relative to the output directory.
    pub directory: String,
    /// Created, changed or deleted.
    pub state: FileState,
    /// Number of removed or replaced objects whose deletion also deletes what they applied,
    /// although it remains in the output directory.
    pub deleting: usize,
}

/// A kustomization that applies declared hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Root")]
pub struct ChangedRoot {
    /// Path relative to the output directory.
    pub directory: String,
    /// Created, changed or deleted.
    pub state: FileState,
    /// New form, if it changes: an agent applies an overlay, a kustomization includes a component.
    pub becomes: Option<HostsForm>,
}

/// A directory with changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Directory")]
pub struct ChangedDirectory {
    /// Path relative to the output directory.
    pub directory: String,
    /// Created, changed or deleted.
    pub state: FileState,
}

/// A released observed host.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[schemars(rename = "Released")]
pub struct ReleasedObservedHost {
    /// The host.
    pub host: HostKey,
    /// Its previous cluster.
    pub by: Option<ClusterKey>,
    /// Consumer, as `Kind namespace/name`.
    pub consumer: Option<String>,
}

/// Computes changes in files that belong to no cluster. `is_gone` tells whether a file of the
/// output directory is deleted.
pub(super) fn changes(
    files: &ChangedFiles<'_>,
    facts: &ReviewFacts<'_>,
    is_gone: &dyn Fn(&Utf8Path) -> bool,
) -> SharedChanges {
    let mut shared = SharedChanges::default();
    for (directory, files) in by_directory(files, |path| path.starts_with(layout::CRDS)) {
        let state = FileState::by_witness(&files, layout::KUSTOMIZATION);
        shared.definitions.push(ChangedDirectory { directory: directory.to_string(), state });
    }
    for (directory, files) in by_directory(files, |path| path.starts_with(layout::AGENTS)) {
        shared.agents.push(AgentObjects {
            directory: directory.to_string(),
            state: FileState::by_witness(&files, layout::KUSTOMIZATION),
            deleting: deleted_with_applied(&files, is_gone),
        });
    }
    for (directory, files) in by_directory(files, layout::is_root) {
        // The forms have different file names.
        let texts = [0, 1].map(|side| files.values().find_map(|texts| texts[side]));
        let forms = texts.map(|text| text.map(form));
        shared.roots.push(ChangedRoot {
            directory: directory.to_string(),
            state: FileState::from_sides(texts),
            becomes: forms[1].filter(|form| forms[0].is_some_and(|before| before != *form)),
        });
    }
    let lists_hosts = |path: &Utf8Path| {
        path.starts_with(layout::HOSTS)
            && (layout::is_released(path) || path.file_name() == Some(layout::UNLABELLED))
    };
    for (path, texts) in files.iter().filter(|(path, _)| lists_hosts(path)) {
        let [before, after] = texts.map(|text| {
            let hosts = text.map(|text| entries(path, text)).unwrap_or_default();
            let hosts = hosts.into_iter().map(|host| match host.says {
                GeneratedHostState::Released(release) => (host.key, release.by),
                GeneratedHostState::Held(..) | GeneratedHostState::Unlabelled => (host.key, None),
            });
            hosts.collect::<BTreeMap<HostKey, Option<ClusterKey>>>()
        });
        for (host, state) in changed_keys(&before, &after) {
            let host = host.clone();
            match (layout::is_released(path), state) {
                (_, FileState::Changed) => {}
                (true, FileState::Deleted) => shared.no_longer_released.push(host),
                (false, FileState::Deleted) => shared.no_longer_unlabelled.push(host),
                (false, FileState::Created) => shared.unlabelled.push(host),
                (true, FileState::Created) => {
                    let (by, consumer) = (after[&host].clone(), facts.user(&host));
                    shared.released.push(ReleasedObservedHost { host, by, consumer });
                }
            }
        }
    }
    shared
}

/// Groups files by their directories.
fn by_directory<'a>(
    files: &ChangedFiles<'a>,
    is_one: impl Fn(&Utf8Path) -> bool,
) -> BTreeMap<&'a Utf8Path, ChangedFiles<'a>> {
    let mut directories: BTreeMap<&Utf8Path, ChangedFiles<'_>> = BTreeMap::new();
    for (path, texts) in files.iter().filter(|(path, _)| is_one(path)) {
        let directory = path.parent().unwrap_or(path);
        let file = path.strip_prefix(directory).unwrap_or(path);
        directories.entry(directory).or_default().insert(file, *texts);
    }
    directories
}

/// Returns the form of a generated kustomization.
fn form(text: &str) -> HostsForm {
    let is_component = text.lines().any(|line| line.trim_end() == "kind: Component");
    if is_component { HostsForm::Component } else { HostsForm::Overlay }
}

/// Identity of an object: kind, namespace and name.
type Identity = (String, Option<String>, String);

/// Counts the removed or replaced objects of an agent whose deletion also deletes what they applied,
/// although it remains in the output directory.
fn deleted_with_applied(files: &ChangedFiles<'_>, is_gone: &dyn Fn(&Utf8Path) -> bool) -> usize {
    let [before, after] = [0, 1].map(|side| deleting(files, side));
    let lost = before.iter().filter(|(object, applied)| {
        let stays = |directory: &Utf8PathBuf| !is_gone(&directory.join(layout::KUSTOMIZATION));
        !after.contains_key(*object) && applied.as_ref().is_some_and(stays)
    });
    lost.count()
}

/// Returns the objects on one side of some files whose deletion also deletes what they applied, with
/// the paths of that in the output directory: Flux with `prune`, Argo CD with a finalizer.
fn deleting(files: &ChangedFiles<'_>, side: usize) -> BTreeMap<Identity, Option<Utf8PathBuf>> {
    let deleting = |object: Value| {
        let text = |field: &str| at(&object, field)?.as_str().map(str::to_owned);
        let kind = text("kind").filter(|kind| [FLUX_KIND, APPLICATION].contains(&kind.as_str()))?;
        let finalizers = at(&object, "metadata.finalizers").and_then(Value::as_sequence);
        let deletes = is_true(&object, "spec.prune")
            || finalizers.is_some_and(|finalizers| !finalizers.is_empty());
        let name = text("metadata.name").filter(|_| deletes)?;
        let path = text("spec.path").or_else(|| text("spec.source.path"));
        let services = path.and_then(|path| layout::services_at_end(Utf8Path::new(&path)));
        Some(((kind, text("metadata.namespace"), name), services))
    };
    let texts = files.values().filter_map(|texts| texts[side]);
    texts.flat_map(documents).filter_map(deleting).collect()
}
