//! Objects by id and by name, for patches that name their objects.

use std::collections::HashMap;

use super::object::{Id, Object};

/// The positions of objects by each current and previous id, and by each such name.
#[derive(Debug)]
pub(super) struct Index {
    by_id: HashMap<Id, Vec<usize>>,
    by_name: HashMap<String, Vec<usize>>,
}

impl Index {
    pub(super) fn new<'a>(objects: impl IntoIterator<Item = &'a Object>) -> Self {
        let mut index = Index {
            by_id: HashMap::new(),
            by_name: HashMap::new(),
        };
        for (at, object) in objects.into_iter().enumerate() {
            index.insert(at, &object.ids());
        }
        index
    }

    /// Returns the positions of the objects that have or had an id.
    pub(super) fn with_id(&self, id: &Id) -> &[usize] {
        self.by_id.get(id).map_or(&[], Vec::as_slice)
    }

    /// Returns the positions of the objects that have or had a name, in order.
    pub(super) fn with_name(&self, name: &str) -> Vec<usize> {
        let mut found = self.by_name.get(name).cloned().unwrap_or_default();
        found.sort_unstable();
        found
    }

    /// Replaces the ids of an object.
    pub(super) fn replace(&mut self, at: usize, before: &[Id], after: &[Id]) {
        if before == after {
            return;
        }
        for id in before {
            if let Some(known) = self.by_id.get_mut(id) {
                known.retain(|other| *other != at);
            }
            if let Some(known) = self.by_name.get_mut(&id.name) {
                known.retain(|other| *other != at);
            }
        }
        self.insert(at, after);
    }

    fn insert(&mut self, at: usize, ids: &[Id]) {
        for id in ids {
            let known = self.by_id.entry(id.clone()).or_default();
            // An object may have had the same id twice.
            if known.last() != Some(&at) {
                known.push(at);
            }
            let known = self.by_name.entry(id.name.clone()).or_default();
            if known.last() != Some(&at) {
                known.push(at);
            }
        }
    }
}
