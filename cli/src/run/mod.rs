//! `touchstone run`: any module on every backend and strategy, side by side.

mod answer;
mod arguments;
mod content;
mod difference;
mod follow;
mod print;
mod summary;
mod target;
mod worker;

use super::Ended;
pub(super) use arguments::{spread, with_hint};

use super::common::{begin, print_lines};
use answer::Groups;
use anyhow::{Result, bail, ensure};
use difference::Difference;
use follow::{Limits, Row, Workers};
use print::Shown;
use std::path::PathBuf;
use std::time::Duration;
use target::{Source, Target};
use touchstone::case::Library;
use touchstone::run::seconds;
use touchstone::solo::available_memory;
use touchstone::supervise::Stop;
use touchstone::terminal::{Progress, Style, print};
use touchstone_executor::adapter::Scratch;
use touchstone_executor::{Abi, Imports, Strategy};

/// Calls an export of a module on every backend and strategy, side by side.
///
/// The module is a core WebAssembly module or a component, raw or as a zstd-compressed Substrate
/// blob. Each combination calls the export twice, each time on a clean instance, and both calls
/// must have the same result. A result is compared with what was written to standard output and
/// standard error, also before an exit or a trap. A call without a result is compared by the memory
/// that it leaves. Each engine runs in a process of its own: a crash is a result of one
/// combination.
///
/// Results may differ in what the specification leaves open: the bits of computed NaNs, and relaxed
/// vector instructions. If results differ, the module is called again in a form in which every
/// computed NaN is the canonical one and no vector instruction is relaxed. Where the results agree
/// then, the difference is allowed.
///
/// Without --call, `_start` or `run` of `wasi:cli/run` is called, or the exports are shown. Exits
/// with 0 when all combinations return the same output or differ only as the specification allows,
/// with 1 when outputs differ, the guest traps, is stopped, or a backend fails, with 2 when the
/// input is invalid, with 130 after Ctrl-C, and with 143 after SIGTERM.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  touchstone run module.wasm --call add --args 1 0xff")]
pub(super) struct Run {
    /// Load this module
    #[arg(required_unless_present = "worker")]
    file: Option<PathBuf>,
    /// Call this exported function
    #[arg(long, value_name = "EXPORT")]
    call: Option<String>,
    /// Do not call constructors (`_initialize`, `__wasm_call_ctors`) before the export
    #[arg(long)]
    no_constructors: bool,
    /// Pre-initialise the module: call this exported function once and use the resulting module
    /// on every backend (needs the feature wizer)
    #[arg(long, value_name = "EXPORT")]
    init: Option<String>,
    /// Answer the imports of the module NAME by the exports of this module, as in
    /// `--link math=math.wasm`; repeat for more, each sees the ones before it. Such a library
    /// imports the exports and the memory of the loaded module from `main` or `env`
    #[arg(long, value_name = "NAME=FILE")]
    link: Vec<Library>,
    /// Answer imports that neither the host nor a library has: `trap` ends the call, `zero` returns
    /// zeros, `error` loads no module that has such imports
    #[arg(long, value_name = "error|trap|zero", default_value = "trap")]
    imports: Imports,
    /// Use this calling convention: substrate, input, bytes, plain, wasi, wapc or typed [default:
    /// guessed from the export's signature]
    #[arg(long)]
    abi: Option<Abi>,
    /// Pass these parameters: numbers (decimal, 0xHEX, inf, nan, nan:0xBITS), vectors
    /// (i32x4:1,2,3,4) or null in the plain convention, JSON in the typed one, texts to a WASI
    /// program; write --args=-v for a text that begins with a hyphen and is no number
    #[arg(long, value_name = "VALUE", num_args = 1.., allow_negative_numbers = true)]
    args: Vec<String>,
    /// Pass this input: @FILE, 0xHEX or text:TEXT; in the plain convention, the parameters as
    /// consecutive little-endian bytes
    #[arg(long, value_name = "@FILE|0xHEX|text:TEXT")]
    input: Option<String>,
    /// Set this environment variable of a WASI program; repeat for more, the last value of a name
    /// counts
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = target::variable)]
    environment: Vec<(String, String)>,
    /// Let a WASI program read this directory, as `/`
    #[arg(long, value_name = "PATH")]
    dir: Option<PathBuf>,
    /// Run only these strategies, named as in `touchstone list` [default: all that the backend
    /// supports]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    strategy: Vec<Strategy>,
    /// Run only backends whose name this regular expression matches
    #[arg(long, visible_alias = "engine", value_name = "REGEX")]
    backend: Option<String>,
    /// Leave out backends whose name this regular expression matches
    #[arg(long, value_name = "REGEX")]
    not_engine: Option<String>,
    /// Add N pages of 64 KiB to the minimum of the memory [default: 2048 in the substrate
    /// convention, otherwise 0]
    #[arg(long, value_name = "N")]
    extra_pages: Option<u32>,
    /// Let the memory grow to N pages [default: no growth in the substrate convention,
    /// otherwise 16384, which is 1 GiB]
    #[arg(long, value_name = "N")]
    max_pages: Option<u32>,
    /// Stop the guest after this many seconds in one call
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, default_value = "10", value_parser = seconds)]
    timeout: Duration,
    /// End a compiler that takes longer than this many seconds
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, default_value = "60", value_parser = seconds)]
    compile_timeout: Duration,
    /// End a process that occupies more than N MiB [default: half of the available memory]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    memory_limit: Option<u64>,
    /// Compare the memory after every call, and show its SHA-256
    #[arg(long)]
    hash: bool,
    /// Show LEN bytes of the memory at ADDR after the call (decimal or 0xHEX)
    #[arg(long, value_name = "ADDR,LEN", value_parser = target::range)]
    dump: Option<(u64, u64)>,
    /// Show what a program writes in hexadecimal, also where it is text
    #[arg(long)]
    hex: bool,
    /// Print the log of the guest to the standard error
    #[arg(long)]
    log: bool,
    /// Print a line for each combination as well
    #[arg(long, conflicts_with = "json")]
    all: bool,
    /// Print one JSON object per line and combination
    #[arg(long)]
    json: bool,
    /// Serve as a process of another run
    #[arg(long, hide = true)]
    worker: bool,
}

