//! A large guest that stands where others have a relay chain's runtime: its code,
//! data and table are real and within reach of an export.

#![no_std]

extern crate alloc;

mod exercise;
mod hash;
mod interpreter;
mod phrase;
mod signature;
mod text;

guest_support::export! {
    test_empty_return = exercise::empty_return,
    test_dirty_plenty_memory = exercise::dirty_plenty_memory,
    test_dirty_with_ones = exercise::dirty_with_ones,
    large_exercise = exercise::exercise,
}
