//! Differences that the specification allows, and values that hosts cannot pass as numbers.

use crate::command::{Folder, Ran, touchstone};

/// Results whose NaN has one of two payloads.
const NANS: &str = r#"(module
    (func (export "i64") (result i64)
      (i64x2.extract_lane 1 (f64x2.add (v128.const i64x2 -1 -1)
        (v128.const i64x2 -1 0xffff60ffffffffff))))
    (func (export "v128") (result v128)
      (f64x2.add (v128.const i64x2 -1 -1) (v128.const i64x2 -1 0xffff60ffffffffff)))
    (func (export "f64") (result f64)
      (f64.add (f64.reinterpret_i64 (i64.const -1))
        (f64.reinterpret_i64 (i64.const 0xffff60ffffffffff))))
    (func (export "sign") (param f64) (result i64)
      (i64.reinterpret_f64 (f64.div (local.get 0) (local.get 0))))
    (func (export "moved") (result f64) (f64.reinterpret_i64 (i64.const 0xffff60ffffffffff))))"#;

/// Engines with vectors.
const VECTORS: [&str; 2] = ["--backend", "^(wasmtime|tinywasm|wasmedge)$"];

fn run(guest: &str, more: &[&str]) -> Ran {
    touchstone(&[&["run", guest], more].concat())
}

fn groups(ran: &Ran) -> u64 {
    ran.lines().iter().filter_map(|line| line["group"].as_u64()).max().unwrap()
}

#[test]
fn nan_bits_may_differ() {
    let folder = Folder::new();
    let guest = folder.module(NANS);
    let mut differ = 0;
    for call in [&["i64"][..], &["v128"], &["f64"], &["sign", "--args", "0"]] {
        let ran = run(&guest, &[&["--call"], call, &["--json"]].concat());
        assert_eq!((ran.code, &*ran.err), (0, ""), "{}", ran.out);
        let lines = ran.lines();
        if groups(&ran) > 1 {
            differ += 1;
            assert!(lines.iter().all(|line| line["difference"] == "nan_bits"), "{}", ran.out);
            let out = run(&guest, &[&["--call"], call].concat()).well();
            assert!(out.contains("results differ in NaN bits, which the specification allows"));
        } else {
            assert!(lines.iter().all(|line| line["difference"].is_null()), "{}", ran.out);
        }
    }
    if cfg!(feature = "all") {
        assert!(differ > 0, "the engines of this build agree on the bits of all NaNs");
    }
}

#[test]
fn a_nan_is_shown_with_its_bits() {
    let folder = Folder::new();
    let guest = folder.module(NANS);
    let out = run(&guest, &[&["--call", "moved"], &VECTORS[..]].concat()).well();
    assert!(out.contains(": NaN (0xffff60ffffffffff): f64\n"), "{out}");
}

#[test]
fn vectors_and_null_references_are_passed() {
    let folder = Folder::new();
    let guest = folder.module(
        r#"(module
            (func (export "twice") (param v128) (result v128)
              (i32x4.add (local.get 0) (local.get 0)))
            (func $same (export "same") (param i32 externref funcref) (result externref i32 funcref)
              (local.get 1) (local.get 0) (ref.func $same))
            (func (export "strict") (param (ref func))))"#,
    );
    let ran = run(&guest, &["--call", "twice", "--args", "i32x4:1,-2,3,4", "--json"]);
    assert_eq!((ran.code, &*ran.err), (0, ""), "{}", ran.out);
    let returned = ran.lines().into_iter().filter(|line| line["status"] == "returned");
    let mut count = 0;
    for line in returned {
        assert_eq!(line["output"], "0x02000000fcffffff0600000008000000", "{line}");
        count += 1;
    }
    assert!(count > 0);
    // An engine without vectors says so.
    for line in ran.lines().iter().filter(|line| line["status"] == "unsupported") {
        assert!(line["reason"].is_string(), "{line}");
    }
    let out =
        run(&guest, &[&["--call", "twice", "--args", "i32x4:1,2,3,4"], &VECTORS[..]].concat());
    let shown = ": i32x4:0x00000002,0x00000004,0x00000006,0x00000008: v128\n";
    assert!(out.well().contains(shown));
    let same = ["--call", "same", "--args", "5", "null", "null"];
    let out = run(&guest, &[&same[..], &VECTORS].concat()).well();
    assert!(out.contains(": null: externref, 5: i32, not null: funcref\n"), "{out}");
    assert!(out.contains("(i32, externref, funcref) -> (externref, i32, funcref)"), "{out}");
    let wrong = ["--call", "same", "--args", "5", "7", "null"];
    run(&guest, &wrong).refused(&["parameter 2 is externref", "is not null"]);
    run(&guest, &["--call", "strict"]).refused(&["references of types that no host can pass"]);
}
