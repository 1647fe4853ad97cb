//! Karmem v1's wire format. What the format takes for zero or empty is no error here; a
//! text that is none and a number that stands for nothing are.

use alloc::{string::String, vec::Vec};

use karmem::{Message, Writer, game, temperature};

use crate::{Malformed, Monster, Reading, Stats, Summary, Vec3, Weapon, budget::Budget};

/// Monsters as a message, which `done` is given.
pub fn encode<T>(monsters: &[Monster], done: impl FnOnce(&[u8]) -> T) -> T {
    let mut writer = Writer::new();
    writer.reserve(game::MONSTERS);
    let start = writer.reserve(game::MONSTER * monsters.len());
    let array = (u64::from(start) | ((game::MONSTER * monsters.len()) as u64) << 32).to_le_bytes();
    writer.put(0, &(game::MONSTERS as u32).to_le_bytes());
    writer.put(4, &array);
    for (place, monster) in (start..).step_by(game::MONSTER).zip(monsters) {
        let offset = encode_monster(&mut writer, monster);
        writer.put(place, &offset.to_le_bytes());
    }
    done(&writer.finish())
}

/// Writes a monster's table and then what it points to, in the order of its fields.
fn encode_monster(writer: &mut Writer, monster: &Monster) -> u32 {
    let offset = writer.reserve(game::MONSTER_DATA);
    let mut table = [0; game::MONSTER_DATA];
    table[..4].copy_from_slice(&(game::MONSTER_DATA as u32).to_le_bytes());
    table[4..16].copy_from_slice(&vec3(&monster.pos));
    table[16..18].copy_from_slice(&monster.mana.to_le_bytes());
    table[18..20].copy_from_slice(&monster.health.to_le_bytes());
    table[20..28].copy_from_slice(&writer.append(monster.name.as_bytes()));
    table[28] = monster.team as u8;
    table[29..37].copy_from_slice(&writer.append(&monster.inventory));
    table[37] = monster.color as u8;
    for (place, side) in table[38..78].chunks_exact_mut(8).zip(&monster.hitbox) {
        place.copy_from_slice(&side.to_le_bytes());
    }
    let status = writer.append_all(monster.status.iter().map(|value| value.to_le_bytes()));
    table[78..86].copy_from_slice(&status);
    for (place, weapon) in table[86..102].chunks_exact_mut(game::WEAPON).zip(&monster.weapons) {
        let weapon_offset = writer.reserve(game::WEAPON_DATA);
        writer.put(weapon_offset, &weapon_data(weapon));
        place.copy_from_slice(&weapon_offset.to_le_bytes());
    }
    table[102..110].copy_from_slice(&writer.append_all(monster.path.iter().map(vec3)));
    table[110] = u8::from(monster.is_alive);
    writer.put(offset, &table);
    offset
}

fn weapon_data(weapon: &Weapon) -> [u8; game::WEAPON_DATA] {
    let mut table = [0; game::WEAPON_DATA];
    table[..4].copy_from_slice(&(game::WEAPON_DATA as u32).to_le_bytes());
    table[4..8].copy_from_slice(&weapon.damage.to_le_bytes());
    table[8..10].copy_from_slice(&weapon.ammo.to_le_bytes());
    table[10] = weapon.clip_size;
    table[11..15].copy_from_slice(&weapon.reload_time.to_le_bytes());
    table[15..].copy_from_slice(&weapon.range.to_le_bytes());
    table
}

fn vec3(point: &Vec3) -> [u8; game::VEC3] {
    let mut bytes = [0; game::VEC3];
    bytes[..4].copy_from_slice(&point.x.to_le_bytes());
    bytes[4..8].copy_from_slice(&point.y.to_le_bytes());
    bytes[8..].copy_from_slice(&point.z.to_le_bytes());
    bytes
}

fn point(bytes: &[u8; game::VEC3]) -> Vec3 {
    let [x, y, z] = game::vec3(bytes);
    Vec3 { x, y, z }
}

fn weapon(data: game::WeaponData<'_>) -> Weapon {
    Weapon {
        damage: data.damage(),
        ammo: data.ammo(),
        clip_size: data.clip_size(),
        reload_time: data.reload_time(),
        range: data.range(),
    }
}

