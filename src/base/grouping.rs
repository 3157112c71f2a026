//! Values grouped or counted by key.

use std::collections::BTreeMap;

/// Groups values by key, in their order.
pub(crate) fn grouped<K: Ord, V>(entries: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, Vec<V>> {
    let mut groups: BTreeMap<K, Vec<V>> = BTreeMap::new();
    for (key, value) in entries {
        groups.entry(key).or_default().push(value);
    }
    groups
}

/// Counts equal items, such as hosts by their domains.
pub(crate) fn occurrences<T: Ord>(items: impl IntoIterator<Item = T>) -> BTreeMap<T, usize> {
    let mut counts = BTreeMap::new();
    items.into_iter().for_each(|item| *counts.entry(item).or_default() += 1);
    counts
}
