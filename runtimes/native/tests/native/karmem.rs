//! Karmem v1's wire format and the columnar encoding: messages that were written down by hand,
//! sizes, and readers that take any bytes.

use karmem::{Message, game, temperature};
use proptest::prelude::*;
use records_payload::{Codec, Color, Malformed, Monster, Reading, Summary, Team, Vec3, Weapon};

/// The bytes of a hexadecimal text with spaces.
fn bytes(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.chars().filter_map(|digit| digit.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn encode(monsters: &[Monster]) -> Vec<u8> {
    records_payload::karmem::encode(monsters, <[u8]>::to_vec)
}

fn small() -> Monster {
    let weapon = |damage| Weapon { damage, ammo: 513, clip_size: 7, reload_time: 0.5, range: -1 };
    Monster {
        pos: Vec3 { x: 1.0, y: -2.0, z: 0.5 },
        mana: 258,
        health: -2,
        name: "Ab".to_owned(),
        team: Team::Aliens,
        inventory: vec![9],
        color: Color::Blue,
        hitbox: [1.0, -2.0, 0.5, 0.0, 2.0],
        status: vec![-2],
        weapons: [1, 2, 3, 4].map(weapon),
        path: vec![Vec3 { x: 2.0, y: 0.0, z: -1.0 }],
        is_alive: true,
    }
}

#[test]
fn a_batch_is_what_the_format_says() {
    let message = records_payload::karmem::write(
        &[Reading { timestamp: 1, value: 1.5 }, Reading { timestamp: -2, value: -0.5 }],
        <[u8]>::to_vec,
    );
    let expected = [
        // 0: TemperatureBatch: 12 bytes; its array: from 12 on, two items of four bytes.
        "0c000000 0c000000 08000000",
        // 12: the items: readings at 20 and at 20 + 16 = 36.
        "14000000 24000000",
        // 20: a Reading: 16 bytes; 1; 1.5 is 1.1b * 2^0: exponent 127, fraction 0x400000.
        "10000000 0100000000000000 0000c03f",
        // 36: a Reading; -2; -0.5 is -1 * 2^-1: sign, exponent 126.
        "10000000 feffffffffffffff 000000bf",
    ];
    assert_eq!(message, bytes(&expected.concat()));
    let found: Vec<_> = temperature::readings(Message::new(&message))
        .map(|reading| (reading.timestamp(), reading.value()))
        .collect();
    assert_eq!(found, [(1, 1.5), (-2, -0.5)]);
}

#[test]
fn a_columnar_batch_is_what_the_format_says() {
    let message = records_payload::columnar::write(
        &[Reading { timestamp: 1, value: 1.5 }, Reading { timestamp: -2, value: -0.5 }],
        <[u8]>::to_vec,
    );
    let line = |text: &str| [bytes(text), vec![0; 64 - bytes(text).len()]].concat();
    let expected = [
        // 0: the root: two units of 8 bytes, all used; the lookup at 64 * 1; 2 rows, 2 columns.
        line("10000000 01000000 02000000 02000000"),
        // 64: the hashes, FNV-1a of the bytes 0 and 1; 128: the offsets, 64 * 3 and 64 * 4.
        line("1f5d0c05 8c5b0c04"),
        line("03000000 04000000"),
        // 192 and 256: the columns.
        line("0100000000000000 feffffffffffffff"),
        line("0000c03f 000000bf"),
    ];
    assert_eq!(message, expected.concat());
    // A later version has a third column.
    let grown = records_payload::columnar::write_grown(
        &[Reading { timestamp: 1, value: 1.5 }, Reading { timestamp: -2, value: -0.5 }],
        <[u8]>::to_vec,
    );
    assert_eq!(grown.len(), message.len() + 64);
    assert_eq!(grown[320..], line("00000000 01000000"));
    let read = records_payload::columnar::read;
    assert_eq!(read(&grown), read(&message));
}

/// Each column has a hash of its own, and 0 is none of them.
#[test]
fn columns_are_told_apart() {
    let fields = (0..=11).map(|field| vec![field]);
    let parts = (0..=11).flat_map(|field| (0..=4).map(move |part| vec![field, part]));
    let mut hashes: Vec<_> = fields.chain(parts).map(|path| columnar::hash(&path)).collect();
    let count = hashes.len();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), count);
    assert!(!hashes.contains(&0));
}

