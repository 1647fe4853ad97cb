//! See `touchstone_fuzz_targets::outputs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| touchstone_fuzz_targets::outputs(bytes));
