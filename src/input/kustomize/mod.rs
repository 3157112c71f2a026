//! Model of `kustomize build`: the files that each build reaches, from where, and with which
//! namespace.
//!
//! kustomize itself is not run, because it takes minutes on an inventory of thousands of hosts.
//! Tests compare the model with the real kustomize.
//!
//! - `levels`: queries about a kustomization inside a build
//! - `generators`: generated ConfigMaps and Secrets
//! - `strict`: kustomizations that kustomize refuses to read
//! - `unread`: parts of builds that sipgen does not read
//! - `evaluate`: the objects that a build delivers

mod evaluate;
mod generators;
mod levels;
mod strict;
mod unread;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use crate::base::api::kustomization::{Kustomization, Patch, is_inline};
use crate::base::finding::{Code, DocumentBuilds, Finding, Origin, Place, RouteStep};
use crate::base::text::non_empty;
use crate::input::load::kustomize::ListEntry;

pub(crate) use crate::input::load::kustomize::join;
pub use evaluate::EvaluationError;
pub(crate) use evaluate::{
    AgentBuild, BuildObject, DeliveredBuild, DeliveredDocument, EvaluatedFiles, EvaluationResult,
    OverlayBase, OverlayBases, OverlayBuild, PatchFile, Renaming, SubstitutionVariables,
    is_cluster_scoped, is_remote, patched,
};
pub use generators::ReachedGenerator;
pub use levels::{ListField, Listing};
pub(crate) use strict::{KustomizationRefusal, is_empty_kustomization, refusal};
pub(crate) use unread::BuildEntry;

/// The builds of a repo: the outermost kustomizations and the files that they reach.
#[derive(Debug, Default)]
pub struct Builds {
    roots: Vec<BuildRoot>,
    reached: HashMap<Utf8PathBuf, Vec<FileReach>>,
    patches: BTreeSet<Utf8PathBuf>,
    nodes: BTreeMap<Utf8PathBuf, BuildNode>,
    /// Namespaces that kustomizations set in builds that list them as components.
    component_namespaces: HashMap<Utf8PathBuf, GivenNamespace>,
}

/// A namespace, and the kustomization that sets it.
type GivenNamespace = (String, Arc<Utf8Path>);

/// An outermost kustomization: no other kustomization of the repo lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildRoot {
    /// Directory relative to the repo's root; empty for the root itself.
    pub directory: Utf8PathBuf,
    /// Its file.
    pub file: Arc<Utf8Path>,
}

/// A path by which a build reaches a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileReach {
    /// Index of the root, for [`Builds::root`].
    pub root: usize,
    /// Namespace that the build sets, and the kustomization that sets it: the outermost on the path
    /// that sets one. Builds with other changes are evaluated.
    pub namespace: Option<GivenNamespace>,
}

/// A kustomization in builds, or the fields of an agent's object that act like one.
#[derive(Debug, Clone)]
struct BuildNode {
    origin: Origin,
    /// The directory to which its paths are relative. The fields of an agent's object belong to the
    /// directory that it applies.
    directory: Utf8PathBuf,
    kustomization: Kustomization,
    resources: Vec<Utf8PathBuf>,
    /// Directories of its components, which also transform its resources.
    components: Vec<Utf8PathBuf>,
}

impl BuildNode {
    /// Returns the namespace that it sets, and its file.
    fn namespace(&self) -> Option<GivenNamespace> {
        Some((non_empty(&self.kustomization.namespace)?.to_owned(), self.origin.file.clone()))
    }

    /// Returns whether it is a Component, which is built only as part of another kustomization.
    fn is_component(&self) -> bool {
        self.kustomization.kind.as_deref() == Some("Component")
    }

    /// Returns its own file if it has generators. The file represents the generated objects in
    /// [`Builds::reach`].
    fn generates(&self) -> Option<&Utf8Path> {
        self.kustomization.all_generators().next().map(|_| &*self.origin.file)
    }

    /// Returns the place that lists a file or the directory of a kustomization.
    fn place_of_listed(&self, path: &Utf8Path) -> Option<Place> {
        let mut entries = self.entries();
        entries.find(|entry| entry.path.as_deref() == Some(path)).map(|entry| entry.place)
    }

    /// Returns the entries of one of its lists, each with its place.
    fn listed_in<'l, T>(
        &self,
        list: &'static str,
        entries: &'l Option<Vec<T>>,
    ) -> impl Iterator<Item = (Place, &'l T)> {
        entries.iter().flatten().enumerate().map(move |(index, entry)| {
            (self.origin.at([RouteStep::from(list), index.into()]), entry)
        })
    }

    /// Returns the listed files and directories.
    fn listed(&self) -> impl Iterator<Item = &Utf8PathBuf> {
        self.resources.iter().chain(&self.components)
    }
}

