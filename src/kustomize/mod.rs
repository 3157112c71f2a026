//! Which files a `kustomize build` of the repo reaches, from where, and with which namespace.
//!
//! kustomize itself is not called: it takes minutes on an inventory of thousands of hosts. What decides
//! reach and namespace is little, and is modelled here; a fixture's build by the real kustomize is the test. `levels`
//! looks at builds from a kustomization within, `generators` at what they generate, and `strict` tells which
//! kustomizations kustomize refuses to read.

mod evaluate;
mod generators;
mod levels;
mod strict;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};

use crate::api::kustomization::{Kustomization, Patch};
use crate::finding::{Code, Finding, Origin, Place, Step};

pub use evaluate::NotBuilt;
pub(crate) use evaluate::{AsDelivered, Renaming, Variables, Wanted};
pub use generators::Generated;
pub use levels::{Among, Listing};
pub(crate) use strict::{Refusal, refusal};

/// All builds of a repo: its outermost kustomizations and what they reach.
#[derive(Debug, Default)]
pub struct Builds {
    roots: Vec<Root>,
    reached: HashMap<Utf8PathBuf, Vec<Reach>>,
    patches: BTreeSet<Utf8PathBuf>,
    nodes: BTreeMap<Utf8PathBuf, Node>,
}

/// An outermost kustomization: no other one of the repo has it among its resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Its directory, relative to the repo's root; empty for the root itself.
    pub directory: Utf8PathBuf,
    /// Its file.
    pub file: Arc<Utf8Path>,
}

/// One way in which a build reaches a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reach {
    /// Index of the root, see [`Builds::root`].
    pub root: usize,
    /// The joint effect of the kustomizations on the way; the outermost wins.
    pub effect: Effect,
}

/// A change of names and namespaces.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Effect {
    /// The namespace that a build gives, with the kustomization that says so.
    pub namespace: Option<(String, Arc<Utf8Path>)>,
    /// A kustomization that renames what it builds.
    pub renamed_by: Option<Arc<Utf8Path>>,
}

#[derive(Debug)]
struct Node {
    origin: Origin,
    file: Arc<Utf8Path>,
    kustomization: Kustomization,
    resources: Vec<Utf8PathBuf>,
    /// The directories of its components: they transform what it has, too.
    components: Vec<Utf8PathBuf>,
    /// Its own file, when it generates something: it stands for that among what builds reach.
    generates: Option<Utf8PathBuf>,
    /// The effect of its own fields.
    own: Effect,
    /// The effect on a build that lists it as a component, including its own components.
    as_component: Effect,
}

impl Effect {
    /// Reads the effect of a kustomization's own fields.
    fn of(kustomization: &Kustomization, file: &Arc<Utf8Path>) -> Self {
        let namespace = kustomization
            .namespace
            .clone()
            .filter(|namespace| !namespace.is_empty());
        let renaming = [&kustomization.name_prefix, &kustomization.name_suffix];
        let renames = renaming.into_iter().flatten().any(|text| !text.is_empty());
        Effect {
            namespace: namespace.map(|namespace| (namespace, file.clone())),
            renamed_by: renames.then(|| file.clone()),
        }
    }

    /// Adds what runs earlier in a build, and so counts only where this changes nothing.
    fn after(&mut self, earlier: &Effect) {
        if self.namespace.is_none() {
            self.namespace.clone_from(&earlier.namespace);
        }
        if self.renamed_by.is_none() {
            self.renamed_by.clone_from(&earlier.renamed_by);
        }
    }
}

impl Node {
    /// Whether it works only inside another build.
    fn is_component(&self) -> bool {
        self.kustomization.kind.as_deref() == Some("Component")
    }

    /// Where it lists a file or the directory of a kustomization.
    fn place_of_listed(&self, path: &Utf8Path) -> Option<Place> {
        let own = self.file.parent().unwrap_or(Utf8Path::new(""));
        let lists = [
            ("resources", &self.kustomization.resources),
            ("bases", &self.kustomization.bases),
            ("components", &self.kustomization.components),
        ];
        lists.into_iter().find_map(|(name, list)| {
            let index = list
                .iter()
                .flatten()
                .position(|entry| join(own, entry).as_deref() == Some(path))?;
            Some(self.origin.at([Step::from(name), Step::from(index)]))
        })
    }

