//! Errors of runtimes, found by comparing engines: an engine is not held against
//! the others on modules that have what it gets wrong. Its strategies are held
//! against each other all the same.

use wasmparser::{Operator, Parser, Payload};

/// An error of a runtime.
struct Known {
    /// Engines whose names start so.
    engines: &'static str,
    /// In which modules it may show.
    shows_in: fn(&[Operator<'_>]) -> bool,
    /// In words, for the list of what was left out.
    what: &'static str,
}

const KNOWN: [Known; 1] = [Known {
    engines: "wasmi",
    shows_in: compares_with_zero_and_selects,
    what: "wasmi 2.0.0 may choose the wrong value where a comparison with zero is the condition \
           of a select",
}];

/// Why an engine is not held against others on this module; `None` when it is.
pub(crate) fn error_of(engine: &str, wasm: &[u8]) -> Option<&'static str> {
    let known = KNOWN.iter().filter(|known| engine.starts_with(known.engines));
    let mut known = known.filter(|known| bodies(wasm).any(|body| (known.shows_in)(&body)));
    known.next().map(|known| known.what)
}

/// Whether strategies of one engine may disagree about this refusal.
///
/// Wasm3 has no operation for some instructions with some of their operands in
/// registers and others not. Which ones are depends on the code around, and for a
/// memory of ours `memory.grow` is a call in place of an instruction.
pub(crate) fn depends_on_strategy(engine: &str, refusal: &str) -> bool {
    engine.starts_with("wasm3") && refusal.contains("no operation found for opcode")
}

/// The functions' instructions.
fn bodies(wasm: &[u8]) -> impl Iterator<Item = Vec<Operator<'_>>> {
    Parser::new(0).parse_all(wasm).filter_map(|payload| match payload {
        Ok(Payload::CodeSectionEntry(body)) => {
            body.get_operators_reader().ok()?.into_iter().collect::<Result<_, _>>().ok()
        }
        _ => None,
    })
}

/// `i32.eqz`, or another comparison with a zero, right before `select`.
fn compares_with_zero_and_selects(body: &[Operator<'_>]) -> bool {
    use Operator::*;
    body.windows(2).any(|pair| {
        matches!(pair[1], Select | TypedSelect { .. })
            && matches!(pair[0], I32Eqz | I64Eqz | I32Eq | I64Eq | I32Ne | I64Ne)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchstone_executor::abi::Abi;
    use touchstone_executor::guest::{GuestModule, HeapPages};
    use touchstone_executor::{Config, Engine, Outcome, Strategy};

    /// 400 - (0 == 0 ? 1 : 0).
    const SELECT: &str = r#"(module (global (mut i32) i32.const 400)
        (func (export "f") (result i32) (local i32)
          global.get 0
          i32.const 1 local.get 0 local.get 0 i32.eqz select
          i32.sub))"#;

    fn output(engine: &dyn Engine, text: &str) -> Vec<u8> {
        let wasm = wat::parse_str(text).unwrap();
        assert!(error_of(engine.id(), &wasm).is_some());
        let guest = GuestModule::new("known", &wasm, HeapPages::default()).unwrap();
        let (strategy, config) = (Strategy::INTERPRETED, Config::default());
        let artifact = engine.compile(&guest, strategy, &config).unwrap();
        let module = engine.load(&guest, &artifact, strategy, &config).unwrap();
        let export = module.export("f", Abi::Plain).unwrap();
        let mut output = Vec::new();
        let outcome = module.new_instance().unwrap().call(export, b"", &mut output).unwrap();
        assert_eq!(outcome, Outcome::Returned);
        output
    }

    /// When this fails, the runtime was mended: its entry above can go.
    #[test]
    fn what_is_known_is_still_wrong() {
        for engine in touchstone_runtimes::engines() {
            if engine.id().starts_with("wasmi") {
                assert_eq!(output(&*engine, SELECT), 400_u32.to_le_bytes(), "399 is right");
            }
        }
    }
}