impl Builds {
    /// Derives the builds from all kustomizations of a repo. Reports cycles.
    pub fn new(kustomizations: Vec<(Origin, Kustomization)>) -> (Self, Vec<Finding>) {
        let mut nodes: BTreeMap<Utf8PathBuf, BuildNode> = BTreeMap::new();
        let mut patches = BTreeSet::new();
        let mut findings = Vec::new();
        for (origin, kustomization) in kustomizations {
            let directory = origin.file.parent().unwrap_or(Utf8Path::new("")).to_owned();
            let paths = |lists: &[&Option<Vec<String>>]| -> Vec<Utf8PathBuf> {
                let listed = lists.iter().copied().flatten().flatten();
                listed.filter_map(|path| join(&directory, path)).collect()
            };
            let resources = paths(&[&kustomization.resources, &kustomization.bases]);
            let components = paths(&[&kustomization.components]);
            let patch_paths = kustomization.patches.iter().flatten().filter_map(Patch::path);
            let merge_paths = kustomization.patches_strategic_merge.iter().flatten();
            patches
                .extend(patch_paths.chain(merge_paths).filter_map(|path| join(&directory, path)));
            let node = BuildNode {
                origin: origin.clone(),
                directory: directory.clone(),
                kustomization,
                resources,
                components,
            };
            if let Some(other) = nodes.insert(directory, node) {
                let message = "the directory has two kustomization files, which kustomize refuses";
                let finding = Finding::new(Code::BuildRefused, message)
                    .at(Place::File(origin.file))
                    .see(Place::File(other.origin.file), "the other one");
                findings.push(finding.help("merge the files, or delete one"));
            }
        }

        let (component_namespaces, cycles) = component_namespaces(&nodes);
        findings.extend(cycles.into_iter().map(|(node, next)| {
            let (listed, file) = (node.place_of_listed(&next.directory), &node.origin.file);
            let message =
                format!("`{file}` lists itself, directly or through other kustomizations");
            Finding::new(Code::BuildRefused, message)
                .at(listed.unwrap_or_else(|| Place::File(file.clone())))
                .help("remove one of the references; kustomize cannot build a cycle")
        }));
        // Kustomizations that others list are not built on their own, and neither are components.
        let inner: HashSet<&Utf8PathBuf> = nodes.values().flat_map(BuildNode::listed).collect();
        let roots =
            nodes.values().filter(|it| !it.is_component() && !inner.contains(&it.directory));
        let roots = roots.map(|BuildNode { directory, origin, .. }| BuildRoot {
            directory: directory.clone(),
            file: origin.file.clone(),
        });
        let roots = roots.collect();
        let mut reached = HashMap::new();
        let mut builds =
            Builds { roots, patches, nodes, component_namespaces, ..Builds::default() };
        for (root, BuildRoot { directory, .. }) in builds.roots.iter().enumerate() {
            let node = &builds.nodes[directory];
            let reach = FileReach { root, namespace: node.namespace() };
            builds.walk(node, usize::MAX, reach, &mut reached);
        }
        builds.reached = reached;
        (builds, findings)
    }

    /// Walks down from the resources and the first `components` components of a kustomization.
    ///
    /// An outer namespace wins over an inner one, because kustomize runs the outer transformer last.
    /// A directory is entered once per distinct namespace, however many paths lead there, so cycles
    /// end.
    fn walk(
        &self,
        node: &BuildNode,
        components: usize,
        reach: FileReach,
        reached: &mut HashMap<Utf8PathBuf, Vec<FileReach>>,
    ) {
        let mut entered: HashSet<(&Utf8Path, FileReach)> = HashSet::new();
        let mut pending = self.children(node, components, reach);
        while let Some((path, mut reach)) = pending.pop() {
            if !entered.insert((path, reach.clone())) {
                continue;
            }
            match self.nodes.get(path) {
                Some(node) => {
                    reach.namespace = reach.namespace.or_else(|| node.namespace());
                    pending.extend(self.children(node, usize::MAX, reach));
                }
                None => reached.entry(path.to_owned()).or_default().push(reach),
            }
        }
    }

