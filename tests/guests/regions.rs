//! Regions of the host at the end of guests' memories, on every engine that can map them.

use crate::everywhere::compiled;
use std::collections::BTreeMap;
use std::sync::Arc;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{self, Growth, GuestModule, HeapPages, WASM_PAGE};
use touchstone_executor::memory::Region;
use touchstone_executor::{
    Abi, Config, Error, ExportId, Instance, Module, Outcome, Strategy, Support, TrapKind,
};

/// `first` gives the byte at an address, `write` writes one there, `wide` writes
/// eight, `fetch` has the host write its
/// input there, `own` counts calls in its own memory.
const GUEST: &str = r#"(module
  (import "env" "input" (func $input (param i64)))
  (import "env" "ext_logging_log_version_1" (func $log (param i32 i64 i64)))
  (memory (export "memory") 2)
  (global (export "__heap_base") i32 (i32.const 1024))
  (data (i32.const 16) "\01")
  (func (export "first") (param i32) (result i32) (i32.load8_u (local.get 0)))
  (func (export "write") (param i32) (result i32)
    (i32.store8 (i32.const 20) (i32.const 9))
    (i32.store8 (local.get 0) (i32.const 9))
    (i32.const 0))
  (func (export "wide") (param i32) (result i32)
    (i64.store (local.get 0) (i64.const -1))
    (i32.const 0))
  (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))
  (func (export "bytes") (param i32 i32) (result i32) (i32.load8_u (local.get 0)))
  (func (export "alloc") (param i32) (result i32) (i32.const 0x20000))
  (func (export "fetch") (result i32)
    (call $input (i64.const 0x20000))
    (i32.const 0))
  (func (export "log") (result i32)
    (call $log (i32.const 0) (i64.const 0x100000010) (i64.const 0x100020000))
    (i32.const 0))
  (func (export "result") (param i32 i32) (result i64) (i64.const 0x100020000))
  (func (export "own") (param i32) (result i32)
    (i32.store8 (i32.const 20) (i32.add (i32.load8_u (i32.const 20)) (i32.const 1)))
    (i32.load8_u (i32.const 20))))"#;

/// Writes many bytes by one instruction.
const IN_BULK: &str = r#"(module
  (memory (export "memory") 2)
  (global (export "__heap_base") i32 (i32.const 1024))
  (data (i32.const 16) "\01")
  (func (export "first") (param i32) (result i32) (i32.load8_u (local.get 0)))
  (func (export "fill") (param i32) (result i32)
    (memory.fill (local.get 0) (i32.const 9) (i32.const 3))
    (i32.const 0))
  (func (export "copy") (param i32) (result i32)
    (memory.copy (local.get 0) (i32.const 16) (i32.add (i32.load8_u (i32.const 16)) (i32.const 2)))
    (i32.const 0)))"#;

/// Where the region begins: behind two pages of the guest's own.
const START: i32 = 2 * WASM_PAGE as i32;

fn guest(text: &str) -> GuestModule {
    let heap = HeapPages { extra: 1, growth: Growth::AsDeclared };
    GuestModule::new("regions", &wat::parse_str(text).unwrap(), heap).unwrap()
}

/// Strategies that can map a region, by engine.
pub(crate) type Count = BTreeMap<&'static str, usize>;

/// Does something on each executor that can map a region.
fn each(test: impl Fn(&str, &dyn Module, &Region)) -> Count {
    each_with(&guest(GUEST), test)
}

/// The same with a guest. Engines may refuse one that writes in bulk.
pub(crate) fn each_with(guest: &GuestModule, test: impl Fn(&str, &dyn Module, &Region)) -> Count {
    let mut count = Count::new();
    for engine in touchstone_runtimes::engines() {
        for strategy in Strategy::all() {
            if matches!(engine.support_for(strategy, guest), Support::Unsupported { .. }) {
                continue;
            }
            let region = Arc::new(Region::new(WASM_PAGE).unwrap());
            let name = format!("{} {strategy}", engine.id());
            match (engine.maps_regions(strategy), load(&*engine, strategy, guest, &region)) {
                (Support::Unsupported { reason }, Err(Error::Unsupported { reason: said, .. })) => {
                    assert_eq!(reason, said, "{name}");
                }
                (Support::Unsupported { .. }, _) => panic!("{name} does not refuse a region"),
                (_, Err(Error::Guest(guest::Error::Unhostable { .. })))
                    if guest.info().writes_in_bulk => {}
                (_, Err(error)) => panic!("{name}: {error}"),
                (_, Ok(module)) => {
                    test(&name, &*module, &region);
                    *count.entry(engine.id()).or_default() += 1;
                }
            }
        }
    }
    count
}

