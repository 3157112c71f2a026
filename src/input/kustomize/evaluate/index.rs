//! Objects by id, name and namespace, for patches that name their objects.

use std::collections::{BTreeSet, HashMap};

use super::object::{BuildObject, Id};

/// The positions of objects by each current and previous id, and by each such name and effective
/// namespace.
#[derive(Debug, Default)]
pub(super) struct ObjectIndex {
    by_id: HashMap<Id, BTreeSet<usize>>,
    by_name: HashMap<String, BTreeSet<usize>>,
    by_namespace: HashMap<String, BTreeSet<usize>>,
}

impl ObjectIndex {
    pub(super) fn new<'a>(objects: impl IntoIterator<Item = &'a BuildObject>) -> Self {
        let mut index = ObjectIndex::default();
        for (at, object) in objects.into_iter().enumerate() {
            index.insert(at, object.ids());
        }
        index
    }

    /// Returns the positions of the objects that have or had an id.
    pub(super) fn with_id(&self, id: &Id) -> impl Iterator<Item = usize> + Clone {
        self.by_id.get(id).into_iter().flatten().copied()
    }

    /// Returns the positions of the objects that have or had a name, in order.
    pub(super) fn with_name(&self, name: &str) -> impl Iterator<Item = usize> {
        self.by_name.get(name).into_iter().flatten().copied()
    }

    /// Returns the positions of the objects that are or were in an effective namespace, in order.
    pub(super) fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = usize> {
        self.by_namespace.get(namespace).into_iter().flatten().copied()
    }

    /// Replaces the ids of an object.
    pub(super) fn replace(&mut self, at: usize, before: &[Id], after: Vec<Id>) {
        if before == after {
            return;
        }
        for id in before {
            let known = [
                self.by_id.get_mut(id),
                self.by_name.get_mut(&id.name),
                self.by_namespace.get_mut(id.effective_namespace()),
            ];
            known.into_iter().flatten().for_each(|positions| _ = positions.remove(&at));
        }
        self.insert(at, after);
    }

    fn insert(&mut self, at: usize, ids: Vec<Id>) {
        for id in ids {
            let namespace = id.effective_namespace().to_owned();
            self.by_namespace.entry(namespace).or_default().insert(at);
            self.by_name.entry(id.name.clone()).or_default().insert(at);
            self.by_id.entry(id).or_default().insert(at);
        }
    }
}
