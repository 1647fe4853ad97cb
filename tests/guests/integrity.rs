//! Messages whose consumers decode all values and answer with the digest of their texts, on every
//! engine that maps regions: the digest is the producer's, and a wrong one is found.

use crate::regions::each_with;
use touchstone::case::Guests;
use touchstone_executor::Abi;
use touchstone_executor::guest::HeapPages;
use touchstone_systems::fan_out::{DIGESTS, Message, Readers, integrity};

/// The seed of a message with monsters, whose last value is a number.
const SEED: u64 = 1;

#[test]
fn consumers_confirm_the_digest_of_the_producer_and_no_other() {
    let heap = HeapPages { extra: 8, ..HeapPages::default() };
    let guest = Guests::built().module("integrity", heap).unwrap();
    let size = guest.info().memory.unwrap().initial_bytes();
    let count = each_with(&guest, |name, module, region| {
        let address = (size - region.length()) as u32;
        for (export, region) in DIGESTS.into_iter().zip([None, Some((region, address))]) {
            let instances = (0..3).map(|_| module.new_instance().unwrap()).collect();
            let export = module.export(export, Abi::Substrate).unwrap();
            let mut readers = Readers { instances, export, calls: 2 };
            let mut confirms = |message: &Message| integrity(message, &mut readers, region);
            for seed in 0..20 {
                confirms(&Message::arbitrary(seed)).unwrap_or_else(|why| panic!("{name}: {why}"));
            }
            let changes: [fn(&mut Message); 3] = [
                |message| message.digest[31] ^= 1,
                // The sign of the last number, and a message that ends before.
                |message| *message.bytes.last_mut().unwrap() ^= 0x80,
                |message| message.bytes.truncate(message.bytes.len() - 1),
            ];
            for change in changes {
                let mut message = Message::arbitrary(SEED);
                change(&mut message);
                let why = confirms(&message).unwrap_err().to_string();
                assert!(why.starts_with("a reader gave the checksum"), "{name}: {why}");
            }
            confirms(&Message::arbitrary(SEED)).unwrap();
        }
    });
    println!("strategies that map regions for consumers: {count:?}");
    assert!(!count.is_empty());
}
