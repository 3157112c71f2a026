//! Objects by id, name and namespace, for patches that name their objects.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

use super::object::{BuildObject, Id};

/// The positions of objects by each current and previous id, and by each such name and effective
/// namespace.
#[derive(Debug, Default)]
pub(super) struct ObjectIndex {
    by_id: HashMap<Id, Vec<usize>>,
    by_name: HashMap<String, Vec<usize>>,
    by_namespace: HashMap<String, Vec<usize>>,
}

impl ObjectIndex {
    pub(super) fn new<'a>(objects: impl IntoIterator<Item = &'a BuildObject>) -> Self {
        let mut index = ObjectIndex::default();
        for (at, object) in objects.into_iter().enumerate() {
            for id in object.ids() {
                index.insert(at, &id);
                add(&mut index.by_namespace, id.effective_namespace(), at);
            }
        }
        index
    }

    /// Returns the positions of the objects that have or had an id.
    pub(super) fn with_id(&self, id: &Id) -> &[usize] {
        self.by_id.get(id).map_or(&[], Vec::as_slice)
    }

    /// Returns the positions of the objects that have or had a name, in order.
    pub(super) fn with_name(&self, name: &str) -> Vec<usize> {
        in_order(self.by_name.get(name))
    }

    /// Returns the positions of the objects that are or were in an effective namespace, in order.
    /// Some may be there no longer.
    pub(super) fn in_namespace(&self, namespace: &str) -> Vec<usize> {
        in_order(self.by_namespace.get(namespace))
    }

    /// Replaces the ids of an object.
    pub(super) fn replace(&mut self, at: usize, before: &[Id], after: &[Id]) {
        if before == after {
            return;
        }
        for id in before {
            let lists = [self.by_id.get_mut(id), self.by_name.get_mut(&id.name)];
            for known in lists.into_iter().flatten() {
                known.retain(|other| *other != at);
            }
        }
        // Former namespaces stay, because a namespace has many objects.
        let is_new = |id: &&Id| {
            let mut namespaces = before.iter().map(Id::effective_namespace);
            namespaces.all(|namespace| namespace != id.effective_namespace())
        };
        for id in after.iter().filter(is_new) {
            add(&mut self.by_namespace, id.effective_namespace(), at);
        }
        for id in after {
            self.insert(at, id);
        }
    }

    fn insert(&mut self, at: usize, id: &Id) {
        add(&mut self.by_id, id, at);
        add(&mut self.by_name, &id.name, at);
    }
}

fn in_order(positions: Option<&Vec<usize>>) -> Vec<usize> {
    let mut positions = positions.cloned().unwrap_or_default();
    positions.sort_unstable();
    positions.dedup();
    positions
}

fn add<Q, K>(index: &mut HashMap<K, Vec<usize>>, key: &Q, at: usize)
where
    K: Borrow<Q> + Eq + Hash,
    Q: ToOwned<Owned = K> + Eq + Hash + ?Sized,
{
    match index.get_mut(key) {
        // An object may have had the same id twice.
        Some(known) if known.last() == Some(&at) => {}
        Some(known) => known.push(at),
        None => {
            index.insert(key.to_owned(), vec![at]);
        }
    }
}
