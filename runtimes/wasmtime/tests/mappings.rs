//! Instances until the process has no more mappings: one too many is an error.

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect};
use std::process::Command;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Abi, Config, Strategy};

const GUEST: &str = r#"(module
    (memory (export "memory") 2)
    (data (i32.const 70000) "data")
    (global $calls (mut i32) (i32.const 0))
    (func (export "call") (result i32)
        (drop (memory.grow (i32.const 1)))
        (i32.store (i32.const 8) (i32.const 1))
        (i32.store (i32.const 140000) (i32.const 1))
        (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
        (global.get $calls)))"#;

/// Set in the child process, which uses up mappings.
const ASKED: &str = "TOUCHSTONE_TEST_MAPPINGS";
const PAGE: usize = 4096;

/// Takes mappings of the process.
fn take(mappings: usize) {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    let (any, length) = (std::ptr::null_mut(), mappings * PAGE);
    // SAFETY: a new mapping of which no byte is accessed; nobody else has it.
    unsafe {
        let all = mmap_anonymous(any, length, ProtFlags::empty(), flags).unwrap();
        for page in (0..mappings).step_by(2) {
            mprotect(all.byte_add(page * PAGE), PAGE, MprotectFlags::READ).unwrap();
        }
    }
}

#[test]
fn an_instance_too_many_is_an_error_under_every_strategy() {
    let allowed = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
    let allowed: usize = allowed.trim().parse().unwrap();
    if allowed > 1 << 20 {
        eprintln!("not tested: this machine allows {allowed} mappings");
        return;
    }
    if std::env::var_os(ASKED).is_none() {
        // In a process of its own.
        let name = "an_instance_too_many_is_an_error_under_every_strategy";
        let mut child = Command::new(std::env::current_exe().unwrap());
        let child = child.args(["--exact", "--nocapture", name]).env(ASKED, "1");
        let output = child.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let is_known = String::from_utf8_lossy(&output.stdout).contains("running 1 test");
        assert!(is_known && output.status.success(), "{}: {said}", output.status);
        return;
    }
    take(allowed - allowed / 16 - 600);
    let guest = GuestModule::new("guest", &wat::parse_str(GUEST).unwrap(), HeapPages::default());
    let (guest, config) = (guest.unwrap(), Config { instances: 4, ..Config::default() });
    let mut refused = 0;
    for engine in touchstone_wasmtime::engines() {
        for strategy in Strategy::all() {
            if !engine.support_for(strategy, &guest).is_supported() {
                continue;
            }
            let name = format!("{} {strategy}", engine.id());
            let artifact = engine.compile(&guest, strategy, &config).unwrap();
            let module = engine.load(&guest, &artifact, strategy, &config).unwrap();
            let export = module.export("call", Abi::Plain).unwrap();
            let mut instances = Vec::new();
            for _ in 0..400 {
                let mut output = Vec::new();
                let made = module.new_instance().and_then(|mut instance| {
                    let outcome = instance.call(export, &[], &mut output)?;
                    assert!(outcome.trap().is_none(), "{name}: {outcome:?}");
                    Ok(instance)
                });
                match made {
                    Ok(instance) => instances.push(instance),
                    Err(error) => {
                        refused += 1;
                        eprintln!("{name}: {} instances, then {error}", instances.len());
                        break;
                    }
                }
            }
            // The rest of the process goes on, and so do the instances.
            std::thread::spawn(|| vec![1_u8; 8 << 20].len()).join().unwrap();
            for instance in instances.iter_mut().rev().take(50) {
                let mut output = Vec::new();
                assert!(
                    instance.call(export, &[], &mut output).unwrap().trap().is_none(),
                    "{name}"
                );
            }
        }
    }
    assert!(refused > 5, "{refused}");
}
