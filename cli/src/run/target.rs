//! The call: a module, an export, a convention, an input.

use super::Run;
use super::worker::{Call, Effects};
use anyhow::{Context, Result, anyhow, bail};
use std::collections::BTreeMap;
use std::env::temp_dir;
use std::path::{Path, PathBuf};
use touchstone::case::init::{Constructed, constructed, initialized};
use touchstone::case::{Library, binary, digest, parse_hex};
use touchstone::files::read_whole;
use touchstone::inspect::Identity;
use touchstone::plain;
use touchstone::plan::near_name;
use touchstone_executor::adapter::{ALLOCATOR, Exports, remedy};
use touchstone_executor::guest::text::name as shown_name;
use touchstone_executor::guest::{
    DataType, FunctionExport, Growth, GuestModule, HeapPages, ModuleInfo, imports, link, unpack,
};
use touchstone_executor::{Abi, Error, Signature, ValueType, wapc, wasi};

/// Extra pages that Substrate gives every runtime by default.
const SUBSTRATE_PAGES: u32 = 2048;
/// Default maximum of a memory, 1 GiB: enough for most guests, and safe for most machines.
const MAX_PAGES: u32 = 16_384;

/// Most shown bytes of the memory.
const DUMPED: u64 = 65_536;

/// The module of a file, unpacked and pre-initialised.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) file: PathBuf,
    pub(super) identity: Identity,
    /// The names of linked libraries, and the SHA-256 of the linked module.
    pub(super) linked: Option<(String, String)>,
    /// The export that pre-initialised the module, and the SHA-256 of the module afterwards.
    pub(super) init: Option<(String, String)>,
    pub(super) wasm: Vec<u8>,
    pub(super) info: ModuleInfo,
}

impl Source {
    /// Fails if a file cannot be read, or the module cannot be linked or hosted.
    pub(super) fn read(file: &Path, libraries: &[Library], init: Option<&str>) -> Result<Self> {
        let unusable = || format!("cannot use {}", file.display());
        let bytes = read_whole(file)?;
        let mut translated = binary(&bytes, file).with_context(unusable)?;
        let identity = Identity::of(&translated);
        let mut linked = None;
        if !libraries.is_empty() {
            let mut read = Vec::new();
            for Library { name, file } in libraries {
                let unusable = || format!("--link {name}={file} cannot be used");
                let bytes = read_whole(Path::new(file)).with_context(unusable)?;
                let wasm = binary(&bytes, Path::new(file)).with_context(unusable)?;
                read.push((name.as_str(), wasm.into_owned()));
            }
            let libraries: Vec<_> = read.iter().map(|(name, wasm)| (*name, &wasm[..])).collect();
            let wasm = link(&translated, &libraries).with_context(unusable)?;
            let names = read.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            linked = Some((names, digest(&wasm)));
            translated = wasm.into();
        }
        let initialized = init.map(|export| initialized(&translated, export));
        let initialized = initialized.transpose().with_context(unusable)?;
        let wasm = unpack(initialized.as_deref().unwrap_or(&translated)).with_context(unusable)?;
        let info = ModuleInfo::read(&wasm).with_context(unusable)?;
        Ok(Self {
            file: file.to_owned(),
            identity,
            linked,
            init: init.map(str::to_owned).zip(initialized.as_deref().map(digest)),
            wasm: wasm.into_owned(),
            info,
        })
    }

    pub(super) fn is_component(&self) -> bool {
        self.info.component.is_some()
    }
}

/// The call, checked as far as possible without running it.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) source: Source,
    pub(super) guest: GuestModule,
    /// The type of the export; empty for a component's.
    pub(super) signature: Signature,
    /// `true` if the convention was guessed.
    pub(super) guessed: bool,
    pub(super) input: Vec<u8>,
    /// Constructors that are called without being asked.
    pub(super) constructed: Option<Constructed>,
    /// Its files are in a private folder.
    pub(super) call: Call,
}

