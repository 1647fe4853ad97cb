//! FlatBuffers, by planus: each access is checked when it is made, and there is no
//! verification before.

use alloc::{string::ToString, vec::Vec};

use planus::{Builder, Offset, ReadAsRoot, Vector};

use crate::generated::records as fb;
use crate::{Malformed, Monster, Reading, Stats, Summary, Vec3, Weapon, budget::Budget};

impl From<planus::Error> for Malformed {
    fn from(_: planus::Error) -> Self {
        Self::Format
    }
}

/// Monsters as a buffer, which `done` is given.
pub fn encode<T>(monsters: &[Monster], done: impl FnOnce(&[u8]) -> T) -> T {
    let mut builder = Builder::new();
    let offsets: Vec<Offset<fb::Monster>> =
        monsters.iter().map(|monster| encode_monster(&mut builder, monster)).collect();
    let root = fb::Monsters::create(&mut builder, &offsets[..]);
    done(builder.finish(root, None))
}

fn encode_monster(builder: &mut Builder, monster: &Monster) -> Offset<fb::Monster> {
    fb::Monster::create(
        builder,
        Some(monster.pos),
        monster.mana,
        monster.health,
        &monster.name[..],
        monster.team,
        &monster.inventory[..],
        monster.color,
        &monster.hitbox[..],
        &monster.status[..],
        &monster.weapons[..],
        &monster.path[..],
        monster.is_alive,
    )
}

/// The vector of a field that has to be there.
fn present<T>(field: planus::Result<Option<T>>) -> Result<T, Malformed> {
    field?.ok_or(Malformed::Format)
}

/// The monsters of a buffer, each of which is four bytes and what it points to.
fn monsters(
    buffer: &[u8],
) -> Result<impl ExactSizeIterator<Item = planus::Result<fb::MonsterRef<'_>>>, Malformed> {
    Ok(present(fb::MonstersRef::read_as_root(buffer)?.monsters())?.iter())
}

/// The monsters of a buffer.
///
/// # Errors
///
/// When it is none, or the monsters are more bytes than it.
pub fn decode(buffer: &[u8]) -> Result<Vec<Monster>, Malformed> {
    let mut budget = Budget::of(buffer);
    monsters(buffer)?.map(|monster| decode_monster(monster?, &mut budget)).collect()
}

fn decode_monster(monster: fb::MonsterRef<'_>, budget: &mut Budget) -> Result<Monster, Malformed> {
    let (name, inventory) = (present(monster.name())?, present(monster.inventory())?);
    let (status, path) = (present(monster.status())?, present(monster.path())?);
    budget.take(name.len() + inventory.len() + status.len() * 4 + path.len() * 12)?;
    Ok(Monster {
        pos: vec3(present(monster.pos())?),
        mana: monster.mana()?,
        health: monster.health()?,
        name: name.to_string(),
        team: monster.team()?,
        inventory: inventory.to_vec(),
        color: monster.color()?,
        hitbox: hitbox(present(monster.hitbox())?)?,
        status: status.iter().collect(),
        weapons: weapons(monster)?,
        path: path.iter().map(vec3).collect(),
        is_alive: monster.is_alive()?,
    })
}

fn vec3(point: fb::Vec3Ref<'_>) -> Vec3 {
    Vec3 { x: point.x(), y: point.y(), z: point.z() }
}

fn hitbox(sides: Vector<'_, f64>) -> Result<[f64; 5], Malformed> {
    let mut hitbox = [0.0; 5];
    if sides.len() != hitbox.len() {
        return Err(Malformed::Format);
    }
    hitbox.iter_mut().zip(sides).for_each(|(side, value)| *side = value);
    Ok(hitbox)
}

/// A monster's weapons: four, as in the other formats.
fn weapons(monster: fb::MonsterRef<'_>) -> Result<[Weapon; 4], Malformed> {
    let weapons = present(monster.weapons())?;
    let at = |index| -> Result<Weapon, Malformed> {
        let weapon: fb::WeaponRef<'_> = weapons.get(index).ok_or(Malformed::Format)??;
        Ok(Weapon {
            damage: weapon.damage()?,
            ammo: weapon.ammo()?,
            clip_size: weapon.clip_size()?,
            reload_time: weapon.reload_time()?,
            range: weapon.range()?,
        })
    };
    if weapons.len() != 4 {
        return Err(Malformed::Format);
    }
    Ok([at(0)?, at(1)?, at(2)?, at(3)?])
}

/// The sum over all points of all paths, in the order of the buffer.
///
/// # Errors
///
/// When it is none, or the paths are more bytes than it.
pub fn sum_vec3(buffer: &[u8]) -> Result<f32, Malformed> {
    let mut budget = Budget::of(buffer);
    monsters(buffer)?.try_fold(0.0, |sum, monster| {
        let path = present(monster?.path())?;
        budget.take(path.len() * 12)?;
        Ok(path.iter().fold(sum, |sum, point| sum + (point.x() + point.y() + point.z())))
    })
}

/// The sum over all inventories, modulo 2^32.
///
/// # Errors
///
/// When it is none, or the inventories are more bytes than it.
pub fn sum_uint8(buffer: &[u8]) -> Result<u32, Malformed> {
    let mut budget = Budget::of(buffer);
    monsters(buffer)?.try_fold(0_u32, |sum, monster| {
        let inventory = present(monster?.inventory())?;
        budget.take(inventory.len())?;
        Ok(inventory.iter().fold(sum, |sum, byte| sum.wrapping_add(u32::from(*byte))))
    })
}

/// The sums over all weapons.
///
/// # Errors
///
/// When the buffer is none, or a monster has not four weapons.
pub fn sum_stats(buffer: &[u8]) -> Result<Stats, Malformed> {
    monsters(buffer)?.try_fold(Stats::default(), |mut stats, monster| {
        weapons(monster?)?.into_iter().for_each(|weapon| stats.add(weapon));
        Ok(stats)
    })
}

/// A batch as a buffer, which `done` is given.
pub fn write<T>(readings: &[Reading], done: impl FnOnce(&[u8]) -> T) -> T {
    let mut builder = Builder::new();
    let root = fb::TemperatureBatch::create(&mut builder, readings);
    done(builder.finish(root, None))
}

/// The summary of a batch.
///
/// # Errors
///
/// When the buffer is none.
pub fn read(buffer: &[u8]) -> Result<Summary, Malformed> {
    let batch = fb::TemperatureBatchRef::read_as_root(buffer)?;
    present(batch.readings())?.iter().try_fold(Summary::default(), |mut summary, reading| {
        let reading = reading?;
        summary.add(reading.timestamp()?, reading.value()?);
        Ok(summary)
    })
}
