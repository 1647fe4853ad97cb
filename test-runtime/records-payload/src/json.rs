//! JSON, by serde_json. A text has no offsets: whatever is decoded was in the text, and
//! owned values are all there is to sum over.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{Malformed, Monster, Reading, Stats, Summary, Vec3, Weapon};

/// A document of monsters, or of a part of them: unknown fields are passed over.
#[derive(Serialize, Deserialize)]
pub(crate) struct Monsters<T> {
    pub(crate) monsters: T,
}

#[derive(Deserialize)]
struct Path {
    path: Vec<Vec3>,
}

#[derive(Deserialize)]
struct Inventory {
    inventory: Vec<u8>,
}

#[derive(Deserialize)]
struct Weapons {
    weapons: [Weapon; 4],
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Batch<T> {
    pub(crate) readings: T,
}

fn text(value: &impl Serialize) -> Vec<u8> {
    match serde_json::to_vec(value) {
        Ok(text) => text,
        Err(error) => panic!("records can always be written: {error}"),
    }
}

fn parse<T: DeserializeOwned>(text: &[u8]) -> Result<T, Malformed> {
    serde_json::from_slice(text).map_err(|_| Malformed::Format)
}

/// Monsters as a text, which `done` is given.
pub fn encode<T>(monsters: &[Monster], done: impl FnOnce(&[u8]) -> T) -> T {
    done(&text(&Monsters { monsters }))
}

/// The monsters of a text.
///
/// # Errors
///
/// When it is none.
pub fn decode(message: &[u8]) -> Result<Vec<Monster>, Malformed> {
    parse::<Monsters<Vec<Monster>>>(message).map(|all| all.monsters)
}

/// The sum over all points of all paths, in the order of the text.
///
/// # Errors
///
/// When the text is none, or has no paths.
pub fn sum_vec3(message: &[u8]) -> Result<f32, Malformed> {
    let all: Monsters<Vec<Path>> = parse(message)?;
    let points = all.monsters.iter().flat_map(|monster| &monster.path);
    Ok(points.fold(0.0, |sum, point| sum + (point.x + point.y + point.z)))
}

/// The sum over all inventories, modulo 2^32.
///
/// # Errors
///
/// When the text is none, or has no inventories.
pub fn sum_uint8(message: &[u8]) -> Result<u32, Malformed> {
    let all: Monsters<Vec<Inventory>> = parse(message)?;
    let bytes = all.monsters.iter().flat_map(|monster| &monster.inventory);
    Ok(bytes.fold(0, |sum, byte| sum.wrapping_add(u32::from(*byte))))
}

/// The sums over all weapons.
///
/// # Errors
///
/// When the text is none, or has no weapons.
pub fn sum_stats(message: &[u8]) -> Result<Stats, Malformed> {
    let all: Monsters<Vec<Weapons>> = parse(message)?;
    let mut stats = Stats::default();
    all.monsters
        .into_iter()
        .flat_map(|monster| monster.weapons)
        .for_each(|weapon| stats.add(weapon));
    Ok(stats)
}

/// A batch as a text, which `done` is given.
pub fn write<T>(readings: &[Reading], done: impl FnOnce(&[u8]) -> T) -> T {
    done(&text(&Batch { readings }))
}

/// The summary of a batch.
///
/// # Errors
///
/// When the text is none.
pub fn read(message: &[u8]) -> Result<Summary, Malformed> {
    let batch: Batch<Vec<Reading>> = parse(message)?;
    Ok(Summary::of(batch.readings.iter().map(|reading| (reading.timestamp, reading.value))))
}
