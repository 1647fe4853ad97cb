//! The committed state in an embedded database.

use super::{Base, Changes};
use anyhow::{Context, Result};
use redb::{ReadableDatabase, TableDefinition};
use std::ops::Bound;
use std::path::Path;
use touchstone_executor::storage::StorageError;

const STATE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("state");

/// A database with one state.
#[derive(Debug)]
pub struct Database(redb::Database);

/// The state at the time of creation. Later commits do not change it.
pub struct Snapshot(redb::ReadOnlyTable<&'static [u8], &'static [u8]>);

impl Database {
    pub fn create(folder: &Path) -> Result<Self> {
        let path = folder.join("state.redb");
        let database = redb::Database::create(&path);
        Ok(Self(database.with_context(|| format!("cannot make {}", path.display()))?))
    }

    /// Applies changes durably. After an error nothing has changed.
    pub fn commit(&self, changes: &Changes) -> Result<()> {
        let transaction = self.0.begin_write()?;
        {
            let mut table = transaction.open_table(STATE)?;
            for (key, change) in changes {
                match change {
                    Some(value) => drop(table.insert(&**key, &**value)?),
                    None => drop(table.remove(&**key)?),
                }
            }
        }
        Ok(transaction.commit()?)
    }

    /// The current state. Fails before the first commit.
    pub fn snapshot(&self) -> Result<Snapshot> {
        Ok(Snapshot(self.0.begin_read()?.open_table(STATE)?))
    }
}

impl Base for Snapshot {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        let value = self.0.get(key).map_err(failed)?;
        Ok(value.map(|value| value.value().to_vec()))
    }

    fn next_key(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        let behind = (Bound::Excluded(key), Bound::Unbounded);
        let next = self.0.range::<&[u8]>(behind).map_err(failed)?.next();
        let next = next.transpose().map_err(failed)?;
        Ok(next.map(|(key, _)| key.value().to_vec()))
    }
}

fn failed(error: redb::StorageError) -> StorageError {
    StorageError::Database(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_stays_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::create(folder.path()).unwrap();
        let change = |key: &[u8], value: Option<&[u8]>| {
            Changes::from([(key.to_vec(), value.map(<[u8]>::to_vec))])
        };
        database.commit(&change(b"a", Some(b"1"))).unwrap();
        let before = database.snapshot().unwrap();
        database.commit(&change(b"a", None)).unwrap();
        database.commit(&change(b"b", Some(b""))).unwrap();
        let after = database.snapshot().unwrap();
        assert_eq!(before.get(b"a"), Ok(Some(b"1".to_vec())));
        assert_eq!(before.next_key(b""), Ok(Some(b"a".to_vec())));
        assert_eq!(before.next_key(b"a"), Ok(None));
        assert_eq!(after.get(b"a"), Ok(None));
        assert_eq!(after.get(b"b"), Ok(Some(Vec::new())));
        assert_eq!(after.next_key(b"a"), Ok(Some(b"b".to_vec())));
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error() {
        let error = Database::create(Path::new("/nonexistent")).unwrap_err();
        assert!(error.to_string().contains("/nonexistent/state.redb"), "{error}");
    }
}
