//! The columnar encoding after Karmem's paper. Every column of the first version of the
//! schema has to be there; columns of later versions are ignored.

use alloc::{string::String, vec::Vec};

use columnar::{Outside, Table, Writer, hash};

use crate::{Malformed, Monster, Reading, Stats, Summary, Vec3, Weapon, budget::Budget};

impl From<Outside> for Malformed {
    fn from(_: Outside) -> Self {
        Self::Format
    }
}

/// Columns of the monsters, in the order in which they are written.
mod monster {
    use super::hash;

    pub const POS: [u32; 3] = [hash(&[0, 0]), hash(&[0, 1]), hash(&[0, 2])];
    pub const MANA: u32 = hash(&[1]);
    pub const HEALTH: u32 = hash(&[2]);
    pub const NAME: [u32; 2] = [hash(&[3]), hash(&[3, 0])];
    pub const TEAM: u32 = hash(&[4]);
    pub const INVENTORY: [u32; 2] = [hash(&[5]), hash(&[5, 0])];
    pub const COLOR: u32 = hash(&[6]);
    pub const HITBOX: u32 = hash(&[7]);
    pub const STATUS: [u32; 2] = [hash(&[8]), hash(&[8, 0])];
    pub const DAMAGE: u32 = hash(&[9, 0]);
    pub const AMMO: u32 = hash(&[9, 1]);
    pub const CLIP_SIZE: u32 = hash(&[9, 2]);
    pub const RELOAD_TIME: u32 = hash(&[9, 3]);
    pub const RANGE: u32 = hash(&[9, 4]);
    pub const PATH: [u32; 4] = [hash(&[10]), hash(&[10, 0]), hash(&[10, 1]), hash(&[10, 2])];
    pub const IS_ALIVE: u32 = hash(&[11]);

    pub const ALL: [u32; 24] = [
        POS[0],
        POS[1],
        POS[2],
        MANA,
        HEALTH,
        NAME[0],
        NAME[1],
        TEAM,
        INVENTORY[0],
        INVENTORY[1],
        COLOR,
        HITBOX,
        STATUS[0],
        STATUS[1],
        DAMAGE,
        AMMO,
        CLIP_SIZE,
        RELOAD_TIME,
        RANGE,
        PATH[0],
        PATH[1],
        PATH[2],
        PATH[3],
        IS_ALIVE,
    ];
}

/// Columns of the readings.
const TIMESTAMP: u32 = hash(&[0]);
const VALUE: u32 = hash(&[1]);
/// The column of a later version of the schema: how good a reading is.
const QUALITY: u32 = hash(&[2]);

/// Monsters as a message, which `done` is given.
pub fn encode<T>(monsters: &[Monster], done: impl FnOnce(&[u8]) -> T) -> T {
    let all = || monsters.iter();
    let sum = |length: fn(&Monster) -> usize| all().map(length).sum::<usize>();
    let mut writer = Writer::new(monsters.len(), &monster::ALL);
    writer.column(all().map(|monster| monster.pos.x.to_le_bytes()));
    writer.column(all().map(|monster| monster.pos.y.to_le_bytes()));
    writer.column(all().map(|monster| monster.pos.z.to_le_bytes()));
    writer.column(all().map(|monster| monster.mana.to_le_bytes()));
    writer.column(all().map(|monster| monster.health.to_le_bytes()));
    writer.column(ends(monsters, |monster| monster.name.len()));
    writer.items(sum(|monster| monster.name.len()), all().map(|monster| &monster.name));
    writer.column(all().map(|monster| [monster.team as u8]));
    writer.column(ends(monsters, |monster| monster.inventory.len()));
    writer.items(sum(|monster| monster.inventory.len()), all().map(|monster| &monster.inventory));
    writer.column(all().map(|monster| [monster.color as u8]));
    writer.column(all().map(|monster| flat::<40, 8, 5>(monster.hitbox.map(f64::to_le_bytes))));
    writer.column(ends(monsters, |monster| monster.status.len()));
    let status = || all().flat_map(|monster| &monster.status);
    writer
        .items(4 * sum(|monster| monster.status.len()), status().map(|value| value.to_le_bytes()));
    writer.column(weapons::<16, 4>(monsters, |weapon| weapon.damage.to_le_bytes()));
    writer.column(weapons::<8, 2>(monsters, |weapon| weapon.ammo.to_le_bytes()));
    writer.column(weapons::<4, 1>(monsters, |weapon| [weapon.clip_size]));
    writer.column(weapons::<16, 4>(monsters, |weapon| weapon.reload_time.to_le_bytes()));
    writer.column(weapons::<16, 4>(monsters, |weapon| weapon.range.to_le_bytes()));
    writer.column(ends(monsters, |monster| monster.path.len()));
    let (points, bytes) =
        (|| all().flat_map(|monster| &monster.path), 4 * sum(|monster| monster.path.len()));
    writer.items(bytes, points().map(|point| point.x.to_le_bytes()));
    writer.items(bytes, points().map(|point| point.y.to_le_bytes()));
    writer.items(bytes, points().map(|point| point.z.to_le_bytes()));
    writer.column(all().map(|monster| [u8::from(monster.is_alive)]));
    done(&writer.finish())
}

