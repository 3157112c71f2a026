//! The files that builds reach and change.

use std::collections::{BTreeMap, HashSet};

use camino::Utf8PathBuf;
use yaml_serde::Value;

use super::EvaluatedFiles;
use crate::base::api::kustomization::{Kustomization, has};
use crate::base::grouping::grouped;
use crate::base::text::non_empty;
use crate::input::kustomize::{BuildNode, Builds, join};

impl Kustomization {
    /// Returns whether it changes objects by more than a namespace.
    pub(in crate::input::kustomize) fn changes_objects(&self) -> bool {
        let is_map =
            |map: &Option<BTreeMap<String, Value>>| map.as_ref().is_some_and(|map| !map.is_empty());
        has(&self.labels)
            || is_map(&self.common_labels)
            || is_map(&self.common_annotations)
            || non_empty(&self.name_prefix).is_some()
            || non_empty(&self.name_suffix).is_some()
            || has(&self.patches)
            || has(&self.patches_strategic_merge)
            || has(&self.patches_json6902)
            || has(&self.replacements)
            || has(&self.replicas)
            || has(&self.vars)
            || has(&self.transformers)
            || has(&self.configurations)
            || self.all_generators().any(|(.., generator)| generator.overrides())
    }
}

impl Builds {
    /// Returns the files that a kustomization changes by more than a namespace, and those of `remade`.
    pub(super) fn touched(&self, wanted: &EvaluatedFiles<'_>) -> HashSet<&Utf8PathBuf> {
        let entries = self.nodes.iter();
        let entries =
            entries.flat_map(|(directory, node)| node.listed().map(move |it| (it, directory)));
        let listing = grouped(entries);
        // A component changes the kustomizations that list it. A path outside the repo may be a
        // remote component.
        let changes = |(directory, node): &(&Utf8PathBuf, &BuildNode)| {
            let is_foreign = |path: &String| {
                join(directory, path).is_none_or(|path| {
                    let is_output = wanted.output.is_some_and(|output| path.starts_with(output));
                    !self.nodes.contains_key(&path) && !is_output
                })
            };
            wanted.agents.contains_key(directory.as_path())
                || node.kustomization.changes_objects()
                || node.kustomization.components.iter().flatten().any(is_foreign)
        };
        let changed = self.nodes.iter().filter(changes).map(|(directory, _)| directory);
        let remade =
            wanted.remade.iter().filter_map(|file| Some(self.reached.get_key_value(&**file)?.0));
        let mut pending: Vec<&Utf8PathBuf> = changed.chain(remade).collect();
        let mut entered: HashSet<&Utf8PathBuf> = HashSet::new();
        let mut files: HashSet<&Utf8PathBuf> = HashSet::new();
        while let Some(path) = pending.pop() {
            if !entered.insert(path) {
                continue;
            }
            let Some(node) = self.nodes.get(path) else {
                files.insert(path);
                continue;
            };
            pending.extend(node.listed());
            if node.is_component() {
                // A component also changes the resources of the kustomizations that include it.
                pending.extend(listing.get(path).into_iter().flatten());
            }
        }
        files
    }
}
