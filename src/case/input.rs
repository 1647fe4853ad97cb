//! Inputs and outputs as case files write them.

use super::json;
use crate::files::{FilePath, LARGEST, read_whole};
use anyhow::{Context, Result, ensure};
use records_payload::Codec;
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
#[serde(
    untagged,
    expecting = "an input or output is \"0x…\", { text = \"…\" }, { file = \"…\" }, \
                 { first_line = \"…\", file = \"…\" }, { json = bytes, seed = … }, \
                 { json_checksum = bytes, seed = … }, { monsters = …, points = …, seed = …, codec = \"…\" }, \
                 { readings = …, seed = …, codec = \"…\" }, or a list of { u32 = … } and { u64 = … }"
)]
pub enum Input {
    /// Bytes in hexadecimal, after `0x`.
    Hex(String),
    Text {
        text: String,
    },
    File {
        /// Its path, from the folder of the case file.
        file: FilePath,
        /// A line that the content follows, such as the operation of a call of waPC.
        first_line: Option<String>,
    },
    /// A generated JSON text in the shape of the payload suite's large input.
    Json {
        /// Its size in bytes.
        json: usize,
        seed: u64,
    },
    /// Eight bytes: the checksum of the content of that text.
    JsonChecksum {
        /// The text's size in bytes.
        json_checksum: usize,
        seed: u64,
    },
    Monsters {
        monsters: usize,
        /// Number of points on each path.
        points: usize,
        seed: u64,
        codec: Codec,
    },
    /// Generated readings of a thermometer, encoded.
    Readings {
        readings: usize,
        seed: u64,
        codec: Codec,
        /// `true` to add a field, as a later version of the schema does.
        #[serde(default)]
        grown: bool,
    },
    /// Numbers, little-endian, one after the other.
    Fields(Vec<Field>),
}

impl Default for Input {
    fn default() -> Self {
        Self::Fields(Vec::new())
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    U32(Number),
    U64(Number),
}

/// A number, given in the file or taken from the guest.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Number {
    /// The value of the guest's exported global `__heap_base`.
    HeapBase,
    #[serde(untagged)]
    Value(u64),
}

impl Input {
    /// The bytes. `heap_base` is the guest's, if it has one. Fails if the text is not hexadecimal,
    /// a number is too large for its field, a needed `__heap_base` is missing, a file cannot be
    /// read, or a generated text would be too small.
    pub fn bytes(&self, heap_base: Option<u32>) -> Result<Vec<u8>> {
        match self {
            Self::Hex(text) => parse_hex(text),
            Self::Text { text } => Ok(text.as_bytes().to_vec()),
            Self::File { file, first_line } => {
                let content = read_whole(file)?;
                Ok(match first_line {
                    Some(line) => [line.as_bytes(), b"\n", &content].concat(),
                    None => content,
                })
            }
            Self::Json { json, seed } => text(*json, *seed).map(String::into_bytes),
            Self::JsonChecksum { json_checksum, seed } => {
                let text = text(*json_checksum, *seed)?;
                Ok(json_payload::decode_any(text.as_bytes()).to_le_bytes().to_vec())
            }
            Self::Monsters { monsters, points, seed, codec } => {
                // Approximate memory of a monster and a point.
                check_size(monsters.saturating_mul(points.saturating_mul(16).saturating_add(256)))?;
                Ok(codec.monsters(&records_payload::monsters(*monsters, *points, *seed)))
            }
            Self::Readings { readings, seed, codec, grown } => {
                check_size(readings.saturating_mul(64))?;
                let batch = records_payload::batch(*readings, *seed);
                let grown = grown.then(|| codec.grown_readings(&batch));
                grown.unwrap_or_else(|| Some(codec.readings(&batch))).context("no such writer")
            }
            Self::Fields(fields) => {
                let mut bytes = Vec::new();
                for field in fields {
                    match field {
                        Field::U32(number) => {
                            let value = u32::try_from(number.value(heap_base)?);
                            let value = value.context("a u32 field is larger than 32 bits")?;
                            bytes.extend(value.to_le_bytes());
                        }
                        Field::U64(number) => bytes.extend(number.value(heap_base)?.to_le_bytes()),
                    }
                }
                Ok(bytes)
            }
        }
    }

    pub(super) fn resolve(&mut self, folder: &FilePath) {
        if let Self::File { file, .. } = self {
            *file = folder.join(file.path());
        }
    }
}

fn check_size(bytes: usize) -> Result<()> {
    ensure!(bytes as u64 <= LARGEST, "a generated input has at most {} MiB", LARGEST >> 20);
    Ok(())
}

fn text(bytes: usize, seed: u64) -> Result<String> {
    check_size(bytes)?;
    let too_small = || format!("a generated text has {} bytes or more", json::SMALLEST);
    json::text(bytes, seed).with_context(too_small)
}

impl Number {
    fn value(&self, heap_base: Option<u32>) -> Result<u64> {
        match self {
            Self::Value(value) => Ok(*value),
            Self::HeapBase => heap_base
                .map(u64::from)
                .context("the guest exports no constant global '__heap_base'"),
        }
    }
}

/// Bytes of `0x…`. Fails without `0x` or if the rest is not hexadecimal.
pub fn parse_hex(text: &str) -> Result<Vec<u8>> {
    let digits = text.strip_prefix("0x");
    let digits = digits.with_context(|| format!("'{text}' does not start with 0x"))?;
    let is_whole = digits.len().is_multiple_of(2) && digits.bytes().all(|b| b.is_ascii_hexdigit());
    ensure!(is_whole, "'{text}' is not a hexadecimal number of whole bytes");
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).context("hexadecimal"))
        .collect()
}
