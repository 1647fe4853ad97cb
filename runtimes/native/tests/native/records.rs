//! The guests `records` and `layouts`, compiled for the host.

use records_payload::{Codec, Stats, decoded, decoded_all};
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Abi, Config, Instance, Module, Outcome, Strategy};

/// Runs a test under two strategies that differ in all they can.
fn each(guest: &str, test: impl Fn(&dyn Module, &mut dyn Instance)) {
    let engine = touchstone_native::engines().remove(0);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../test-runtime/built");
    let bytes = std::fs::read(format!("{folder}/{guest}.wasm")).unwrap();
    let guest = GuestModule::new(guest, &bytes, HeapPages::default()).unwrap();
    let config = Config::default();
    for strategy in ["instance_reuse_tracked", "recreate_instance"] {
        let strategy: Strategy = strategy.parse().unwrap();
        let artifact = engine.compile(&guest, strategy, &config).unwrap();
        let module = engine.load(&guest, &artifact, strategy, &config).unwrap();
        test(&*module, &mut *module.new_instance().unwrap());
    }
}

/// The number that an export answers with; `None` where it traps.
fn call(
    module: &dyn Module,
    instance: &mut dyn Instance,
    (export, abi): (&str, Abi),
    input: &[u8],
) -> Option<u64> {
    let export = module.export(export, abi).unwrap();
    let mut output = Vec::new();
    match instance.call(export, input, &mut output).unwrap() {
        Outcome::Returned => Some(u64::from_le_bytes(output.try_into().unwrap())),
        Outcome::Trapped(_) => None,
    }
}

fn numbers(count: u32, each: u32, seed: u64) -> Vec<u8> {
    [&count.to_le_bytes()[..], &each.to_le_bytes(), &seed.to_le_bytes()].concat()
}

#[test]
fn every_codec_says_the_same_of_the_same_records() {
    let monsters = records_payload::monsters(20, 30, 7);
    let mut sum = 0.0_f32;
    let mut stats = Stats::default();
    for monster in &monsters {
        monster.path.iter().for_each(|point| sum += point.x + point.y + point.z);
        monster.weapons.iter().for_each(|weapon| stats.add(weapon.clone()));
    }
    let bytes: u32 =
        monsters.iter().flat_map(|monster| &monster.inventory).map(|byte| u32::from(*byte)).sum();
    assert_eq!(stats.damage, (0..20).map(|index| 4 * (100 + index)).sum::<i32>());
    each("records", |module, instance| {
        let mut reads = Vec::new();
        for format in Codec::ALL {
            let message = format.monsters(&monsters);
            let batch = format.readings(&records_payload::batch(100, 7));
            let codec = format.name();
            let mut of = |export: &str, input: &[u8]| {
                call(module, instance, (&format!("{codec}_{export}"), Abi::Bytes), input)
            };
            assert_eq!(of("decode", &message), Some(decoded(&monsters)), "{codec}");
            assert_eq!(of("decode_all", &message), Some(decoded_all(&monsters)), "{codec}");
            if !matches!(format, Codec::MessagePack | Codec::Protobuf) {
                assert_eq!(of("sum_vec3", &message), Some(sum.to_bits().into()), "{codec}");
                assert_eq!(of("sum_uint8", &message), Some(bytes.into()), "{codec}");
                assert_eq!(of("sum_stats", &message), Some(stats.checksum()), "{codec}");
            }
            let input = numbers(20, 30, 7);
            assert_eq!(of("encode", &input), Some(records_payload::encoded(&message)), "{codec}");
            let all = records_payload::encoded_all(&message);
            assert_eq!(of("encode_all", &input), Some(all), "{codec}");
            let all = records_payload::encoded_all(&batch);
            assert_eq!(of("write_all", &numbers(100, 0, 7)), Some(all), "{codec}");
            reads.push(of("read", &batch).unwrap());
            assert_eq!(of("encode", &numbers(u32::MAX, u32::MAX, 7)), None, "{codec}");
            assert_eq!(of("encode", &input[..15]), None, "{codec}");
        }
        assert_eq!(reads, [reads[0]; 7]);
        assert_eq!(call(module, instance, ("noop", Abi::Bytes), b"any"), Some(42));
    });
}

/// Distances that wrap, and numbers of scooters that no vector divides.
#[test]
fn every_walk_adds_to_every_distance() {
    for (guest, walks) in [
        ("layouts", &["Native", "Fixed", "Stride", "SoA", "AoP"][..]),
        ("layouts-simd", &["Native", "Fixed", "Stride", "SoA", "AoP", "Fixed_SIMD", "SoA_SIMD"]),
    ] {
        each(guest, |module, instance| {
            for walk in walks {
                for count in [1000_u32, 7, 1, 0, 1001, 9] {
                    let more = 0x8000_0001_u32;
                    let input = [count.to_le_bytes(), more.to_le_bytes()].concat();
                    let found = call(module, instance, (walk, Abi::Input), &input);
                    assert_eq!(found, Some(expected(count, more)), "{walk} {count}");
                }
                let many = [(1_u32 << 20 | 1).to_le_bytes(), [0; 4]].concat();
                assert_eq!(call(module, instance, (walk, Abi::Input), &many), None);
                assert_eq!(call(module, instance, (walk, Abi::Input), b"short"), None);
            }
        });
    }
}

/// The answer for eight scooters, evenly spread.
fn expected(count: u32, more: u32) -> u64 {
    let ends = (1..=8).map(|sample| sample * count / 8).filter(|end| *end > 0);
    let (mut distance, mut ids) = (0_u32, 0_u32);
    for end in ends {
        distance = distance.wrapping_add(more);
        ids += end - 1;
    }
    u64::from(distance) << 32 | u64::from(ids)
}

/// rmp-serde, which needs the standard library, reads what the guest writes, and the guest
/// reads what it writes.
#[test]
fn others_read_the_same_messagepack() {
    #[derive(serde::Serialize, serde::Deserialize, PartialEq, Debug)]
    struct Monsters {
        monsters: Vec<records_payload::Monster>,
    }
    let all = Monsters { monsters: records_payload::monsters(3, 4, 7) };
    let ours = Codec::MessagePack.monsters(&all.monsters);
    assert_eq!(rmp_serde::from_slice::<Monsters>(&ours).unwrap(), all);
    let theirs = rmp_serde::to_vec_named(&all).unwrap();
    assert_eq!(records_payload::messagepack::decode(&theirs).as_ref(), Ok(&all.monsters));
}
