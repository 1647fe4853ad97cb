//! Recursion.

use guest_support::Output;

/// The largest number: three and a half million calls.
const MOST: u32 = 32;

/// Takes `n`, up to 32, and returns the Fibonacci number of that place; those of 0 and 1
/// are 0 and 1.
pub fn fibonacci(input: &[u8]) -> Output {
    crate::answer(number(crate::amount(input, MOST)))
}

/// Not inlined into itself: how far compilers do that is not what is asked.
#[inline(never)]
fn number(place: u32) -> u64 {
    if place < 2 { place.into() } else { number(place - 1) + number(place - 2) }
}
