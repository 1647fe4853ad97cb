//! A module's side: its heap, its traps, and input from the host.

use alloc::vec::Vec;

/// The guest's own heap, made larger with `memory.grow`.
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// A panic is a trap: the host sees `unreachable` and nothing else.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}

mod import {
    #[link(wasm_import_module = "env")]
    unsafe extern "C" {
        pub safe fn input_len() -> i64;
        pub fn input(address: i64);
    }
}

/// A copy of the input that the host keeps; panics where there is no room for it.
pub fn input() -> Vec<u8> {
    let Ok(length) = usize::try_from(import::input_len()) else {
        panic!("the input is larger than any memory");
    };
    let mut input = Vec::with_capacity(length);
    // SAFETY: the host writes the `length` bytes that it just spoke of, for which
    // there is room, so that all of them are initialised afterwards.
    unsafe {
        import::input(input.as_mut_ptr() as usize as i64);
        input.set_len(length);
    }
    input
}
