//! The call: a module, an export, a convention, an input.

use super::Run;
use super::program::{self, Program};
use super::worker::{Call, Effects, has_only_effects};
use anyhow::{Context, Result, anyhow, bail};
use std::cell::OnceCell;
use std::env::temp_dir;
use std::path::{Path, PathBuf};
use std::time::Duration;
use touchstone::case::init::{Constructed, constructed, initialized};
use touchstone::case::{Library, binary, digest, parse_hex};
use touchstone::files::read_whole;
use touchstone::inspect::Identity;
use touchstone::plain;
use touchstone::plan::near;
use touchstone_executor::abi::{ALLOCATOR, Abi};
use touchstone_executor::guest::{
    DataType, FunctionExport, Growth, GuestModule, HeapPages, ModuleInfo, Open, deterministic,
    imports, link, unpack,
};
use touchstone_executor::scratch::remedy;
use touchstone_executor::text::name as shown_name;
use touchstone_executor::{Error, Exports, Signature, ValueType, wasi};

/// Extra pages that Substrate gives every runtime by default.
const SUBSTRATE_PAGES: u32 = 2048;
/// Default maximum of a memory, 1 GiB: enough for most guests, and safe for most machines.
const MAX_PAGES: u32 = 16_384;

/// Most shown bytes of the memory.
const DUMPED: u64 = 65_536;

/// The call, checked as far as possible without running it.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) file: PathBuf,
    pub(super) guest: GuestModule,
    wasm: Vec<u8>,
    pub(super) identity: Identity,
    /// The names of linked libraries, and the SHA-256 of the linked module.
    pub(super) linked: Option<(String, String)>,
    /// The export that pre-initialised the module, and the SHA-256 of the module afterwards.
    pub(super) init: Option<(String, String)>,
    pub(super) export: String,
    /// The type of the export; empty for a component's.
    pub(super) signature: Signature,
    pub(super) abi: Abi,
    /// `true` if the convention was guessed.
    pub(super) guessed: bool,
    pub(super) heap: HeapPages,
    pub(super) input: Vec<u8>,
    pub(super) effects: Effects,
    program: Program,
    /// Constructors that are called without being asked.
    pub(super) constructed: Option<Constructed>,
    profile: OnceCell<Option<(Vec<u8>, Open)>>,
}

impl Target {
    /// The deterministic profile of the module, and what the specification leaves open in it;
    /// `None` if that is nothing, and for components.
    pub(super) fn profile(&self) -> Result<Option<&(Vec<u8>, Open)>> {
        if let Some(profile) = self.profile.get() {
            return Ok(profile.as_ref());
        }
        let info = self.guest.info();
        let profile = match info.component {
            Some(_) => None,
            None => deterministic(&self.wasm)?,
        };
        Ok(self.profile.get_or_init(|| profile).as_ref())
    }

    /// Fails if the file, the export, the convention or the input is invalid. Runs nothing.
    pub(super) fn find(run: &Run, source: Source, export: &str) -> Result<Self> {
        let Source { file, identity, linked, init, mut wasm, info } = source;
        let unusable = || format!("cannot use {}", file.display());
        // `--init` replaces constructors.
        let mut constructed = match init {
            _ if run.no_constructors => None,
            Some(_) => None,
            None => constructed(&wasm, &info, export).with_context(unusable)?,
        };
        if let Some(constructed) = &mut constructed {
            wasm = std::mem::take(&mut constructed.wasm);
        }
        let found = find_export(&info, export).with_context(unusable)?;
        let is_component = info.component.is_some();
        let signature = match &found.signature {
            Some(signature) => signature.clone(),
            // The backend checks a component's types.
            None if is_component => Signature::default(),
            None => bail!(
                "export '{}' cannot be called: it has references of types that no host can pass",
                shown_name(export)
            ),
        };
        let abi = run.abi.unwrap_or_else(|| match guess_of_component(export, &info) {
            Some(_) if !run.args.is_empty() && !wasi::is_command(export) => Abi::Typed,
            Some(guessed) => guessed,
            None => match guess(export, &signature, &info) {
                Abi::Wasi => Abi::Wasi,
                _ if !run.args.is_empty() => Abi::Plain,
                guessed => guessed,
            },
        });
        if abi == Abi::Codec {
            bail!("the codec convention needs a codec component; only cases can name one");
        }
        let program = settings(run, name(&file));
        program.settings()?;
        if !run.args.is_empty() && run.input.is_some() && abi != Abi::Wasi {
            bail!("--args cannot be used with --input in the {abi} convention");
        }
        let input = match run.args.is_empty() || abi == Abi::Wasi {
            true => input(run.input.as_deref())?,
            false => arguments(export, &signature, abi, &run.args)?,
        };
        let heap = heap(run, abi, is_component);
        let guest = GuestModule::new(&name(&file), &wasm, heap);
        let guest = guest.map_err(|error| with_option(error.into(), &info, heap));
        let guest = guest.with_context(unusable)?;
        if !is_component {
            Exports::of(&guest).find(export, abi)?;
        }
        check_input(export, &signature, abi, &input)?;
        Ok(Self {
            file: file.clone(),
            guest,
            wasm,
            identity,
            linked,
            init,
            export: export.to_owned(),
            effects: Effects {
                digest: run.hash || !is_component && has_only_effects(abi, &signature),
                dump: run.dump,
                is_shown: run.hash || run.dump.is_some(),
            },
            signature,
            abi,
            guessed: run.abi.is_none(),
            heap,
            input,
            program,
            constructed,
            profile: OnceCell::new(),
        })
    }

