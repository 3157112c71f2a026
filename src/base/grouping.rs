//! Values grouped or counted by key.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// Groups values by key, in their order.
pub(crate) fn grouped<K: Ord, V>(entries: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, Vec<V>> {
    let mut groups: BTreeMap<K, Vec<V>> = BTreeMap::new();
    for (key, value) in entries {
        groups.entry(key).or_default().push(value);
    }
    groups
}

/// Groups values by key, in the order of the first value of each.
pub(crate) fn grouped_in_order<K: Hash + Eq + Clone, V>(
    entries: impl IntoIterator<Item = (K, V)>,
) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    let mut known: HashMap<K, usize> = HashMap::new();
    for (key, value) in entries {
        let at = *known.entry(key.clone()).or_insert(groups.len());
        match groups.get_mut(at) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// Counts equal items, such as hosts by their domains.
pub(crate) fn occurrences<T: Ord>(items: impl IntoIterator<Item = T>) -> BTreeMap<T, usize> {
    let mut counts = BTreeMap::new();
    items.into_iter().for_each(|item| *counts.entry(item).or_default() += 1);
    counts
}