impl Run {
    pub(super) fn execute(self) -> Result<Ended> {
        let Some(file) = self.file.as_deref().filter(|_| !self.worker) else {
            return worker::serve().map(|()| Ended::Well);
        };
        let source = Source::read(file, &self.link, self.init.as_deref())?;
        let Some(export) = self.call.as_deref().or_else(|| source.info.program()) else {
            print(&print::exports(&source))?;
            bail!(target::no_export(&source.info));
        };
        let (export, folder, stop) = (export.to_owned(), Scratch::new()?, Stop::default());
        let target = Target::find(&self, source, &export, folder.path())?;
        let mut rows = Row::choose(&self, &target.guest)?;
        begin(&stop, false)?;
        let memory = self.memory_limit.map_or_else(|| available_memory() / 2, |mib| mib << 20);
        let workers = Workers {
            call: target.call.clone(),
            limits: Limits { compile: self.compile_timeout, call: self.timeout, memory },
            stop,
            folder: folder.path().to_owned(),
        };
        let style = Style::of_stdout();
        if !self.json {
            print(&print::head(&target, style))?;
        }
        let progress = Progress::new(rows.len(), !self.log);
        workers.call_all(&mut rows, &progress)?;
        drop(progress);
        let groups = Groups::of(rows.iter().map(|row| row.answer.as_ref()));
        let core = (!target.source.is_component()).then_some(&*target.source.wasm);
        let difference = Difference::of(core, &workers, &rows, &groups)?;
        let (target, rows, groups) = (&target, &*rows, &groups);
        let shown = Shown { target, rows, groups, difference, style, hex: self.hex };
        if self.json {
            print_lines(shown.json())?;
        } else {
            let table = if self.all { shown.table() + "\n" } else { String::new() };
            print(&(table + &shown.outcome()))?;
        }
        if workers.stop.asked() {
            return Ok(Ended::Stopped);
        }
        let can_run = !groups.all.is_empty() || groups.failed;
        ensure!(can_run, "none of the chosen combinations can run this module");
        let is_allowed = difference.is_some_and(|difference| difference.is_allowed);
        Ok(Ended::well_if(groups.agree(is_allowed) && !groups.failed))
    }
}
