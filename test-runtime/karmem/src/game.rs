//! The schema of Karmem's benchmark: monsters, each with a path of points.
//!
//! | field of `MonsterData` | offset | bytes |
//! |---|---|---|
//! | size | 0 | 4 |
//! | `pos`: `Vec3` | 4 | 12 |
//! | `mana`: `i16` | 16 | 2 |
//! | `health`: `i16` | 18 | 2 |
//! | `name`: up to 512 bytes | 20 | 8 |
//! | `team`: `u8` | 28 | 1 |
//! | `inventory`: up to 128 bytes | 29 | 8 |
//! | `color`: `u8` | 37 | 1 |
//! | `hitbox`: five `f64` | 38 | 40 |
//! | `status`: up to ten `i32` | 78 | 8 |
//! | `weapons`: four `Weapon` | 86 | 16 |
//! | `path`: up to 2000 `Vec3` | 102 | 8 |
//! | `is_alive`: `bool` | 110 | 1 |
//!
//! `Vec3` is inline: `x`, `y`, `z`, `f32` each. `Weapon` and `Monster` are inline and hold
//! the offset of a `WeaponData` or `MonsterData`. `WeaponData` is a table: `damage: i32` at
//! 4, `ammo: u16` at 8, `clip_size: u8` at 10, `reload_time: f32` at 11, `range: i32` at
//! 15. `Monsters`, the root, is a table with one array of up to 2000 `Monster` at 4.

use crate::{Message, Table};

/// Bytes of a `Vec3`.
pub const VEC3: usize = 12;
/// Bytes of a `WeaponData`.
pub const WEAPON_DATA: usize = 19;
/// Bytes of a `Weapon`.
pub const WEAPON: usize = 4;
/// Bytes of a `MonsterData`.
pub const MONSTER_DATA: usize = 111;
/// Bytes of a `Monster`.
pub const MONSTER: usize = 4;
/// Bytes of a `Monsters`.
pub const MONSTERS: usize = 12;

/// Most bytes of a name.
pub const NAME_CAPACITY: usize = 512;
/// Most bytes of an inventory.
pub const INVENTORY_CAPACITY: usize = 128;
/// Most entries of a status.
pub const STATUS_CAPACITY: usize = 10;
/// Most points of a path.
pub const PATH_CAPACITY: usize = 2000;
/// Most monsters.
pub const MONSTERS_CAPACITY: usize = 2000;

/// All monsters of a message, in its order.
pub fn monsters(message: Message<'_>) -> impl ExactSizeIterator<Item = MonsterData<'_>> {
    message
        .array::<MONSTER>(message.root().field(4), MONSTERS_CAPACITY)
        .iter()
        .map(move |place| MonsterData { message, table: message.table(u32::from_le_bytes(*place)) })
}

/// A monster.
#[derive(Clone, Copy, Debug)]
pub struct MonsterData<'a> {
    message: Message<'a>,
    table: Table<'a>,
}

impl<'a> MonsterData<'a> {
    /// Where it is.
    #[must_use]
    pub fn pos(self) -> [f32; 3] {
        vec3(&self.table.field(4))
    }

    /// Its mana.
    #[must_use]
    pub fn mana(self) -> i16 {
        i16::from_le_bytes(self.table.field(16))
    }

    /// Its health.
    #[must_use]
    pub fn health(self) -> i16 {
        i16::from_le_bytes(self.table.field(18))
    }

    /// Its name; the format does not say that it is UTF-8.
    #[must_use]
    pub fn name(self) -> &'a [u8] {
        self.array::<1>(20, NAME_CAPACITY).as_flattened()
    }

    /// Its team's number.
    #[must_use]
    pub fn team(self) -> u8 {
        let [team] = self.table.field(28);
        team
    }

    /// The carried items.
    #[must_use]
    pub fn inventory(self) -> &'a [u8] {
        self.array::<1>(29, INVENTORY_CAPACITY).as_flattened()
    }

    /// Its colour's number.
    #[must_use]
    pub fn color(self) -> u8 {
        let [color] = self.table.field(37);
        color
    }

    /// Its hit box.
    #[must_use]
    pub fn hitbox(self) -> [f64; 5] {
        core::array::from_fn(|index| f64::from_le_bytes(self.table.field(38 + 8 * index)))
    }

    /// Its status.
    pub fn status(self) -> impl ExactSizeIterator<Item = i32> + use<'a> {
        self.array(78, STATUS_CAPACITY).iter().map(|value| i32::from_le_bytes(*value))
    }

    /// Its weapons. Where the table ends before them, none of them has fields; an offset of
    /// 0 in the table is that of the root.
    #[must_use]
    pub fn weapons(self) -> [WeaponData<'a>; 4] {
        if self.table.size() < 86 + 4 * WEAPON {
            return [WeaponData { table: Table::default() }; 4];
        }
        core::array::from_fn(|index| {
            let offset = u32::from_le_bytes(self.table.field(86 + WEAPON * index));
            WeaponData { table: self.message.table(offset) }
        })
    }

    /// Its path; [`vec3`] makes numbers of a point.
    #[must_use]
    pub fn path(self) -> &'a [[u8; VEC3]] {
        self.array(102, PATH_CAPACITY)
    }

    /// `true` if it lives.
    #[must_use]
    pub fn is_alive(self) -> bool {
        let [alive] = self.table.field(110);
        alive != 0
    }

    /// How many bytes of the message it says are its own: its table, its arrays and its
    /// weapons' tables. In what a writer made, no byte has two owners.
    #[must_use]
    pub fn extent(self) -> usize {
        let arrays = self.name().len()
            + self.inventory().len()
            + self.status().len() * 4
            + self.path().len() * VEC3;
        let weapons: usize = self.weapons().iter().map(|weapon| weapon.table.size()).sum();
        self.table.size() + arrays + weapons
    }

    fn array<const SIZE: usize>(self, offset: usize, capacity: usize) -> &'a [[u8; SIZE]] {
        self.message.array(self.table.field(offset), capacity)
    }
}

/// The effect of a weapon.
#[derive(Clone, Copy, Debug)]
pub struct WeaponData<'a> {
    table: Table<'a>,
}

impl WeaponData<'_> {
    /// Its damage.
    #[must_use]
    pub fn damage(self) -> i32 {
        i32::from_le_bytes(self.table.field(4))
    }

    /// Its ammunition.
    #[must_use]
    pub fn ammo(self) -> u16 {
        u16::from_le_bytes(self.table.field(8))
    }

    /// Size of its clip.
    #[must_use]
    pub fn clip_size(self) -> u8 {
        let [clip_size] = self.table.field(10);
        clip_size
    }

    /// How long it takes to reload.
    #[must_use]
    pub fn reload_time(self) -> f32 {
        f32::from_le_bytes(self.table.field(11))
    }

    /// How far it reaches.
    #[must_use]
    pub fn range(self) -> i32 {
        i32::from_le_bytes(self.table.field(15))
    }
}

/// The numbers of a point.
#[must_use]
pub fn vec3(bytes: &[u8; VEC3]) -> [f32; 3] {
    let [x0, x1, x2, x3, y0, y1, y2, y3, z0, z1, z2, z3] = *bytes;
    [[x0, x1, x2, x3], [y0, y1, y2, y3], [z0, z1, z2, z3]].map(f32::from_le_bytes)
}
