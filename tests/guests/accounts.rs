//! The guest that reads and edits accounts, on every engine: the right
//! account in every encoding, all that differ from it in one byte, and hostile ones.

use crate::everywhere::{compiled, from_each_source, load, on_every_engine};
use touchstone::case::Guests;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Abi, Config, Instance, Module, Outcome, Strategy, TrapKind};

/// An encoding with the account as the guest gets it and as it edits it.
struct Encoding {
    codec: &'static str,
    input: &'static [u8],
    edited: &'static [u8],
    /// Offset of the state, one byte.
    state: usize,
    /// Offsets of bytes that need not say anything of the account.
    idle: &'static [usize],
}

/// A file with an account, and the one with the same account after it was edited.
macro_rules! files {
    ($name:literal) => {
        (
            include_bytes!(concat!("../../test-runtime/inputs/accounts/", $name)),
            include_bytes!(concat!("../../test-runtime/inputs/accounts/edited.", $name)),
        )
    };
}

/// The encodings in which the account has its own 160 bytes.
const FIXED: [&str; 7] =
    ["transmute", "bytemuck", "zerocopy", "rkyv", "bincode", "borsh", "wincode"];

fn encodings() -> Vec<Encoding> {
    let (input, edited) = files!("account.bin");
    let mut all: Vec<Encoding> =
        FIXED.map(|codec| Encoding { codec, input, edited, state: 104, idle: &[] }).into();
    let (input, edited) = files!("postcard.bin");
    all.push(Encoding { codec: "postcard", input, edited, state: 105, idle: &[] });
    let (input, edited) = files!("capnproto.bin");
    // The number of pointers, which may be larger than it has to be, and what the state is
    // padded with.
    let idle = &[0x0e, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f];
    all.push(Encoding { codec: "capnproto", input, edited, state: 0x18, idle });
    let (input, edited) = files!("flatbuffers.bin");
    // What the state is padded with, and the sizes of the table and of the list of its
    // fields, which may be larger than they have to be.
    let idle = &[0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37];
    all.push(Encoding { codec: "flatbuffers", input, edited, state: 0x30, idle });
    let (input, edited) = files!("messagepack.bin");
    let state = input.windows(5).position(|text| text == b"state").unwrap() + 5;
    // Lengths of the keys: this decoder takes an array that is longer than what it is
    // decoded into.
    let idle = &[7, 8, 48, 49, 108, 109, 223, 224];
    all.push(Encoding { codec: "messagepack", input, edited, state, idle });
    let (input, edited) = files!("protobuf.bin");
    // Behind three keys with tag and length, and an amount of nine bytes with its tag.
    let state = 3 * 34 + 10 + 1;
    all.push(Encoding { codec: "protobuf", input, edited, state, idle: &[] });
    let (input, edited) = files!("account.json");
    let state = input.windows(9).position(|text| text == b"\"state\":1").unwrap() + 8;
    all.push(Encoding { codec: "json", input, edited, state, idle: &[] });
    all
}

/// The operations, and whether they answer with the account.
const OPERATIONS: [(&str, bool); 3] =
    [("full", true), ("read_owner", false), ("update_amount", true)];

fn guest() -> GuestModule {
    Guests::built().module("accounts", HeapPages::default()).unwrap()
}

/// An instance under one engine and strategy.
struct Run<'a> {
    name: String,
    module: &'a dyn Module,
    instance: Box<dyn Instance>,
}

impl<'a> Run<'a> {
    fn new(engine: &str, strategy: Strategy, module: &'a dyn Module) -> Self {
        let name = format!("{engine} {strategy}");
        Self { name, module, instance: module.new_instance().unwrap() }
    }

    /// The output, or nothing where the guest trapped as it does for wrong accounts.
    fn call(&mut self, codec: &str, operation: &str, input: &[u8]) -> Option<Vec<u8>> {
        let export = self.module.export(&format!("{codec}_{operation}"), Abi::Substrate).unwrap();
        let mut output = b"left over".to_vec();
        let outcome = self
            .instance
            .call(export, input, &mut output)
            .unwrap_or_else(|error| panic!("{} {codec}_{operation}: {error}", self.name));
        match outcome {
            Outcome::Returned => Some(output),
            Outcome::Trapped(trap) => {
                assert_eq!(trap.kind, TrapKind::Unreachable, "{} {codec}_{operation}", self.name);
                assert!(output.is_empty(), "{} {codec}_{operation} left an output", self.name);
                None
            }
        }
    }

