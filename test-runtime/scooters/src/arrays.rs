//! The arrays, and what a walk over them changed.

use alloc::vec::Vec;

use bytemuck::{Pod, Zeroable};

/// Most scooters there can be.
const MOST: usize = 1 << 20;

/// Places at which a walk's work is looked at, the last scooter among them.
pub const SAMPLES: usize = 8;

/// A scooter, 8 bytes.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Scooter {
    /// Its number.
    pub(crate) id: u32,
    /// How far it went.
    pub(crate) distance: u32,
}

/// All that outlives a call. Each layout has as many scooters as the largest walk over it.
#[derive(Default)]
pub(crate) struct Arrays {
    /// Array of structures, by word: `id` and `distance` in turns.
    aos: Vec<u32>,
    /// Structure of arrays.
    ids: Vec<u32>,
    distances: Vec<u32>,
    /// Array of pointers: to scooters that lie one after the other, as if allocated one by
    /// one on an empty heap.
    aop: Vec<&'static mut Scooter>,
}

contract_support::kept! { ARRAYS: Arrays }

/// Runs a walk on the arrays of this instance.
pub(crate) fn with<T>(walk: impl FnOnce(&mut Arrays) -> T) -> T {
    ARRAYS.with(walk)
}

impl Arrays {
    /// Words of an array of structures.
    pub(crate) fn aos(&mut self, count: usize) -> &mut [u32] {
        check(count);
        let there = self.aos.len() / 2;
        if there < count {
            self.aos.resize(2 * count, 0);
            for (id, [place, _]) in self.aos.as_chunks_mut().0.iter_mut().enumerate().skip(there) {
                *place = id as u32;
            }
        }
        &mut self.aos[..2 * count]
    }

    /// Numbers and distances of a structure of arrays.
    pub(crate) fn soa(&mut self, count: usize) -> (&[u32], &mut [u32]) {
        check(count);
        if self.ids.len() < count {
            self.ids.extend(self.ids.len() as u32..count as u32);
            self.distances.resize(count, 0);
        }
        (&self.ids[..count], &mut self.distances[..count])
    }

    /// An array of pointers. What a smaller walk made is left behind, at most once for each
    /// power of two.
    pub(crate) fn aop(&mut self, count: usize) -> &mut [&'static mut Scooter] {
        check(count);
        if self.aop.len() < count {
            let all = 0..count.next_power_of_two() as u32;
            let scooters: Vec<_> = all.map(|id| Scooter { id, distance: 0 }).collect();
            self.aop = scooters.leak().iter_mut().collect();
        }
        &mut self.aop[..count]
    }
}

fn check(count: usize) {
    assert!(count <= MOST, "the input asks for too many scooters");
}

/// The host's question.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    /// How many scooters.
    pub(crate) count: usize,
    /// How far each goes.
    pub(crate) more: u32,
    /// `true` to look at all of them.
    pub(crate) all: bool,
}

/// Runs a walk over an array of scooters and says what it changed: in the high half the sum
/// of how much further the sampled ones went, modulo 2^32, in the low half that of their
/// numbers. `place` gives the number of a scooter and the place of its distance.
///
/// Where all are to be looked at, each begins at a distance of its own, and the answer is a
/// checksum over the number and the distance of every scooter in the end.
pub(crate) fn observed<A: ?Sized>(
    array: &mut A,
    Asked { count, all, .. }: Asked,
    place: impl for<'a> Fn(&'a mut A, usize) -> (u32, &'a mut u32),
    walk: impl FnOnce(&mut A),
) -> u64 {
    let places = (0..SAMPLES).map(|sample| (sample + 1) * count / SAMPLES).filter(|end| *end > 0);
    let sum = |array: &mut A| {
        places.clone().fold((0_u32, 0_u32), |(distances, ids), end| {
            let (id, distance) = place(array, end - 1);
            (distances.wrapping_add(*distance), ids.wrapping_add(id))
        })
    };
    if all {
        (0..count).for_each(|index| *place(array, index).1 = spread(index as u32));
    }
    let (before, _) = sum(array);
    walk(array);
    if all {
        return (0..count).fold(count as u64, |checksum, index| {
            let (id, distance) = place(array, index);
            let word = u64::from(id) << 32 | u64::from(*distance);
            (checksum.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)
        });
    }
    let (after, ids) = sum(array);
    u64::from(after.wrapping_sub(before)) << 32 | u64::from(ids)
}

/// A distance to begin with, another one for each scooter.
fn spread(index: u32) -> u32 {
    index.wrapping_mul(0x9e37_79b9)
}
