//! MessagePack, by messagepack-serde: structures are maps with the fields' names, as
//! rmp-serde writes them with names. rmp-serde itself needs the standard library.

use alloc::vec::Vec;

use serde::{Serialize, de::DeserializeOwned};

use crate::json::{Batch, Monsters};
use crate::{Malformed, Monster, Reading, Summary};

fn bytes(value: &impl Serialize) -> Vec<u8> {
    match messagepack_serde::to_vec(value) {
        Ok(bytes) => bytes,
        Err(_) => panic!("records can always be written"),
    }
}

fn parse<T: DeserializeOwned>(message: &[u8]) -> Result<T, Malformed> {
    messagepack_serde::from_slice(message).map_err(|_| Malformed::Format)
}

/// Monsters as a message, which `done` is given.
pub fn encode<T>(monsters: &[Monster], done: impl FnOnce(&[u8]) -> T) -> T {
    done(&bytes(&Monsters { monsters }))
}

/// The monsters of a message.
///
/// # Errors
///
/// When it is none.
pub fn decode(message: &[u8]) -> Result<Vec<Monster>, Malformed> {
    parse::<Monsters<Vec<Monster>>>(message).map(|all| all.monsters)
}

/// A batch as a message, which `done` is given.
pub fn write<T>(readings: &[Reading], done: impl FnOnce(&[u8]) -> T) -> T {
    done(&bytes(&Batch { readings }))
}

/// The summary of a batch.
///
/// # Errors
///
/// When the message is none.
pub fn read(message: &[u8]) -> Result<Summary, Malformed> {
    let batch: Batch<Vec<Reading>> = parse(message)?;
    Ok(Summary::of(batch.readings.iter().map(|reading| (reading.timestamp, reading.value))))
}