    /// What it lists, directories and files alike.
    fn listed(&self) -> impl Iterator<Item = &Utf8PathBuf> {
        self.resources.iter().chain(&self.components)
    }
}

/// Sets the effect of each kustomization as a component. It is incomplete in a cycle, which is refused.
fn join_effects(nodes: &mut BTreeMap<Utf8PathBuf, Node>) {
    let mut entered: HashSet<Utf8PathBuf> = HashSet::new();
    for start in nodes.keys().cloned().collect::<Vec<_>>() {
        // A directory is on the stack twice: to be entered, and below its components, to be left.
        let mut pending = vec![(start, false)];
        while let Some((directory, leave)) = pending.pop() {
            let Some(node) = nodes.get(&directory) else {
                continue;
            };
            if leave {
                let mut effect = node.own.clone();
                let components = node
                    .components
                    .iter()
                    .rev()
                    .filter_map(|component| nodes.get(component));
                components.for_each(|component| effect.after(&component.as_component));
                nodes
                    .entry(directory)
                    .and_modify(|node| node.as_component = effect);
            } else if entered.insert(directory.clone()) {
                let components: Vec<(Utf8PathBuf, bool)> = node
                    .components
                    .iter()
                    .map(|component| (component.clone(), false))
                    .collect();
                pending.push((directory, true));
                pending.extend(components);
            }
        }
    }
}

impl Builds {
    /// Works out the builds from all kustomizations of a repo. Cycles are findings.
    pub fn new(kustomizations: Vec<(Origin, Kustomization)>) -> (Self, Vec<Finding>) {
        let mut nodes: BTreeMap<Utf8PathBuf, Node> = BTreeMap::new();
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
            let patch_paths = kustomization
                .patches
                .iter()
                .flatten()
                .filter_map(Patch::path);
            let merge_paths = kustomization.patches_strategic_merge.iter().flatten();
            patches.extend(
                patch_paths
                    .chain(merge_paths)
                    .filter_map(|path| join(&directory, path)),
            );
            let generates = kustomization.secret_generator.is_some()
                || kustomization.config_map_generator.is_some();
            let generates = generates.then(|| origin.file.to_path_buf());
            let file = origin.file.clone();
            let (own, as_component) = (Effect::of(&kustomization, &file), Effect::default());
            let origin_of = origin.clone();
            let node = Node {
                origin: origin_of,
                file,
                kustomization,
                resources,
                components,
                generates,
                own,
                as_component,
            };
            if let Some(other) = nodes.insert(directory, node) {
                findings.push(
                    Finding::new(
                        Code::TwoKustomizations,
                        "there are two kustomizations in one directory, which kustomize refuses",
                    )
                    .at(Place::File(origin.file))
                    .see(Place::File(other.file), "the other one")
                    .help("merge them into one"),
                );
            }
        }

