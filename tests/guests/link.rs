//! Linked modules, on every engine: the library's functions, memory, table, globals and start
//! function work as in an instance of its own, and a reset brings its state back too.

use crate::everywhere::everywhere;
use touchstone::case::{Guests, digest, load};
use touchstone_executor::guest::{GuestModule, HeapPages, link};
use touchstone_executor::{Abi, Outcome};

/// Counts its calls in a global, writes to the main module's memory, has a table that the main
/// module calls, and appends 1 to the order of starts.
const LIBRARY: &str = r#"(module
  (type $unary (func (param i32) (result i32)))
  (import "env" "memory" (memory 1))
  (import "main" "factor" (global $factor i32))
  (import "main" "hook" (func $hook (type $unary)))
  (global $calls (export "calls") (mut i32) (i32.const 0))
  (table (export "table") 3 funcref)
  (elem (i32.const 0) $scale $hook)
  (data (i32.const 16) "\07\08")
  (func $scale (export "scale") (type $unary)
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (i32.store8 (i32.const 20) (global.get $calls))
    (i32.mul (local.get 0) (global.get $factor)))
  (func $start (i32.store (i32.const 32) (i32.const 1)))
  (start $start))"#;

/// Returns four numbers: the product, the calls, the library's data, the order of starts.
const MAIN: &str = r#"(module
  (type $unary (func (param i32) (result i32)))
  (import "lib" "scale" (func $scale (type $unary)))
  (import "lib" "calls" (global $calls (mut i32)))
  (import "lib" "table" (table $table 3 funcref))
  (memory 1)
  (global (export "factor") i32 (i32.const 3))
  (elem (i32.const 2) $last)
  (data (i32.const 17) "\05")
  (func (export "hook") (type $unary) (i32.add (local.get 0) (i32.const 100)))
  (func $last (type $unary) (i32.sub (local.get 0) (i32.const 1)))
  (func $byte (param i32 i32) (result i32) (i32.shl (i32.load8_u (local.get 0)) (local.get 1)))
  (func (export "run") (result i32 i32 i32 i32)
    (drop (call $scale (i32.const 9)))
    (call_indirect $table (type $unary)
      (call_indirect $table (type $unary)
        (call_indirect $table (type $unary) (i32.const 5) (i32.const 0))
        (i32.const 1))
      (i32.const 2))
    (i32.add (i32.mul (global.get $calls) (i32.const 10)) (i32.load8_u (i32.const 20)))
    (i32.load16_u (i32.const 16))
    (i32.load (i32.const 32)))
  (func $start
    (i32.store (i32.const 32) (i32.add (i32.mul (i32.load (i32.const 32)) (i32.const 10)) (i32.const 2))))
  (start $start))"#;

#[test]
fn a_library_works_and_is_reset_on_every_engine() {
    let [main, library] = [MAIN, LIBRARY].map(|text| wat::parse_str(text).unwrap());
    let linked = link(&main, &[("lib", &library)]).unwrap();
    let guest = GuestModule::new("linked", &linked, HeapPages::default()).unwrap();
    let expected: Vec<u8> =
        [3 * 5 + 100 - 1, 22, 0x0507, 12].into_iter().flat_map(i32::to_le_bytes).collect();
    let ran = std::sync::atomic::AtomicUsize::new(0);
    everywhere(&guest, |engine, strategy, module| {
        let run = module.export("run", Abi::Plain).unwrap();
        let mut instance = module.new_instance().unwrap();
        for _ in 0..2 {
            let mut output = Vec::new();
            let outcome = instance.call(run, &[], &mut output).unwrap();
            assert_eq!((outcome, &output), (Outcome::Returned, &expected), "{engine} {strategy}");
        }
        ran.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    });
    assert!(ran.into_inner() > 0);
}

#[test]
fn a_case_names_the_libraries_of_its_guests() {
    let folder = tempfile::tempdir().unwrap();
    let mut digests = String::new();
    for (name, text) in [("main", MAIN), ("library", LIBRARY)] {
        let wasm = wat::parse_str(text).unwrap();
        digests += &format!("{}  {name}.wasm\n", digest(&wasm));
        std::fs::write(folder.path().join(name).with_extension("wasm"), wasm).unwrap();
    }
    std::fs::write(folder.path().join("SHA256SUMS"), digests).unwrap();
    let case = |link: &str| {
        let text = format!(
            "[case]\nname = \"linked\"\nguests = [\"main\"]\nlink = {link}\nexport = \"run\"\n\
             abi = \"plain\"\nthreads = [1]\nexpect = {{ output = \"\" }}\nanalysis = \"\"\n"
        );
        let file = folder.path().join("linked.toml");
        std::fs::write(&file, text).unwrap();
        load(file).map(|cases| cases[0].clone())
    };
    let mut guests = Guests::in_folder(folder.path());
    let linked = guests.of_case(&case("[\"lib=library\"]").unwrap(), "main").unwrap();
    assert!(linked.info().imports.is_empty());
    let missing = guests.of_case(&case("[\"lib=main\"]").unwrap(), "main").unwrap_err();
    assert!(format!("{missing:#}").contains("cannot link the guest main: "), "{missing:#}");
    let wrong = case("[\"library\"]").unwrap_err();
    assert!(format!("{wrong:#}").contains("'library' is not NAME=FILE"), "{wrong:#}");
}
