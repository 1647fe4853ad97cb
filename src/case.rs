//! Benchmark cases: data files, one a case.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use touchstone_executor::abi::Abi;
use touchstone_executor::guest::{Growth, HeapPages};

/// What is called, with what, on which guests, and what has to come out.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Name in tables and filters.
    pub name: String,
    /// Guests by their names, e.g. `test-runtime`.
    pub guests: Vec<String>,
    /// The exported function.
    pub export: String,
    /// How it is called.
    pub abi: Abi,
    /// What it is given; nothing when left out.
    #[serde(default)]
    pub input: Input,
    /// Numbers of threads that make calls at the same time.
    pub threads: Vec<usize>,
    /// How the memory is set up.
    #[serde(default)]
    pub heap: Heap,
    /// The executor, backend and strategy with `_` between, that all others are
    /// timed against in turns.
    #[serde(default)]
    pub against: Option<String>,
    /// What has to come out before anything is timed.
    pub expect: Expect,
    /// Why the case exists and how to read it.
    pub analysis: String,
}

/// A file holds one case, in a table of that name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    case: Case,
}

/// The memory's set-up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heap {
    /// Pages of 64 KiB on top of the module's own minimum.
    #[serde(default)]
    pub extra_pages: u32,
    /// Whether the memory can grow.
    #[serde(default)]
    pub growth: HeapGrowth,
}

/// Whether the memory can grow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeapGrowth {
    /// As far as the module says.
    #[default]
    AsDeclared,
    /// Not at all.
    Fixed,
}

/// What an export is given.
#[derive(Debug, Clone, Deserialize)]
#[serde(
    untagged,
    expecting = "an input is \"0x…\", { text = \"…\" }, or a list of { u32 = … } and { u64 = … }"
)]
pub enum Input {
    /// Bytes in hexadecimal, after `0x`.
    Hex(String),
    /// A text's bytes.
    Text {
        /// The text.
        text: String,
    },
    /// Numbers, little-endian, one after the other.
    Fields(Vec<Field>),
}

impl Default for Input {
    fn default() -> Self {
        Self::Fields(Vec::new())
    }
}

/// One number of an input.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// Four bytes.
    U32(Number),
    /// Eight bytes.
    U64(Number),
}

/// A number, or something of the guest's that is one.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "a number is an integer or \"heap_base\"")]
pub enum Number {
    /// Given in the file.
    Value(u64),
    /// Taken from the guest.
    Of(GuestNumber),
}

/// Numbers that a guest says about itself.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuestNumber {
    /// The value of its exported global `__heap_base`.
    HeapBase,
}

/// What has to come out.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// The output, as an input is written.
    pub output: Input,
}

impl Input {
    /// The bytes. `heap_base` is the guest's, if it has one.
    ///
    /// # Errors
    ///
    /// When the hexadecimal is none, a number is too large for its field, or
    /// the guest has no `__heap_base` where one is asked for.
    pub fn bytes(&self, heap_base: Option<u32>) -> Result<Vec<u8>> {
        match self {
            Self::Hex(text) => parse_hex(text),
            Self::Text { text } => Ok(text.as_bytes().to_vec()),
            Self::Fields(fields) => {
                let mut bytes = Vec::new();
                for field in fields {
                    match field {
                        Field::U32(number) => {
                            let value = u32::try_from(number.value(heap_base)?)
                                .context("a u32 field is larger than 32 bits")?;
                            bytes.extend(value.to_le_bytes());
                        }
                        Field::U64(number) => bytes.extend(number.value(heap_base)?.to_le_bytes()),
                    }
                }
                Ok(bytes)
            }
        }
    }
}

impl Number {
    fn value(&self, heap_base: Option<u32>) -> Result<u64> {
        match self {
            Self::Value(value) => Ok(*value),
            Self::Of(GuestNumber::HeapBase) => heap_base
                .map(u64::from)
                .context("the guest exports no constant global '__heap_base'"),
        }
    }
}

/// Bytes of `0x…`.
///
/// # Errors
///
/// When it does not start with `0x` or is no hexadecimal.
pub fn parse_hex(text: &str) -> Result<Vec<u8>> {
    let Some(digits) = text.strip_prefix("0x") else {
        bail!("'{text}' does not start with 0x");
    };
    if !digits.len().is_multiple_of(2) || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        bail!("'{text}' is no hexadecimal number of whole bytes");
    }
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).context("hexadecimal"))
        .collect()
}

impl From<Heap> for HeapPages {
    fn from(heap: Heap) -> Self {
        Self {
            extra: heap.extra_pages,
            growth: match heap.growth {
                HeapGrowth::AsDeclared => Growth::AsDeclared,
                HeapGrowth::Fixed => Growth::Fixed,
            },
        }
    }
}

/// The folder of the cases: `benches/cases` in the project, or the path in
/// `TOUCHSTONE_CASES`.
#[must_use]
pub fn default_folder() -> PathBuf {
    std::env::var_os("TOUCHSTONE_CASES")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/cases"), PathBuf::from)
}

/// All cases of a folder, sorted by file name.
///
/// # Errors
///
/// When the folder cannot be read or has no case, when two cases share a name,
/// or when a file is wrong; the message has the line and the column.
pub fn load_all(folder: &Path) -> Result<Vec<Case>> {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .with_context(|| format!("cannot read the cases in {}", folder.display()))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    let cases = files.iter().map(|path| load(path)).collect::<Result<Vec<_>>>()?;
    if cases.is_empty() {
        bail!("there is no case (*.toml) in {}", folder.display());
    }
    for (index, case) in cases.iter().enumerate() {
        if cases[..index].iter().any(|other| other.name == case.name) {
            bail!("two cases in {} are called '{}'", folder.display(), case.name);
        }
    }
    Ok(cases)
}

/// One case.
///
/// # Errors
///
/// When the file cannot be read or is wrong; the message has the line and the
/// column.
pub fn load(path: &Path) -> Result<Case> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the case {}", path.display()))?;
    let file: CaseFile =
        toml::from_str(&text).with_context(|| format!("the case {} is wrong", path.display()))?;
    let case = file.case;
    let problem = if case.guests.is_empty() {
        "names no guest"
    } else if case.threads.is_empty() || case.threads.contains(&0) {
        "needs numbers of threads from 1 upwards"
    } else if case.name.is_empty() || !case.name.bytes().all(is_name) {
        "has a name with other characters than a-z, 0-9, _ and -"
    } else {
        return Ok(case);
    };
    bail!("the case {} {problem}", path.display());
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-')
}