        join_effects(&mut nodes);
        let inner: BTreeSet<&Utf8PathBuf> = nodes
            .values()
            .flat_map(Node::listed)
            .filter(|path| nodes.contains_key(*path))
            .collect();
        let mut builds = Builds {
            patches,
            ..Builds::default()
        };
        for (directory, node) in &nodes {
            if inner.contains(directory) || node.is_component() {
                continue;
            }
            let root = builds.roots.len();
            builds.roots.push(Root {
                directory: directory.clone(),
                file: node.file.clone(),
            });
            let reach = Reach {
                root,
                effect: node.own.clone(),
            };
            walk(
                &nodes,
                children(&nodes, node, usize::MAX, reach),
                &mut builds.reached,
            );
        }
        findings.extend(cycles(&nodes).into_iter().map(|(node, next)| {
            let listed = node.place_of_listed(next.file.parent().unwrap_or(Utf8Path::new("")));
            Finding::new(
                Code::KustomizationCycle,
                format!(
                    "{} has itself among its resources, directly or through others",
                    node.file
                ),
            )
            .at(listed.unwrap_or_else(|| Place::File(node.file.clone())))
            .help("kustomize cannot build a cycle; remove one of the references")
        }));
        builds.nodes = nodes;
        (builds, findings)
    }

    /// The ways in which builds reach a file; none when no build does.
    pub fn reach(&self, file: &Utf8Path) -> &[Reach] {
        self.reached.get(file).map_or(&[], Vec::as_slice)
    }

    /// The paths of all that builds reach, other than kustomizations.
    pub(crate) fn listed(&self) -> impl Iterator<Item = &Utf8PathBuf> {
        self.reached.keys()
    }

    /// Where a kustomization lists a path that builds reach, and that kustomization's file.
    pub(crate) fn place_of_listed(&self, path: &Utf8Path) -> (Place, Arc<Utf8Path>) {
        let found = self
            .nodes
            .values()
            .find_map(|node| Some((node.place_of_listed(path)?, node.file.clone())));
        found.unwrap_or_else(|| (Place::File(Arc::from(path)), Arc::from(path)))
    }

    /// The ways in which builds reach a document; what is rendered already, no build reaches any more. What builds have
    /// been asked about has the namespace that they give.
    pub fn reach_of(&self, origin: &Origin) -> Cow<'_, [Reach]> {
        if origin.is_rendered() {
            return Cow::Borrowed(&[]);
        }
        let all = self.reach(&origin.file);
        match origin.delivered() {
            None => Cow::Borrowed(all),
            Some(delivered) if delivered.is_evaluated => {
                let reaches = delivered.roots.iter().map(|root| Reach {
                    root: *root,
                    effect: Effect::default(),
                });
                Cow::Owned(reaches.collect())
            }
            Some(delivered) => Cow::Owned(
                all.iter()
                    .filter(|reach| delivered.roots.contains(&reach.root))
                    .cloned()
                    .collect(),
            ),
        }
    }

    /// The outermost kustomizations whose builds have a directory's in them, by index; itself, if it is one.
    pub fn roots_of(&self, directory: &Utf8Path) -> Vec<usize> {
        let has = |(_, root): &(usize, &Root)| self.made_of(&root.directory).contains(directory);
        self.roots
            .iter()
            .enumerate()
            .filter(has)
            .map(|(index, _)| index)
            .collect()
    }

    /// The root with an index that a [`Reach`] has.
    pub fn root(&self, index: usize) -> &Root {
        &self.roots[index]
    }

    /// Where a kustomization, by its file, gives a namespace to what it builds.
    pub fn place_of_namespace(&self, file: &Arc<Utf8Path>) -> Place {
        self.node_of(file).map_or_else(
            || Place::File(file.clone()),
            |node| node.origin.at(["namespace"]),
        )
    }

    /// Where a kustomization, by its file, renames what it builds.
    pub fn place_of_renaming(&self, file: &Arc<Utf8Path>) -> Place {
        let field = |node: &Node| {
            let has_prefix = node
                .kustomization
                .name_prefix
                .as_ref()
                .is_some_and(|text| !text.is_empty());
            if has_prefix {
                "namePrefix"
            } else {
                "nameSuffix"
            }
        };
        self.node_of(file).map_or_else(
            || Place::File(file.clone()),
            |node| node.origin.at([field(node)]),
        )
    }

    fn node_of(&self, file: &Utf8Path) -> Option<&Node> {
        self.nodes.get(file.parent().unwrap_or(Utf8Path::new("")))
    }

    /// Whether there is a kustomization in a directory.
    pub fn has_kustomization(&self, directory: &Utf8Path) -> bool {
        self.nodes.contains_key(directory)
    }

    /// Whether a file is a patch, which looks like an object but is none.
    pub fn is_patch(&self, file: &Utf8Path) -> bool {
        self.patches.contains(file) && self.reach(file).is_empty()
    }
}

/// What a kustomization lists, each with what happens to it on the way in: its components run one after the other, each
/// on what is there by then. The last one to give a namespace wins, and what a component brings is seen by itself and
/// those behind it. Of the components the first ones count.
fn children<'a>(
    nodes: &'a BTreeMap<Utf8PathBuf, Node>,
    node: &'a Node,
    components: usize,
    mut reach: Reach,
) -> Vec<(&'a Utf8PathBuf, Reach)> {
    let mut children = Vec::new();
    for component in node.components.iter().take(components).rev() {
        children.push((component, reach.clone()));
        nodes
            .get(component)
            .into_iter()
            .for_each(|node| reach.effect.after(&node.as_component));
    }
    children.extend(
        node.resources
            .iter()
            .chain(&node.generates)
            .map(|resource| (resource, reach.clone())),
    );
    children
}

