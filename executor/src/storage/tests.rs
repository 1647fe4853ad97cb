//! The host functions over a memory, without an engine.

use super::{Function, Storage, StorageError};
use crate::Config;
use crate::heap::WASM_PAGE;
use crate::host::{Answer, HostFunction, HostState, parameters};
use crate::outcome::TrapKind;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

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

fn host(storage: Option<Arc<dyn Storage>>) -> HostState {
    HostState::new(Some(1024), &Config { storage, ..Config::default() })
}

/// A packed place.
fn place(pointer: u64, length: u64) -> u64 {
    length << 32 | pointer
}

#[test]
fn values_pass_through_the_hosts_allocator() {
    let mut host = host(Some(Arc::new(Map::default())));
    let mut memory = vec![0; WASM_PAGE];
    memory[..6].copy_from_slice(b"keyval");
    let mut call = |function, values: &[u64]| {
        let values = parameters(values.iter().copied());
        let answer = host.answer(HostFunction::Storage(function), &mut memory, &values);
        let Ok(Answer::Result(result)) = answer else { panic!("{answer:?}") };
        memory[result as u32 as usize..][..(result >> 32) as usize].to_vec()
    };
    let key = place(0, 3);
    assert_eq!(call(Function::Get, &[key]), [0]);
    assert!(call(Function::Set, &[key, place(3, 3)]).is_empty());
    assert_eq!(call(Function::Get, &[key]), *b"\x01\x0cval");
    assert_eq!(call(Function::NextKey, &[place(0, 0)]), *b"\x01\x0ckey");
    assert_eq!(call(Function::NextKey, &[key]), [0]);
    assert_eq!(call(Function::Root, &[]), [9; 32]);
    assert!(call(Function::Clear, &[key]).is_empty());
    assert_eq!(call(Function::Get, &[key]), [0]);
}

#[test]
fn an_answer_that_does_not_fit_asks_for_memory_and_then_arrives() {
    let map = Map::default();
    map.set(b"k", Some(&vec![5; 2 * WASM_PAGE])).unwrap();
    let mut host = host(Some(Arc::new(map)));
    let mut memory = vec![0; WASM_PAGE];
    memory[0] = b'k';
    let (get, key) = (HostFunction::Storage(Function::Get), parameters([place(0, 1)]));
    let asked = host.answer(get, &mut memory, &key);
    // A size class of 256 KiB behind the heap base and a header.
    assert_eq!(asked, Ok(Answer::NeedsMemory { pages: 4 }));
    memory.resize(5 * WASM_PAGE, 0);
    let Ok(Answer::Result(result)) = host.answer(get, &mut memory, &key) else { panic!() };
    assert_eq!(result >> 32, 2 * WASM_PAGE as u64 + 5);
}

#[test]
fn bad_places_and_refusals_are_traps() {
    let mut host = host(Some(Arc::new(Map::default())));
    let mut memory = vec![0; WASM_PAGE];
    let mut reason = |function, values: &[u64]| {
        let values = parameters(values.iter().copied());
        match host.answer(HostFunction::Storage(function), &mut memory, &values) {
            Err(trap) => match trap.kind {
                TrapKind::HostFunction { reason, .. } => reason,
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    };
    let outside = "a key or value lies outside the memory";
    assert_eq!(reason(Function::Get, &[place(65_535, 2)]), outside);
    assert_eq!(reason(Function::Set, &[place(0, 1), place(0xffff_ffff, 0xffff_ffff)]), outside);
    assert_eq!(reason(Function::Commit, &[]), StorageError::NoTransaction.to_string());
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
    let mut host = host(Some(map));
    let get = HostFunction::Storage(Function::Get);
    let trap = host.answer(get, &mut [0; 8], &parameters([place(0, 1)])).unwrap_err();
    let reason = "the storage panicked".to_owned();
    assert_eq!(trap.kind, TrapKind::HostFunction { name: get.name(), reason });
    // The host's own part works on.
    let level = host.answer(HostFunction::MaxLogLevel, &mut [], &parameters([]));
    assert_eq!(level, Ok(Answer::Result(0)));
}

#[test]
fn without_a_storage_the_import_is_missing() {
    let mut host = host(None);
    let function = HostFunction::Storage(Function::Root);
    let trap = host.answer(function, &mut [], &parameters([])).unwrap_err();
    let (module, name) = ("env".to_owned(), function.name().to_owned());
    assert_eq!(trap.kind, TrapKind::MissingImport { module, name });
}
