//! Queries about a kustomization inside a build: the files it has by then, and the entries that
//! list it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use super::{BuildNode, BuildRoot, Builds, FileReach, join};
use crate::base::finding::Place;
use crate::input::load::Files;

/// An entry of a kustomization that lists another directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing<'a> {
    /// Directory of the kustomization.
    pub directory: &'a Utf8Path,
    /// Place of the entry.
    pub place: Place,
    /// List that has the entry.
    pub among: ListField,
}

/// The list of a kustomization that has an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListField {
    /// `resources` or `bases`.
    Resources,
    /// `components`, with the number of entries before it.
    Components(usize),
    /// `components` of a Component.
    ComponentsOfComponent,
}

impl Builds {
    pub(crate) fn roots(&self) -> impl Iterator<Item = &BuildRoot> {
        self.roots.iter()
    }

    /// Returns the directories of all kustomizations.
    pub fn directories(&self) -> impl Iterator<Item = &Utf8Path> {
        self.nodes.keys().map(Utf8PathBuf::as_path)
    }

    /// Returns the files that a directory's resources and its first `components` components reach.
    ///
    /// Namespaces are those set below the directory. Its own `namespace` is left out, because it
    /// runs after all components: this is the input of the next component.
    pub fn before_component(
        &self,
        directory: &Utf8Path,
        components: usize,
    ) -> HashMap<Utf8PathBuf, Vec<FileReach>> {
        let mut reached = HashMap::new();
        if let Some(node) = self.nodes.get(directory) {
            let reach = FileReach { root: usize::MAX, namespace: None };
            self.walk(node, components, reach, &mut reached);
        }
        reached
    }

    /// Returns the files that a directory's build reaches.
    pub fn below(&self, directory: &Utf8Path) -> HashMap<Utf8PathBuf, Vec<FileReach>> {
        self.before_component(directory, usize::MAX)
    }

    /// Returns the directories of the kustomizations in a directory's build, including itself.
    pub fn made_of<'a>(&'a self, directory: &'a Utf8Path) -> BTreeSet<&'a Utf8Path> {
        self.made_of_all(vec![directory])
    }

    /// Returns the directories of the kustomizations in builds, including their own.
    fn made_of_all<'a>(&'a self, mut pending: Vec<&'a Utf8Path>) -> BTreeSet<&'a Utf8Path> {
        let mut seen = BTreeSet::new();
        while let Some(directory) = pending.pop() {
            if let Some(node) = self.nodes.get(directory).filter(|_| seen.insert(directory)) {
                pending.extend(node.listed().map(Utf8PathBuf::as_path));
            }
        }
        seen
    }

    /// Returns the directories of the kustomizations that list a path below `top` as a resource.
    pub(crate) fn listing_as_resource(&self, top: &Utf8Path) -> BTreeSet<&Utf8Path> {
        let lists = |node: &BuildNode| node.resources.iter().any(|it| it.starts_with(top));
        let listing = self.nodes.iter().filter(|(_, node)| lists(node));
        listing.map(|(directory, _)| directory.as_path()).collect()
    }

    /// Returns whether a directory's build may change what it lists below `top`, which has no
    /// kustomizations yet.
    pub(crate) fn may_change_listed(&self, directory: &Utf8Path, top: &Utf8Path) -> bool {
        let node = |directory: &&Utf8Path| self.nodes.get(*directory);
        let changes = |node: &BuildNode| {
            node.kustomization.changes_objects()
                || node.namespace().is_some()
                || node.components.iter().any(|component| !component.starts_with(top))
        };
        let lists_top = |node: &BuildNode| node.listed().any(|path| path.starts_with(top));
        let changing = self.made_of(directory).into_iter();
        let changing = changing.filter(|directory| node(directory).is_some_and(changes));
        self.made_of_all(changing.collect()).iter().filter_map(node).any(lists_top)
    }