/// Readers ignore a field of a later version, which the page of codecs says of these formats.
#[test]
fn a_field_more_is_ignored() {
    #[derive(serde::Serialize)]
    struct Grown {
        timestamp: i64,
        value: f32,
        quality: u32,
    }
    let batch = [Reading { timestamp: 1, value: 1.5 }];
    let readings = [Grown { timestamp: 1, value: 1.5, quality: 7 }];
    let readings = std::collections::BTreeMap::from([("readings", readings)]);
    // The only reading, with a field more behind its own: number 15, the value 1.
    let mut protobuf = Codec::Protobuf.readings(&batch);
    protobuf[1] += 2;
    protobuf.extend([15 << 3, 1]);
    let right = Ok(Summary::of([(1, 1.5)].into_iter()));
    assert_eq!(records_payload::protobuf::read(&protobuf), right);
    let text = serde_json::to_vec(&readings).unwrap();
    assert_eq!(records_payload::json::read(&text), right);
    let message = rmp_serde::to_vec_named(&readings).unwrap();
    assert_eq!(records_payload::messagepack::read(&message), right);
    let message = Codec::Karmem.grown_readings(&batch).unwrap();
    assert_eq!(records_payload::karmem::read(&message), right);
    let message = Codec::Columnar.grown_readings(&batch).unwrap();
    assert_eq!(records_payload::columnar::read(&message), right);
}

/// A monster goes through every format, and columns that are the same bytes are refused.
#[test]
fn a_monster_comes_back_from_every_format() {
    use records_payload::{capnproto, columnar, flatbuffers, json, karmem, messagepack, protobuf};
    type Decode = fn(&[u8]) -> Result<Vec<Monster>, Malformed>;
    let decoders: [Decode; 7] = [
        karmem::decode,
        columnar::decode,
        capnproto::decode,
        flatbuffers::decode,
        json::decode,
        messagepack::decode,
        protobuf::decode,
    ];
    for (codec, decode) in Codec::ALL.into_iter().zip(decoders) {
        for monsters in [vec![], vec![small()], vec![small(); 3]] {
            assert_eq!(decode(&codec.monsters(&monsters)).as_ref(), Ok(&monsters), "{codec:?}");
        }
    }
    let mut bomb = Codec::Columnar.monsters(&records_payload::monsters(10, 100, 1));
    // All three coordinates of all points are one column.
    let offset: [u8; 4] = bomb[192 + 20 * 4..][..4].try_into().unwrap();
    for column in [21, 22] {
        bomb[192 + column * 4..][..4].copy_from_slice(&offset);
    }
    let length = bomb.len() - 64 * u32::from_le_bytes(offset) as usize;
    bomb.drain(64 * u32::from_le_bytes(offset) as usize + length / 3..);
    assert_eq!(columnar::sum_vec3(&bomb), Err(Malformed::Overlapping));
}

#[test]
fn a_monster_is_what_the_format_says() {
    let expected = [
        // 0: Monsters: 12 bytes; its array: from 12 on, one Monster of four bytes.
        "0c000000 0c000000 04000000",
        // 12: the Monster: its data at 16.
        "10000000",
        // 16: MonsterData: 111 = 0x6f bytes, so that what it points to starts at 127 = 0x7f.
        "6f000000",
        // 20: pos: 1, -2 and 0.5 as f32.
        "0000803f 000000c0 0000003f",
        // 32: mana 258 = 0x0102; health -2.
        "0201 feff",
        // 36: name: at 127 = 0x7f, 2 bytes.
        "7f000000 02000000",
        // 44: team: Aliens, the fifth.
        "04",
        // 45: inventory: after the name, at 129 = 0x81, 1 byte.
        "81000000 01000000",
        // 53: color: Blue, the third.
        "02",
        // 54: hitbox: 1, -2, 0.5, 0 and 2 as f64.
        "000000000000f03f 00000000000000c0 000000000000e03f 0000000000000000 0000000000000040",
        // 94: status: after the inventory, at 130 = 0x82, 4 bytes.
        "82000000 04000000",
        // 102: weapons: after the status, at 134 = 0x86, and each 19 further: 153, 172, 191.
        "86000000 99000000 ac000000 bf000000",
        // 118: path: after the weapons, at 210 = 0xd2, one point of 12 bytes.
        "d2000000 0c000000",
        // 126: alive.
        "01",
        // 127: the name, the inventory, the status.
        "4162 09 feffffff",
        // 134: four WeaponData of 19 = 0x13 bytes: damage, ammo 513 = 0x0201, clip, 0.5, -1.
        "13000000 01000000 0102 07 0000003f ffffffff",
        "13000000 02000000 0102 07 0000003f ffffffff",
        "13000000 03000000 0102 07 0000003f ffffffff",
        "13000000 04000000 0102 07 0000003f ffffffff",
        // 210: the point: 2, 0 and -1 as f32.
        "00000040 00000000 000080bf",
    ];
    let message = encode(&[small()]);
    assert_eq!(message, bytes(&expected.concat()));
    assert_eq!(records_payload::karmem::decode(&message), Ok(vec![small()]));
    let monster = game::monsters(Message::new(&message)).next().unwrap();
    assert_eq!(monster.name(), b"Ab");
    assert_eq!(monster.weapons()[3].damage(), 4);
    // All but the root and the Monster.
    assert_eq!(monster.extent(), message.len() - game::MONSTERS - game::MONSTER);
}

