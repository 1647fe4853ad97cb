//! Cap'n Proto, unpacked, by capnp: messages are read in place, and each pointer is checked
//! when it is followed. A null pointer stands for an empty value.

use alloc::vec::Vec;

use capnp::message::{Builder, HeapAllocator, Reader, ReaderOptions};
use capnp::serialize::{self, NoAllocSliceSegments};
use capnp::traits::HasStructSize;
use capnp::{ErrorKind, NotInSchema, primitive_list, struct_list};

use crate::records_capnp as cp;
use crate::{
    Color, Malformed, Monster, Reading, Stats, Summary, Team, Vec3, Weapon, budget::Budget,
};

impl From<capnp::Error> for Malformed {
    fn from(error: capnp::Error) -> Self {
        match error.kind {
            ErrorKind::ReadLimitExceeded => Self::Overlapping,
            _ => Self::Format,
        }
    }
}

impl From<NotInSchema> for Malformed {
    fn from(_: NotInSchema) -> Self {
        Self::Value
    }
}

/// Builds a message of so many words in one segment. `done` is given the segment table and
/// the segment.
fn message<T>(
    words: usize,
    fill: impl FnOnce(&mut Builder<HeapAllocator>),
    done: impl FnOnce(&[u8]) -> T,
) -> T {
    // A segment has at most 2^29 words, which a module's memory does not hold.
    let mut message = Builder::new(HeapAllocator::new().first_segment_words(words as u32));
    fill(&mut message);
    done(&serialize::write_message_to_words(&message))
}

/// The words of a structure.
const fn size<T: HasStructSize>() -> usize {
    T::STRUCT_SIZE.data as usize + T::STRUCT_SIZE.pointers as usize
}

const VEC3: usize = size::<cp::vec3::Builder<'_>>();
const WEAPON: usize = size::<cp::weapon::Builder<'_>>();
const MONSTER: usize = size::<cp::monster::Builder<'_>>();
const READING: usize = size::<cp::reading::Builder<'_>>();

/// Pointer to the root, the root's pointer to its list, and the list's tag.
const ROOT: usize = 3;

/// The words of a monster and of what it points to; a list of structures has a tag.
fn words(monster: &Monster) -> usize {
    let lists = (monster.name.len() + 1).div_ceil(8)
        + monster.inventory.len().div_ceil(8)
        + monster.hitbox.len()
        + monster.status.len().div_ceil(2);
    let structures = 1 + WEAPON * monster.weapons.len() + 1 + VEC3 * monster.path.len();
    MONSTER + VEC3 + lists + structures
}

/// Monsters as a message, which `done` is given.
pub fn encode<T>(monsters: &[Monster], done: impl FnOnce(&[u8]) -> T) -> T {
    let words = ROOT + monsters.iter().map(words).sum::<usize>();
    let fill = |message: &mut Builder<HeapAllocator>| {
        let root: cp::monsters::Builder<'_> = message.init_root();
        let mut list = root.init_monsters(monsters.len() as u32);
        for (index, monster) in (0..).zip(monsters) {
            encode_monster(list.reborrow().get(index), monster);
        }
    };
    message(words, fill, done)
}

fn encode_monster(mut into: cp::monster::Builder<'_>, monster: &Monster) {
    encode_vec3(into.reborrow().init_pos(), &monster.pos);
    into.set_mana(monster.mana);
    into.set_health(monster.health);
    into.set_name(&monster.name);
    into.set_team(match monster.team {
        Team::Humans => cp::Team::Humans,
        Team::Orcs => cp::Team::Orcs,
        Team::Zombies => cp::Team::Zombies,
        Team::Robots => cp::Team::Robots,
        Team::Aliens => cp::Team::Aliens,
    });
    into.set_inventory(&monster.inventory);
    into.set_color(match monster.color {
        Color::Red => cp::Color::Red,
        Color::Green => cp::Color::Green,
        Color::Blue => cp::Color::Blue,
    });
    let mut hitbox = into.reborrow().init_hitbox(monster.hitbox.len() as u32);
    (0..).zip(monster.hitbox).for_each(|(index, side)| hitbox.set(index, side));
    let mut status = into.reborrow().init_status(monster.status.len() as u32);
    (0..).zip(&monster.status).for_each(|(index, value)| status.set(index, *value));
    let mut weapons = into.reborrow().init_weapons(monster.weapons.len() as u32);
    for (index, weapon) in (0..).zip(&monster.weapons) {
        let mut into = weapons.reborrow().get(index);
        into.set_damage(weapon.damage);
        into.set_ammo(weapon.ammo);
        into.set_clip_size(weapon.clip_size);
        into.set_reload_time(weapon.reload_time);
        into.set_range(weapon.range);
    }
    let mut path = into.reborrow().init_path(monster.path.len() as u32);
    for (index, point) in (0..).zip(&monster.path) {
        encode_vec3(path.reborrow().get(index), point);
    }
    into.set_is_alive(monster.is_alive);
}

fn encode_vec3(mut into: cp::vec3::Builder<'_>, point: &Vec3) {
    into.set_x(point.x);
    into.set_y(point.y);
    into.set_z(point.z);
}

/// Opens a message, which has to start at a multiple of 8. The traversal limit is the
/// message's own length: in what a writer made, no two pointers lead to the same word, so that
/// a message of any size is read, and one whose parts are larger together is refused.
fn open(message: &[u8]) -> Result<Reader<NoAllocSliceSegments<'_>>, Malformed> {
    let options = ReaderOptions {
        traversal_limit_in_words: Some(message.len() / 8),
        ..ReaderOptions::default()
    };
    let mut rest = message;
    let reader = serialize::read_message_from_flat_slice_no_alloc(&mut rest, options)?;
    if rest.is_empty() { Ok(reader) } else { Err(Malformed::Format) }
}

