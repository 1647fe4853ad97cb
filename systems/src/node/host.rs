//! The storages of the two threads: the block under construction, and queries of the last block.

use super::{Base, Changes, Overlay, Root, Snapshot};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone_executor::storage::{Storage, StorageError};

/// The storage of the block under construction.
#[derive(Default)]
pub struct Blocks(Mutex<Making>);

#[derive(Default)]
struct Making {
    open: Option<(Overlay<Snapshot>, Root)>,
    calls: u64,
    spent: Duration,
}

impl Blocks {
    pub fn begin(&self, parent: Arc<Snapshot>, root: Root) {
        self.0.lock().open = Some((Overlay::new(parent), root));
    }

    /// Ends the block and returns its changes; none without a block.
    pub fn end(&self) -> Changes {
        let open = self.0.lock().open.take();
        open.map(|(overlay, _)| overlay.into_changes()).unwrap_or_default()
    }

    /// Number of calls of the guest and time inside them. The clock is read twice per call.
    pub fn spent(&self) -> (u64, Duration) {
        let making = self.0.lock();
        (making.calls, making.spent)
    }

    fn with<T>(
        &self,
        work: impl FnOnce(&mut Overlay<Snapshot>, &Root) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let started = Instant::now();
        let mut making = self.0.lock();
        let making = &mut *making;
        let worked = match &mut making.open {
            Some((overlay, root)) => work(overlay, root),
            None => Err(StorageError::Database("no block is open".to_owned())),
        };
        making.calls += 1;
        making.spent += started.elapsed();
        worked
    }
}

impl Storage for Blocks {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        self.with(|overlay, _| overlay.get(key))
    }

    fn set(&self, key: &[u8], value: Option<&[u8]>) -> Result<(), StorageError> {
        self.with(|overlay, _| {
            overlay.set(key, value);
            Ok(())
        })
    }

    fn next_key(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        self.with(|overlay, _| overlay.next_key(key))
    }

    fn root(&self) -> Result<Vec<u8>, StorageError> {
        self.with(|overlay, parent| Ok(overlay.root(parent).to_vec()))
    }

    fn start(&self) -> Result<(), StorageError> {
        self.with(|overlay, _| overlay.start())
    }

    fn rollback(&self) -> Result<(), StorageError> {
        self.with(|overlay, _| overlay.rollback())
    }

    fn commit(&self) -> Result<(), StorageError> {
        self.with(|overlay, _| overlay.commit())
    }
}

/// The storage of queries: a state that each query begins with and cannot change.
pub struct Queries {
    newest: Mutex<Arc<Snapshot>>,
    pinned: Mutex<Arc<Snapshot>>,
}

impl Queries {
    pub fn new(state: Arc<Snapshot>) -> Self {
        Self { newest: Mutex::new(Arc::clone(&state)), pinned: Mutex::new(state) }
    }

    /// Sets the state of later queries.
    pub fn publish(&self, state: Arc<Snapshot>) {
        *self.newest.lock() = state;
    }

    pub fn newest(&self) -> Arc<Snapshot> {
        Arc::clone(&self.newest.lock())
    }

    /// Begins a query on the newest state, which it keeps until the next query.
    pub fn pin(&self) -> Arc<Snapshot> {
        let newest = self.newest();
        *self.pinned.lock() = Arc::clone(&newest);
        newest
    }

    fn pinned(&self) -> Arc<Snapshot> {
        Arc::clone(&self.pinned.lock())
    }
}

impl Storage for Queries {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        self.pinned().get(key)
    }

    fn set(&self, _: &[u8], _: Option<&[u8]>) -> Result<(), StorageError> {
        Err(StorageError::ReadOnly)
    }

    fn next_key(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        self.pinned().next_key(key)
    }

    fn root(&self) -> Result<Vec<u8>, StorageError> {
        Err(StorageError::ReadOnly)
    }

    fn start(&self) -> Result<(), StorageError> {
        Err(StorageError::ReadOnly)
    }

    fn rollback(&self) -> Result<(), StorageError> {
        Err(StorageError::ReadOnly)
    }

    fn commit(&self) -> Result<(), StorageError> {
        Err(StorageError::ReadOnly)
    }
}
