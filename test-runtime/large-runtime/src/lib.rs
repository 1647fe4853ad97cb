//! A large guest that stands where others have a relay chain's runtime: its code,
//! data and table are real and within reach of an export.

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
    large_exercise = exercise::exercise,
}
