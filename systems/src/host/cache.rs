//! A bounded cache that drops the least recently used entry.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// Bounds of a cache. The last used entry always stays.
#[derive(Debug, Clone, Copy)]
pub struct Most {
    pub entries: usize,
    /// Bytes of all entries.
    pub bytes: usize,
}

pub(super) struct Cache<K, N, V> {
    most: Most,
    entries: HashMap<K, Entry<N, V>>,
    uses: u64,
    bytes: usize,
}

struct Entry<N, V> {
    version: N,
    value: Arc<V>,
    /// Number of the last use.
    used: u64,
    bytes: usize,
}

/// Values that left the cache. Dropping them may take long and needs no lock.
pub(super) struct LetGo<V>(#[expect(dead_code, reason = "held to be dropped")] Vec<Arc<V>>);

impl<K: Clone + Eq + Hash, N: PartialEq, V: Default> Cache<K, N, V> {
    pub(super) fn new(most: Most) -> Self {
        Self { most, entries: HashMap::new(), uses: 0, bytes: 0 }
    }

    /// The value of a key. A new one if there is none of this version.
    pub(super) fn get(&mut self, key: &K, version: N) -> (Arc<V>, LetGo<V>) {
        self.uses += 1;
        let used = self.uses;
        match self.entries.get_mut(key) {
            Some(entry) if entry.version == version => {
                entry.used = used;
                (Arc::clone(&entry.value), LetGo(Vec::new()))
            }
            _ => {
                let value = Arc::<V>::default();
                let entry = Entry { version, value: Arc::clone(&value), used, bytes: 0 };
                let old = self.entries.insert(key.clone(), entry);
                self.bytes -= old.as_ref().map_or(0, |old| old.bytes);
                let mut let_go: Vec<_> = old.map(|old| old.value).into_iter().collect();
                self.shrink(&mut let_go);
                (value, LetGo(let_go))
            }
        }
    }

    /// Notes the size of a value, if the key still has it.
    pub(super) fn weigh(&mut self, key: &K, value: &Arc<V>, bytes: usize) -> LetGo<V> {
        let entry = self.entries.get_mut(key);
        if let Some(entry) = entry.filter(|entry| Arc::ptr_eq(&entry.value, value)) {
            self.bytes = self.bytes - entry.bytes + bytes;
            entry.bytes = bytes;
        }
        let mut let_go = Vec::new();
        self.shrink(&mut let_go);
        LetGo(let_go)
    }

    /// Drops a value, if the key still has it.
    pub(super) fn forget(&mut self, key: &K, value: &Arc<V>) -> LetGo<V> {
        let is_it = |entry: &Entry<N, V>| Arc::ptr_eq(&entry.value, value);
        let entry = self.entries.get(key).filter(|entry| is_it(entry));
        let entry = entry.is_some().then(|| self.entries.remove(key)).flatten();
        self.bytes -= entry.as_ref().map_or(0, |entry| entry.bytes);
        LetGo(entry.map(|entry| entry.value).into_iter().collect())
    }

    fn shrink(&mut self, let_go: &mut Vec<Arc<V>>) {
        while self.entries.len() > 1
            && (self.entries.len() > self.most.entries || self.bytes > self.most.bytes)
        {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used);
            let Some(key) = oldest.map(|(key, _)| key.clone()) else { return };
            if let Some(entry) = self.entries.remove(&key) {
                self.bytes -= entry.bytes;
                let_go.push(entry.value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cache of values with names.
    fn cache(entries: usize, bytes: usize) -> Cache<char, u8, ()> {
        Cache::new(Most { entries, bytes })
    }

    /// The keys, in order.
    fn kept(cache: &Cache<char, u8, ()>) -> String {
        let mut keys: Vec<char> = cache.entries.keys().copied().collect();
        keys.sort_unstable();
        keys.into_iter().collect()
    }

    #[test]
    fn the_least_recently_used_one_goes_first() {
        let mut cache = cache(3, 100);
        for key in ['a', 'b', 'c', 'a', 'd'] {
            let _ = cache.get(&key, 0);
        }
        assert_eq!(kept(&cache), "acd");
        let _ = cache.get(&'e', 0);
        assert_eq!(kept(&cache), "ade");
    }

    #[test]
    fn another_version_is_another_value() {
        let mut cache = cache(3, 100);
        let (first, _) = cache.get(&'a', 0);
        assert!(Arc::ptr_eq(&first, &cache.get(&'a', 0).0));
        let _ = cache.weigh(&'a', &first, 60);
        let (second, _) = cache.get(&'a', 1);
        assert!(!Arc::ptr_eq(&first, &second));
        assert_eq!(cache.bytes, 0, "the old one does not count any more");
        let _ = cache.weigh(&'a', &first, 60);
        assert_eq!(cache.bytes, 0);
        let _ = cache.forget(&'a', &first);
        assert_eq!(kept(&cache), "a");
        let _ = cache.forget(&'a', &second);
        assert_eq!(kept(&cache), "");
    }

    #[test]
    fn bytes_are_bounded_and_one_entry_stays() {
        let mut cache = cache(10, 100);
        for key in ['a', 'b', 'c'] {
            let (value, _) = cache.get(&key, 0);
            let _ = cache.weigh(&key, &value, 40);
        }
        assert_eq!((&*kept(&cache), cache.bytes), ("bc", 80));
        let (large, _) = cache.get(&'d', 0);
        let _ = cache.weigh(&'d', &large, 1000);
        assert_eq!((&*kept(&cache), cache.bytes), ("d", 1000));
        let _ = cache.get(&'e', 0);
        assert_eq!((&*kept(&cache), cache.bytes), ("e", 0));
    }
}
