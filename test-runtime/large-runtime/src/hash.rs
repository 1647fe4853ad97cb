//! Hash functions, called through a table.

use alloc::boxed::Box;

use digest::{Digest, DynDigest};
use sha2::Sha256;

/// A hasher of a type that is known here only.
fn new<D: Digest + DynDigest + 'static>() -> Box<dyn DynDigest> {
    Box::new(D::new())
}

/// Feeds the input to every hash function, and the results to the digest.
pub fn every_function(input: &[u8], digest: &mut Sha256) {
    let functions: [fn() -> Box<dyn DynDigest>; 14] = [
        new::<sha2::Sha224>,
        new::<sha2::Sha256>,
        new::<sha2::Sha384>,
        new::<sha2::Sha512>,
        new::<sha2::Sha512_224>,
        new::<sha2::Sha512_256>,
        new::<blake2::Blake2s256>,
        new::<blake2::Blake2b512>,
        new::<sha3::Sha3_224>,
        new::<sha3::Sha3_256>,
        new::<sha3::Sha3_384>,
        new::<sha3::Sha3_512>,
        new::<sha3::Keccak256>,
        new::<sha3::Keccak512>,
    ];
    for function in functions {
        let mut hasher = function();
        hasher.update(input);
        Digest::update(digest, hasher.finalize());
    }
    Digest::update(digest, blake3::hash(input).as_bytes());
}
