//! The BLAKE3 digest of the standard input, by the portable code of the crate `blake3`.

use std::io::{Read, Result, stdin};

fn main() -> Result<()> {
    let mut input = Vec::new();
    stdin().read_to_end(&mut input)?;
    println!("{}", blake3::hash(&input));
    Ok(())
}