/// For each monster the place in which its items end.
fn ends(
    monsters: &[Monster],
    length: impl Fn(&Monster) -> usize,
) -> impl ExactSizeIterator<Item = [u8; 4]> {
    let mut end = 0_u32;
    monsters.iter().map(move |monster| {
        // The writer refuses messages of 4 GiB, so that no end is larger.
        end = end.wrapping_add(length(monster) as u32);
        end.to_le_bytes()
    })
}

/// One field of the four weapons of each monster.
fn weapons<const ALL: usize, const EACH: usize>(
    monsters: &[Monster],
    field: impl Fn(&Weapon) -> [u8; EACH],
) -> impl ExactSizeIterator<Item = [u8; ALL]> {
    monsters.iter().map(move |monster| flat(monster.weapons.each_ref().map(&field)))
}

/// The bytes of a fixed array.
fn flat<const ALL: usize, const EACH: usize, const COUNT: usize>(
    parts: [[u8; EACH]; COUNT],
) -> [u8; ALL] {
    const { assert!(ALL == EACH * COUNT) };
    let mut all = [0; ALL];
    all.copy_from_slice(parts.as_flattened());
    all
}

/// A message whose columns are taken no more bytes of than it has.
struct Message<'a> {
    table: Table<'a>,
    budget: Budget,
}

impl<'a> Message<'a> {
    fn new(message: &'a [u8]) -> Result<Self, Malformed> {
        Ok(Self { table: Table::new(message)?, budget: Budget::of(message) })
    }

    /// A column of the first version.
    fn column<const SIZE: usize>(&mut self, hash: u32) -> Result<&'a [[u8; SIZE]], Malformed> {
        self.items(hash, self.table.rows())
    }

    /// A column of the first version, with so many elements.
    fn items<const SIZE: usize>(
        &mut self,
        hash: u32,
        length: usize,
    ) -> Result<&'a [[u8; SIZE]], Malformed> {
        let column: &[[u8; SIZE]] = self.table.items(hash, length)?.ok_or(Malformed::Format)?;
        self.budget.take(column.as_flattened().len())?;
        Ok(column)
    }

    /// The ends of the items of each row, and how many there are.
    fn ends(&mut self, hash: u32) -> Result<(&'a [[u8; 4]], usize), Malformed> {
        let ends = self.column(hash)?;
        Ok((ends, ends.last().map_or(0, |end| u32::from_le_bytes(*end) as usize)))
    }
}

/// Takes the items of row after row.
struct Rows<'a, const SIZE: usize> {
    ends: &'a [[u8; 4]],
    start: usize,
    items: &'a [[u8; SIZE]],
}

impl<'a, const SIZE: usize> Rows<'a, SIZE> {
    fn new(message: &mut Message<'a>, [ends, items]: [u32; 2]) -> Result<Self, Malformed> {
        let (ends, length) = message.ends(ends)?;
        Ok(Self { ends, start: 0, items: message.items(items, length)? })
    }