/// The monsters of a message.
fn monsters<'a>(
    message: &'a Reader<NoAllocSliceSegments<'_>>,
) -> Result<struct_list::Reader<'a, cp::monster::Owned>, Malformed> {
    Ok(message.get_root::<cp::monsters::Reader<'_>>()?.get_monsters()?)
}

/// The monsters of a message.
///
/// # Errors
///
/// When it is none, its parts are larger together than all of it, a name is no UTF-8, a team or
/// colour is none, or a monster has not five sides and four weapons.
pub fn decode(message: &[u8]) -> Result<Vec<Monster>, Malformed> {
    let mut budget = Budget::of(message);
    monsters(&open(message)?)?.iter().map(|monster| decode_monster(monster, &mut budget)).collect()
}

fn decode_monster(
    monster: cp::monster::Reader<'_>,
    budget: &mut Budget,
) -> Result<Monster, Malformed> {
    let path = monster.get_path()?;
    // A list of smaller elements is one of points, too: an older version of the schema could
    // have it. Against the traversal limit, its bytes count and not those of the points.
    budget.take(path.len() as usize * 12)?;
    Ok(Monster {
        pos: vec3(monster.get_pos()?),
        mana: monster.get_mana(),
        health: monster.get_health(),
        name: monster.get_name()?.to_string().map_err(|_| Malformed::Value)?,
        team: (monster.get_team()? as u8).try_into().map_err(|_| Malformed::Value)?,
        inventory: monster.get_inventory()?.to_vec(),
        color: (monster.get_color()? as u8).try_into().map_err(|_| Malformed::Value)?,
        hitbox: hitbox(monster.get_hitbox()?)?,
        status: monster.get_status()?.iter().collect(),
        weapons: weapons(monster)?,
        path: path.iter().map(vec3).collect(),
        is_alive: monster.get_is_alive(),
    })
}

fn vec3(point: cp::vec3::Reader<'_>) -> Vec3 {
    Vec3 { x: point.get_x(), y: point.get_y(), z: point.get_z() }
}

fn hitbox(sides: primitive_list::Reader<'_, f64>) -> Result<[f64; 5], Malformed> {
    if sides.len() != 5 {
        return Err(Malformed::Format);
    }
    Ok([0, 1, 2, 3, 4].map(|index| sides.get(index)))
}

/// A monster's weapons: four, as in the other formats.
fn weapons(monster: cp::monster::Reader<'_>) -> Result<[Weapon; 4], Malformed> {
    let weapons = monster.get_weapons()?;
    if weapons.len() != 4 {
        return Err(Malformed::Format);
    }
    Ok([0, 1, 2, 3].map(|index| {
        let weapon = weapons.get(index);
        Weapon {
            damage: weapon.get_damage(),
            ammo: weapon.get_ammo(),
            clip_size: weapon.get_clip_size(),
            reload_time: weapon.get_reload_time(),
            range: weapon.get_range(),
        }
    }))
}

/// The sum over all points of all paths, in the order of the message.
///
/// # Errors
///
/// When it is none, or its parts are larger together than all of it.
pub fn sum_vec3(message: &[u8]) -> Result<f32, Malformed> {
    monsters(&open(message)?)?.iter().try_fold(0.0, |sum, monster| {
        let points = monster.get_path()?.iter().map(vec3);
        Ok(points.fold(sum, |sum, point| sum + (point.x + point.y + point.z)))
    })
}

/// The sum over all inventories, modulo 2^32.
///
/// # Errors
///
/// As those of [`sum_vec3`].
pub fn sum_uint8(message: &[u8]) -> Result<u32, Malformed> {
    monsters(&open(message)?)?.iter().try_fold(0_u32, |sum, monster| {
        let bytes = monster.get_inventory()?.iter();
        Ok(bytes.fold(sum, |sum, byte| sum.wrapping_add(u32::from(*byte))))
    })
}

/// The sums over all weapons.
///
/// # Errors
///
/// As those of [`sum_vec3`], and when a monster has not four weapons.
pub fn sum_stats(message: &[u8]) -> Result<Stats, Malformed> {
    monsters(&open(message)?)?.iter().try_fold(Stats::default(), |mut stats, monster| {
        weapons(monster)?.into_iter().for_each(|weapon| stats.add(weapon));
        Ok(stats)
    })
}

/// A batch as a message, which `done` is given.
pub fn write<T>(readings: &[Reading], done: impl FnOnce(&[u8]) -> T) -> T {
    let fill = |message: &mut Builder<HeapAllocator>| {
        let root: cp::temperature_batch::Builder<'_> = message.init_root();
        let mut list = root.init_readings(readings.len() as u32);
        for (index, reading) in (0..).zip(readings) {
            let mut into = list.reborrow().get(index);
            into.set_timestamp(reading.timestamp);
            into.set_value(reading.value);
        }
    };
    message(ROOT + READING * readings.len(), fill, done)
}

/// The summary of a batch.
///
/// # Errors
///
/// When the message is none, or its parts are larger together than all of it.
pub fn read(message: &[u8]) -> Result<Summary, Malformed> {
    let message = open(message)?;
    let batch: cp::temperature_batch::Reader<'_> = message.get_root()?;
    let readings = batch.get_readings()?.iter();
    Ok(Summary::of(readings.map(|reading| (reading.get_timestamp(), reading.get_value()))))
}
