//! Sorting in place.

use guest_support::Output;

/// The longest list.
const MOST: usize = 10_000;

/// Takes a length, up to 10,000, and sorts that many `u32`, the first states of xorshift32
/// (13, 17, 5) after 2463534242.
///
/// Returns the sum of each number times its place, from 0: no other order of the same
/// numbers has as large a one.
pub fn sort(input: &[u8]) -> Output {
    let length = crate::amount(input, MOST as u32) as usize;
    let mut numbers = [0; MOST];
    let numbers = &mut numbers[..length];
    let mut state = 2_463_534_242_u32;
    for number in &mut *numbers {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        *number = state;
    }
    numbers.sort_unstable();
    crate::answer(
        (0..).zip(&*numbers).map(|(place, number): (u64, _)| place * u64::from(*number)).sum(),
    )
}
