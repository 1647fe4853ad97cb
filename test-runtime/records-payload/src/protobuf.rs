//! Protobuf, by prost. Its structures are written by hand, as prost-build would make them of
//! a schema of version 3. prost encodes structures of its own only, so that encoding copies
//! the records into those first, and decoding copies them out.

use alloc::{string::String, vec::Vec};

use prost::Message;

use crate::{Malformed, Monster, Reading, Summary, Vec3, Weapon};

#[derive(Clone, PartialEq, Message)]
struct ProtoVec3 {
    #[prost(float, tag = "1")]
    x: f32,
    #[prost(float, tag = "2")]
    y: f32,
    #[prost(float, tag = "3")]
    z: f32,
}

#[derive(Clone, PartialEq, Message)]
struct ProtoWeapon {
    #[prost(sint32, tag = "1")]
    damage: i32,
    #[prost(uint32, tag = "2")]
    ammo: u32,
    #[prost(uint32, tag = "3")]
    clip_size: u32,
    #[prost(float, tag = "4")]
    reload_time: f32,
    #[prost(sint32, tag = "5")]
    range: i32,
}

#[derive(Clone, PartialEq, Message)]
struct ProtoMonster {
    #[prost(message, optional, tag = "1")]
    pos: Option<ProtoVec3>,
    #[prost(sint32, tag = "2")]
    mana: i32,
    #[prost(sint32, tag = "3")]
    health: i32,
    #[prost(string, tag = "4")]
    name: String,
    #[prost(uint32, tag = "5")]
    team: u32,
    #[prost(bytes = "vec", tag = "6")]
    inventory: Vec<u8>,
    #[prost(uint32, tag = "7")]
    color: u32,
    #[prost(double, repeated, tag = "8")]
    hitbox: Vec<f64>,
    #[prost(sint32, repeated, tag = "9")]
    status: Vec<i32>,
    #[prost(message, repeated, tag = "10")]
    weapons: Vec<ProtoWeapon>,
    #[prost(message, repeated, tag = "11")]
    path: Vec<ProtoVec3>,
    #[prost(bool, tag = "12")]
    is_alive: bool,
}

#[derive(Clone, PartialEq, Message)]
struct ProtoMonsters {
    #[prost(message, repeated, tag = "1")]
    monsters: Vec<ProtoMonster>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct ProtoReading {
    #[prost(int64, tag = "1")]
    timestamp: i64,
    #[prost(float, tag = "2")]
    value: f32,
}

#[derive(Clone, PartialEq, Message)]
struct ProtoBatch {
    #[prost(message, repeated, tag = "1")]
    readings: Vec<ProtoReading>,
}

impl From<prost::DecodeError> for Malformed {
    fn from(_: prost::DecodeError) -> Self {
        Self::Format
    }
}

impl From<&Vec3> for ProtoVec3 {
    fn from(&Vec3 { x, y, z }: &Vec3) -> Self {
        Self { x, y, z }
    }
}

impl From<ProtoVec3> for Vec3 {
    fn from(ProtoVec3 { x, y, z }: ProtoVec3) -> Self {
        Self { x, y, z }
    }
}

impl From<&Monster> for ProtoMonster {
    fn from(monster: &Monster) -> Self {
        Self {
            pos: Some((&monster.pos).into()),
            mana: monster.mana.into(),
            health: monster.health.into(),
            name: monster.name.clone(),
            team: monster.team as u32,
            inventory: monster.inventory.clone(),
            color: monster.color as u32,
            hitbox: monster.hitbox.to_vec(),
            status: monster.status.clone(),
            weapons: monster
                .weapons
                .iter()
                .map(|weapon| ProtoWeapon {
                    damage: weapon.damage,
                    ammo: weapon.ammo.into(),
                    clip_size: weapon.clip_size.into(),
                    reload_time: weapon.reload_time,
                    range: weapon.range,
                })
                .collect(),
            path: monster.path.iter().map(Into::into).collect(),
            is_alive: monster.is_alive,
        }
    }
}

/// A number of the wire in the type of a record.
fn narrow<N, T: TryFrom<N>>(number: N) -> Result<T, Malformed> {
    number.try_into().map_err(|_| Malformed::Value)
}

fn weapon(weapon: &ProtoWeapon) -> Result<Weapon, Malformed> {
    Ok(Weapon {
        damage: weapon.damage,
        ammo: narrow(weapon.ammo)?,
        clip_size: narrow(weapon.clip_size)?,
        reload_time: weapon.reload_time,
        range: weapon.range,
    })
}

impl TryFrom<ProtoMonster> for Monster {
    type Error = Malformed;

    fn try_from(monster: ProtoMonster) -> Result<Self, Malformed> {
        let [first, second, third, fourth] = &monster.weapons[..] else {
            return Err(Malformed::Format);
        };
        Ok(Self {
            pos: monster.pos.ok_or(Malformed::Format)?.into(),
            mana: narrow(monster.mana)?,
            health: narrow(monster.health)?,
            name: monster.name,
            team: narrow(narrow::<_, u8>(monster.team)?)?,
            inventory: monster.inventory,
            color: narrow(narrow::<_, u8>(monster.color)?)?,
            hitbox: narrow(monster.hitbox)?,
            status: monster.status,
            weapons: [weapon(first)?, weapon(second)?, weapon(third)?, weapon(fourth)?],
            path: monster.path.into_iter().map(Into::into).collect(),
            is_alive: monster.is_alive,
        })
    }
}

/// Monsters as a message, which `done` is given.
pub fn encode<T>(monsters: &[Monster], done: impl FnOnce(&[u8]) -> T) -> T {
    done(&ProtoMonsters { monsters: monsters.iter().map(Into::into).collect() }.encode_to_vec())
}

/// The monsters of a message.
///
/// # Errors
///
/// When it is none, a number is too large for its field, or a team or colour is none.
pub fn decode(message: &[u8]) -> Result<Vec<Monster>, Malformed> {
    ProtoMonsters::decode(message)?.monsters.into_iter().map(TryInto::try_into).collect()
}

/// A batch as a message, which `done` is given.
pub fn write<T>(readings: &[Reading], done: impl FnOnce(&[u8]) -> T) -> T {
    let readings = readings
        .iter()
        .map(|reading| ProtoReading { timestamp: reading.timestamp, value: reading.value })
        .collect();
    done(&ProtoBatch { readings }.encode_to_vec())
}

/// The summary of a batch.
///
/// # Errors
///
/// When the message is none.
pub fn read(message: &[u8]) -> Result<Summary, Malformed> {
    let batch = ProtoBatch::decode(message)?;
    Ok(Summary::of(batch.readings.iter().map(|reading| (reading.timestamp, reading.value))))
}
