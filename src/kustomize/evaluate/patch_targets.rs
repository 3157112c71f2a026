//! The objects that the patches of the output find by their ids, in each build.

use std::collections::{BTreeMap, HashMap};

use camino::{Utf8Path, Utf8PathBuf};

use super::index::Index;
use super::object::{Id, Object};

/// The hosts and requests that patches find.
#[derive(Debug, Default)]
pub(crate) struct PatchTargets {
    /// The objects of a root's build, for an overlay on it.
    pub(super) roots: HashMap<usize, Targets>,
    /// The objects where a kustomization lists a component of the output.
    pub(super) components: BTreeMap<Utf8PathBuf, Vec<Targets>>,
}

/// Objects by each id that they have or had.
#[derive(Debug)]
pub(crate) struct Targets(Index);

impl PatchTargets {
    /// Returns the targets of an overlay or component of a root's hosts.
    pub(crate) fn of(&self, root: usize, component: Option<&Utf8Path>) -> Vec<&Targets> {
        match component {
            Some(component) => self
                .components
                .get(component)
                .into_iter()
                .flatten()
                .collect(),
            None => self.roots.get(&root).into_iter().collect(),
        }
    }
}

impl Targets {
    /// Collects the objects of some kinds.
    pub(super) fn new(objects: &[Object], kinds: &[&str]) -> Self {
        let is_target = |object: &&Object| kinds.contains(&object.kind().as_str());
        Targets(Index::new(objects.iter().filter(is_target)))
    }

    /// Returns how many objects a patch would match.
    pub(crate) fn count(
        &self,
        api_version: &str,
        kind: &str,
        name: &str,
        namespace: Option<&str>,
    ) -> usize {
        let id = Id::new(api_version, kind, name, namespace.unwrap_or_default());
        self.0.with_id(&id).len()
    }
}
