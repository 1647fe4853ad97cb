//! The kernels: answers that another program has, and what is more than they take.

use super::common::{call, everywhere};
use touchstone_executor::{Abi, TrapKind};

/// Amounts and answers; `benches/cases/kernels.toml` has those that are timed.
const ANSWERS: [(&str, u32, u64); 13] = [
    ("integer", 0, 0),
    ("integer", 1, 27_649),
    ("integer", 2, 30_796),
    ("integer", 50, 26_295),
    ("matmul", 0, 0xcbf2_9ce4_8422_2325),
    ("matmul", 1, 0xc293_bd4c_8601_b7df),
    ("matmul", 2, 0x6a85_d8f0_34b6_94e3),
    ("sort", 1, 0),
    ("sort", 2, 2_497_366_906),
    ("fibonacci", 0, 0),
    ("fibonacci", 1, 1),
    ("fibonacci", 12, 144),
    ("fibonacci", 32, 2_178_309),
];

/// The largest amounts.
const MOST: [(&str, u32); 5] =
    [("sha256", 1024), ("integer", 10_000), ("matmul", 64), ("sort", 10_000), ("fibonacci", 32)];

#[test]
fn answers_are_those_of_another_program() {
    everywhere("kernels", |module, instance| {
        for (export, amount, answer) in ANSWERS {
            let found =
                call(module, instance, (export, Abi::Substrate), &amount.to_le_bytes()).unwrap();
            assert_eq!(found, answer.to_le_bytes(), "{export} of {amount}");
        }
    });
}

#[test]
fn the_digest_is_of_the_message_that_is_described() {
    use sha2::{Digest, Sha256};
    everywhere("kernels", |module, instance| {
        for kib in [0_u32, 1, 2, 251, 252, 1024] {
            let message: Vec<u8> = (0..kib as usize * 1024).map(|at| (at % 251) as u8).collect();
            let found =
                call(module, instance, ("sha256", Abi::Substrate), &kib.to_le_bytes()).unwrap();
            assert_eq!(found, Sha256::digest(&message)[..], "{kib} KiB");
        }
    });
}

#[test]
fn more_than_a_kernel_takes_is_a_trap() {
    everywhere("kernels", |module, instance| {
        for (export, most) in MOST {
            let least = most.to_le_bytes();
            for input in [&[], &least[..3], &[0; 5], &(most + 1).to_le_bytes(), &[0xff; 4]] {
                let outcome = call(module, instance, (export, Abi::Substrate), input).unwrap_err();
                let kind = &outcome.trap().unwrap().kind;
                assert_eq!(kind, &TrapKind::Unreachable, "{export} of {input:?}");
            }
        }
    });
}