    /// Writes the module and the input to files in a private folder, for workers.
    pub(super) fn stage(
        &self,
        folder: &Path,
        deadline: Option<Duration>,
        log: bool,
    ) -> Result<Call> {
        let write = |name: &str, content: &[u8]| {
            let path = folder.join(name);
            let written = std::fs::write(&path, content);
            let failed = || format!("cannot write a temporary file; {}", remedy(&temp_dir()));
            written.with_context(failed).map(|()| path)
        };
        Ok(Call {
            module: write("module.wasm", &self.wasm)?,
            input: write("input", &self.input)?,
            name: self.guest.name().to_owned(),
            heap: self.heap,
            export: self.export.clone(),
            abi: self.abi,
            deadline,
            log,
            effects: self.effects,
            program: self.program.clone(),
        })
    }
}

/// The module of the file, unpacked and pre-initialised.
#[derive(Debug)]
pub(super) struct Source {
    file: PathBuf,
    identity: Identity,
    linked: Option<(String, String)>,
    init: Option<(String, String)>,
    wasm: Vec<u8>,
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
}

/// Settings of a WASI program of this name.
fn settings(run: &Run, name: String) -> Program {
    Program {
        arguments: std::iter::once(name).chain(run.args.iter().cloned()).collect(),
        environment: program::last_of_each(&run.environment),
        directory: run.dir.clone(),
    }
}

fn name(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
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
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    let parts = text
        .split_once(',')
        .and_then(|(start, length)| Some((number(start.trim())?, number(length.trim())?)));
    match parts {
        Some((start, length)) if (1..=DUMPED).contains(&length) => Ok((start, length)),
        _ => Err(format!("'{text}' is no address and length from 1 to {DUMPED}, such as 0x400,16")),
    }
}

/// The export to call: the named one, or that of a WASI program.
pub(super) fn export_to_call(named: Option<&str>, info: &ModuleInfo) -> Option<String> {
    named.or_else(|| info.program()).map(str::to_owned)
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
        format!("the module has no exported function '{name_shown}'{}", near(name, &names))
    })
}

/// The convention that fits the type of a component's export; `None` for a core module.
fn guess_of_component(name: &str, info: &ModuleInfo) -> Option<Abi> {
    let functions = &info.component.as_ref()?.functions;
    let place = info.exports.iter().position(|export| export.name == name);
    let ty = place.and_then(|place| functions.get(place));
    let bytes = DataType::List(Box::new(DataType::Primitive("u8")));
    Some(match ty.map(|ty| (&ty.params[..], &ty.result)) {
        _ if wasi::is_command(name) => Abi::Wasi,
        Some(([], None)) | None => Abi::Input,
        Some(([(_, param)], None)) if *param == bytes => Abi::Bytes,
        Some(_) => Abi::Typed,
    })
}

/// The most likely convention of an export.
fn guess(name: &str, signature: &Signature, info: &ModuleInfo) -> Abi {
    let asks_for_input = || {
        info.imports
            .iter()
            .any(|import| import.module == "env" && import.name == imports::INPUT_LENGTH)
    };
    let imports_wasi = || info.imports.iter().any(|import| import.module == wasi::MODULE);
    let takes_bytes = signature.params == [ValueType::I32; 2];
    if name == wasi::START && *signature == Signature::default() && imports_wasi() {
        Abi::Wasi
    } else if takes_bytes && signature.results == [ValueType::I64] {
        Abi::Substrate
    } else if signature.params.is_empty() && asks_for_input() {
        Abi::Input
    } else if takes_bytes && info.exports.iter().any(allocates) {
        Abi::Bytes
    } else {
        Abi::Plain
    }
}

/// `true` if an export is the allocator of the bytes convention.
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
