//! Changes outside of clusters.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::Serialize;

use super::agents::{self, AgentObjects};
use super::hosts::{ReviewFacts, entries};
use super::{ChangedFiles, FileState, OutputChange, changed_keys};
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

/// A kustomization that applies declared hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Root")]
pub struct ChangedRoot {
    /// Path relative to the output directory.
    #[schemars(with = "String")]
    pub directory: Utf8PathBuf,
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
    #[schemars(with = "String")]
    pub directory: Utf8PathBuf,
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
    let (mut definitions, mut agent_files) = (BTreeMap::new(), BTreeMap::new());
    let mut root_texts: BTreeMap<&Utf8Path, _> = BTreeMap::new();
    for (path, texts) in files {
        let directory = path.parent().unwrap_or(path);
        let file = path.strip_prefix(directory).unwrap_or(path);
        if path.starts_with(layout::CRDS) {
            definitions.entry(directory).or_insert_with(ChangedFiles::new).insert(file, *texts);
        } else if path.starts_with(layout::AGENTS) {
            agent_files.entry(directory).or_insert_with(ChangedFiles::new).insert(file, *texts);
        } else if layout::is_root(path) {
            // The forms have different file names.
            let known: &mut (Option<&str>, Option<&str>) = root_texts.entry(directory).or_default();
            *known = (known.0.or(texts.0), known.1.or(texts.1));
        } else if layout::is_released(path) || path.file_name() == Some(layout::UNLABELLED) {
            let [before, after] = [texts.0, texts.1].map(|text| {
                let hosts = text.map(|text| entries(path, text)).unwrap_or_default();
                let hosts = hosts.into_iter().map(|host| match host.says {
                    GeneratedHostState::Released(release) => (host.key, release.by),
                    GeneratedHostState::Held(..) | GeneratedHostState::Unlabelled => {
                        (host.key, None)
                    }
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
    }
    let directory = |(directory, files): (&Utf8Path, ChangedFiles<'_>)| ChangedDirectory {
        directory: directory.to_owned(),
        state: FileState::by_witness(&files, layout::KUSTOMIZATION),
    };
    let root = |(directory, texts): (&Utf8Path, (Option<&str>, Option<&str>))| ChangedRoot {
        directory: directory.to_owned(),
        state: FileState::from_sides(texts),
        becomes: match texts {
            (Some(before), Some(after)) if form(before) != form(after) => Some(form(after)),
            _ => None,
        },
    };
    shared.roots = root_texts.into_iter().map(root).collect();
    shared.definitions = definitions.into_iter().map(directory).collect();
    shared.agents = agents::changes(agent_files, is_gone);
    shared
}

/// Returns the form of a generated kustomization.
fn form(text: &str) -> HostsForm {
    let is_component = text.lines().any(|line| line.trim_end() == "kind: Component");
    if is_component { HostsForm::Component } else { HostsForm::Overlay }
}
