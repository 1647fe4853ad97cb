//! Scooters in memory laid out in three ways, and seven ways to add a number to the
//! distance of each.
//!
//! | walk | layout | how |
//! |---|---|---|
//! | [`native`] | array of structures | as a program would write it |
//! | [`fixed`] | array of structures | words, at an offset and a stride that are constants |
//! | [`stride`] | array of structures | words, at a stride that is known at run time |
//! | [`fixed_simd`] | array of structures | four words at a time, two of them plus zero |
//! | [`soa`] | structure of arrays | as a program would write it |
//! | [`soa_simd`] | structure of arrays | four words at a time |
//! | [`aop`] | array of pointers | as a program would write it |
//!
//! Each takes its numbers from the input and answers with what it changed, looked at in
//! [`SAMPLES`] places: the same whatever earlier calls left in the arrays. The arrays are
//! made by the first call that needs them, and stay.

#![no_std]

extern crate alloc;

mod arrays;
mod vector;
mod walks;

pub use arrays::SAMPLES;
pub use walks::{aop, fixed, fixed_simd, native, soa, soa_simd, stride};