fn load(
    engine: &dyn MeasuredEngine,
    strategy: Strategy,
    guest: &GuestModule,
    region: &Arc<Region>,
) -> touchstone_executor::Result<Box<dyn Module>> {
    let config = Config {
        region: Some(Arc::clone(region)),
        max_log_level: 1,
        log: Some(Arc::new(|_, _, _| ())),
        ..Config::default()
    };
    let artifact = compiled::artifact(engine, guest, strategy, &config)?;
    artifact.stage(strategy)?;
    let mut module = engine.load(guest, &artifact, strategy, &config)?;
    module.probe()?;
    Ok(module)
}

fn export(module: &dyn Module, name: &str) -> ExportId {
    module.export(name, Abi::Plain).unwrap()
}

/// The result of a call, or how it trapped.
fn call(instance: &mut dyn Instance, export: ExportId, input: &[u8]) -> Result<i32, TrapKind> {
    let mut output = Vec::new();
    match instance.call(export, input, &mut output).unwrap() {
        Outcome::Returned => Ok(i32::from_le_bytes(output.try_into().unwrap())),
        Outcome::Trapped(trap) => Err(trap.kind),
    }
}

#[test]
fn guests_read_what_the_host_writes() {
    let count = each(|name, module, region| {
        let first = export(module, "first");
        let mut instances: Vec<_> = (0..3).map(|_| module.new_instance().unwrap()).collect();
        for round in 1..=3_u8 {
            region.write(&[round]);
            for instance in &mut instances {
                let seen = call(&mut **instance, first, &START.to_le_bytes());
                assert_eq!(seen, Ok(round.into()), "{name}");
            }
        }
        let end = START + WASM_PAGE as i32;
        assert_eq!(call(&mut *instances[0], first, &(end - 1).to_le_bytes()), Ok(0), "{name}");
        let behind = call(&mut *instances[0], first, &end.to_le_bytes());
        assert_eq!(behind, Err(TrapKind::MemoryOutOfBounds), "{name}");
        // It is at the end, so the memory stays as it is.
        let grown = call(&mut *instances[0], export(module, "grow"), &1_i32.to_le_bytes());
        assert_eq!(grown, Ok(-1), "{name}");
    });
    println!("strategies that map regions: {count:?}");
    let engines = touchstone_runtimes::engines();
    let built: Vec<&str> = engines.iter().map(|engine| engine.id()).collect();
    for engine in ["wasmtime", "wasmedge_aot"] {
        let is_built = built.contains(&engine);
        assert_eq!(count.contains_key(engine), is_built, "{engine}");
    }
}

#[test]
fn a_write_traps_and_harms_nobody() {
    each(|name, module, region| {
        let [first, write, own] = ["first", "write", "own"].map(|of| export(module, of));
        let (mut one, mut other) = (module.new_instance().unwrap(), module.new_instance().unwrap());
        region.write(&[5]);
        for at in [START, START + 4096, START + WASM_PAGE as i32 - 1] {
            let written = call(&mut *one, write, &at.to_le_bytes());
            assert_eq!(written, Err(TrapKind::MemoryOutOfBounds), "{name}");
            // What the call wrote before is undone, and the region is as it was.
            for instance in [&mut one, &mut other] {
                assert_eq!(call(&mut **instance, own, &[0; 4]), Ok(1), "{name}");
                let seen = call(&mut **instance, first, &START.to_le_bytes());
                assert_eq!(seen, Ok(5), "{name}");
            }
        }
        assert_eq!(call(&mut *one, write, &(START - 1).to_le_bytes()), Ok(0), "{name}");
    });
}

/// Also a store that begins in the guest's own memory.
#[test]
fn wide_writes_trap() {
    each(|name, module, region| {
        let [first, own, wide] = ["first", "own", "wide"].map(|of| export(module, of));
        let mut instance = module.new_instance().unwrap();
        region.write(&[5, 6, 7]);
        for at in [START, START - 4] {
            let written = call(&mut *instance, wide, &at.to_le_bytes());
            assert_eq!(written, Err(TrapKind::MemoryOutOfBounds), "{name}");
            for (at, byte) in [(START - 1, 0), (START, 5), (START + 2, 7)] {
                let seen = call(&mut *instance, first, &at.to_le_bytes());
                assert_eq!(seen, Ok(byte), "{name}");
            }
            assert_eq!(call(&mut *instance, own, &[0; 4]), Ok(1), "{name}");
        }
        assert_eq!(call(&mut *instance, wide, &(START - 8).to_le_bytes()), Ok(0), "{name}");
    });
}