    fn take(&mut self, row: usize) -> Result<&'a [[u8; SIZE]], Malformed> {
        let end = u32::from_le_bytes(self.ends[row]) as usize;
        let items = self.items.get(self.start..end).ok_or(Malformed::Format)?;
        self.start = end;
        Ok(items)
    }
}

/// The elements of a fixed array.
fn parts<const ALL: usize, const EACH: usize, const COUNT: usize>(
    all: &[u8; ALL],
) -> [[u8; EACH]; COUNT] {
    const { assert!(ALL == EACH * COUNT) };
    let (parts, _) = all.as_chunks();
    core::array::from_fn(|index| parts[index])
}

/// The weapons, column by column.
struct Weapons<'a> {
    damage: &'a [[u8; 16]],
    ammo: &'a [[u8; 8]],
    clip_size: &'a [[u8; 4]],
    reload_time: &'a [[u8; 16]],
    range: &'a [[u8; 16]],
}

impl<'a> Weapons<'a> {
    fn new(message: &mut Message<'a>) -> Result<Self, Malformed> {
        Ok(Self {
            damage: message.column(monster::DAMAGE)?,
            ammo: message.column(monster::AMMO)?,
            clip_size: message.column(monster::CLIP_SIZE)?,
            reload_time: message.column(monster::RELOAD_TIME)?,
            range: message.column(monster::RANGE)?,
        })
    }

    fn take(&self, row: usize) -> [Weapon; 4] {
        let damage: [[u8; 4]; 4] = parts(&self.damage[row]);
        let ammo: [[u8; 2]; 4] = parts(&self.ammo[row]);
        let reload_time: [[u8; 4]; 4] = parts(&self.reload_time[row]);
        let range: [[u8; 4]; 4] = parts(&self.range[row]);
        core::array::from_fn(|slot| Weapon {
            damage: i32::from_le_bytes(damage[slot]),
            ammo: u16::from_le_bytes(ammo[slot]),
            clip_size: self.clip_size[row][slot],
            reload_time: f32::from_le_bytes(reload_time[slot]),
            range: i32::from_le_bytes(range[slot]),
        })
    }
}

/// The points of all paths, coordinate by coordinate.
fn points<'a>(
    message: &mut Message<'a>,
    length: usize,
) -> Result<impl ExactSizeIterator<Item = Vec3> + use<'a>, Malformed> {
    let [_, x, y, z] = monster::PATH;
    let [x, y, z] =
        [message.items(x, length)?, message.items(y, length)?, message.items(z, length)?];
    let point = |((x, y), z): ((&[u8; 4], &[u8; 4]), &[u8; 4])| Vec3 {
        x: f32::from_le_bytes(*x),
        y: f32::from_le_bytes(*y),
        z: f32::from_le_bytes(*z),
    };
    Ok(x.iter().zip(y).zip(z).map(point))
}

/// The monsters of a message.
///
/// # Errors
///
/// When it is none, a name is no UTF-8, a team or colour is none, or the columns are more
/// bytes than the message.
pub fn decode(message: &[u8]) -> Result<Vec<Monster>, Malformed> {
    let message = &mut Message::new(message)?;
    let [x, y, z] = monster::POS;
    let pos: [&[[u8; 4]]; 3] = [message.column(x)?, message.column(y)?, message.column(z)?];
    let mana = message.column(monster::MANA)?;
    let health = message.column(monster::HEALTH)?;
    let mut name = Rows::<1>::new(message, monster::NAME)?;
    let team = message.column(monster::TEAM)?;
    let mut inventory = Rows::<1>::new(message, monster::INVENTORY)?;
    let color = message.column(monster::COLOR)?;
    let hitbox = message.column::<40>(monster::HITBOX)?;
    let mut status = Rows::<4>::new(message, monster::STATUS)?;
    let weapons = Weapons::new(message)?;
    let (path, length) = message.ends(monster::PATH[0])?;
    let mut path_points = points(message, length)?;
    let is_alive = message.column(monster::IS_ALIVE)?;
    let mut point = 0;
    (0..message.table.rows())
        .map(|row| {
            let [x, y, z] = pos.map(|column| f32::from_le_bytes(column[row]));
            let [[team], [color], [alive]]: [[u8; 1]; 3] = [team[row], color[row], is_alive[row]];
            let end = u32::from_le_bytes(path[row]) as usize;
            let steps = end.checked_sub(point).filter(|steps| *steps <= path_points.len());
            point = end;
            Ok(Monster {
                pos: Vec3 { x, y, z },
                mana: i16::from_le_bytes(mana[row]),
                health: i16::from_le_bytes(health[row]),
                name: core::str::from_utf8(name.take(row)?.as_flattened())
                    .map(String::from)
                    .map_err(|_| Malformed::Value)?,
                team: team.try_into().map_err(|_| Malformed::Value)?,
                inventory: inventory.take(row)?.as_flattened().to_vec(),
                color: color.try_into().map_err(|_| Malformed::Value)?,
                hitbox: parts(&hitbox[row]).map(f64::from_le_bytes),
                status: status.take(row)?.iter().map(|value| i32::from_le_bytes(*value)).collect(),
                weapons: weapons.take(row),
                path: path_points.by_ref().take(steps.ok_or(Malformed::Format)?).collect(),
                is_alive: alive != 0,
            })
        })
        .collect()
}

