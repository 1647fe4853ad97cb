//! The kernels, on every engine.

use crate::run::each;
use touchstone::case;
use touchstone_executor::Abi;

/// Each kernel with other amounts than those that are timed, and what another program
/// gives.
const ANSWERS: [(&str, u32, u64); 8] = [
    ("integer", 0, 0),
    ("integer", 2, 30_796),
    ("matmul", 0, 0xcbf2_9ce4_8422_2325),
    ("matmul", 2, 0x6a85_d8f0_34b6_94e3),
    ("sort", 0, 0),
    ("sort", 2, 2_497_366_906),
    ("fibonacci", 0, 0),
    ("fibonacci", 12, 144),
];

/// The digest of the first KiB and of none.
const DIGESTS: [(u32, &str); 2] = [
    (0, "0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    (1, "0x2bce1ba628720664be4b9fdd77aae0678e5f0f3f02fc6ff641ec879094f6a404"),
];

#[test]
fn kernels_answer_alike_after_everything() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/cases/kernels.toml");
    let timed = case::load(file).unwrap();
    each("kernels", |run| {
        for _ in 0..2 {
            for case in &timed {
                let [input, output] =
                    [&case.input, &case.expect.output].map(|bytes| bytes.bytes(None).unwrap());
                run.returns(&case.export, case.abi, &input, &output);
            }
            for (export, amount, answer) in ANSWERS {
                let answer = answer.to_le_bytes();
                run.returns(export, Abi::Substrate, &amount.to_le_bytes(), &answer);
            }
            for (kib, digest) in DIGESTS {
                let digest = case::parse_hex(digest).unwrap();
                run.returns("sha256", Abi::Substrate, &kib.to_le_bytes(), &digest);
            }
        }
    });
}

/// Every byte of the input counts, and so does that there are four.
#[test]
fn another_amount_has_another_answer_or_traps() {
    each("kernels", |run| {
        for (export, most) in [
            ("sha256", 1024),
            ("integer", 10_000),
            ("matmul", 64),
            ("sort", 10_000),
            ("fibonacci", 32_u32),
        ] {
            let (_, one) = run.call(export, Abi::Substrate, &9_u32.to_le_bytes());
            let (_, other) = run.call(export, Abi::Substrate, &8_u32.to_le_bytes());
            assert_ne!(one, other, "{} {export}", run.name);
            for input in
                [&[][..], &[9, 0, 0], &[9, 0, 0, 0, 0], &(most + 1).to_le_bytes(), &[9, 0, 0, 0x80]]
            {
                run.traps(export, Abi::Substrate, input);
                run.returns(export, Abi::Substrate, &9_u32.to_le_bytes(), &one);
            }
        }
    });
}
