//! Lists in order of first appearance. A document may hold a hundred thousand findings, so each item costs one look-up.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

/// Items with the same key together: groups in the order of their first items, items in the order given.
pub fn grouped<K: Hash + Eq + Clone, T>(items: impl IntoIterator<Item = (K, T)>) -> Vec<(K, Vec<T>)> {
    let mut places: HashMap<K, usize> = HashMap::new();
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for (key, item) in items {
        match places.entry(key) {
            Entry::Occupied(place) => groups[*place.get()].1.push(item),
            Entry::Vacant(place) => {
                groups.push((place.key().clone(), vec![item]));
                place.insert(groups.len() - 1);
            }
        }
    }
    groups
}

/// Different items, in the order of their first appearance.
pub(crate) fn distinct<T: Hash + Eq + Clone>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    grouped(items.into_iter().map(|item| (item, ()))).into_iter().map(|(item, _)| item).collect()
}

/// The first item of each key.
pub(crate) fn first<K: Hash + Eq, T>(items: impl IntoIterator<Item = (K, T)>) -> HashMap<K, T> {
    let mut found = HashMap::new();
    for (key, item) in items {
        found.entry(key).or_insert(item);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_first_stays_first() {
        let words = ["b1", "a1", "b2", "c1", "a2"];
        let groups = grouped(words.map(|word| (&word[..1], word)));
        assert_eq!(groups, [("b", vec!["b1", "b2"]), ("a", vec!["a1", "a2"]), ("c", vec!["c1"])]);
        assert_eq!(distinct([3, 1, 3, 2, 1]), [3, 1, 2]);
        assert_eq!(first(words.map(|word| (&word[..1], word))), HashMap::from([("a", "a1"), ("b", "b1"), ("c", "c1")]));
    }
}
