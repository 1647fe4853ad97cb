//! A guest that walks over the same values in several memory layouts, of the WebAssembly
//! MVP: without vector instructions.

#![no_std]

contract_support::export! {
    Native: fn() -> u64 = scooters::native,
    Fixed: fn() -> u64 = scooters::fixed,
    Stride: fn() -> u64 = scooters::stride,
    SoA: fn() -> u64 = scooters::soa,
    AoP: fn() -> u64 = scooters::aop,
}