    /// All operations on the right account.
    #[track_caller]
    fn is_right(&mut self, encoding: &Encoding) {
        for (operation, whole) in OPERATIONS {
            let expected = if whole { encoding.edited } else { &[1] };
            let found = self.call(encoding.codec, operation, encoding.input);
            assert!(
                found.as_deref() == Some(expected),
                "{} {}_{operation}: {found:?}",
                self.name,
                encoding.codec
            );
        }
    }

    /// An account that no operation takes.
    #[track_caller]
    fn is_refused(&mut self, codec: &str, input: &[u8]) {
        for (operation, _) in OPERATIONS {
            let found = self.call(codec, operation, input);
            assert_eq!(found, None, "{} {codec}_{operation} of {input:?}", self.name);
        }
    }
}

/// An encoding with other bytes at an offset.
fn with(input: &[u8], offset: usize, bytes: &[u8]) -> Vec<u8> {
    let mut changed = input.to_vec();
    changed[offset..][..bytes.len()].copy_from_slice(bytes);
    changed
}

fn right_ones_are_read_and_edited(run: &mut Run<'_>, encodings: &[Encoding]) {
    for encoding in encodings.iter().chain(encodings) {
        run.is_right(encoding);
    }
    let fetch = run.module.export("fetch", Abi::Substrate).unwrap();
    for input in [&b""[..], encodings[0].input] {
        let mut output = b"left over".to_vec();
        let outcome = run.instance.call(fetch, input, &mut output).unwrap();
        assert_eq!((outcome, output), (Outcome::Returned, vec![]), "{}", run.name);
    }
}

/// Every byte of the input is part of the answer, or of what decides that there is none.
fn every_byte_matters(run: &mut Run<'_>, encodings: &[Encoding]) {
    for encoding in encodings {
        let Encoding { codec, input, edited, idle, .. } = *encoding;
        for offset in 0..input.len() {
            for flipped in [0x01, 0x80, 0xff] {
                let changed = with(input, offset, &[input[offset] ^ flipped]);
                let found = run.call(codec, "full", &changed);
                let differs = found.as_deref() != Some(edited);
                let name = format!("{} {codec}_full, {flipped:#x} at {offset}", run.name);
                assert!(differs || idle.contains(&offset), "{name}");
                // Operations that look at less do not have to find it, and must not
                // find anything worse than a wrong account.
                run.call(codec, "read_owner", &changed);
                run.call(codec, "update_amount", &changed);
            }
        }
        run.is_right(encoding);
    }
}

/// Somebody else's account can be read, and not frozen.
fn every_byte_of_the_owner_is_compared(run: &mut Run<'_>, encodings: &[Encoding]) {
    let owner = b"owner: who may freeze an account";
    for Encoding { codec, input, .. } in encodings.iter().filter(|one| one.codec != "json") {
        let start = input.windows(owner.len()).position(|place| place == owner).unwrap();
        for offset in start..start + owner.len() {
            let changed = with(input, offset, &[input[offset] ^ 0x20]);
            assert_eq!(run.call(codec, "read_owner", &changed), Some(vec![0]), "{codec}");
            assert_eq!(run.call(codec, "full", &changed), None, "{codec}");
        }
    }
    // In JSON, a byte is a number.
    let Encoding { codec, input, .. } = encodings.last().unwrap();
    let text = String::from_utf8(input.to_vec()).unwrap();
    let (before, rest) = text.split_once("\"owner\":[").unwrap();
    let (numbers, after) = rest.split_once(']').unwrap();
    for index in 0..owner.len() {
        let mut numbers: Vec<&str> = numbers.split(',').collect();
        numbers[index] = "200";
        let changed = format!("{before}\"owner\":[{}]{after}", numbers.join(","));
        assert_eq!(run.call(codec, "read_owner", changed.as_bytes()), Some(vec![0]));
        assert_eq!(run.call(codec, "full", changed.as_bytes()), None);
    }
}