/// Runtimes do this in code of their own: it traps there, too, or the guest is refused.
#[test]
fn writes_in_bulk_trap_or_are_refused() {
    let guest = guest(IN_BULK);
    assert!(guest.info().writes_in_bulk);
    let count = each_with(&guest, |name, module, region| {
        let first = export(module, "first");
        let (mut one, mut other) = (module.new_instance().unwrap(), module.new_instance().unwrap());
        region.write(&[5, 6, 7]);
        for (write, at) in
            [("fill", START), ("fill", START - 2), ("copy", START), ("copy", START + 4095)]
        {
            let write = export(module, write);
            for _ in 0..3 {
                let written = call(&mut *one, write, &at.to_le_bytes());
                assert_eq!(written, Err(TrapKind::MemoryOutOfBounds), "{name}");
                for (at, byte) in [(16, 1), (START - 1, 0), (START, 5), (START + 2, 7)] {
                    for instance in [&mut one, &mut other] {
                        let seen = call(&mut **instance, first, &i32::to_le_bytes(at));
                        assert_eq!(seen, Ok(byte), "{name} at {at}");
                    }
                }
            }
            assert_eq!(call(&mut *one, write, &(START - 3).to_le_bytes()), Ok(0), "{name}");
        }
    });
    println!("strategies that map regions for a guest that writes in bulk: {count:?}");
}

/// Resets put back the guest's own bytes, growth is refused, and each instance reads the same
/// region after any number of calls.
#[test]
fn resets_leave_it_alone() {
    each(|name, module, region| {
        let [first, own, write, grow] =
            ["first", "own", "write", "grow"].map(|of| export(module, of));
        let mut instance = module.new_instance().unwrap();
        for round in 1..=50_u8 {
            region.write(&[round]);
            assert_eq!(call(&mut *instance, own, &[0; 4]), Ok(1), "{name}");
            assert_eq!(call(&mut *instance, write, &(START - 1).to_le_bytes()), Ok(0), "{name}");
            assert_eq!(call(&mut *instance, grow, &1_i32.to_le_bytes()), Ok(-1), "{name}");
            for (at, byte) in [(START - 1, 0), (START, round)] {
                let seen = call(&mut *instance, first, &at.to_le_bytes());
                assert_eq!(seen, Ok(byte.into()), "{name} in round {round}");
            }
        }
    });
}

/// Writes of the host for a guest do not reach the region either.
#[test]
fn the_host_writes_nothing_there() {
    each(|name, module, region| {
        region.write(&[5]);
        let mut instance = module.new_instance().unwrap();
        let mut output = Vec::new();
        let fetch = module.export("fetch", Abi::Input).unwrap();
        let fetched = instance.call(fetch, b"input", &mut output).unwrap();
        let Outcome::Trapped(trap) = fetched else { panic!("{name}: {fetched:?}") };
        assert!(
            matches!(&trap.kind, TrapKind::HostFunction { name, .. } if name == "input"),
            "{name}"
        );
        let bytes = module.export("bytes", Abi::Bytes).unwrap();
        let placed = instance.call(bytes, b"input", &mut output).unwrap();
        let Outcome::Trapped(trap) = placed else { panic!("{name}: {placed:?}") };
        assert!(matches!(trap.kind, TrapKind::BadResult { .. }), "{name}");
        let first = export(module, "first");
        assert_eq!(call(&mut *instance, first, &START.to_le_bytes()), Ok(5), "{name}");
    });
}

/// The host reads nothing there either: who writes the region may do so meanwhile.
#[test]
fn the_host_reads_nothing_there() {
    each(|name, module, region| {
        region.write(&[5]);
        let mut instance = module.new_instance().unwrap();
        let mut output = Vec::new();
        let log = module.export("log", Abi::Plain).unwrap();
        let logged = instance.call(log, b"", &mut output).unwrap();
        let Outcome::Trapped(trap) = logged else { panic!("{name}: {logged:?}") };
        let kind = &trap.kind;
        assert!(
            matches!(kind, TrapKind::HostFunction { name, .. } if name == "ext_logging_log_version_1"),
            "{name}: {kind:?}"
        );
        let result = module.export("result", Abi::Substrate).unwrap();
        let returned = instance.call(result, b"", &mut output).unwrap();
        let Outcome::Trapped(trap) = returned else { panic!("{name}: {returned:?}") };
        assert!(matches!(trap.kind, TrapKind::BadResult { .. }), "{name}");
    });
}
