//! Calls that an executor has to stop, each in one way of its own.

use core::{hint::black_box, num::NonZeroU32};

use guest_support::{Output, memory, unpack};

mod import {
    guest_support::imports! {
        /// A function that no host has.
        pub safe fn ext_touchstone_missing_version_1(value: i32) -> i64;
    }
}

/// Executes `unreachable`.
pub fn trap(_: &[u8]) -> Output {
    guest_support::unreachable()
}

/// Never returns and calls nothing.
pub fn endless_loop(_: &[u8]) -> Output {
    loop {
        core::hint::spin_loop();
    }
}

/// Recurses until the executor's stack is exhausted.
pub fn stack_overflow(_: &[u8]) -> Output {
    descend(1).into()
}

/// Keeps nothing in linear memory, so that the call stack ends before the
/// stack in memory does; each level needs its result from the level below.
#[inline(never)]
fn descend(depth: u32) -> u32 {
    static SALT: u32 = 0x9e37_79b9;
    // SAFETY: a reference to a live, initialised static; volatile, so that the
    // compiler knows nothing about the value.
    let salt = unsafe { (&raw const SALT).read_volatile() };
    if salt == depth {
        return depth;
    }
    // A depth that is not a multiple of 16 never meets the salt.
    descend(depth.wrapping_add(16)).rotate_left(7) ^ salt
}

/// Executes an integer division by zero.
pub fn divide_by_zero(_: &[u8]) -> Output {
    // SAFETY: deliberately broken, as the language checks every division that
    // could trap and would reach `unreachable` instead. `black_box` keeps the
    // zero from the compiler, which therefore leaves a plain division, and that
    // is defined to trap.
    let divisor = unsafe { NonZeroU32::new_unchecked(black_box(0)) };
    (black_box(1u32) / divisor).into()
}

/// Loads from an address that no memory of less than 4 GiB has.
pub fn out_of_bounds_read(_: &[u8]) -> Output {
    memory::read_word(0xffff_fff0).into()
}

/// Returns a place far outside memory.
pub fn out_of_bounds_result(_: &[u8]) -> Output {
    Output::unchecked(0xf000_0000, 0x1000)
}

/// Calls a function that no host has.
pub fn missing_import(_: &[u8]) -> Output {
    let (ptr, len) = unpack(import::ext_touchstone_missing_version_1(7) as u64);
    Output::unchecked(ptr, len)
}
