//! The guest that encodes and decodes the same records in seven formats, on every engine:
//! all bytes and all values, what changes with one byte, and messages that are wrong.

use crate::everywhere::from_each_source;
use records_payload::{Codec, Monster, decoded_all, encoded_all};
use touchstone::case::Guests;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Abi, ExportId, Instance, Module, Outcome, TrapKind};

/// Formats in which a part of a message can be summed up without decoding all of it, and JSON.
const SUMMED: [Codec; 5] =
    [Codec::Karmem, Codec::Columnar, Codec::CapnProto, Codec::FlatBuffers, Codec::Json];

/// Readings as a message.
fn readings(codec: Codec, count: usize) -> Vec<u8> {
    codec.readings(&records_payload::batch(count, 3))
}

fn guest() -> GuestModule {
    Guests::built().module("records", HeapPages::default()).unwrap()
}

/// An instance under one engine and strategy.
struct Run<'a> {
    name: String,
    module: &'a dyn Module,
    instance: Box<dyn Instance>,
}

impl Run<'_> {
    fn export(&self, codec: Codec, export: &str) -> ExportId {
        self.module.export(&format!("{}_{export}", codec.name()), Abi::Bytes).unwrap()
    }

    /// The number that a call answers with, or the trap.
    fn call(&mut self, codec: Codec, export: &str, input: &[u8]) -> Result<u64, TrapKind> {
        let handle = self.export(codec, export);
        let mut output = Vec::new();
        match self.instance.call(handle, input, &mut output).unwrap() {
            Outcome::Returned => Ok(u64::from_le_bytes(output.try_into().unwrap())),
            Outcome::Trapped(trap) => Err(trap.kind),
        }
    }

    #[track_caller]
    fn answers(&mut self, codec: Codec, export: &str, input: &[u8], expected: u64) {
        let found = self.call(codec, export, input);
        assert_eq!(found, Ok(expected), "{}: {}_{export}", self.name, codec.name());
    }
}

/// One test, because it takes some engines longer to compile the guest than to run it.
#[test]
fn records_come_out_as_they_are_and_wrong_messages_do_not() {
    from_each_source(&guest(), |engine, strategy, module| {
        let instance = module.new_instance().unwrap();
        let run = &mut Run { name: format!("{engine} {strategy}"), module, instance };
        all_bytes_and_all_values_are_right(run);
        another_value_is_another_answer(run);
        wrong_messages_are_errors_of_the_guest_and_take_no_memory(run);
        karmem_takes_what_is_not_there_for_empty(run);
    });
}

fn numbers(count: u32, points: u32, seed: u64) -> Vec<u8> {
    [&count.to_le_bytes()[..], &points.to_le_bytes(), &seed.to_le_bytes()].concat()
}

/// The sum over all points, in the order in which the guest adds.
fn sum(monsters: &[Monster]) -> u64 {
    let points = monsters.iter().flat_map(|monster| &monster.path);
    let sum = points.fold(0.0_f32, |sum, point| sum + (point.x + point.y + point.z));
    sum.to_bits().into()
}

fn all_bytes_and_all_values_are_right(run: &mut Run<'_>) {
    let monsters = records_payload::monsters(12, 9, 3);
    for _ in 0..2 {
        let (mut reads, mut stats) = (Vec::new(), Vec::new());
        for codec in Codec::ALL {
            let (message, batch) = (codec.monsters(&monsters), readings(codec, 30));
            run.answers(codec, "encode_all", &numbers(12, 9, 3), encoded_all(&message));
            run.answers(codec, "decode_all", &message, decoded_all(&monsters));
            run.answers(codec, "write_all", &numbers(30, 0, 3), encoded_all(&batch));
            reads.push(run.call(codec, "read", &batch));
            // Readers ignore the field of a later version.
            let grown = codec.grown_readings(&records_payload::batch(30, 3));
            reads.extend(grown.map(|grown| run.call(codec, "read", &grown)));
            if SUMMED.contains(&codec) {
                run.answers(codec, "sum_vec3", &message, sum(&monsters));
                // 100 things each, of the monster's number.
                run.answers(codec, "sum_uint8", &message, 100 * (0..12).sum::<u64>());
                stats.push(run.call(codec, "sum_stats", &message));
            }
        }
        for answers in [reads, stats] {
            assert_eq!(answers, vec![answers[0].clone(); answers.len()], "{}", run.name);
            assert!(answers[0].is_ok(), "{}", run.name);
        }
    }
}

