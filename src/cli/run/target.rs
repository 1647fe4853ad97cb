//! The call: a module, an export, a convention, an input.

use super::Run;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use touchstone::case::init::{Constructed, constructed, initialized};
use touchstone::case::{binary, digest, parse_hex};
use touchstone::plan::near;
use touchstone_executor::abi::{ALLOCATOR, Abi};
use touchstone_executor::guest::{
    FunctionExport, Growth, GuestModule, HeapPages, ModuleInfo, PREFIX, unpack,
};
use touchstone_executor::host::HostFunction;
use touchstone_executor::{Exports, Signature, ValueType};

/// Extra pages that Substrate gives every runtime by default.
const SUBSTRATE_PAGES: u32 = 2048;
/// A memory may grow to 1 GiB by default: enough for most guests, and not enough to exhaust a
/// machine.
const MAX_PAGES: u32 = 16_384;

/// The call, checked as far as possible without running it.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) file: PathBuf,
    pub(super) guest: GuestModule,
    /// Bytes of the file, and whether they are a compressed blob.
    pub(super) size: usize,
    pub(super) packed: bool,
    pub(super) sha256: String,
    /// The export that pre-initialised the module, and the SHA-256 of the module afterwards.
    pub(super) init: Option<(String, String)>,
    pub(super) export: String,
    pub(super) signature: Signature,
    pub(super) abi: Abi,
    /// The convention was guessed.
    pub(super) guessed: bool,
    pub(super) heap: HeapPages,
    pub(super) input: Vec<u8>,
    /// Constructors that are called by themselves.
    pub(super) constructed: Option<Constructed>,
}

impl Target {
    /// # Errors
    ///
    /// When the file, the export, the convention or the input is invalid. Nothing was run then.
    pub(super) fn find(run: &Run) -> Result<Self> {
        let input = input(run.input.as_deref())?;
        let shown = run.file.display();
        let bytes = std::fs::read(&run.file).with_context(|| format!("cannot read {shown}"))?;
        let unusable = || format!("cannot use {shown}");
        let translated = binary(&bytes, &run.file).with_context(unusable)?;
        let init = run.init.as_ref().map(|export| initialized(&translated, export));
        let init = init.transpose().with_context(unusable)?;
        let wasm = unpack(init.as_deref().unwrap_or(&translated)).with_context(unusable)?;
        let info = ModuleInfo::read(&wasm).with_context(unusable)?;
        // Who names the function to call first has the say.
        let constructed = match init {
            Some(_) => None,
            None => constructed(&wasm, &info, &run.call).with_context(unusable)?,
        };
        let wasm = constructed.as_ref().map_or(&*wasm, |constructed| constructed.wasm.as_slice());
        let export = find_export(&info, &run.call).with_context(unusable)?;
        let is_component = info.component.is_some();
        let signature = match &export.signature {
            Some(signature) => signature.clone(),
            // Whether a component's types fit is for the backend to say.
            None if is_component => Signature::default(),
            None => bail!(
                "export '{}' has parameters or results that are no numbers (i32, i64, f32, f64)",
                run.call
            ),
        };
        let abi = run.abi.unwrap_or_else(|| match is_component {
            true => Abi::Input,
            false => guess(&signature, &info),
        });
        if abi == Abi::Codec {
            bail!("the codec convention needs a codec component; only cases can name one");
        }
        let heap = heap(run, abi, is_component);
        let guest = GuestModule::new(&name(&run.file), wasm, heap).with_context(unusable)?;
        if !is_component {
            Exports::of(&guest).find(&run.call, abi)?;
        }
        check_input(&run.call, &signature, abi, &input)?;
        Ok(Self {
            file: run.file.clone(),
            guest,
            size: bytes.len(),
            packed: bytes.starts_with(&PREFIX),
            sha256: digest(&bytes),
            init: run.init.clone().zip(init.as_deref().map(digest)),
            export: run.call.clone(),
            signature,
            abi,
            guessed: run.abi.is_none(),
            heap,
            input,
            constructed,
        })
    }
}

fn name(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The bytes of `--input`.
fn input(text: Option<&str>) -> Result<Vec<u8>> {
    let Some(text) = text else {
        return Ok(Vec::new());
    };
    if let Some(file) = text.strip_prefix('@') {
        std::fs::read(file).with_context(|| format!("cannot read the input {file}"))
    } else if let Some(text) = text.strip_prefix("text:") {
        Ok(text.as_bytes().to_vec())
    } else if text.starts_with("0x") {
        parse_hex(text).context("--input cannot be used")
    } else {
        bail!("--input '{text}' is none of @FILE, 0xHEX, text:TEXT");
    }
}

fn find_export<'a>(info: &'a ModuleInfo, name: &str) -> Result<&'a FunctionExport> {
    info.exports.iter().find(|export| export.name == name).with_context(|| {
        let names: Vec<String> = info.exports.iter().map(|export| export.name.clone()).collect();
        format!("the module has no exported function '{name}'{}", near(name, &names))
    })
}

/// The convention that an export most likely follows.
fn guess(signature: &Signature, info: &ModuleInfo) -> Abi {
    let asks_for_input = || {
        info.imports
            .iter()
            .any(|import| import.module == "env" && import.name == HostFunction::InputLength.name())
    };
    let Signature { params, results } = signature;
    if *params == [ValueType::I32; 2] && *results == [ValueType::I64] {
        Abi::Substrate
    } else if params.is_empty() && asks_for_input() {
        Abi::Input
    } else if *params == [ValueType::I32; 2] && info.exports.iter().any(allocates) {
        Abi::Bytes
    } else {
        Abi::Plain
    }
}

/// Whether an export is the allocator of the bytes convention.
fn allocates(export: &FunctionExport) -> bool {
    export.name == ALLOCATOR
        && export.signature == Some(Signature::new(&[ValueType::I32], &[ValueType::I32]))
}

fn heap(run: &Run, abi: Abi, is_component: bool) -> HeapPages {
    if is_component {
        return HeapPages::default();
    }
    let substrate = abi == Abi::Substrate;
    HeapPages {
        extra: run.extra_pages.unwrap_or(if substrate { SUBSTRATE_PAGES } else { 0 }),
        growth: match run.max_pages {
            Some(pages) => Growth::UpTo(pages),
            None if substrate => Growth::Fixed,
            None => Growth::UpTo(MAX_PAGES),
        },
    }
}

/// In the plain convention the input's size is known beforehand.
fn check_input(export: &str, signature: &Signature, abi: Abi, input: &[u8]) -> Result<()> {
    let needed: usize = signature.params.iter().map(|ty| ty.size()).sum();
    if abi == Abi::Plain && input.len() != needed {
        bail!(
            "export '{export}' is {signature} and takes {needed} bytes of parameters; the input \
             has {} (--input 0x…, little-endian, one after the other)",
            input.len()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_read_or_refused_in_words() {
        assert_eq!(input(None).unwrap(), b"");
        assert_eq!(input(Some("0x00fF")).unwrap(), [0, 255]);
        assert_eq!(input(Some("text:0x")).unwrap(), b"0x");
        for bad in ["0x0", "0xzz", "zz", "@/does/not/exist"] {
            assert!(!format!("{:#}", input(Some(bad)).unwrap_err()).is_empty(), "{bad}");
        }
    }
}
