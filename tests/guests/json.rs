//! The guest that decodes JSON, on every engine: right texts, wrong ones,
//! ones that do not fit, and that no call sees what the one before it has left.

use crate::everywhere::runs_modules;
use crate::run::{each_of, each_strategy_of};
use touchstone::case::{Guests, Input};
use touchstone_executor::guest::{Growth, GuestModule, HeapPages, constructors, started_with};
use touchstone_executor::{Abi, Outcome, TrapKind, wapc};

const SMALL: &[u8] = include_bytes!("../../test-runtime/inputs/small.json");
const BIG: &[u8] = include_bytes!("../../test-runtime/inputs/big.json");
/// Exports that decode an input, their convention, and the input.
const DECODING: [(&str, Abi, &[u8]); 4] = [
    ("run_small", Abi::Input, SMALL),
    ("run_small_bytes", Abi::Bytes, SMALL),
    ("run_big", Abi::Input, BIG),
    ("run_big_bytes", Abi::Bytes, BIG),
];
/// Pages of 64 KiB.
const PAGE: usize = 65_536;

fn guest(growth: Growth) -> GuestModule {
    Guests::built().module("json-module", HeapPages { extra: 0, growth }).unwrap()
}

#[test]
fn right_texts_return() {
    let bytes = |input: Input| input.bytes(None).unwrap();
    // With the second, the memory grows again when some of it has been written.
    let texts = [(16 << 10, 1), (40 << 10, 2), (1388, 3)].map(|(size, seed)| {
        (
            bytes(Input::Json { json: size, seed }),
            bytes(Input::JsonChecksum { json_checksum: size, seed }),
        )
    });
    each_of(&guest(Growth::AsDeclared), |run| {
        for _ in 0..2 {
            run.returns("noop", Abi::Input, b"", b"");
            for (export, abi, input) in DECODING {
                run.returns(export, abi, input, b"");
            }
            for input in [b"", SMALL, BIG, &texts[0].0] {
                run.returns("take_input", Abi::Input, input, b"");
            }
            for (text, checksum) in &texts {
                run.returns("run_any", Abi::Input, text, checksum);
            }
        }
    });
}

/// A text with another byte in the place of the first, or the last, of its kind.
fn changed(text: &[u8], what: &[u8], last: bool, to: u8) -> Vec<u8> {
    let mut found =
        (0..text.len()).filter(|at| text[*at..].starts_with(what)).map(|at| at + what.len() - 1);
    let at = if last { found.next_back() } else { found.next() };
    let mut changed = text.to_vec();
    changed[at.unwrap()] = to;
    assert_ne!(changed, text);
    changed
}

/// Texts that differ in one byte, and the beginnings of the text.
fn wrong(text: &[u8]) -> Vec<Vec<u8>> {
    // The start of its first string and of its first key, and the end of its last value.
    let [value, key, end] = match text {
        SMALL => [&b"\"tes"[..], b"\"a", b"2"],
        _ => [&b"\"XC"[..], b"\"s", b"D"],
    };
    let mut wrong = vec![
        // Still JSON.
        changed(text, value, false, b'x'),
        changed(text, key, false, b'b'),
        changed(text, end, true, b'9'),
        // None any more.
        changed(text, b"{", false, b'['),
        changed(text, b"}", true, b']'),
        changed(text, b":", false, b';'),
        changed(text, b",", true, b' '),
        changed(text, b"]", true, b','),
        changed(text, b"\"", false, b'\''),
        changed(text, b"\"", true, b'\\'),
        changed(text, value, false, b'\n'),
        changed(text, value, false, 0xff),
        changed(text, b"}", true, 0),
    ];
    let ends = text.trim_ascii_end().len();
    for length in [0, 1, ends / 4, ends / 2, ends - 2, ends - 1] {
        wrong.push(text[..length].to_vec());
    }
    wrong.push([text, b"}"].concat());
    wrong.push(if text == SMALL { BIG } else { SMALL }.to_vec());
    wrong
}

