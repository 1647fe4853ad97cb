//! The changes of an uncommitted block, with nested transactions.

use super::Root;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use touchstone_executor::storage::StorageError;

/// New values by key; `None` removes the key.
pub type Changes = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// Most nested transactions.
const MOST: usize = 255;

/// A committed state.
pub trait Base {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError>;

    /// The first key after another one.
    fn next_key(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError>;
}

/// Changes over a committed state: those of the block and of each open transaction.
#[derive(Debug)]
pub struct Overlay<B> {
    base: Arc<B>,
    block: Changes,
    transactions: Vec<Changes>,
}

impl<B: Base> Overlay<B> {
    pub fn new(base: Arc<B>) -> Self {
        Self { base, block: Changes::new(), transactions: Vec::new() }
    }

    /// All layers, newest first.
    fn layers(&self) -> impl Iterator<Item = &Changes> {
        self.transactions.iter().rev().chain([&self.block])
    }

    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        match self.layers().find_map(|layer| layer.get(key)) {
            Some(change) => Ok(change.clone()),
            None => self.base.get(key),
        }
    }

    pub fn set(&mut self, key: &[u8], value: Option<&[u8]>) {
        let top = self.transactions.last_mut().unwrap_or(&mut self.block);
        top.insert(key.to_vec(), value.map(<[u8]>::to_vec));
    }

    /// The first key after another one.
    pub fn next_key(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        let mut last = key.to_vec();
        loop {
            let behind = (Bound::Excluded(last.as_slice()), Bound::Unbounded);
            let changed = self.layers().filter_map(|layer| layer.range::<[u8], _>(behind).next());
            let changed = changed.map(|(key, _)| key.clone()).min();
            let found = changed.into_iter().chain(self.base.next_key(&last)?).min();
            let Some(found) = found else { return Ok(None) };
            // A removed key is skipped.
            if self.get(&found)?.is_some() {
                return Ok(Some(found));
            }
            last = found;
        }
    }

    /// Begins a transaction. Fails if there are too many.
    pub fn start(&mut self) -> Result<(), StorageError> {
        if self.transactions.len() == MOST {
            return Err(StorageError::TooManyTransactions { most: MOST });
        }
        self.transactions.push(Changes::new());
        Ok(())
    }

    /// Undoes the innermost transaction. Fails if there is none.
    pub fn rollback(&mut self) -> Result<(), StorageError> {
        self.transactions.pop().map(drop).ok_or(StorageError::NoTransaction)
    }

    /// Keeps the innermost transaction. Fails if there is none.
    pub fn commit(&mut self) -> Result<(), StorageError> {
        let ended = self.transactions.pop().ok_or(StorageError::NoTransaction)?;
        self.transactions.last_mut().unwrap_or(&mut self.block).extend(ended);
        Ok(())
    }

    pub fn root(&self, parent: &Root) -> Root {
        if self.transactions.is_empty() {
            return root(parent, &self.block);
        }
        let mut all = self.block.clone();
        self.transactions.iter().for_each(|layer| all.extend(layer.clone()));
        root(parent, &all)
    }

    /// The changes of the block, without those of open transactions.
    pub fn into_changes(self) -> Changes {
        self.block
    }
}