fn other_lengths_are_refused(run: &mut Run<'_>, encodings: &[Encoding]) {
    for encoding in encodings {
        let Encoding { codec, input, .. } = *encoding;
        run.is_refused(codec, &[]);
        for length in [1, 8, input.len() / 2, input.len() - 8, input.len() - 1] {
            let short = &input[..length];
            if codec == "flatbuffers" {
                // Who follows one offset does not see that the end is missing.
                assert_eq!(run.call(codec, "full", short), None, "{length}");
                assert_eq!(run.call(codec, "update_amount", short), None, "{length}");
                let owner = run.call(codec, "read_owner", short);
                assert!(owner.is_none_or(|owner| owner == [1]), "{length}");
            } else {
                run.is_refused(codec, short);
            }
        }
        for more in [&[0][..], &[0x7d; 8], &[0; 1 << 16]] {
            run.is_refused(codec, &[input, more].concat());
        }
        // In Protobuf, one message after another is one message.
        if codec != "protobuf" {
            run.is_refused(codec, &[input, input].concat());
        }
        run.is_right(encoding);
    }
}

fn only_an_account_in_use_can_be_frozen(run: &mut Run<'_>, encodings: &[Encoding]) {
    for Encoding { codec, input, edited, state, .. } in encodings {
        let states: &[u8] = match *codec {
            "json" => b"0239",
            // Larger bytes are another type, or go on in the next byte.
            "messagepack" | "protobuf" => &[0, 2, 3, 0x7f],
            _ => &[0, 2, 3, 0xff],
        };
        for other in states {
            let changed = with(input, *state, std::slice::from_ref(other));
            assert_eq!(run.call(codec, "full", &changed), None, "{} {codec}", run.name);
            // This does not ask.
            let found = run.call(codec, "update_amount", &changed);
            assert_eq!(found.as_deref(), Some(*edited), "{} {codec}", run.name);
        }
    }
}

/// The largest amount in each encoding, and what an encoding has of lengths and offsets.
fn hostile(Encoding { codec, input, .. }: &Encoding) -> Vec<Vec<u8>> {
    let text = String::from_utf8_lossy(input);
    let replaced = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1).into_bytes()
    };
    match *codec {
        "postcard" => vec![
            // A number that does not end, one above 64 bits, and the largest.
            with(input, 64, &[0xff; 10]),
            with(input, 64, &[&[0xff; 9][..], &[0x02]].concat()),
            [&input[..64], &[0xff; 9], &[0x01], &input[73..]].concat(),
            vec![0xff; input.len()],
        ],
        "capnproto" => {
            let mut all = vec![with(input, 0x10, &[0xff; 8]), vec![0xff; input.len()]];
            // How many segments there are, how long the only one is, and the pointers to the
            // account and to keys: too long, outside, to other segments, capabilities.
            for offset in [0, 4, 8, 12, 0x30, 0x34, 0x38, 0x3c, 0x48, 0x4c] {
                for value in [u32::MAX, i32::MAX as u32, 1 << 31, 0x0102_0304, 0xffff_fffe] {
                    all.push(with(input, offset, &value.to_le_bytes()));
                }
            }
            // All keys are one list of 2^29 - 1 elements without a size.
            let mut same = input.to_vec();
            for (key, at) in (0_u8..).zip([0x30, 0x38, 0x40, 0x48]) {
                same[at] = 0x0d - 4 * key;
                same = with(&same, at + 4, &[0xf8, 0xff, 0xff, 0xff]);
            }
            all.push(same);
            all
        }
        "flatbuffers" => {
            let mut all = vec![with(input, 8, &[0xff; 8]), vec![0xff; input.len()]];
            // Where the table is, where its fields are listed, and the lengths of keys.
            for offset in [0, 4, 0x20, 0x24, 0x28, 0x2c, 0x48, 0x6c, 0x90, 0xb4] {
                for value in [u32::MAX, i32::MAX as u32, 1 << 31, 217, 1 << 16] {
                    all.push(with(input, offset, &value.to_le_bytes()));
                }
            }
            // How many fields there are, and where they are.
            for offset in [0x34, 0x38, 0x3a] {
                all.push(with(input, offset, &[0xff; 2]));
            }
            all
        }
        "messagepack" => {
            let amount = input.windows(6).position(|text| text == b"amount").unwrap() + 6;
            vec![
                // The largest amount; a map and a text of 2^32 - 1 elements.
                with(input, amount, &[&[0xcf][..], &[0xff; 8]].concat()),
                [&[0xdf][..], &[0xff; 4], &input[1..]].concat(),
                [&input[..1], &[0xdb][..], &[0xff; 4], &input[2..]].concat(),
                vec![0x91; 2_000],
                vec![0xff; input.len()],
            ]
        }
        "protobuf" => vec![
            // The largest amount, a number that does not end, lengths, and groups in groups.
            [&input[..69], &[0xff; 9], &[0x01], &input[78..]].concat(),
            with(input, 69, &[0xff; 11]),
            with(input, 1, &[0x7f]),
            with(input, 1, &[0xff, 0xff, 0xff, 0xff, 0x0f]),
            vec![0x0b; 2_000],
            vec![0xff; input.len()],
        ],
        "json" => vec![
            replaced("1234567890123456789", "18446744073709551615"),
            replaced("1234567890123456789", "18446744073709551616"),
            replaced("1234567890123456789", "1e400"),
            replaced("1234567890123456789", "-1"),
            replaced("\"state\":1", "\"state\":\"1\""),
            replaced("\"state\":1", "\"state\":257"),
            replaced("\"state\":1", "\"state\":1,\"state\":1"),
            replaced("\"state\":1", "\"state\":1,\"more\":1"),
            replaced("\"state\":1,", ""),
            replaced("[109,", "["),
            replaced("[109,", "[109,109,"),
            replaced("[109,", "[1090,"),
            replaced("[109,", &"[".repeat(2_000)),
            vec![b'['; 2_000],
            [&b"{\""[..], &[b'x'; 2_000], &b"\":1}"[..]].concat(),
        ],
        // No lengths, no offsets.
        _ => vec![with(input, 64, &[0xff; 8])],
    }
}

