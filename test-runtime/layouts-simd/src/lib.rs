//! The guest `layouts` with vector instructions: those that the compiler makes of the same
//! walks, and two walks that are written with them.

#![no_std]

contract_support::export! {
    Native: fn() -> u64 = scooters::native,
    Fixed: fn() -> u64 = scooters::fixed,
    Stride: fn() -> u64 = scooters::stride,
    Fixed_SIMD: fn() -> u64 = scooters::fixed_simd,
    SoA: fn() -> u64 = scooters::soa,
    SoA_SIMD: fn() -> u64 = scooters::soa_simd,
    AoP: fn() -> u64 = scooters::aop,
}
