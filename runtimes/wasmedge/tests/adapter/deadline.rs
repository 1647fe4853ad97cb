//! Code under a deadline looks at the clock before whatever may take long.

use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Abi, Config, InstanceFrom, MemoryFrom, Strategy, TrapKind};

/// An instruction that may write 4 GiB, and nothing else that counts.
const GUEST: &str = r#"(module (memory 1) (data $passive "content") (table 2 funcref)
    (func (export "fill") (memory.fill (i32.const 0) (i32.const 1) (i32.const 9)))
    (func (export "copy") (memory.copy (i32.const 0) (i32.const 9) (i32.const 9)))
    (func (export "init") (memory.init $passive (i32.const 0) (i32.const 0) (i32.const 7)))
    (func (export "table") (table.copy (i32.const 0) (i32.const 1) (i32.const 1))))"#;

#[test]
fn a_call_that_is_too_late_makes_no_large_write() {
    let guest =
        GuestModule::new("bulk", &wat::parse_str(GUEST).unwrap(), HeapPages::default()).unwrap();
    let strategy = Strategy::new(InstanceFrom::Recreate, MemoryFrom::Segments);
    // It is over before the guest begins.
    let config = Config { deadline: Some(std::time::Duration::ZERO), ..Config::default() };
    for engine in touchstone_wasmedge::engines() {
        let artifact = engine.compile(&guest, strategy, &config).unwrap();
        let module = engine.load(&guest, &artifact, strategy, &config).unwrap();
        let mut instance = module.new_instance().unwrap();
        for name in ["fill", "copy", "init", "table"] {
            let export = module.export(name, Abi::Plain).unwrap();
            let outcome = instance.call(export, b"", &mut Vec::new()).unwrap();
            let kind = outcome.trap().map(|trap| &trap.kind);
            assert_eq!(kind, Some(&TrapKind::DeadlineExceeded), "{} {name}", engine.id());
        }
    }
}