#[test]
fn any_other_text_is_a_trap_and_the_next_call_is_right() {
    let inputs = DECODING.map(|(_, _, right)| wrong(right));
    // Other bytes, and what they say is the same.
    let spaced = [SMALL, BIG].map(|text| changed(text, b" ", false, b'\t'));
    each_of(&guest(Growth::AsDeclared), |run| {
        for ((export, abi, right), wrong) in DECODING.into_iter().zip(&inputs) {
            for input in wrong {
                run.traps(export, abi, input);
                run.returns(export, abi, right, b"");
            }
            let same = if right == SMALL { &spaced[0] } else { &spaced[1] };
            run.returns(export, abi, same, b"");
        }
        for input in [b"", SMALL, &BIG[..700]] {
            run.traps("run_any", Abi::Input, input);
        }
        run.returns("run_small", Abi::Input, SMALL, b"");
    });
}

/// The guest's memory may have 40 pages, of which it has 17 at first.
#[test]
fn a_text_that_does_not_fit_is_a_trap_and_leaves_nothing_behind() {
    let most = 40;
    let first = guest(Growth::UpTo(most)).info().memory.unwrap().minimum as usize * PAGE;
    let mut large = vec![b' '; 4 << 20];
    large[..SMALL.len()].copy_from_slice(SMALL);
    // Enough for the guest's own pages, but the memory has to grow far.
    let fitting = &large[..1 << 20];
    each_strategy_of(&guest(Growth::UpTo(most)), |run| {
        // Native code takes its memory from the process.
        if !runs_modules(run.module) {
            println!("{}: has no such limit", run.name);
            return;
        }
        let clean = run.clean();
        assert!(clean.as_ref().is_none_or(|memory| memory.len() == first), "{}", run.name);
        for _ in 0..3 {
            for (export, abi) in [
                ("take_input", Abi::Input),
                ("run_small", Abi::Input),
                ("run_small_bytes", Abi::Bytes),
            ] {
                run.traps(export, abi, &large);
                run.returns("run_big", Abi::Input, BIG, b"");
                run.returns(export, abi, fitting, b"");
                let found = run.clean();
                let sizes = [&found, &clean].map(|memory| memory.as_ref().map(Vec::len));
                assert_eq!(sizes[0], sizes[1], "{} after {export}", run.name);
                assert!(found == clean, "{} after {export}", run.name);
                run.returns("run_big_bytes", Abi::Bytes, BIG, b"");
                run.returns("noop", Abi::Input, b"", b"");
            }
        }
    });
}

/// A guest of waPC whose operations a start function registers, and one that has them in its bytes.
#[test]
fn the_guest_of_wapc_answers_as_the_module_does() {
    let bytes = Guests::built().file("json-wapc").unwrap().bytes.clone();
    let module = |bytes: &[u8]| GuestModule::new("json-wapc", bytes, HeapPages::default()).unwrap();
    let before = constructors(module(&bytes).info(), wapc::CALL)
        .into_iter()
        .map(str::to_owned)
        .collect::<Vec<_>>();
    assert_eq!(before, ["wapc_init"]);
    let mut guests = vec![module(&started_with(&bytes, &["wapc_init"]).unwrap())];
    if cfg!(feature = "wizer") {
        let initialized = Guests::built().initialized("json-wapc", "wapc_init").unwrap().clone();
        guests.push(module(&initialized.bytes));
    }
    let input = |operation: &str, message: &[u8]| [operation.as_bytes(), b"\n", message].concat();
    let text = Input::Json { json: 16 << 10, seed: 1 }.bytes(None).unwrap();
    let checksum = Input::JsonChecksum { json_checksum: 16 << 10, seed: 1 }.bytes(None).unwrap();
    for guest in guests {
        each_of(&guest, |run| {
            for _ in 0..2 {
                for (operation, message, response) in [
                    ("noop", &b""[..], &b""[..]),
                    ("run_small", SMALL, b""),
                    ("run_big", BIG, b""),
                    ("run_any", &text, &checksum),
                    ("take_input", BIG, b""),
                    ("log", b"a line", b""),
                ] {
                    run.returns(wapc::CALL, Abi::Wapc, &input(operation, message), response);
                }
                for (operation, message, error) in [
                    ("run", &b""[..], "No handler registered for function run"),
                    ("call_host", b"", "Host error: this host answers no calls"),
                ] {
                    let trap = TrapKind::GuestError { message: error.to_owned() }.into();
                    let found = run.call(wapc::CALL, Abi::Wapc, &input(operation, message));
                    assert_eq!(found, (Outcome::Trapped(trap), Vec::new()), "{}", run.name);
                }
                run.traps(wapc::CALL, Abi::Wapc, &input("run_big", SMALL));
            }
        });
    }
}