impl Target {
    /// Fails if the file, the export, the convention or the input is invalid. Runs nothing, and
    /// writes the module and the input to files in a private folder, for workers.
    pub(super) fn find(run: &Run, mut source: Source, export: &str, folder: &Path) -> Result<Self> {
        let (file, info) = (source.file.clone(), &source.info);
        let unusable = || format!("cannot use {}", file.display());
        // `--init` replaces constructors.
        let mut constructed = match run.no_constructors || source.init.is_some() {
            true => None,
            false => constructed(&source.wasm, info, export).with_context(unusable)?,
        };
        if let Some(constructed) = &mut constructed {
            source.wasm = std::mem::take(&mut constructed.wasm);
        }
        let found = find_export(info, export).with_context(unusable)?;
        let is_component = source.is_component();
        let signature = match &found.signature {
            Some(signature) => signature.clone(),
            // The backend checks a component's types.
            None if is_component => Signature::default(),
            None => bail!(
                "export '{}' cannot be called: it has references of types that no host can pass",
                shown_name(export)
            ),
        };
        let abi = run.abi.unwrap_or_else(|| guess(export, &signature, info, !run.args.is_empty()));
        if abi == Abi::Codec {
            bail!("the codec convention needs a codec component; only cases can name one");
        }
        if !run.args.is_empty() && run.input.is_some() && abi != Abi::Wasi {
            bail!("--args cannot be used with --input in the {abi} convention");
        }
        let input = match run.args.is_empty() || abi == Abi::Wasi {
            true => input(run.input.as_deref())?,
            false => arguments(export, &signature, abi, &run.args)?,
        };
        let heap = heap(run, abi, is_component);
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let guest = GuestModule::new(&name, &source.wasm, heap);
        let guest = guest.map_err(|error| with_option(error.into(), info, heap));
        let guest = guest.with_context(unusable)?;
        if !is_component {
            Exports::of(&guest).find(export, abi)?;
        }
        let write = |name: &str, content: &[u8]| {
            let path = folder.join(name);
            let written = std::fs::write(&path, content);
            let failed = || format!("cannot write a temporary file; {}", remedy(&temp_dir()));
            written.with_context(failed).map(|()| path)
        };
        // A call without a result has only its effects to compare.
        let has_only_effects = abi != Abi::Substrate && signature.results.is_empty();
        let environment: BTreeMap<String, String> = run.environment.iter().cloned().collect();
        let call = Call {
            module: write("module.wasm", &source.wasm)?,
            input: write("input", &input)?,
            name: name.clone(),
            heap,
            export: export.to_owned(),
            abi,
            deadline: run.timeout,
            log: run.log,
            imports: run.imports,
            effects: Effects {
                digest: run.hash || !is_component && has_only_effects,
                dump: run.dump,
                is_shown: run.hash || run.dump.is_some(),
            },
            arguments: std::iter::once(name).chain(run.args.iter().cloned()).collect(),
            environment: environment.into_iter().collect(),
            directory: run.dir.clone(),
        };
        call.settings()?;
        check_input(export, &signature, abi, &input)?;
        Ok(Self { source, guest, signature, guessed: run.abi.is_none(), input, constructed, call })
    }
}

fn input(text: Option<&str>) -> Result<Vec<u8>> {
    let Some(text) = text else {
        return Ok(Vec::new());
    };
    if let Some(file) = text.strip_prefix('@') {
        read_whole(Path::new(file)).with_context(|| format!("cannot read the input {file}"))
    } else if let Some(text) = text.strip_prefix("text:") {
        Ok(text.as_bytes().to_vec())
    } else if text.starts_with("0x") {
        parse_hex(text).context("--input cannot be used")
    } else {
        bail!("--input '{text}' is none of @FILE, 0xHEX, text:TEXT");
    }
}

/// For clap: an address and a length of at most 64 KiB, in bytes.
pub(super) fn range(text: &str) -> Result<(u64, u64), String> {
    let number = |text: &str| match text.trim().strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.trim().parse().ok(),
    };
    let parts = text.split_once(',');
    match parts.and_then(|(start, length)| Some((number(start)?, number(length)?))) {
        Some((start, length)) if (1..=DUMPED).contains(&length) => Ok((start, length)),
        _ => Err(format!("'{text}' is no address and length from 1 to {DUMPED}, such as 0x400,16")),
    }
}

/// For clap: the name and the value of an environment variable.
pub(super) fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