#[test]
fn messages_have_the_sizes_of_karmems_benchmark() {
    // Of each monster: its item and table, four weapons, 30 bytes of name, 100 of
    // inventory, eight of status at four bytes, 100 points.
    let each = 4 + 111 + 4 * 19 + 30 + 100 + 8 * 4 + 100 * 12;
    assert_eq!(12 + 1000 * each, 1_553_012);
    assert_eq!(encode(&records_payload::monsters(1000, 100, 1)).len(), 1_553_012);
    assert_eq!(encode(&[]), bytes("0c000000 0c000000 00000000"));
    let batch = |count| {
        let readings = records_payload::batch(count, 1);
        records_payload::karmem::write(&readings, |message| message.len())
    };
    assert_eq!([batch(0), batch(10), batch(10_000)], [12, 212, 200_012]);
}

/// A null pointer stands for an empty value, and pointers lead to other segments.
#[test]
fn capnproto_takes_messages_of_other_writers() {
    let expected = [
        // One segment of one word: no root.
        bytes("00000000 01000000 0000000000000000"),
        // Two segments, of one and two words, and four bytes of padding.
        bytes(
            "01000000 01000000 02000000 00000000
             0200000001000000 0000000000000100 0000000000000000",
        ),
    ];
    for message in expected {
        assert_eq!(records_payload::capnproto::decode(&message), Ok(vec![]));
        assert_eq!(records_payload::capnproto::sum_uint8(&message), Ok(0));
    }
    // A writer of an older version of the schema: two readings of a word each, the time.
    let older = bytes(
        "00000000 05000000 0000000000000100 0100000017000000 0800000001000000
         ffffffffffffffff 0500000000000000",
    );
    let expected = Summary::of([(-1, 0.0), (5, 0.0)].into_iter());
    assert_eq!(records_payload::capnproto::read(&older), Ok(expected));
}

/// The sizes that the analysis of the cases has.
#[test]
fn messages_of_the_cases_have_these_sizes() {
    let sizes = |count| {
        let monsters = records_payload::monsters(count, 100, 1);
        Codec::ALL.map(|codec| codec.monsters(&monsters).len())
    };
    assert_eq!(sizes(1000)[..4], [1_553_012, 1_497_792, 1_976_032, 1_580_123]);
    assert_eq!(sizes(100)[4..], [465_161, 272_937, 197_833]);
}

#[test]
fn what_a_table_does_not_have_is_zero_or_empty() {
    let full = encode(&[small()]);
    // A monster whose table ends after its mana: an older writer.
    let mut older = full.clone();
    older[16..20].copy_from_slice(&18_u32.to_le_bytes());
    let monster = game::monsters(Message::new(&older)).next().unwrap();
    assert_eq!((monster.pos(), monster.mana(), monster.health()), ([1.0, -2.0, 0.5], 258, 0));
    assert_eq!((monster.name(), monster.path().len(), monster.is_alive()), (&[][..], 0, false));
    assert_eq!((monster.hitbox(), monster.weapons()[0].damage()), ([0.0; 5], 0));
    // A table that is longer than the message, or begins behind it.
    for offset in [17, full.len() as u32 - 3, full.len() as u32, u32::MAX] {
        let mut outside = full.clone();
        outside[12..16].copy_from_slice(&offset.to_le_bytes());
        let monster = game::monsters(Message::new(&outside)).next().unwrap();
        assert_eq!((monster.pos(), monster.path().len(), monster.extent()), ([0.0; 3], 0, 0));
    }
    // An array that ends one byte behind the message, or behind 4 GiB.
    for (offset, length) in [(210, 13), (211, 12), (210, u32::MAX), (u32::MAX, 12)] {
        let mut outside = full.clone();
        outside[118..122].copy_from_slice(&u32::to_le_bytes(offset));
        outside[122..126].copy_from_slice(&u32::to_le_bytes(length));
        let monster = game::monsters(Message::new(&outside)).next().unwrap();
        assert_eq!(monster.path().len(), 0, "{offset} {length}");
    }
    // Less than a whole element is none.
    let mut part = full.clone();
    part[122..126].copy_from_slice(&11_u32.to_le_bytes());
    assert_eq!(game::monsters(Message::new(&part)).next().unwrap().path().len(), 0);
    // And the root.
    for length in 0..12 {
        assert_eq!(game::monsters(Message::new(&full[..length])).len(), 0);
    }
}

