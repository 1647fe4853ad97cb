//! A guest with one export for each behaviour of an executor that a test can
//! ask for: plain calls, state that must be clean, traps, limits and logging.

#![no_std]

extern crate alloc;

mod faults;
mod hash;
mod memory;
mod plain;
mod text;

guest_support::export! {
    test_empty_return = plain::empty_return,
    test_dirty_plenty_memory = plain::dirty_plenty_memory,
    test_dirty_with_ones = plain::dirty_with_ones,
    test_echo = plain::echo,
    test_count = plain::count
        [module only: "its counters are statics, which the host has once and not once for each instance"],
    test_log = plain::log,
    test_max_level = plain::max_level,
    test_allocate = memory::allocate,
    test_grow = memory::grow,
    test_memory_bomb = memory::bomb,
    test_sum_heap = memory::sum_heap,
    test_peek = memory::peek,
    test_poke = memory::poke,
    test_trap = faults::trap,
    test_endless_loop = faults::endless_loop
        [module only: "nothing could stop it"],
    test_stack_overflow = faults::stack_overflow
        [module only: "it would end the process"],
    test_divide_by_zero = faults::divide_by_zero
        [module only: "the division is undefined outside of WebAssembly"],
    test_out_of_bounds_read = faults::out_of_bounds_read,
    test_out_of_bounds_result = faults::out_of_bounds_result,
    test_missing_import = faults::missing_import,
    test_normalize = text::normalize,
    test_hash = hash::hash,
}
