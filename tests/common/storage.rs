//! Host functions of the storage.

use super::{each_with, guest};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use touchstone_executor::guest::WASM_PAGE;
use touchstone_executor::storage::{self, Storage, StorageError};
use touchstone_executor::{Abi, Config, Functions, Outcome, Strategy, TrapKind};

/// `count` raises the byte behind the key `n` by one, in a transaction that is kept if the input
/// has one byte and undone if it has none. `get` gives the value of the key in the input, encoded
/// as the host encodes it. `end` ends a transaction that never began.
const KEEPER: &str = r#"(module
  (import "env" "ext_storage_get_version_1" (func $get (param i64) (result i64)))
  (import "env" "ext_storage_set_version_1" (func $set (param i64 i64)))
  (import "env" "ext_storage_clear_version_1" (func $clear (param i64)))
  (import "env" "ext_storage_next_key_version_1" (func $next (param i64) (result i64)))
  (import "env" "ext_storage_root_version_1" (func $root (result i64)))
  (import "env" "ext_storage_start_transaction_version_1" (func $start))
  (import "env" "ext_storage_rollback_transaction_version_1" (func $rollback))
  (import "env" "ext_storage_commit_transaction_version_1" (func $commit))
  (memory (export "memory") 1)
  (global (export "__heap_base") i32 (i32.const 1024))
  (data (i32.const 16) "n")
  ;; The place of `n`, and of the byte at 32.
  (global $n i64 (i64.const 0x100000010))
  (global $byte i64 (i64.const 0x100000020))
  (func (export "count") (param i32 i32) (result i64)
    (local $value i32)
    (local.set $value (i32.wrap_i64 (call $get (global.get $n))))
    (if (i32.load8_u (local.get $value))
      (then (i32.store8 (i32.const 32) (i32.load8_u offset=2 (local.get $value)))))
    (i32.store8 (i32.const 32) (i32.add (i32.load8_u (i32.const 32)) (i32.const 1)))
    (call $start)
    (call $set (global.get $n) (global.get $byte))
    (if (local.get 1) (then (call $commit)) (else (call $rollback)))
    (global.get $byte))
  (func (export "get") (param i32 i32) (result i64)
    (call $get (i64.or (i64.extend_i32_u (local.get 0))
      (i64.shl (i64.extend_i32_u (local.get 1)) (i64.const 32)))))
  (func (export "next") (param i32 i32) (result i64)
    (call $clear (global.get $n))
    (call $next (i64.const 0)))
  (func (export "root") (param i32 i32) (result i64) (call $root))
  (func (export "end") (param i32 i32) (result i64) (call $commit) (i64.const 0)))"#;

/// Layers of keys and values: the state, and one for each transaction.
#[derive(Default)]
struct Layers(Mutex<Vec<BTreeMap<Vec<u8>, Vec<u8>>>>);

impl Layers {
    fn of(state: BTreeMap<Vec<u8>, Vec<u8>>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(vec![state])))
    }
}

impl Storage for Layers {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        Ok(self.0.lock().unwrap().last().and_then(|state| state.get(key).cloned()))
    }

    fn set(&self, key: &[u8], value: Option<&[u8]>) -> Result<(), StorageError> {
        let mut layers = self.0.lock().unwrap();
        let state = layers.last_mut().unwrap();
        match value {
            Some(value) => state.insert(key.to_vec(), value.to_vec()),
            None => state.remove(key),
        };
        Ok(())
    }

    fn next_key(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        let layers = self.0.lock().unwrap();
        Ok(layers.last().and_then(|state| state.keys().find(|k| k.as_slice() > key).cloned()))
    }

    fn root(&self) -> Result<Vec<u8>, StorageError> {
        Ok(b"a digest".to_vec())
    }

    fn start(&self) -> Result<(), StorageError> {
        let mut layers = self.0.lock().unwrap();
        let copy = layers.last().cloned().unwrap_or_default();
        layers.push(copy);
        Ok(())
    }

    fn rollback(&self) -> Result<(), StorageError> {
        self.0.lock().unwrap().pop().map(drop).ok_or(StorageError::NoTransaction)
    }

    fn commit(&self) -> Result<(), StorageError> {
        let mut layers = self.0.lock().unwrap();
        if layers.len() < 2 {
            return Err(StorageError::NoTransaction);
        }
        let top = layers.pop().unwrap();
        *layers.last_mut().unwrap() = top;
        Ok(())
    }
}

fn config(storage: &Arc<Layers>) -> Config {
    let functions = storage::functions(Arc::clone(storage) as _);
    Config { functions: Functions::standard().with(&functions), ..Config::default() }
}

pub(crate) fn a_storage_outlives_clean_instances(strategy: Strategy) {
    let storage = Layers::of(BTreeMap::new());
    each_with(strategy, &guest(KEEPER), &config(&storage), |loaded| {
        *storage.0.lock().unwrap() = vec![BTreeMap::new()];
        let export = |name| loaded.export(name, Abi::Substrate);
        let instance = &mut *loaded.instance();
        for expected in 1..=3 {
            // A transaction that is undone changes nothing.
            assert_eq!(loaded.output(instance, export("count"), &[]), [expected]);
            assert_eq!(loaded.output(instance, export("count"), &[0]), [expected]);
        }
        let other = &mut *loaded.instance();
        assert_eq!(loaded.output(other, export("get"), b"n"), [1, 4, 3], "{}", loaded.name);
        assert_eq!(loaded.output(other, export("get"), b"m"), [0]);
        assert_eq!(loaded.output(other, export("root"), b""), b"a digest");
        storage.set(b"z", Some(b"")).unwrap();
        assert_eq!(loaded.output(other, export("next"), b""), [1, 4, b'z']);
        assert_eq!(loaded.output(other, export("get"), b"n"), [0], "{}", loaded.name);
    });
}

pub(crate) fn a_large_value_grows_the_memory(strategy: Strategy) {
    let value = vec![7; 3 * WASM_PAGE];
    let storage = Layers::of([(b"k".to_vec(), value.clone())].into());
    each_with(strategy, &guest(KEEPER), &config(&storage), |loaded| {
        let get = loaded.export("get", Abi::Substrate);
        let instance = &mut *loaded.instance();
        for _ in 0..3 {
            let output = loaded.output(instance, get, b"k");
            assert_eq!(output[0], 1, "{}", loaded.name);
            assert!(output.ends_with(&value), "{}", loaded.name);
        }
    });
}

pub(crate) fn a_storage_refuses_by_name(strategy: Strategy) {
    let storage = Layers::of(BTreeMap::new());
    each_with(strategy, &guest(KEEPER), &config(&storage), |loaded| {
        let end = loaded.export("end", Abi::Substrate);
        let (outcome, _) = loaded.outcome(&mut *loaded.instance(), end, b"");
        let name = "ext_storage_commit_transaction_version_1".to_owned();
        let reason = StorageError::NoTransaction.to_string();
        let trap = TrapKind::HostFunction { name, reason };
        assert_eq!(outcome, Outcome::Trapped(trap.into()), "{}", loaded.name);
    });
    // Without a storage the imports are missing.
    each_with(strategy, &guest(KEEPER), &Config::default(), |loaded| {
        let get = loaded.export("get", Abi::Substrate);
        let (outcome, _) = loaded.outcome(&mut *loaded.instance(), get, b"n");
        let (module, name) = ("env".to_owned(), "ext_storage_get_version_1".to_owned());
        let trap = TrapKind::MissingImport { module, name };
        assert_eq!(outcome, Outcome::Trapped(trap.into()), "{}", loaded.name);
    });
}