    /// Returns the field and place in the first kustomization that may rename hosts or move them to
    /// another namespace.
    ///
    /// It counts if it reaches one of the `hosts`' files or belongs to the build of a directory in
    /// `built`.
    pub fn that_may_rename<'a>(
        &'a self,
        repo: &Files,
        hosts: &HashSet<&Utf8Path>,
        built: impl Iterator<Item = &'a Utf8Path>,
    ) -> Option<(&'static str, Place)> {
        let built = self.made_of_all(built.collect());
        let reaches_hosts = |directory: &Utf8Path| {
            self.below(directory).keys().any(|file| hosts.contains(file.as_path()))
        };
        self.nodes.iter().find_map(|(directory, node)| {
            let text = |path: &str| repo.text(&join(directory, path)?);
            let field = node.kustomization.field_that_may_rename(text)?;
            let is_in_their_build = || {
                let mut roots = self.roots_of(directory).into_iter();
                roots.any(|root| reaches_hosts(&self.root(root).directory))
            };
            // A component changes what other entries of its build reach.
            let concerns_hosts = built.contains(directory.as_path())
                || reaches_hosts(directory)
                || node.is_component() && is_in_their_build();
            concerns_hosts.then(|| (field, node.origin.at([field])))
        })
    }

    /// Returns the lowest kustomization of a root's build that reaches all given files, with its
    /// number of components.
    pub fn lowest(&self, root: &Utf8Path, files: &BTreeSet<&Utf8Path>) -> (Utf8PathBuf, usize) {
        let reaches_all = |directory: &&Utf8PathBuf| {
            self.nodes.get(*directory).is_some_and(|node| !node.is_component()) && {
                let reached = self.below(directory);
                files.iter().all(|file| reached.contains_key(*file))
            }
        };
        let (mut lowest, mut seen) = (root, BTreeSet::new());
        let node = |directory: &Utf8Path| self.nodes.get(directory);
        // The set ends the descent in a cycle.
        while seen.insert(lowest)
            && let Some(lower) = node(lowest).and_then(|it| it.resources.iter().find(reaches_all))
        {
            lowest = lower;
        }
        (lowest.to_owned(), node(lowest).map_or(0, |node| node.components.len()))
    }

    /// Returns the place of a list in a kustomization, or of the kustomization if it has no such
    /// list.
    pub fn place_in(&self, directory: &Utf8Path, list: &str) -> Option<Place> {
        self.nodes.get(directory).map(|node| node.origin.at([list]))
    }

    /// Returns the place of a root's `resources`.
    pub fn resources_of(&self, root: &BuildRoot) -> Place {
        self.place_in(&root.directory, "resources")
            .unwrap_or_else(|| Place::File(root.file.clone()))
    }

    /// Returns the fields of a directory's kustomization by which plugins and Helm make objects.
    pub(crate) fn made_elsewhere(
        &self,
        directory: &Utf8Path,
    ) -> impl Iterator<Item = &'static str> {
        self.nodes.get(directory).into_iter().flat_map(|node| node.kustomization.made_elsewhere())
    }

    /// Returns the file of a directory's kustomization.
    pub(crate) fn kustomization_file(&self, directory: &Utf8Path) -> Option<Arc<Utf8Path>> {
        Some(self.nodes.get(directory)?.origin.file.clone())
    }

    /// Returns the kustomization that omits an unlisted file, of which `listed` are the directories
    /// of the same kind's listed files: its directory, the one above, or siblings of its directory.
    pub(crate) fn forgetful(
        &self,
        file: &Utf8Path,
        listed: &BTreeSet<&Utf8Path>,
    ) -> Option<Arc<Utf8Path>> {
        let directory = file.parent()?;
        let above = directory.parent();
        let near = [Some(directory), above].into_iter().flatten();
        let kustomization = near.clone().find_map(|it| self.kustomization_file(it))?;
        let is_beside = near.clone().any(|directory| listed.contains(directory))
            || above.is_some() && listed.iter().any(|other| other.parent() == above);
        is_beside.then_some(kustomization)
    }

    /// Returns the listed directories below `top`, each with the entry that lists it, sorted by the
    /// directory of the kustomization.
    pub fn listings_below<'a>(&'a self, top: &'a Utf8Path) -> Vec<(Utf8PathBuf, Listing<'a>)> {
        let listings = self.nodes.iter().flat_map(|(directory, node)| {
            let entries = node.entries().filter_map(|entry| Some((entry.path?, entry.place)));
            // Components follow the resources.
            entries.enumerate().map(move |(index, (path, place))| {
                let among = match index.checked_sub(node.resources.len()) {
                    None => ListField::Resources,
                    Some(_) if node.is_component() => ListField::ComponentsOfComponent,
                    Some(before) => ListField::Components(before),
                };
                (path, Listing { directory, place, among })
            })
        });
        listings.filter(|(path, _)| path.starts_with(top)).collect()
    }
}
