//! Records from a seed, the same everywhere.

use alloc::{string::ToString, vec::Vec};

use crate::{Color, Monster, Reading, Team, Vec3, Weapon};

/// 30 bytes of UTF-8, as in Karmem's benchmark: letters of one, two and three bytes.
const NAME: &str = "Ǩ翐p±ƀ鵁灉Ĭ冖ɠctqo酂";

/// Monsters as Karmem's benchmark has them: 100 things each, a status of eight numbers and
/// a path of `points`. Little work, so that it weighs little beside the encoding.
#[must_use]
pub fn monsters(count: usize, points: usize, seed: u64) -> Vec<Monster> {
    let mut random = Random(seed);
    (0..count).map(|index| monster(index, points, &mut random)).collect()
}

fn monster(index: usize, points: usize, random: &mut Random) -> Monster {
    let number = index as i32;
    Monster {
        pos: Vec3 { x: 1.0, y: 2.0, z: 3.0 },
        mana: number as i16,
        health: (2 * number) as i16,
        name: NAME.to_string(),
        team: Team::Aliens,
        inventory: [index as u8; 100].to_vec(),
        color: Color::Red,
        hitbox: [4.2, 313.12, 4.02, 90.0, -2942.123],
        status: [23123, 83859, 30_123_123, 34123, -23111, -923, 93123, 11123].to_vec(),
        weapons: core::array::from_fn(|slot| Weapon {
            damage: 100 + number,
            ammo: slot as u16,
            clip_size: index as u8,
            reload_time: 1.423_224_2,
            range: number,
        }),
        path: (0..points)
            .map(|point| Vec3 {
                x: random.fraction(),
                y: index as f32,
                z: (index * point) as f32 * 0.33,
            })
            .collect(),
        is_alive: index.is_multiple_of(2),
    }
}

/// Temperatures, one a second.
#[must_use]
pub fn batch(count: usize, seed: u64) -> Vec<Reading> {
    let mut random = Random(seed);
    (0..count)
        .map(|index| Reading {
            timestamp: 1_700_000_000 + index as i64,
            value: 15.0 + 20.0 * random.fraction(),
        })
        .collect()
}

/// A linear congruential generator, Knuth's multiplier.
struct Random(u64);

impl Random {
    /// From 0 up to 1, a multiple of 2^-24.
    #[inline]
    fn fraction(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 40) as f32 / 16_777_216.0
    }
}
