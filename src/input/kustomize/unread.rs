//! Entries of kustomizations: those that sipgen does not read, and those that name given paths.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use yaml_serde::Value;

use super::{BuildNode, Builds, join};
use crate::base::api::kustomization::{has, is_inline};
use crate::base::finding::{Place, RouteStep};
use crate::base::text::yaml;
use crate::input::load::kustomize::{ListEntry, file_entries, resource_entries};
use crate::input::load::texts_of_documents;

/// An entry or field of a kustomization that adds to its build.
#[derive(Debug, Clone)]
pub(crate) struct BuildEntry {
    pub(crate) place: Place,
    /// The entry or field as written.
    pub(crate) name: String,
    /// The path of the entry; `None` if it is not in this repo.
    pub(crate) path: Option<Utf8PathBuf>,
}

impl Builds {
    /// Returns the parts of a directory's build that are neither kustomizations nor files: remote
    /// bases, and objects that other programs generate. Also returns its files, each with the entry
    /// that lists it.
    pub(crate) fn parts(
        &self,
        directory: &Utf8Path,
    ) -> (Vec<BuildEntry>, BTreeMap<Utf8PathBuf, BuildEntry>) {
        let (mut elsewhere, mut files) = (Vec::new(), BTreeMap::new());
        for node in self.made_of(directory).into_iter().filter_map(|inner| self.nodes.get(inner)) {
            for part in node.entries() {
                match &part.path {
                    None => elsewhere.push(part),
                    Some(path) if self.nodes.contains_key(path) => {}
                    Some(path) => {
                        files.entry(path.clone()).or_insert(part);
                    }
                }
            }
            elsewhere.extend(node.kustomization.made_elsewhere().map(|field| BuildEntry {
                place: node.origin.at([field]),
                name: field.to_owned(),
                path: None,
            }));
        }
        (elsewhere, files)
    }

    /// Returns a field of a directory's build for which kustomize starts Helm or a plugin, with its
    /// place. `text` returns the content of a file.
    pub(crate) fn plugin(
        &self,
        directory: &Utf8Path,
        text: impl Fn(&Utf8Path) -> Option<String>,
    ) -> Option<(&'static str, Place)> {
        let is_plugin = |document: &str| {
            yaml::parse::<Value>(document)
                .is_some_and(|config| config.get("apiVersion").is_some_and(|it| it != "builtin"))
        };
        self.made_of(directory).into_iter().find_map(|inner| {
            let node = self.nodes.get(inner)?;
            let starts = |entry: &String| {
                let file = || join(inner, entry).and_then(|path| text(&path));
                let content = if is_inline(entry) { Some(entry.clone()) } else { file() };
                content.is_some_and(|content| texts_of_documents(&content).any(is_plugin))
            };
            let lists = |entries: &Option<Vec<String>>| entries.iter().flatten().any(starts);
            let own = &node.kustomization;
            let fields = [
                ("helmCharts", has(&own.helm_charts)),
                ("helmChartInflationGenerator", has(&own.helm_chart_inflation_generator)),
                ("generators", lists(&own.generators)),
                ("transformers", lists(&own.transformers)),
                ("validators", lists(&own.validators)),
            ];
            let (field, _) = fields.into_iter().find(|(_, is_present)| *is_present)?;
            Some((field, node.origin.at([field])))
        })
    }

    /// Returns the entries that name one of these files or directories, in kustomizations that stay as
    /// they are.
    pub(crate) fn entries_naming(
        &self,
        is_named: impl Fn(&Utf8Path) -> bool,
        stays: impl Fn(&Utf8Path) -> bool,
    ) -> Vec<BuildEntry> {
        let nodes = self.nodes.values().filter(|node| stays(&node.origin.file));
        let entries = nodes.flat_map(|node| {
            let files = file_entries(&node.kustomization).into_iter();
            node.entries().chain(files.map(|entry| node.entry(&entry)))
        });
        let names = |entry: &BuildEntry| entry.path.as_deref().is_some_and(&is_named);
        entries.filter(names).collect()
    }

    /// Returns the directories of the kustomizations that list a path.
    pub(crate) fn listed_by(&self, path: &Utf8Path) -> impl Iterator<Item = &Utf8Path> {
        let lists = move |(_, node): &(&Utf8PathBuf, &BuildNode)| {
            node.listed().any(|listed| listed == path)
        };
        self.nodes.iter().filter(lists).map(|(directory, _)| directory.as_path())
    }

    /// Returns the component that nothing lists, if only that keeps a directory out of all builds.
    pub(crate) fn unlisted_component(&self, directory: &Utf8Path) -> Option<Utf8PathBuf> {
        let (mut top, mut seen) = (directory, BTreeSet::from([directory]));
        while let Some(above) = self.listed_by(top).next() {
            // A cycle has no top.
            if !seen.insert(above) {
                return None;
            }
            top = above;
        }
        let is_component = self.nodes.get(top).is_some_and(BuildNode::is_component);
        // Another list of it may lead to a build.
        let is_unbuilt = || top == directory || self.roots_of(directory).is_empty();
        (is_component && is_unbuilt()).then(|| top.to_owned())
    }
}

impl BuildNode {
    /// Returns its resources and components.
    pub(super) fn entries(&self) -> impl Iterator<Item = BuildEntry> {
        resource_entries(&self.kustomization).map(|entry| self.entry(&entry))
    }

    fn entry(&self, entry: &ListEntry<'_>) -> BuildEntry {
        BuildEntry {
            place: self.origin.at([RouteStep::from(entry.list), RouteStep::from(entry.index)]),
            name: entry.text.to_owned(),
            path: join(&self.directory, entry.text),
        }
    }
}
