//! Small computations that are known by their names. Each makes its own data, from the
//! one number that it is given, and nothing is allocated but the answer.

#![no_std]

extern crate alloc;

mod hash;
mod integer;
mod matrix;
mod recursion;
mod sort;

use guest_support::Output;

guest_support::export! {
    sha256 = hash::sha256,
    integer = integer::run,
    matmul = matrix::multiply,
    sort = sort::sort,
    fibonacci = recursion::fibonacci,
}

/// The input: one `u32`, which says how much is to be done. Panics where it is more than
/// the kernel takes.
fn amount(input: &[u8], most: u32) -> u32 {
    let Ok(bytes) = input.try_into() else {
        panic!("the input is not one number of four bytes");
    };
    let amount = u32::from_le_bytes(bytes);
    assert!(amount <= most, "that is more than the kernel takes");
    amount
}

fn answer(value: u64) -> Output {
    Output::from(&value.to_le_bytes()[..])
}