    /// Returns the entries of a kustomization, each with its reach; only the first `components`
    /// components count.
    ///
    /// Components run in order, each on everything accumulated so far. The last namespace wins.
    /// Resources of a component are changed by that component and later ones only.
    fn children<'a>(
        &'a self,
        node: &'a BuildNode,
        components: usize,
        mut reach: FileReach,
    ) -> Vec<(&'a Utf8Path, FileReach)> {
        let mut children = Vec::new();
        for component in node.components.iter().take(components).rev() {
            children.push((component.as_path(), reach.clone()));
            let given = || self.component_namespaces.get(component).cloned();
            reach.namespace = reach.namespace.or_else(given);
        }
        let listed = node.resources.iter().map(Utf8PathBuf::as_path).chain(node.generates());
        children.extend(listed.map(|path| (path, reach.clone())));
        children
    }

    /// Returns the paths by which builds reach a file, or none.
    pub fn reach(&self, file: &Utf8Path) -> &[FileReach] {
        self.reached.get(file).map_or(&[], Vec::as_slice)
    }

    /// Returns all files that builds reach, without kustomizations that generate nothing.
    pub(crate) fn listed(&self) -> impl Iterator<Item = &Utf8PathBuf> {
        self.reached.keys()
    }

    /// Returns the place that lists a reached path.
    pub(crate) fn place_of_listed(&self, path: &Utf8Path) -> Place {
        let found = self.nodes.values().find_map(|node| node.place_of_listed(path));
        found.unwrap_or_else(|| Place::File(Arc::from(path)))
    }

    /// Returns the paths by which builds reach a document.
    ///
    /// Rendered documents are reached by no build. Documents delivered by an evaluated build
    /// already have their final namespace, so no other one is set.
    pub fn reach_of(&self, origin: &Origin) -> Cow<'_, [FileReach]> {
        if origin.is_rendered() {
            return Cow::Borrowed(&[]);
        }
        let all = self.reach(&origin.file);
        let Some(DocumentBuilds { roots, is_evaluated, .. }) = origin.delivered() else {
            return Cow::Borrowed(all);
        };
        Cow::Owned(match *is_evaluated {
            true => roots.iter().map(|root| FileReach { root: *root, namespace: None }).collect(),
            false => all.iter().filter(|reach| roots.contains(&reach.root)).cloned().collect(),
        })
    }

    /// Returns the indices of the roots whose builds include a directory; a root includes itself.
    pub fn roots_of(&self, directory: &Utf8Path) -> Vec<usize> {
        let has =
            |(_, root): &(usize, &BuildRoot)| self.made_of(&root.directory).contains(directory);
        self.roots.iter().enumerate().filter(has).map(|(index, _)| index).collect()
    }

    /// Returns the outermost kustomizations whose builds list a path below `top`, each by its index.
    pub(crate) fn roots_listing(&self, top: &Utf8Path) -> BTreeSet<usize> {
        let listed = self.reached.iter().filter(|(path, _)| path.starts_with(top));
        listed.flat_map(|(_, reaches)| reaches).map(|reach| reach.root).collect()
    }

    /// Returns the root with the index of a [`FileReach`].
    pub fn root(&self, index: usize) -> &BuildRoot {
        &self.roots[index]
    }

    /// Returns the place of `namespace` in a kustomization file.
    pub fn place_of_namespace(&self, file: &Arc<Utf8Path>) -> Place {
        let node = file.parent().and_then(|directory| self.nodes.get(directory));
        node.map_or_else(|| Place::File(file.clone()), |node| node.origin.at(["namespace"]))
    }

    /// Returns whether a directory has a kustomization.
    pub fn has_kustomization(&self, directory: &Utf8Path) -> bool {
        self.nodes.contains_key(directory)
    }

    /// Returns the inline patches of all kustomizations, each with its list and index.
    pub(crate) fn inline_patches(&self) -> impl Iterator<Item = (&Origin, ListEntry<'_>)> {
        self.nodes.values().flat_map(|node| {
            let own = &node.kustomization;
            let lists = [("patches", &own.patches), ("patchesJson6902", &own.patches_json6902)];
            let patches = lists.into_iter().flat_map(|(list, patches)| {
                patches.iter().flatten().enumerate().filter_map(move |(index, patch)| {
                    Some(ListEntry { list, index, text: patch.inline()? })
                })
            });
            let list = "patchesStrategicMerge";
            let merges = own.patches_strategic_merge.iter().flatten().enumerate();
            let merges = merges.map(move |(index, text)| ListEntry { list, index, text });
            let merges = merges.filter(|entry| is_inline(entry.text));
            patches.chain(merges).map(|entry| (&node.origin, entry))
        })
    }

    /// Returns whether a file is used only as a patch. Patches look like objects.
    pub fn is_patch(&self, file: &Utf8Path) -> bool {
        self.patches.contains(file) && self.reach(file).is_empty()
    }
}

/// A kustomization of a cycle, and its entry that leads back to itself.
type Cycle<'a> = (&'a BuildNode, &'a BuildNode);