/// Goes down from what a kustomization lists. An outer namespace wins over an inner one, as in kustomize, where the
/// outer transformer runs last. A directory is entered once for every different thing that happens to it on the way,
/// however many ways there are, and so cycles end.
fn walk<'a>(
    nodes: &'a BTreeMap<Utf8PathBuf, Node>,
    listed: Vec<(&'a Utf8PathBuf, Reach)>,
    reached: &mut HashMap<Utf8PathBuf, Vec<Reach>>,
) {
    let mut entered: HashSet<(&Utf8PathBuf, Reach)> = HashSet::new();
    let mut pending = listed;
    while let Some((path, mut reach)) = pending.pop() {
        if !entered.insert((path, reach.clone())) {
            continue;
        }
        match nodes.get(path) {
            Some(node) => {
                reach.effect.after(&node.own);
                pending.extend(children(nodes, node, usize::MAX, reach));
            }
            None => reached.entry(path.clone()).or_default().push(reach),
        }
    }
}

/// One kustomization of every cycle, and the one among those that it lists by which it comes back to itself.
fn cycles(nodes: &BTreeMap<Utf8PathBuf, Node>) -> Vec<(&Node, &Node)> {
    let mut done: BTreeSet<&Utf8PathBuf> = BTreeSet::new();
    let mut found = Vec::new();
    for start in nodes.keys() {
        let mut path: Vec<&Utf8PathBuf> = Vec::new();
        let mut depths: HashMap<&Utf8PathBuf, usize> = HashMap::new();
        // A directory is on the stack twice: to be entered, and below what it lists, to be left.
        let mut pending = vec![(start, false)];
        while let Some((directory, leave)) = pending.pop() {
            if leave {
                path.pop();
                depths.remove(directory);
                done.insert(directory);
                continue;
            }
            let Some(node) = nodes.get(directory).filter(|_| !done.contains(directory)) else {
                continue;
            };
            if let Some(at) = depths.get(directory).copied() {
                let next = path.get(at + 1).and_then(|next| nodes.get(*next));
                found.push((node, next.unwrap_or(node)));
                continue;
            }
            depths.insert(directory, path.len());
            path.push(directory);
            pending.push((directory, true));
            pending.extend(node.listed().map(|listed| (listed, false)));
        }
    }
    found
}

/// A path as a kustomization writes it, relative to the repo's root; `None` for remote ones, inline texts and
/// such that leave the repo.
pub(crate) fn join(directory: &Utf8Path, path: &str) -> Option<Utf8PathBuf> {
    if path.contains("://") || path.contains('\n') || path.starts_with('/') {
        return None;
    }
    let mut joined = directory.to_owned();
    for component in Utf8Path::new(path).components() {
        match component {
            Utf8Component::Normal(name) => joined.push(name),
            Utf8Component::ParentDir => joined.pop().then_some(())?,
            _ => {}
        }
    }
    Some(joined)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Files;

    /// Builds of kustomizations given as (directory, text).
    fn builds(kustomizations: &[(&str, &str)]) -> (Builds, Vec<Finding>) {
        let dir = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(dir.path()).unwrap();
        for (directory, text) in kustomizations {
            std::fs::create_dir_all(root.join(directory)).unwrap();
            std::fs::write(root.join(directory).join("kustomization.yaml"), text).unwrap();
        }
        let repo = Files::on_disk(root);
        let files = repo.files(Utf8Path::new("overlays")).unwrap();
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
            .map(|reach| {
                reach
                    .effect
                    .namespace
                    .as_ref()
                    .map(|(namespace, _)| namespace.clone())
            })
            .collect()
    }

    #[test]
    fn the_outermost_namespace_wins() {
        let (builds, findings) = builds(&[
            ("site", "namespace: outer\nresources: [a.yaml, inner]"),
            (
                "site/inner",
                "namespace: inner\nresources: [b.yaml, ../../shared]",
            ),
            ("shared", "resources: [c.yaml]"),
        ]);
        assert!(findings.is_empty());
        for file in ["site/a.yaml", "site/inner/b.yaml", "shared/c.yaml"] {
            assert_eq!(
                namespace(&builds, file),
                [Some("outer".to_owned())],
                "{file}"
            );
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
        let (builds, _) = builds(&[(
            ".",
            "resources: [a.yaml]\npatches: [{path: p.yaml}, {patch: x}]",
        )]);
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
