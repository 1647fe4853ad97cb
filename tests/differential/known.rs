//! Errors of runtimes, found by comparing engines. An engine is not compared with others on modules
//! that its error affects; its strategies are still compared with each other.

use wasmparser::{Operator, Parser, Payload};

/// An error of a runtime.
struct Known {
    /// Engines whose names start so.
    engines: &'static str,
    /// In which modules it may show.
    shows_in: fn(&[u8]) -> bool,
    /// In words, for the list of what was left out.
    what: &'static str,
    /// A module whose export `f` shows it, and what comes out.
    shown_by: (&'static str, u32),
}

const KNOWN: [Known; 4] = [
    Known {
        engines: "wasmi",
        shows_in: compares_with_zero_and_selects,
        what: "wasmi 2.0.0 may choose the wrong value where a comparison with zero is the \
               condition of a select",
        // 400 - (0 == 0 ? 1 : 0) is 399.
        shown_by: (
            r#"(module (global (mut i32) i32.const 400)
                 (func (export "f") (result i32) (local i32)
                   global.get 0
                   i32.const 1 local.get 0 local.get 0 i32.eqz select
                   i32.sub))"#,
            400,
        ),
    },
    Known {
        engines: "wasm3",
        shows_in: has_a_table_of_nothing,
        what: "Wasm3 grows a table whose maximum is zero",
        // -1 is right.
        shown_by: (
            r#"(module (table 0 0 funcref)
                 (func (export "f") (result i32) (table.grow 0 (ref.null func) (i32.const 1))))"#,
            0,
        ),
    },
    Known {
        engines: "wasm3",
        shows_in: may_have_signalling_nans,
        what: "Wasm3 keeps an f32 as an f64, which makes a signalling NaN quiet",
        // 0x7f854ca9 is right.
        shown_by: (
            r#"(module (func (export "f") (result i32)
                 (i32.reinterpret_f32 (f32.reinterpret_i32 (i32.const 0x7f854ca9)))))"#,
            0x7fc5_4ca9,
        ),
    },
    Known {
        engines: "tinywasm",
        shows_in: has_reference_locals,
        what: "tinywasm 0.10.0 does not begin with null in a local for a reference",
        // 1 is right.
        shown_by: (
            r#"(module (func (export "f") (result i32) (local externref)
                 (ref.is_null (local.get 0))))"#,
            0,
        ),
    },
];

/// The reason for not comparing an engine with others on this module; `None` if there is none.
pub(crate) fn error_of(engine: &str, wasm: &[u8]) -> Option<&'static str> {
    let known = KNOWN.iter().filter(|known| engine.starts_with(known.engines));
    known.filter(|known| (known.shows_in)(wasm)).map(|known| known.what).next()
}

/// `true` if strategies of one engine may disagree about this refusal.
///
/// Wasm3 lacks an operation for some instructions with some operands in registers. Affected
/// instructions depend on the code around, and for a memory of Touchstone's `memory.grow` is a call
/// instead of an instruction.
pub(crate) fn depends_on_strategy(engine: &str, refusal: &str) -> bool {
    engine.starts_with("wasm3") && refusal.contains("no operation found for opcode")
}

fn payloads(wasm: &[u8]) -> impl Iterator<Item = Payload<'_>> {
    Parser::new(0).parse_all(wasm).filter_map(Result::ok)
}

/// The operators of each function.
fn bodies(wasm: &[u8]) -> impl Iterator<Item = Vec<Operator<'_>>> {
    payloads(wasm).filter_map(|payload| match payload {
        Payload::CodeSectionEntry(body) => {
            body.get_operators_reader().ok()?.into_iter().collect::<Result<Vec<_>, _>>().ok()
        }
        _ => None,
    })
}

fn has_reference_locals(wasm: &[u8]) -> bool {
    payloads(wasm).any(|payload| match payload {
        Payload::CodeSectionEntry(body) => body.get_locals_reader().is_ok_and(|locals| {
            locals.into_iter().any(|local| local.is_ok_and(|(_, kind)| kind.is_reference_type()))
        }),
        _ => false,
    })
}

/// A constant that is one, or an `f32` of any bits.
fn may_have_signalling_nans(wasm: &[u8]) -> bool {
    bodies(wasm).flatten().any(|operator| match operator {
        Operator::F32Const { value } => {
            f32::from_bits(value.bits()).is_nan() && value.bits() & (1 << 22) == 0
        }
        Operator::F32ReinterpretI32 | Operator::F32Load { .. } => true,
        _ => false,
    })
}

/// `i32.eqz`, or another comparison that may be with zero, right before `select`.
fn compares_with_zero_and_selects(wasm: &[u8]) -> bool {
    use Operator::*;
    bodies(wasm).any(|body| {
        body.windows(2).any(|pair| {
            matches!(pair[1], Select | TypedSelect { .. })
                && matches!(pair[0], I32Eqz | I64Eqz | I32Eq | I64Eq | I32Ne | I64Ne)
        })
    })
}

fn has_a_table_of_nothing(wasm: &[u8]) -> bool {
    payloads(wasm).any(|payload| match payload {
        Payload::TableSection(section) => {
            section.into_iter().any(|table| table.is_ok_and(|table| table.ty.maximum == Some(0)))
        }
        _ => false,
    })
}

/// When this fails, a runtime was mended: its entry above can go.
#[test]
fn what_is_known_is_still_wrong() {
    use touchstone_executor::guest::{GuestModule, HeapPages};
    use touchstone_executor::{Abi, Config, Outcome, Strategy};
    for engine in touchstone_runtimes::engines() {
        for known in KNOWN.iter().filter(|known| engine.id().starts_with(known.engines)) {
            let wasm = wat::parse_str(known.shown_by.0).unwrap();
            assert!((known.shows_in)(&wasm), "{}", known.what);
            let guest = GuestModule::new("known", &wasm, HeapPages::default()).unwrap();
            let (strategy, config) = (Strategy::INTERPRETED, Config::default());
            let artifact = engine.compile(&guest, strategy, &config).unwrap();
            let module = engine.load(&guest, &artifact, strategy, &config).unwrap();
            let export = module.export("f", Abi::Plain).unwrap();
            let mut output = Vec::new();
            let outcome = module.new_instance().unwrap().call(export, b"", &mut output).unwrap();
            assert_eq!(outcome, Outcome::Returned);
            assert_eq!(output, known.shown_by.1.to_le_bytes(), "{}: {}", engine.id(), known.what);
        }
    }
}