/// The sum over all points of all paths, in the order of the message.
///
/// # Errors
///
/// When it is none, or the columns are more bytes than the message.
pub fn sum_vec3(message: &[u8]) -> Result<f32, Malformed> {
    let message = &mut Message::new(message)?;
    let (_, length) = message.ends(monster::PATH[0])?;
    Ok(points(message, length)?.fold(0.0, |sum, point| sum + (point.x + point.y + point.z)))
}

/// The sum over all inventories, modulo 2^32.
///
/// # Errors
///
/// As those of [`sum_vec3`].
pub fn sum_uint8(message: &[u8]) -> Result<u32, Malformed> {
    let message = &mut Message::new(message)?;
    let (_, length) = message.ends(monster::INVENTORY[0])?;
    let bytes = message.items::<1>(monster::INVENTORY[1], length)?.as_flattened();
    Ok(bytes.iter().fold(0, |sum, byte| sum.wrapping_add(u32::from(*byte))))
}

/// The sums over all weapons.
///
/// # Errors
///
/// As those of [`sum_vec3`].
pub fn sum_stats(message: &[u8]) -> Result<Stats, Malformed> {
    let message = &mut Message::new(message)?;
    let weapons = Weapons::new(message)?;
    let mut stats = Stats::default();
    for row in 0..message.table.rows() {
        weapons.take(row).into_iter().for_each(|weapon| stats.add(weapon));
    }
    Ok(stats)
}

/// A batch as a message, which `done` is given.
pub fn write<T>(readings: &[Reading], done: impl FnOnce(&[u8]) -> T) -> T {
    done(&batch(readings, &[TIMESTAMP, VALUE]).finish())
}

/// A batch as a later version of the schema has it: each reading with its quality, a `u32`,
/// here the reading's number.
pub fn write_grown<T>(readings: &[Reading], done: impl FnOnce(&[u8]) -> T) -> T {
    let mut writer = batch(readings, &[TIMESTAMP, VALUE, QUALITY]);
    writer.column((0..readings.len() as u32).map(u32::to_le_bytes));
    done(&writer.finish())
}

/// A message with these columns, of which the first two are written.
fn batch(readings: &[Reading], columns: &[u32]) -> Writer {
    let mut writer = Writer::new(readings.len(), columns);
    writer.column(readings.iter().map(|reading| reading.timestamp.to_le_bytes()));
    writer.column(readings.iter().map(|reading| reading.value.to_le_bytes()));
    writer
}

/// The summary of a batch.
///
/// # Errors
///
/// When the message is none, or the columns are more bytes than it.
pub fn read(message: &[u8]) -> Result<Summary, Malformed> {
    let message = &mut Message::new(message)?;
    let (timestamps, values) = (message.column(TIMESTAMP)?, message.column(VALUE)?);
    let mut summary = Summary::default();
    for (timestamp, value) in timestamps.iter().zip(values) {
        summary.add(i64::from_le_bytes(*timestamp), f32::from_le_bytes(*value));
    }
    Ok(summary)
}
