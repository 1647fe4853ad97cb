//! Records as a program has them, and their summary.

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::{Color, Team, Vec3, Weapon, checksum::Checksum};

/// A monster of Karmem's benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Monster {
    /// Where it is.
    pub pos: Vec3,
    /// Its mana.
    pub mana: i16,
    /// Its health.
    pub health: i16,
    /// Its name.
    pub name: String,
    /// Its team.
    pub team: Team,
    /// The carried items.
    pub inventory: Vec<u8>,
    /// Its colour.
    pub color: Color,
    /// Its hit box.
    pub hitbox: [f64; 5],
    /// Its status.
    pub status: Vec<i32>,
    /// Its weapons.
    pub weapons: [Weapon; 4],
    /// Where it goes.
    pub path: Vec<Vec3>,
    /// `true` if it lives.
    pub is_alive: bool,
}

/// A checksum over one value of each field of each monster, the next one of an array with
/// each monster, so that it costs next to nothing beside the decoding.
#[must_use]
pub fn decoded(monsters: &[Monster]) -> u64 {
    let mut checksum = Checksum::new();
    checksum.word(monsters.len() as u64);
    for (index, monster) in monsters.iter().enumerate() {
        let one =
            |length: usize| if length == 0 { 0..0 } else { index % length..index % length + 1 };
        add(&mut checksum, monster, one);
    }
    checksum.finish()
}

/// The same over every value.
#[must_use]
pub fn decoded_all(monsters: &[Monster]) -> u64 {
    let mut checksum = Checksum::new();
    checksum.word(monsters.len() as u64);
    for monster in monsters {
        add(&mut checksum, monster, |length| 0..length);
    }
    checksum.finish()
}

/// Adds a monster; `part` says which elements of an array of some length.
fn add(
    checksum: &mut Checksum,
    monster: &Monster,
    part: impl Fn(usize) -> core::ops::Range<usize>,
) {
    let Monster { pos, name, inventory, hitbox, status, weapons, path, .. } = monster;
    let mut point = |point: &Vec3| {
        let Vec3 { x, y, z } = *point;
        checksum.word(u64::from(x.to_bits()) << 32 | u64::from(y.to_bits()));
        checksum.word(u64::from(z.to_bits()));
    };
    point(pos);
    path[part(path.len())].iter().for_each(point);
    for byte in &name.as_bytes()[part(name.len())] {
        checksum.word(u64::from(*byte));
    }
    for byte in &inventory[part(inventory.len())] {
        checksum.word(u64::from(*byte));
    }
    for side in &hitbox[part(hitbox.len())] {
        checksum.word(side.to_bits());
    }
    for value in &status[part(status.len())] {
        checksum.word(*value as u64);
    }
    for weapon in &weapons[part(weapons.len())] {
        let Weapon { damage, ammo, clip_size, reload_time, range } = *weapon;
        checksum.word(u64::from(damage as u32) << 32 | u64::from(range as u32));
        checksum.word(u64::from(reload_time.to_bits()) << 32 | u64::from(ammo) << 16);
        checksum.word(u64::from(clip_size));
    }
    checksum.word(u64::from(monster.mana as u16) << 16 | u64::from(monster.health as u16));
    checksum.word(
        (monster.team as u64) << 16 | (monster.color as u64) << 8 | u64::from(monster.is_alive),
    );
    for length in [name.len(), inventory.len(), status.len(), path.len()] {
        checksum.word(length as u64);
    }
}

/// Sums over all weapons, modulo their types' sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stats {
    /// Of the damages.
    pub damage: i32,
    /// Of the ammunition.
    pub ammo: u16,
    /// Of the clips.
    pub clip_size: u8,
    /// Of the times to reload, in the order of the message.
    pub reload_time: f32,
    /// Of the ranges.
    pub range: i32,
}

impl Stats {
    /// Adds a weapon.
    #[inline]
    pub fn add(&mut self, weapon: Weapon) {
        self.damage = self.damage.wrapping_add(weapon.damage);
        self.ammo = self.ammo.wrapping_add(weapon.ammo);
        self.clip_size = self.clip_size.wrapping_add(weapon.clip_size);
        self.reload_time += weapon.reload_time;
        self.range = self.range.wrapping_add(weapon.range);
    }

    /// All of them as one number.
    #[must_use]
    pub fn checksum(self) -> u64 {
        let mut checksum = Checksum::new();
        checksum.word(self.damage as u64);
        checksum.word(u64::from(self.ammo));
        checksum.word(u64::from(self.clip_size));
        checksum.word(u64::from(self.reload_time.to_bits()));
        checksum.word(self.range as u64);
        checksum.finish()
    }
}

/// Sum, smallest, largest and average of the readings' values, and the newest time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    count: u32,
    sum: f32,
    smallest: f32,
    largest: f32,
    newest: i64,
}

impl Default for Summary {
    fn default() -> Self {
        Self {
            count: 0,
            sum: 0.0,
            smallest: f32::INFINITY,
            largest: f32::NEG_INFINITY,
            newest: i64::MIN,
        }
    }
}

impl Summary {
    /// Of readings, each a time and a value.
    #[inline]
    pub fn of(readings: impl Iterator<Item = (i64, f32)>) -> Self {
        let mut summary = Self::default();
        readings.for_each(|(timestamp, value)| summary.add(timestamp, value));
        summary
    }

    /// Adds a reading.
    #[inline]
    pub fn add(&mut self, timestamp: i64, value: f32) {
        self.count += 1;
        self.sum += value;
        self.smallest = if value < self.smallest { value } else { self.smallest };
        self.largest = if value > self.largest { value } else { self.largest };
        self.newest = self.newest.max(timestamp);
    }

    /// All of it as one number.
    #[must_use]
    pub fn checksum(self) -> u64 {
        let average = if self.count == 0 { 0.0 } else { self.sum / self.count as f32 };
        let mut checksum = Checksum::new();
        for value in [self.sum, self.smallest, self.largest, average] {
            checksum.word(u64::from(value.to_bits()));
        }
        checksum.word(u64::from(self.count));
        checksum.word(self.newest as u64);
        checksum.finish()
    }
}
