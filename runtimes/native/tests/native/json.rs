//! The guest that decodes JSON: its input by every convention, right and wrong.

use super::common::call;
use touchstone_executor::{Abi, Instance, Module, Outcome, TrapKind};

const SMALL: &[u8] = include_bytes!("../../../../test-runtime/inputs/small.json");
const BIG: &[u8] = include_bytes!("../../../../test-runtime/inputs/big.json");

/// The exports that decode an input, with their convention.
const DECODING: [(&str, Abi, &[u8]); 4] = [
    ("run_small", Abi::Input, SMALL),
    ("run_small_bytes", Abi::Bytes, SMALL),
    ("run_big", Abi::Input, BIG),
    ("run_big_bytes", Abi::Bytes, BIG),
];

fn everywhere(test: impl Fn(&dyn Module, &mut dyn Instance)) {
    super::common::everywhere("json-module", test);
}

#[test]
fn the_right_input_returns() {
    everywhere(|module, instance| {
        for (export, abi, input) in DECODING {
            assert_eq!(call(module, instance, (export, abi), input), Ok(vec![]), "{export}");
        }
        assert_eq!(call(module, instance, ("noop", Abi::Input), b""), Ok(vec![]));
        for input in [b"", SMALL, BIG] {
            assert_eq!(call(module, instance, ("take_input", Abi::Input), input), Ok(vec![]));
        }
    });
}

#[test]
fn any_other_input_traps_and_the_next_call_is_clean() {
    everywhere(|module, instance| {
        for (export, abi, right) in DECODING {
            let text = String::from_utf8(right.to_vec()).unwrap();
            let wrong = [
                String::new(),
                "{}".to_owned(),
                text[..text.len() - 1].to_owned(),
                text[..text.len() / 2].to_owned(),
                format!("{text}{text}"),
                format!("{{\"more\": 1,{}", &text[1..]),
                // The very last value of both texts.
                text.replace(", 2] }", ", 3] }").replace("YAvcJD", "YAvcJE"),
            ];
            for input in wrong {
                let outcome = call(module, instance, (export, abi), input.as_bytes());
                let kind = outcome.as_ref().err().and_then(Outcome::trap).map(|trap| &trap.kind);
                assert_eq!(kind, Some(&TrapKind::Unreachable), "{export} with {input}");
                assert_eq!(call(module, instance, (export, abi), right), Ok(vec![]), "{export}");
            }
        }
    });
}

/// Nothing makes the instance clean between these calls.
#[test]
fn a_block_that_was_handed_over_is_free_again() {
    everywhere(|module, instance| {
        let export = module.export("run_big_bytes", Abi::Bytes).unwrap();
        instance.prepare().unwrap();
        let mut size = 0;
        for call in 0..1000 {
            let outcome = instance.invoke(export, BIG, &mut Vec::new(), None).unwrap();
            assert_eq!(outcome, Outcome::Returned);
            let now = instance.memory().unwrap().len();
            assert!(call == 0 || now == size, "{size} bytes became {now}");
            size = now;
        }
        instance.finish().unwrap();
    });
}

#[test]
fn an_input_larger_than_the_memory_can_be_traps() {
    everywhere(|module, instance| {
        let pages = 1 << 16;
        let alloc = module.export("alloc", Abi::Plain).unwrap();
        let size = u32::try_from(pages * 65_536_u64 - 1).unwrap().to_le_bytes();
        let outcome = instance.call(alloc, &size, &mut Vec::new()).unwrap();
        assert!(outcome.trap().is_some());
        assert_eq!(call(module, instance, ("run_small", Abi::Input), SMALL), Ok(vec![]));
    });
}

#[test]
fn the_checksum_is_over_every_decoded_byte() {
    let short = br#"{"signed":[{"payload":{"nonce":"\u00e9","message":"12345678","recipient":""},
        "standard":"123456789","signature":"\n","public_key":"k"}]}"#;
    everywhere(|module, instance| {
        for input in [BIG, short, br#"{"signed":[]}"#] {
            let output = call(module, instance, ("run_any", Abi::Input), input).unwrap();
            assert_eq!(output, checksum(input).to_le_bytes());
        }
        for input in [SMALL, b"", &BIG[..700]] {
            let outcome = call(module, instance, ("run_any", Abi::Input), input).unwrap_err();
            assert_eq!(outcome.trap().unwrap().kind, TrapKind::Unreachable);
        }
    });
}

/// The checksum as the guests' README defines it, over what another decoder found.
fn checksum(json: &[u8]) -> u64 {
    let mut hash = 0x9e37_79b9_7f4a_7c15_u64;
    let mut mix = |word: u64| {
        hash = (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    };
    let value: serde_json::Value = serde_json::from_slice(json).unwrap();
    let entries = value["signed"].as_array().unwrap();
    mix(entries.len() as u64);
    for entry in entries {
        for place in [
            "/payload/nonce",
            "/payload/message",
            "/payload/recipient",
            "/standard",
            "/signature",
            "/public_key",
        ] {
            let mut text = entry.pointer(place).unwrap().as_str().unwrap().as_bytes().to_vec();
            mix(text.len() as u64);
            text.resize(text.len().next_multiple_of(8), 0);
            for word in text.chunks(8) {
                mix(u64::from_le_bytes(word.try_into().unwrap()));
            }
        }
    }
    hash
}