/// The monsters of a message.
///
/// # Errors
///
/// When a name is no UTF-8, a team or colour is none, or the monsters exceed the message.
pub fn decode(message: &[u8]) -> Result<Vec<Monster>, Malformed> {
    let mut budget = Budget::of(message);
    game::monsters(Message::new(message))
        .map(|monster| {
            budget.take(monster.extent())?;
            let [x, y, z] = monster.pos();
            Ok(Monster {
                pos: Vec3 { x, y, z },
                mana: monster.mana(),
                health: monster.health(),
                name: core::str::from_utf8(monster.name())
                    .map(String::from)
                    .map_err(|_| Malformed::Value)?,
                team: monster.team().try_into().map_err(|_| Malformed::Value)?,
                inventory: monster.inventory().to_vec(),
                color: monster.color().try_into().map_err(|_| Malformed::Value)?,
                hitbox: monster.hitbox(),
                status: monster.status().collect(),
                weapons: monster.weapons().map(weapon),
                path: monster.path().iter().map(point).collect(),
                is_alive: monster.is_alive(),
            })
        })
        .collect()
}

/// The sum over all points of all paths, in the order of the message.
///
/// # Errors
///
/// When the paths are more bytes than the message.
pub fn sum_vec3(message: &[u8]) -> Result<f32, Malformed> {
    let mut budget = Budget::of(message);
    game::monsters(Message::new(message)).try_fold(0.0, |sum, monster| {
        let path = monster.path();
        budget.take(path.as_flattened().len())?;
        Ok(path.iter().map(game::vec3).fold(sum, |sum, [x, y, z]| sum + (x + y + z)))
    })
}

/// The sum over all inventories, modulo 2^32.
///
/// # Errors
///
/// When the inventories are more bytes than the message.
pub fn sum_uint8(message: &[u8]) -> Result<u32, Malformed> {
    let mut budget = Budget::of(message);
    game::monsters(Message::new(message)).try_fold(0_u32, |sum, monster| {
        let inventory = monster.inventory();
        budget.take(inventory.len())?;
        Ok(inventory.iter().fold(sum, |sum, byte| sum.wrapping_add(u32::from(*byte))))
    })
}

/// The sums over all weapons.
///
/// # Errors
///
/// None: four weapons a monster is all that a message can ask for.
pub fn sum_stats(message: &[u8]) -> Result<Stats, Malformed> {
    let mut stats = Stats::default();
    game::monsters(Message::new(message))
        .flat_map(game::MonsterData::weapons)
        .for_each(|data| stats.add(weapon(data)));
    Ok(stats)
}

/// A batch as a message, which `done` is given.
pub fn write<T>(readings: &[Reading], done: impl FnOnce(&[u8]) -> T) -> T {
    write_tables::<{ temperature::READING }, T>(readings, done)
}

/// A batch as a later version of the schema has it: each reading with its quality, a `u32`,
/// here the reading's number.
pub fn write_grown<T>(readings: &[Reading], done: impl FnOnce(&[u8]) -> T) -> T {
    write_tables::<{ temperature::READING + 4 }, T>(readings, done)
}

/// A batch of readings with so many bytes each.
fn write_tables<const SIZE: usize, T>(readings: &[Reading], done: impl FnOnce(&[u8]) -> T) -> T {
    let mut writer = Writer::new();
    writer.reserve(temperature::BATCH);
    let length = temperature::READING_ITEM * readings.len();
    let start = writer.reserve(length);
    writer.put(0, &(temperature::BATCH as u32).to_le_bytes());
    writer.put(4, &(u64::from(start) | (length as u64) << 32).to_le_bytes());
    let places = (start..).step_by(temperature::READING_ITEM);
    for ((number, reading), place) in (0_u32..).zip(readings).zip(places) {
        let offset = writer.reserve(SIZE);
        let mut table = [0; SIZE];
        table[..4].copy_from_slice(&(SIZE as u32).to_le_bytes());
        table[4..12].copy_from_slice(&reading.timestamp.to_le_bytes());
        table[12..temperature::READING].copy_from_slice(&reading.value.to_le_bytes());
        if let Some(quality) = table.get_mut(temperature::READING..).filter(|rest| !rest.is_empty())
        {
            quality.copy_from_slice(&number.to_le_bytes());
        }
        writer.put(offset, &table);
        writer.put(place, &offset.to_le_bytes());
    }
    done(&writer.finish())
}

/// The summary of a batch.
///
/// # Errors
///
/// None: one reading for each four bytes is all that a message can ask for.
pub fn read(message: &[u8]) -> Result<Summary, Malformed> {
    let readings = temperature::readings(Message::new(message));
    Ok(Summary::of(readings.map(|reading| (reading.timestamp(), reading.value()))))
}
