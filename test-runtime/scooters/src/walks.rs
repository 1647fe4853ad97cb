//! The walks. Each is a function of its own, so that none is compiled into another.

use core::hint::black_box;

use crate::arrays::{Asked, Scooter, observed, with};
use crate::vector;

/// Words of a scooter, and where its distance is among them.
const STRIDE: usize = 2;
const OFFSET: usize = 1;

/// The `u32` that the host keeps as the input: how many scooters, how far they go, and if
/// there is a third one, whether all are looked at. Traps where the input is something else.
fn asked() -> Asked {
    let input = contract_support::input();
    let (count, more, all) = match input.as_chunks() {
        ([count, more], []) => (count, more, &[0; 4]),
        ([count, more, all], []) => (count, more, all),
        _ => panic!("the input is two numbers or three, of 4 bytes each"),
    };
    let [count, more, all] = [count, more, all].map(|bytes| u32::from_le_bytes(*bytes));
    Asked { count: count as usize, more, all: all != 0 }
}

/// A walk over the words of an array of structures.
fn words(walk: impl FnOnce(&mut [u32], u32)) -> u64 {
    let asked = asked();
    with(|arrays| {
        observed(
            arrays.aos(asked.count),
            asked,
            |words, index| {
                let [id, distance] = &mut words.as_chunks_mut().0[index];
                (*id, distance)
            },
            |words| walk(black_box(words), asked.more),
        )
    })
}

/// A walk over the distances of a structure of arrays.
fn distances(walk: impl FnOnce(&mut [u32], u32)) -> u64 {
    let asked = asked();
    with(|arrays| {
        let (ids, distances) = arrays.soa(asked.count);
        observed(
            distances,
            asked,
            |distances, index| (ids[index], &mut distances[index]),
            |distances| walk(black_box(distances), asked.more),
        )
    })
}

/// An array of structures, as a program would write it.
#[must_use]
pub fn native() -> u64 {
    words(|words, more| {
        for scooter in bytemuck::cast_slice_mut::<u32, Scooter>(words) {
            scooter.distance = scooter.distance.wrapping_add(more);
        }
    })
}

/// An array of structures, by constant offset and stride.
#[must_use]
pub fn fixed() -> u64 {
    words(|words, more| add_every::<Constant>(words, more, Constant))
}

/// An array of structures, by a stride that only the running program knows.
#[must_use]
pub fn stride() -> u64 {
    words(|words, more| add_every(words, more, black_box(STRIDE)))
}

/// A stride: a number, or a constant that the compiler sees.
trait Words: Copy {
    fn words(self) -> usize;
}

#[derive(Clone, Copy)]
struct Constant;

impl Words for Constant {
    #[inline(always)]
    fn words(self) -> usize {
        STRIDE
    }
}

impl Words for usize {
    #[inline(always)]
    fn words(self) -> usize {
        self
    }
}

/// The same source for both: an index that goes up by the stride.
#[inline(always)]
fn add_every<S: Words>(words: &mut [u32], more: u32, stride: S) {
    let mut index = OFFSET;
    while index < words.len() {
        words[index] = words[index].wrapping_add(more);
        index += stride.words();
    }
}

/// An array of structures, two scooters at a time: their numbers plus zero.
#[must_use]
pub fn fixed_simd() -> u64 {
    words(|words, more| {
        let rest = vector::add(words, [0, more, 0, more]);
        add_every(rest, more, Constant);
    })
}

/// A structure of arrays.
#[must_use]
pub fn soa() -> u64 {
    distances(|distances, more| {
        for distance in distances {
            *distance = distance.wrapping_add(more);
        }
    })
}

/// A structure of arrays, four scooters at a time.
#[must_use]
pub fn soa_simd() -> u64 {
    distances(|distances, more| {
        for distance in vector::add(distances, [more; 4]) {
            *distance = distance.wrapping_add(more);
        }
    })
}

/// An array of pointers.
#[must_use]
pub fn aop() -> u64 {
    let asked = asked();
    with(|arrays| {
        observed(
            arrays.aop(asked.count),
            asked,
            |scooters, index| (scooters[index].id, &mut scooters[index].distance),
            |scooters| {
                for scooter in black_box(scooters) {
                    scooter.distance = scooter.distance.wrapping_add(asked.more);
                }
            },
        )
    })
}