/// Of each export that reads, a value that it has to look at.
fn another_value_is_another_answer(run: &mut Run<'_>) {
    let monsters = records_payload::monsters(3, 4, 3);
    type Change = (&'static str, fn(&mut Monster));
    let changes: [Change; 6] = [
        ("decode", |monster| monster.mana += 1),
        ("decode_all", |monster| monster.path[3].z += 1.0),
        ("decode_all", |monster| monster.is_alive = !monster.is_alive),
        ("sum_vec3", |monster| monster.path[3].y += 1.0),
        ("sum_uint8", |monster| monster.inventory[99] += 1),
        ("sum_stats", |monster| monster.weapons[3].range += 1),
    ];
    for codec in Codec::ALL {
        for (export, change) in changes {
            if export.starts_with("sum") && !SUMMED.contains(&codec) {
                continue;
            }
            let mut others = monsters.clone();
            change(&mut others[2]);
            let right = run.call(codec, export, &codec.monsters(&monsters));
            let other = run.call(codec, export, &codec.monsters(&others));
            assert!(right.is_ok() && other.is_ok() && right != other, "{} {export}", run.name);
        }
        let right = run.call(codec, "read", &readings(codec, 9));
        let other = run.call(codec, "read", &readings(codec, 8));
        assert!(right.is_ok() && other.is_ok() && right != other, "{}", run.name);
    }
}

/// Offsets and lengths that lie outside, counts of what is not there, and texts that end.
fn wrong_messages_are_errors_of_the_guest_and_take_no_memory(run: &mut Run<'_>) {
    let [km, co, cp, fb, js, mp, pb] = Codec::ALL;
    let monsters = records_payload::monsters(2, 3, 3);
    let whole = |codec: Codec| codec.monsters(&monsters);
    // serde reserves up to 1 MiB for an array that says that it is long.
    let largest = (guest().info().memory.unwrap().minimum as usize + 16 + 4) * 65_536;
    let mut refuses = |codec: Codec, export: &str, message: &[u8]| {
        let handle = run.export(codec, export);
        run.instance.prepare().unwrap();
        let outcome = run.instance.invoke(handle, message, &mut Vec::new(), None).unwrap();
        // The memory of a call that traps, before it is made clean.
        let size = run.instance.memory().map_or(0, |memory| memory.len());
        run.instance.finish().unwrap();
        let kind = outcome.trap().map(|trap| &trap.kind);
        assert_eq!(kind, Some(&TrapKind::Unreachable), "{}: {}_{export}", run.name, codec.name());
        assert!(size <= largest, "{}: {}_{export} took {size} bytes", run.name, codec.name());
    };
    // A name that is no text, a team that is none.
    for (place, value) in [(12 + 8 + 111, 0xff), (12 + 8 + 28, 5)] {
        let mut message = whole(km);
        message[place] = value;
        refuses(km, "decode", &message);
    }
    for export in ["decode", "sum_vec3", "sum_uint8"] {
        refuses(km, export, &bomb());
    }
    for export in ["decode", "sum_vec3", "sum_uint8", "sum_stats", "read"] {
        refuses(fb, export, b"");
        refuses(fb, export, &whole(fb)[..whole(fb).len() / 2]);
        // The root's offset: behind the end, and behind 4 GiB.
        for root in [whole(fb).len() as u32, u32::MAX] {
            let mut message = whole(fb);
            message[..4].copy_from_slice(&root.to_le_bytes());
            refuses(fb, export, &message);
        }
        // The length of the root's vector.
        let mut message = whole(fb);
        let length = vector_of_root(&message);
        message[length..length + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        refuses(fb, export, &message);
        refuses(js, export, b"");
        refuses(js, export, &whole(js)[..whole(js).len() - 1]);
        refuses(js, export, b"{\"monsters\":[{\"path\":[1");
    }
    for export in ["decode", "sum_vec3", "sum_uint8", "sum_stats"] {
        for message in wrong_columns(&whole(co), export != "sum_stats") {
            refuses(co, export, &message);
        }
    }
    for export in ["decode", "sum_vec3", "sum_uint8", "sum_stats", "read"] {
        for message in wrong_pointers(&whole(cp)) {
            refuses(cp, export, &message);
        }
    }
    // Paths and inventories that are one and the same.
    refuses(cp, "decode", &shared(|monster| monster.path = vec![monster.pos; 2000], 6));
    refuses(cp, "sum_vec3", &shared(|monster| monster.path = vec![monster.pos; 2000], 6));
    refuses(cp, "sum_uint8", &shared(|monster| monster.inventory = vec![1; 20_000], 2));
    for codec in [mp, pb] {
        let message = whole(codec);
        refuses(codec, "decode", &message[..message.len() - 1]);
        refuses(codec, "decode", &[0xff; 40]);
        refuses(codec, "read", &[0xff; 40]);
    }
    // An array of 2^32 - 1 elements, and a text and bytes of as many.
    refuses(mp, "decode", b"\x81\xa8monsters\xdd\xff\xff\xff\xff");
    refuses(mp, "read", b"\x81\xa8readings\xdb\xff\xff\xff\xff");
    refuses(pb, "decode", b"\x0a\xff\xff\xff\xff\x0f\x0a");
    refuses(pb, "read", b"\x0a\xff\xff\xff\xff\x0f\x0a");
    // And the next call is clean.
    for codec in Codec::ALL {
        run.answers(codec, "decode_all", &whole(codec), decoded_all(&monsters));
    }
}

/// Karmem accepts missing parts as zero or empty.
fn karmem_takes_what_is_not_there_for_empty(run: &mut Run<'_>) {
    let km = Codec::Karmem;
    let message = km.monsters(&records_payload::monsters(2, 3, 3));
    for cut in [0, 3, 11] {
        run.answers(km, "decode_all", &message[..cut], decoded_all(&[]));
        run.answers(km, "sum_vec3", &message[..cut], 0);
    }
    // The array of monsters, then the first one's path: behind the end, or too long.
    for (place, value) in [(4, u32::MAX), (8, u32::MAX), (8, 1 << 20)] {
        let mut other = message.clone();
        other[place..place + 4].copy_from_slice(&value.to_le_bytes());
        run.answers(km, "decode_all", &other, decoded_all(&[]));
    }
    let mut other = message.clone();
    let path = 20 + 102 + 4;
    other[path..path + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut monsters = records_payload::monsters(2, 3, 3);
    monsters[0].path.clear();
    run.answers(km, "decode_all", &other, decoded_all(&monsters));
}

/// 2000 monsters that are one and the same, with 2000 points: 48 MB out of 33 kB.
fn bomb() -> Vec<u8> {
    let mut message = Codec::Karmem.monsters(&records_payload::monsters(1, 2000, 3));
    let end = message.len() as u32;
    message[4..8].copy_from_slice(&end.to_le_bytes());
    message[8..12].copy_from_slice(&8000_u32.to_le_bytes());
    // The one that was written lies behind root and array.
    message.extend(16_u32.to_le_bytes().repeat(2000));
    message
}

/// Columnar messages with a word that is wrong: the size of the root, where the lookup is, how
/// many rows and columns there are. Where the export reads arrays of any length, also columns
/// that lie outside.
fn wrong_columns(message: &[u8], arrays: bool) -> Vec<Vec<u8>> {
    let with = |place: usize, word: u32| {
        let mut message = message.to_vec();
        message[place..place + 4].copy_from_slice(&word.to_le_bytes());
        message
    };
    let mut all: Vec<_> = (0..16).step_by(4).map(|place| with(place, u32::MAX)).collect();
    all.extend([with(0, 0), with(0, 0x11), with(4, 0x0400_0000), with(12, 0), with(12, 65)]);
    all.extend([vec![], message[..15].to_vec(), message[..192].to_vec()]);
    if arrays {
        // The offsets of all 24 columns, and the largest one that fits in no message.
        for word in [u32::MAX, 0x0400_0000, message.len() as u32 / 64] {
            let mut message = message.to_vec();
            for place in (192..192 + 4 * 24).step_by(4) {
                message[place..place + 4].copy_from_slice(&word.to_le_bytes());
            }
            all.push(message);
        }
    }
    all
}

/// Messages of Cap'n Proto that end early or go on, that have other segments than they say, or
/// whose pointers to the root and to its list lead outside, elsewhere or to too much.
fn wrong_pointers(message: &[u8]) -> Vec<Vec<u8>> {
    let with = |place: usize, word: u32| {
        let mut message = message.to_vec();
        message[place..place + 4].copy_from_slice(&word.to_le_bytes());
        message
    };
    let mut all: Vec<_> =
        [0, 7, 8, 16, message.len() / 2, message.len() - 1].map(|end| message[..end].into()).into();
    all.push([message, &[0; 8]].concat());
    all.extend([1, 511, 512, u32::MAX].map(|segments| with(0, segments)));
    all.extend([0, message.len() as u32 / 8, u32::MAX].map(|words| with(4, words)));
    for place in [8, 16] {
        // Offsets, a pointer to a list or a structure, to another segment, a capability.
        all.extend([u32::MAX, 0x7fff_fffc, 0x7fff_fffd, 2, 3].map(|word| with(place, word)));
    }
    // The list's words, and how many elements its tag says.
    all.extend([20, 24].map(|place| with(place, u32::MAX)));
    all
}

/// 100 monsters in Cap'n Proto, of which all have what the first one's pointer of that number
/// leads to.
fn shared(long: fn(&mut Monster), pointer: usize) -> Vec<u8> {
    let mut monsters = records_payload::monsters(100, 0, 3);
    monsters.iter_mut().for_each(|monster| monster.inventory.clear());
    long(&mut monsters[0]);
    let mut message = Codec::CapnProto.monsters(&monsters);
    // Behind the segment table, the pointers of the root and the tag; two words of numbers.
    let place = |index: usize| 32 + 8 * (9 * index + 2 + pointer);
    let first: [u8; 8] = message[place(0)..][..8].try_into().unwrap();
    for index in 1..100 {
        // Offsets are words from the pointer on, above two bits of another meaning.
        let nearer = u64::from_le_bytes(first) - 4 * 9 * index as u64;
        message[place(index)..][..8].copy_from_slice(&nearer.to_le_bytes());
    }
    message
}

/// Where the length of the vector is that is the only field of a buffer's root.
fn vector_of_root(buffer: &[u8]) -> usize {
    let word = |place: usize| u32::from_le_bytes(buffer[place..place + 4].try_into().unwrap());
    let table = word(0) as usize;
    let vtable = table.wrapping_add_signed(-(word(table) as i32 as isize));
    // Behind the sizes of the two tables.
    let field = table + usize::from(u16::from_le_bytes([buffer[vtable + 4], buffer[vtable + 5]]));
    field + word(field) as usize
}