#[test]
fn arrays_end_at_the_capacity_of_their_schema() {
    let mut monster = small();
    monster.name = "n".repeat(600);
    monster.inventory = vec![1; 200];
    monster.status = vec![1; 11];
    monster.path = vec![Vec3 { x: 1.0, y: 1.0, z: 1.0 }; 2001];
    let message = encode(&vec![monster; 2]);
    let found = game::monsters(Message::new(&message)).next().unwrap();
    assert_eq!(found.name().len(), game::NAME_CAPACITY);
    assert_eq!(found.inventory().len(), game::INVENTORY_CAPACITY);
    assert_eq!(found.status().len(), game::STATUS_CAPACITY);
    assert_eq!(found.path().len(), game::PATH_CAPACITY);
    let message = encode(&records_payload::monsters(2001, 0, 1));
    assert_eq!(game::monsters(Message::new(&message)).len(), game::MONSTERS_CAPACITY);
}

#[test]
fn more_bytes_than_there_are_are_refused() {
    use records_payload::karmem::{decode, sum_uint8, sum_vec3};
    // 2000 monsters that are the same one with 2000 points: 48 MB out of 32 kB.
    let mut bomb = encode(&records_payload::monsters(1, 2000, 1));
    let end = bomb.len() as u32;
    bomb[4..8].copy_from_slice(&end.to_le_bytes());
    bomb[8..12].copy_from_slice(&8000_u32.to_le_bytes());
    bomb.extend(16_u32.to_le_bytes().repeat(2000));
    assert_eq!(game::monsters(Message::new(&bomb)).len(), 2000);
    assert_eq!(decode(&bomb), Err(Malformed::Overlapping));
    assert_eq!(sum_vec3(&bomb), Err(Malformed::Overlapping));
    assert_eq!(sum_uint8(&bomb), Err(Malformed::Overlapping));
}

/// Reads everything there is.
fn read(message: &[u8]) -> usize {
    let mut seen = 0;
    for monster in game::monsters(Message::new(message)) {
        let weapons = monster.weapons();
        let ammo: u32 = weapons.iter().map(|weapon| u32::from(weapon.ammo())).sum();
        let path = monster.path();
        seen += monster.name().len() + monster.inventory().len() + monster.status().count();
        seen += path.len() + monster.extent() + (ammo > 0) as usize;
        std::hint::black_box((monster.pos(), monster.hitbox(), monster.is_alive(), path.first()));
    }
    seen + temperature::readings(Message::new(message)).count()
}

/// The results of all formats for a message; none may panic.
fn decode(message: &[u8]) {
    use records_payload::{capnproto, columnar, flatbuffers, json, karmem, messagepack, protobuf};
    let _ = (capnproto::decode(message), capnproto::sum_vec3(message), capnproto::read(message));
    let _ = (capnproto::sum_uint8(message), capnproto::sum_stats(message));
    let _ = (columnar::decode(message), columnar::sum_vec3(message), columnar::read(message));
    let _ = (columnar::sum_uint8(message), columnar::sum_stats(message));
    let _ = (messagepack::decode(message), messagepack::read(message));
    let _ = (protobuf::decode(message), protobuf::read(message));
    let _ = (karmem::decode(message), karmem::sum_vec3(message), karmem::sum_uint8(message));
    let _ = (karmem::sum_stats(message), karmem::read(message));
    let _ = (flatbuffers::decode(message), flatbuffers::sum_vec3(message));
    let _ = (flatbuffers::sum_uint8(message), flatbuffers::sum_stats(message));
    let _ = (flatbuffers::read(message), json::decode(message), json::read(message));
}

proptest! {
    #[test]
    fn any_bytes_are_read(message in proptest::collection::vec(any::<u8>(), 0..400)) {
        read(&message);
        decode(&message);
    }

    /// Messages that are right but for a few bytes get further than random ones.
    #[test]
    fn messages_with_wrong_bytes_are_read(
        monsters in 0_usize..4,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
        ends_early in any::<bool>(),
    ) {
        let monsters = records_payload::monsters(monsters, 3, 1);
        let batch = records_payload::batch(5, 1);
        let messages = Codec::ALL.map(|codec| [codec.monsters(&monsters), codec.readings(&batch)]);
        // No monsters are no bytes in Protobuf.
        for mut message in messages.into_iter().flatten().filter(|one| !one.is_empty()) {
            for (place, value) in &changes {
                let place = place.index(message.len());
                message[place] = *value;
            }
            if ends_early {
                message.truncate(cut.index(message.len()));
            }
            read(&message);
            decode(&message);
        }
    }
}