/// Returns the namespaces that kustomizations set as components: each its own, otherwise that of the
/// last of its components that sets one. Also returns one kustomization of each cycle, where
/// namespaces stay incomplete.
fn component_namespaces(
    nodes: &BTreeMap<Utf8PathBuf, BuildNode>,
) -> (HashMap<Utf8PathBuf, GivenNamespace>, Vec<Cycle<'_>>) {
    let mut namespaces: HashMap<Utf8PathBuf, GivenNamespace> = HashMap::new();
    let mut done: HashSet<&Utf8PathBuf> = HashSet::new();
    // Depth-first search without recursion, so that long chains of kustomizations cannot exhaust
    // the stack.
    let mut cycles = Vec::new();
    for start in nodes.keys() {
        let mut path: Vec<&Utf8PathBuf> = Vec::new();
        let mut depths: HashMap<&Utf8PathBuf, usize> = HashMap::new();
        // Each directory is pushed twice: to enter it, and below its entries, to leave it.
        let mut pending = vec![(start, false)];
        while let Some((directory, leave)) = pending.pop() {
            let Some(node) = nodes.get(directory).filter(|_| !done.contains(directory)) else {
                continue;
            };
            if leave {
                path.pop();
                depths.remove(directory);
                done.insert(directory);
                let mut components = node.components.iter().rev();
                let last = || components.find_map(|it| namespaces.get(it).cloned());
                if let Some(namespace) = node.namespace().or_else(last) {
                    namespaces.insert(directory.clone(), namespace);
                }
                continue;
            }
            // The directory is on the current path: a cycle.
            if let Some(at) = depths.get(directory).copied() {
                let next = path.get(at + 1).and_then(|next| nodes.get(*next));
                cycles.push((node, next.unwrap_or(node)));
                continue;
            }
            depths.insert(directory, path.len());
            path.push(directory);
            pending.push((directory, true));
            pending.extend(node.listed().map(|listed| (listed, false)));
        }
    }
    (namespaces, cycles)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::load::Files;

    /// Returns the builds of kustomizations given as (directory, text).
    fn builds(kustomizations: &[(&str, &str)]) -> (Builds, Vec<Finding>) {
        let dir = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(dir.path()).unwrap();
        for (directory, text) in kustomizations {
            std::fs::create_dir_all(root.join(directory)).unwrap();
            std::fs::write(root.join(directory).join("kustomization.yaml"), text).unwrap();
        }
        let repo = Files::on_disk(root);
        let (files, _) = repo.files_and_closed(Utf8Path::new("overlays")).unwrap();
        let read = repo.scan(
            &files,
            |_, _| true,
            |document| Some((document.origin.clone(), document.parse().unwrap())),
        );
        Builds::new(read.unwrap())
    }

    fn namespace(builds: &Builds, file: &str) -> Vec<Option<String>> {
        let reach = builds.reach(Utf8Path::new(file));
        reach
            .iter()
            .map(|reach| reach.namespace.as_ref().map(|(namespace, _)| namespace.clone()))
            .collect()
    }

    #[test]
    fn the_outermost_namespace_wins() {
        let (builds, findings) = builds(&[
            ("site", "namespace: outer\nresources: [a.yaml, inner]"),
            ("site/inner", "namespace: inner\nresources: [b.yaml, ../../shared]"),
            ("shared", "resources: [c.yaml]"),
        ]);
        assert!(findings.is_empty());
        for file in ["site/a.yaml", "site/inner/b.yaml", "shared/c.yaml"] {
            assert_eq!(namespace(&builds, file), [Some("outer".to_owned())], "{file}");
        }
        assert_eq!(builds.roots.len(), 1);
        assert_eq!(builds.root(0).directory, "site");
    }

    #[test]
    fn a_file_that_two_builds_reach_has_two_reaches() {
        let (builds, _) = builds(&[
            ("a", "namespace: a\nresources: [../base]"),
            ("b", "namespace: b\nresources: [../base]"),
            ("base", "resources: [host.yaml]"),
        ]);
        assert_eq!(
            namespace(&builds, "base/host.yaml"),
            [Some("a".to_owned()), Some("b".to_owned())]
        );
    }

    #[test]
    fn an_unreached_file_is_in_no_build_and_a_patch_is_no_resource() {
        let (builds, _) =
            builds(&[(".", "resources: [a.yaml]\npatches: [{path: p.yaml}, {patch: x}]")]);
        assert!(builds.reach(Utf8Path::new("b.yaml")).is_empty());
        assert!(builds.is_patch(Utf8Path::new("p.yaml")));
        assert!(!builds.is_patch(Utf8Path::new("a.yaml")));
    }

    #[test]
    fn a_cycle_is_a_finding_and_ends() {
        let (_, findings) = builds(&[("a", "resources: [../b]"), ("b", "resources: [../a]")]);
        assert_eq!(findings.len(), 1, "{findings:?}");

        let (_, findings) = builds(&[
            (".", "resources: [a]"),
            ("a", "resources: [../b]"),
            ("b", "resources: [../a]"),
        ]);
        assert_eq!(findings.len(), 1, "{findings:?}");
    }
}
