//! A bounded cache that drops the least recently used entry.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// Bounds of a cache. The last used entry always stays.
#[derive(Debug, Clone, Copy)]
pub struct Most {
    pub entries: usize,
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
    used: u64,
    bytes: usize,
}

/// Values that left the cache. Dropping them may take long and needs no lock.
type LetGo<V> = Vec<Arc<V>>;

impl<K: Clone + Eq + Hash, N: PartialEq, V: Default> Cache<K, N, V> {
    pub(super) fn new(most: Most) -> Self {
        Self { most, entries: HashMap::new(), uses: 0, bytes: 0 }
    }

    /// The value of a key. A new one if there is none of this version, or it is stale.
    pub(super) fn get(
        &mut self,
        key: &K,
        version: N,
        is_stale: impl Fn(&V) -> bool,
    ) -> (Arc<V>, LetGo<V>) {
        self.uses += 1;
        let used = self.uses;
        match self.entries.get_mut(key) {
            Some(entry) if entry.version == version && !is_stale(&entry.value) => {
                entry.used = used;
                (Arc::clone(&entry.value), Vec::new())
            }
            _ => {
                let value = Arc::<V>::default();
                let entry = Entry { version, value: Arc::clone(&value), used, bytes: 0 };
                let old = self.entries.insert(key.clone(), entry);
                self.bytes -= old.as_ref().map_or(0, |old| old.bytes);
                let mut let_go: Vec<_> = old.map(|old| old.value).into_iter().collect();
                self.shrink(&mut let_go);
                (value, let_go)
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
        let_go
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

    /// A value that is not stale, new or old.
    fn get(cache: &mut Cache<char, u8, ()>, key: char, version: u8) -> Arc<()> {
        cache.get(&key, version, |()| false).0
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
            get(&mut cache, key, 0);
        }
        assert_eq!(kept(&cache), "acd");
        get(&mut cache, 'e', 0);
        assert_eq!(kept(&cache), "ade");
    }

    #[test]
    fn another_version_is_another_value() {
        let mut cache = cache(3, 100);
        let first = get(&mut cache, 'a', 0);
        assert!(Arc::ptr_eq(&first, &get(&mut cache, 'a', 0)));
        let _ = cache.weigh(&'a', &first, 60);
        let second = get(&mut cache, 'a', 1);
        assert!(!Arc::ptr_eq(&first, &second));
        assert_eq!(cache.bytes, 0, "the old one does not count any more");
        let _ = cache.weigh(&'a', &first, 60);
        assert_eq!(cache.bytes, 0);
        let _ = cache.weigh(&'a', &second, 60);
        let (third, let_go) = cache.get(&'a', 1, |()| true);
        assert!(Arc::ptr_eq(&second, &let_go[0]) && !Arc::ptr_eq(&second, &third));
        assert_eq!((&*kept(&cache), cache.bytes), ("a", 0));
    }

    #[test]
    fn bytes_are_bounded_and_one_entry_stays() {
        let mut cache = cache(10, 100);
        for key in ['a', 'b', 'c'] {
            let value = get(&mut cache, key, 0);
            let _ = cache.weigh(&key, &value, 40);
        }
        assert_eq!((&*kept(&cache), cache.bytes), ("bc", 80));
        let large = get(&mut cache, 'd', 0);
        let _ = cache.weigh(&'d', &large, 1000);
        assert_eq!((&*kept(&cache), cache.bytes), ("d", 1000));
        get(&mut cache, 'e', 0);
        assert_eq!((&*kept(&cache), cache.bytes), ("e", 0));
    }
}
