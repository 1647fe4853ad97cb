//! The host functions over a memory, without an engine.

use super::{Storage, StorageError, functions};
use crate::guest::WASM_PAGE;
use crate::host::HostState;
use crate::test_support::{FakeGuest, refusal};
use crate::{Config, Functions, HostPanic, Trap, TrapKind};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const GET: &str = "ext_storage_get_version_1";
const SET: &str = "ext_storage_set_version_1";
const CLEAR: &str = "ext_storage_clear_version_1";
const NEXT_KEY: &str = "ext_storage_next_key_version_1";
const ROOT: &str = "ext_storage_root_version_1";
const START: &str = "ext_storage_start_transaction_version_1";
const ROLLBACK: &str = "ext_storage_rollback_transaction_version_1";
const COMMIT: &str = "ext_storage_commit_transaction_version_1";

/// A storage without transactions.
#[derive(Default)]
struct Map(Mutex<BTreeMap<Vec<u8>, Vec<u8>>>);

impl Storage for Map {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        Ok(self.0.lock().unwrap().get(key).cloned())
    }

    fn set(&self, key: &[u8], value: Option<&[u8]>) -> Result<(), StorageError> {
        let mut map = self.0.lock().unwrap();
        match value {
            Some(value) => map.insert(key.to_vec(), value.to_vec()),
            None => map.remove(key),
        };
        Ok(())
    }

    fn next_key(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        let map = self.0.lock().unwrap();
        Ok(map.keys().find(|other| other.as_slice() > key).cloned())
    }

    fn root(&self) -> Result<Vec<u8>, StorageError> {
        Ok(vec![9; 32])
    }

    fn start(&self) -> Result<(), StorageError> {
        Err(StorageError::TooManyTransactions { most: 0 })
    }

    fn rollback(&self) -> Result<(), StorageError> {
        Err(StorageError::NoTransaction)
    }

    fn commit(&self) -> Result<(), StorageError> {
        Err(StorageError::NoTransaction)
    }
}

/// A guest of one page with a heap.
fn guest(storage: Arc<dyn Storage>) -> FakeGuest {
    let functions = Functions::standard().with(&functions(storage));
    FakeGuest::new(&Config { functions, ..Config::default() })
}

fn call(guest: &mut FakeGuest, name: &str, values: &[u64]) -> Result<u64, Trap> {
    guest.call_integers(("env", name), values)
}

/// The block that a function gives.
fn block(guest: &mut FakeGuest, name: &str, values: &[u64]) -> Vec<u8> {
    let place = call(guest, name, values).unwrap();
    guest.memory[place as u32 as usize..][..(place >> 32) as usize].to_vec()
}

/// A packed place.
fn place(pointer: u64, length: u64) -> u64 {
    length << 32 | pointer
}

#[test]
fn values_pass_through_the_hosts_allocator() {
    let mut guest = guest(Arc::new(Map::default()));
    guest.memory[..6].copy_from_slice(b"keyval");
    let key = place(0, 3);
    let guest = &mut guest;
    assert_eq!(block(guest, GET, &[key]), [0]);
    assert_eq!(call(guest, SET, &[key, place(3, 3)]), Ok(0));
    assert_eq!(block(guest, GET, &[key]), *b"\x01\x0cval");
    assert_eq!(block(guest, NEXT_KEY, &[place(0, 0)]), *b"\x01\x0ckey");
    assert_eq!(block(guest, NEXT_KEY, &[key]), [0]);
    assert_eq!(block(guest, ROOT, &[]), [9; 32]);
    assert_eq!(call(guest, CLEAR, &[key]), Ok(0));
    assert_eq!(block(guest, GET, &[key]), [0]);
}

#[test]
fn a_value_that_does_not_fit_grows_the_memory() {
    let map = Map::default();
    map.set(b"k", Some(&vec![5; 2 * WASM_PAGE])).unwrap();
    let mut guest = guest(Arc::new(map));
    guest.memory[0] = b'k';
    let refused = refusal(call(&mut guest, GET, &[place(0, 1)]), GET);
    // A size class of 256 KiB behind the heap base and a header.
    assert!(refused.contains('4'), "{refused}");
    assert_eq!(guest.memory.len(), WASM_PAGE);
    guest.most = 5;
    let value = block(&mut guest, GET, &[place(0, 1)]);
    assert_eq!(guest.memory.len(), 5 * WASM_PAGE);
    assert_eq!(value.len(), 2 * WASM_PAGE + 5);
    assert!(value.ends_with(&[5; 2 * WASM_PAGE]));
}

#[test]
fn bad_places_and_refusals_are_traps() {
    let mut guest = guest(Arc::new(Map::default()));
    let mut reason = |name, values: &[u64]| refusal(call(&mut guest, name, values), name);
    let outside = "2 bytes at 0xffff lie outside the memory of 65536 bytes";
    for name in [GET, CLEAR, NEXT_KEY] {
        assert_eq!(reason(name, &[place(65_535, 2)]), outside);
    }
    assert_eq!(reason(SET, &[place(65_535, 2), place(0, 1)]), outside);
    let set = reason(SET, &[place(0, 1), place(0xffff_ffff, 0xffff_ffff)]);
    assert_eq!(set, "4294967295 bytes at 0xffffffff lie outside the memory of 65536 bytes");
    assert_eq!(reason(START, &[]), StorageError::TooManyTransactions { most: 0 }.to_string());
    assert_eq!(reason(ROLLBACK, &[]), StorageError::NoTransaction.to_string());
    assert_eq!(reason(COMMIT, &[]), StorageError::NoTransaction.to_string());
}

#[test]
fn without_a_heap_a_guest_gets_no_value() {
    let functions = functions(Arc::new(Map::default()));
    let config = Config { functions, ..Config::default() };
    let mut guest = FakeGuest::with_host(HostState::new(None, &config), &config);
    refusal(call(&mut guest, GET, &[place(0, 1)]), GET);
    assert_eq!(call(&mut guest, SET, &[place(0, 1), place(1, 1)]), Ok(0));
}

#[test]
fn a_panic_is_a_trap() {
    let map = Arc::new(Map::default());
    let poisoned = Arc::clone(&map);
    std::thread::spawn(move || {
        let _locked = poisoned.0.lock().unwrap();
        panic!("the lock is poisoned");
    })
    .join()
    .unwrap_err();
    let mut guest = guest(map);
    let trap = call(&mut guest, GET, &[place(0, 1)]).unwrap_err();
    let TrapKind::HostPanic(panic) = trap.kind else { panic!("{trap}") };
    let HostPanic { module, name, message } = *panic;
    assert_eq!((&*module, &*name), ("env", GET));
    assert!(message.contains("PoisonError"), "{message}");
    // The host's own part works on.
    assert_eq!(call(&mut guest, "ext_logging_max_level_version_1", &[]), Ok(0));
}

#[test]
fn the_standard_functions_have_no_storage() {
    assert!(Functions::standard().find("env", ROOT).is_none());
    let functions = functions(Arc::new(Map::default()));
    let names: Vec<_> = functions.iter().map(|function| function.name().to_owned()).collect();
    let mut all = [CLEAR, COMMIT, GET, NEXT_KEY, ROLLBACK, ROOT, SET, START];
    all.sort_unstable();
    assert_eq!(names, all);
}