/// Advice if no export was named.
pub(super) fn no_export(info: &ModuleInfo) -> &'static str {
    match (info.exports.is_empty(), &info.component) {
        (true, Some(_)) => {
            "there is nothing to call: it is a component that exports no function, neither by \
             itself nor in an interface"
        }
        (true, None) => "there is nothing to call: the module exports no function",
        (false, _) => "which export is to be called? --call EXPORT, with --args for its parameters",
    }
}

fn arguments(export: &str, signature: &Signature, abi: Abi, texts: &[String]) -> Result<Vec<u8>> {
    match abi {
        Abi::Plain => plain::parameters(&signature.params, texts)
            .with_context(|| format!("--args do not fit export '{export}' {signature}")),
        Abi::Typed => Ok(plain::json(texts).into_bytes()),
        _ => bail!(
            "--args gives the parameters of the plain and the typed convention; the {abi} \
             convention takes --input"
        ),
    }
}

fn find_export<'a>(info: &'a ModuleInfo, name: &str) -> Result<&'a FunctionExport> {
    info.exports.iter().find(|export| export.name == name).with_context(|| {
        let names: Vec<String> = info.exports.iter().map(|export| export.name.clone()).collect();
        let name_shown = shown_name(name);
        format!("the module has no exported function '{name_shown}'{}", near_name(name, &names))
    })
}

/// The most likely convention of an export that is called with or without `--args`.
fn guess(name: &str, signature: &Signature, info: &ModuleInfo, has_args: bool) -> Abi {
    if let Some(component) = &info.component {
        let place = info.exports.iter().position(|export| export.name == name);
        let ty = place.and_then(|place| component.functions.get(place));
        let bytes = DataType::List(Box::new(DataType::Primitive("u8")));
        return match ty.map(|ty| (&ty.params[..], &ty.result)) {
            _ if wasi::is_command(name) => Abi::Wasi,
            _ if has_args => Abi::Typed,
            Some(([], None)) | None => Abi::Input,
            Some(([(_, param)], None)) if *param == bytes => Abi::Bytes,
            Some(_) => Abi::Typed,
        };
    }
    let has_import = |module: &str, name: Option<&str>| {
        let is_meant = |own: &str| name.is_none_or(|name| name == own);
        info.imports.iter().any(|import| import.module == module && is_meant(&import.name))
    };
    let allocator = Some(Signature::new(&[ValueType::I32], &[ValueType::I32]));
    let allocates =
        |export: &FunctionExport| export.name == ALLOCATOR && export.signature == allocator;
    let takes_bytes = signature.params == [ValueType::I32; 2];
    let is_start = name == wasi::START && *signature == Signature::default();
    if is_start && has_import(wasi::MODULE, None) {
        Abi::Wasi
    } else if name == wapc::CALL && takes_bytes && !has_args {
        Abi::Wapc
    } else if has_args {
        Abi::Plain
    } else if takes_bytes && signature.results == [ValueType::I64] {
        Abi::Substrate
    } else if signature.params.is_empty() && has_import("env", Some(imports::INPUT_LENGTH)) {
        Abi::Input
    } else if takes_bytes && info.exports.iter().any(allocates) {
        Abi::Bytes
    } else {
        Abi::Plain
    }
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

/// The error, with the helpful option if the memory exceeds the limit of pages.
fn with_option(error: Error, info: &ModuleInfo, heap: HeapPages) -> anyhow::Error {
    let own = info.memory.map_or(0, |memory| memory.minimum);
    let needed = own.saturating_add(heap.extra);
    match heap.growth {
        Growth::UpTo(limit) if needed > limit => {
            anyhow!("{error}; raise the limit with --max-pages {needed}")
        }
        _ => error.into(),
    }
}

/// In the plain convention the size of the input is known.
fn check_input(export: &str, signature: &Signature, abi: Abi, input: &[u8]) -> Result<()> {
    let needed: usize = signature.params.iter().map(|ty| ty.size()).sum();
    if abi == Abi::Plain && input.len() != needed {
        bail!(
            "export '{export}' is {signature} and takes {needed} bytes of parameters; the input \
             has {} (--args gives them as numbers, --input 0x… as little-endian bytes)",
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
