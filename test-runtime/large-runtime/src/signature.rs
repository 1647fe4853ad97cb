//! Signatures over three curves: each is made, verified and put to a message
//! that it was not made for.

use sha2::{Digest, Sha256};

/// Signs a message over a curve of Weierstrass form, with a key derived from
/// the message, and verifies the signature.
macro_rules! ecdsa {
    ($name:ident, $curve:ident, $hash:ident) => {
        #[doc = concat!("Signs the input over ", stringify!($curve), ".")]
        pub fn $name(input: &[u8], digest: &mut Sha256) {
            use $curve::ecdsa::signature::{Signer, Verifier};
            use $curve::ecdsa::{Signature, SigningKey};

            let Ok(key) = SigningKey::from_slice(&$hash::digest(input)) else {
                return;
            };
            let signature: Signature = key.sign(input);
            let public = key.verifying_key();
            assert!(public.verify(input, &signature).is_ok(), "a signature failed");
            assert!(public.verify(b"forged", &signature).is_err(), "a forgery passed");
            digest.update(public.to_sec1_point(true));
            digest.update(signature.to_bytes());
        }
    };
}

ecdsa!(secp256k1, k256, Sha256);
ecdsa!(p256, p256, Sha256);

/// Signs the input over the twisted Edwards curve of Ed25519.
pub fn ed25519(input: &[u8], digest: &mut Sha256) {
    use ed25519_dalek::{Signer, SigningKey, Verifier};

    let key = SigningKey::from_bytes(&Sha256::digest(input).into());
    let signature = key.sign(input);
    let public = key.verifying_key();
    assert!(public.verify_strict(input, &signature).is_ok(), "a signature failed");
    assert!(public.verify(b"forged", &signature).is_err(), "a forgery passed");
    digest.update(public.as_bytes());
    digest.update(signature.to_bytes());
}
