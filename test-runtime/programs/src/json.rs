//! The standard input, a JSON text, parsed and written with indentation, by the crate
//! `serde_json`.

use std::io::{Error, Read, Result, Write, stdin, stdout};

fn main() -> Result<()> {
    let mut text = Vec::new();
    stdin().read_to_end(&mut text)?;
    let value: serde_json::Value = serde_json::from_slice(&text).map_err(Error::from)?;
    let text = serde_json::to_string_pretty(&value).map_err(Error::from)?;
    stdout().write_all(text.as_bytes())
}
