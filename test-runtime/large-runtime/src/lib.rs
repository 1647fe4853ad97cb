//! A guest the size of a relay chain's runtime: as much code, data and table,
//! all of it real and within reach of an export.

#![no_std]

extern crate alloc;

mod exercise;
mod hash;
#[cfg(target_arch = "wasm32")]
mod interpreter;
mod phrase;
mod signature;
mod text;

/// Left out where the guest is compiled for the host.
#[cfg(not(target_arch = "wasm32"))]
mod interpreter {
    /// Stands for the interpreter.
    pub fn run(_: &[u8], _: &mut sha2::Sha256) {
        guest_support::native::absent(
            "the interpreter of large_exercise",
            "it is the crate of another backend with other features, and a program can have only \
             one of the two",
        )
    }
}

guest_support::export! {
    test_empty_return = exercise::empty_return,
    test_dirty_plenty_memory = exercise::dirty_plenty_memory,
    test_dirty_with_ones = exercise::dirty_with_ones,
    large_exercise = exercise::exercise,
}
