//! The values of the two texts of `inputs/`.

use crate::{Big, Signed, Small};

/// The entries of the big input, each with its texts in the order of [`Signed::texts`].
const SIGNED: [[&str; 6]; 2] = [
    [
        "XCkavXk45BCln15mDa50zMN+uWXqv6nVTFbY4vi3b9Y=",
        r#"{"signer_id":"1d3c4c1898200faa3273e06b1834098ec635c88e538aeceb095d18321861a970","deadline":"2025-09-23T14:42:10.476Z","intents":[{"intent":"token_diff","diff":{"nep141:17208628f84f5d6ad33f0da3bbbeb27ffcb398eac501a31bd6ad2011e36133a1":"999999000","nep141:wrap.near":"-327580166752348350287445024"}}]}"#,
        "intents.near",
        "nep413",
        "ed25519:Scq7yw8YPWEwni9Rvy8R9pEFUCmscUSkRAu2LB9grPcr6L1NoNELBtiZZ58wm1cDrsgWForeaADkHnVmaqE6ULP",
        "ed25519:6Eb6wkNagkMg5EfZjo2AmStrUrxPKWLSHYDqVX7ofxtV",
    ],
    [
        "7vX4hxEe9Hu5veUyivPWPxDHpYNsXzi7EG8bc05EIlA=",
        r#"{"signer_id":"foxboss.near","deadline":"2025-09-23T14:42:10.476Z","intents":[{"intent":"token_diff","diff":{"nep141:17208628f84f5d6ad33f0da3bbbeb27ffcb398eac501a31bd6ad2011e36133a1":"-1000000000","nep141:wrap.near":"327579839172181597939094736"}}]}"#,
        "intents.near",
        "nep413",
        "ed25519:5Md212LF1YcemtoGCUPfB9sv1pijraj2VkKrFJscawXA7XXuVg6hvWTPcAvz2CuBH8Ns16Rmik1n7r9ySyyQJqWY",
        "ed25519:ESzYnUQTyVsNpk2u8ZHZ6q2MF8MHsuoKFRC4aqYAvcJD",
    ],
];

/// `true` if this is the whole content of `inputs/small.json`.
pub fn is_small(value: &Small) -> bool {
    value.a == "test" && value.b == 42 && value.c == (0, 1, 2)
}

/// `true` if this is the whole content of `inputs/big.json`.
pub fn is_big(value: &Big) -> bool {
    value.signed.len() == SIGNED.len() && value.signed.iter().map(Signed::texts).eq(SIGNED)
}