fn hostile_ones_are_refused_in_the_room_there_is(run: &mut Run<'_>, encodings: &[Encoding]) {
    for encoding in encodings {
        let codec = encoding.codec;
        for input in hostile(encoding) {
            for (operation, edits) in OPERATIONS {
                let export = format!("{codec}_{operation}");
                let export = run.module.export(&export, Abi::Substrate).unwrap();
                run.instance.prepare().unwrap();
                let before = run.instance.memory().map(<[u8]>::len);
                let outcome = run.instance.invoke(export, &input, &mut Vec::new(), None).unwrap();
                let after = run.instance.memory().map(<[u8]>::len);
                run.instance.finish().unwrap();
                let name = format!("{} {codec}_{operation}", run.name);
                // Whatever they decode, it is not edited.
                let kind = outcome.trap().map(|trap| &trap.kind);
                assert!(kind.is_some() || !edits, "{name} of {input:?}");
                assert!(kind.is_none_or(|kind| *kind == TrapKind::Unreachable), "{name}");
                // The input itself has room in the memory as it is at first.
                assert_eq!(before, after, "{name}");
            }
        }
        run.is_right(encoding);
    }
}

#[test]
fn accounts_are_edited_or_refused() {
    let encodings = encodings();
    from_each_source(&guest(), |engine, strategy, module| {
        let run = &mut Run::new(engine, strategy, module);
        right_ones_are_read_and_edited(run, &encodings);
        other_lengths_are_refused(run, &encodings);
        only_an_account_in_use_can_be_frozen(run, &encodings);
        hostile_ones_are_refused_in_the_room_there_is(run, &encodings);
    });
}

/// Under one strategy of each engine, the one that resets in place where there is one.
#[test]
fn every_byte_is_part_of_the_answer() {
    let (guest, encodings) = (guest(), encodings());
    on_every_engine(|engine| {
        let supported = |strategy: &Strategy| engine.support_for(*strategy, &guest).is_supported();
        let all: Vec<_> = Strategy::all().into_iter().filter(supported).collect();
        let in_place = all.iter().find(|strategy| strategy.to_string() == "instance_reuse_tracked");
        let strategy = *in_place.or(all.first()).unwrap();
        let artifact = compiled::artifact(&**engine, &guest, strategy, &Config::default()).unwrap();
        let module = load(engine, &guest, &artifact, strategy);
        let run = &mut Run::new(engine.id(), strategy, &*module);
        every_byte_matters(run, &encodings);
        every_byte_of_the_owner_is_compared(run, &encodings);
    });
}