/// SHA-256 of the parent's root and all changes in key order, each length before its bytes.
pub fn root(parent: &Root, changes: &Changes) -> Root {
    let mut digest = Sha256::new_with_prefix(parent);
    let mut add = |bytes: &[u8]| {
        digest.update((bytes.len() as u64).to_le_bytes());
        digest.update(bytes);
    };
    for (key, change) in changes {
        add(key);
        add(&[u8::from(change.is_some())]);
        add(change.as_deref().unwrap_or_default());
    }
    digest.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type State = BTreeMap<Vec<u8>, Vec<u8>>;

    impl Base for State {
        fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
            Ok(self.get(key).cloned())
        }

        fn next_key(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
            let behind = (Bound::Excluded(key), Bound::Unbounded);
            Ok(self.range::<[u8], _>(behind).next().map(|(key, _)| key.clone()))
        }
    }

    #[derive(Debug, Clone)]
    enum Step {
        Set(u8, Option<u8>),
        Start,
        Rollback,
        Commit,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => (0_u8..12, any::<Option<u8>>()).prop_map(|(key, value)| Step::Set(key, value)),
            1 => Just(Step::Start),
            1 => Just(Step::Rollback),
            1 => Just(Step::Commit),
        ];
        prop::collection::vec(step, 0..60)
    }

    proptest! {
        /// The model is a stack of whole copies of the state.
        #[test]
        fn it_is_like_copies_of_the_state(
            base in prop::collection::btree_map((0_u8..12).prop_map(|key| vec![key]), any::<u8>(), 0..8),
            steps in steps(),
        ) {
            let base: State = base.into_iter().map(|(key, value)| (key, vec![value])).collect();
            let mut overlay = Overlay::new(Arc::new(base.clone()));
            let mut model = vec![base.clone()];
            for step in steps {
                match step {
                    Step::Set(key, value) => {
                        let value = value.map(|value| vec![value]);
                        overlay.set(&[key], value.as_deref());
                        let top = model.last_mut().unwrap();
                        match value {
                            Some(value) => top.insert(vec![key], value),
                            None => top.remove(&vec![key]),
                        };
                    }
                    Step::Start => {
                        overlay.start().unwrap();
                        model.push(model.last().unwrap().clone());
                    }
                    Step::Rollback if model.len() > 1 => {
                        overlay.rollback().unwrap();
                        model.pop();
                    }
                    Step::Commit if model.len() > 1 => {
                        overlay.commit().unwrap();
                        let top = model.pop().unwrap();
                        *model.last_mut().unwrap() = top;
                    }
                    Step::Rollback => prop_assert_eq!(overlay.rollback(), Err(StorageError::NoTransaction)),
                    Step::Commit => prop_assert_eq!(overlay.commit(), Err(StorageError::NoTransaction)),
                }
                let top = model.last().unwrap();
                let mut keys = Vec::new();
                let mut last = Vec::new();
                while let Some(next) = overlay.next_key(&last).unwrap() {
                    last.clone_from(&next);
                    keys.push(next);
                }
                prop_assert_eq!(&keys, &top.keys().cloned().collect::<Vec<_>>());
                for key in 0..12 {
                    prop_assert_eq!(overlay.get(&[key]).unwrap(), top.get(&vec![key]).cloned());
                }
            }
            // Transactions that are still open are undone.
            let mut ended = base;
            for (key, change) in overlay.into_changes() {
                match change {
                    Some(value) => ended.insert(key, value),
                    None => ended.remove(&key),
                };
            }
            prop_assert_eq!(&ended, &model[0]);
        }
    }

    #[test]
    fn the_root_depends_on_the_parent_and_on_every_change() {
        let none = Changes::new();
        let set = Changes::from([(vec![1], Some(vec![2]))]);
        let empty = Changes::from([(vec![1], Some(vec![]))]);
        let removed = Changes::from([(vec![1], None)]);
        let mut roots: Vec<Root> =
            [&none, &set, &empty, &removed].map(|changes| root(&[0; 32], changes)).into();
        roots.push(root(&[1; 32], &none));
        roots.sort_unstable();
        roots.dedup();
        assert_eq!(roots.len(), 5);
        let mut overlay = Overlay::new(Arc::<State>::default());
        overlay.start().unwrap();
        overlay.set(&[1], Some(&[2]));
        assert_eq!(overlay.root(&[0; 32]), root(&[0; 32], &set));
        overlay.rollback().unwrap();
        assert_eq!(overlay.root(&[0; 32]), root(&[0; 32], &none));
    }

    #[test]
    fn transactions_have_a_limit() {
        let mut overlay = Overlay::new(Arc::<State>::default());
        (0..MOST).for_each(|_| overlay.start().unwrap());
        assert_eq!(overlay.start(), Err(StorageError::TooManyTransactions { most: MOST }));
    }
}
