//! WASI preview 2 by `wasmtime-wasi`, with the values that preview 1 has
//! ([`touchstone_executor::wasi`]): clocks, random numbers, streams.
//!
//! Nothing waits: a timer lets the clocks advance. Sockets are left out, so that the functions
//! are stubs. The directory is read-only.

mod streams;

use crate::data::StoreData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use streams::{Errors, Input, Output, Writable, locked};
use touchstone_executor::adapter::HostState;
use touchstone_executor::wasi::{EPOCH, MOST_OUTPUT, SEED, STEP};
use wasmtime::Result;
use wasmtime::component::{HasData, Linker, Resource, ResourceTable, Val};
use wasmtime_wasi::cli::{WasiCli, WasiCliCtxView};
use wasmtime_wasi::clocks::{HostMonotonicClock, HostWallClock, WasiClocks, WasiClocksCtxView};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemCtxView};
use wasmtime_wasi::p2::bindings::{cli, clocks, filesystem, random, sync};
use wasmtime_wasi::p2::{DynPollable, Pollable, subscribe};
use wasmtime_wasi::{FsPerms, I32Exit, WasiCtx};
use wasmtime_wasi_io::async_trait;
use wasmtime_wasi_io::bytes::Bytes;

/// Files, streams and other handles that a program may have at the same time. Files are descriptors
/// of the process, which often may have 1024.
const MOST_HANDLES: usize = 512;

/// Interfaces that are answered here, of any version 0.2.
const INTERFACES: [&str; 20] = [
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stderr",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stderr",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:clocks/monotonic-clock",
    "wasi:clocks/wall-clock",
    "wasi:filesystem/preopens",
    "wasi:filesystem/types",
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:random/insecure",
    "wasi:random/insecure-seed",
    "wasi:random/random",
];

/// `true` if an imported interface is answered here.
pub(super) fn answers(interface: &str) -> bool {
    interface.split_once("@0.2.").is_some_and(|(name, _)| INTERFACES.binary_search(&name).is_ok())
}

pub(super) fn link(linker: &mut Linker<StoreData>) -> Result<()> {
    cli::exit::add_to_linker::<_, WasiCli>(linker, standard)?;
    cli::environment::add_to_linker::<_, WasiCli>(linker, standard)?;
    cli::stdin::add_to_linker::<_, WasiCli>(linker, standard)?;
    cli::stdout::add_to_linker::<_, WasiCli>(linker, standard)?;
    cli::stderr::add_to_linker::<_, WasiCli>(linker, standard)?;
    cli::terminal_input::add_to_linker::<_, WasiCli>(linker, standard)?;
    cli::terminal_output::add_to_linker::<_, WasiCli>(linker, standard)?;
    cli::terminal_stdin::add_to_linker::<_, WasiCli>(linker, standard)?;
    cli::terminal_stdout::add_to_linker::<_, WasiCli>(linker, standard)?;
    cli::terminal_stderr::add_to_linker::<_, WasiCli>(linker, standard)?;
    clocks::wall_clock::add_to_linker::<_, WasiClocks>(linker, |host| {
        let program = Program::of(host);
        WasiClocksCtxView { ctx: program.context.clocks(), table: &mut program.table }
    })?;
    clocks::monotonic_clock::add_to_linker::<_, Timers>(linker, |host| {
        let program = Program::of(host);
        TimersView { clock: &program.clock, table: &mut program.table }
    })?;
    random::random::add_to_linker::<_, Generator>(linker, generator)?;
    random::insecure::add_to_linker::<_, Generator>(linker, generator)?;
    random::insecure_seed::add_to_linker::<_, Generator>(linker, generator)?;
    filesystem::preopens::add_to_linker::<_, WasiFilesystem>(linker, files)?;
    sync::filesystem::types::add_to_linker::<_, WasiFilesystem>(linker, files)?;
    sync::io::poll::add_to_linker::<_, Table>(linker, table)?;
    sync::io::streams::add_to_linker::<_, Table>(linker, table)?;
    wasmtime_wasi_io::bindings::wasi::io::error::add_to_linker::<_, Table>(linker, table)
}

fn table(host: &mut StoreData) -> &mut ResourceTable {
    &mut Program::of(host).table
}

fn standard(host: &mut StoreData) -> WasiCliCtxView<'_> {
    let program = Program::of(host);
    WasiCliCtxView { ctx: program.context.cli(), table: &mut program.table }
}

fn files(host: &mut StoreData) -> WasiFilesystemCtxView<'_> {
    let program = Program::of(host);
    WasiFilesystemCtxView { ctx: program.context.filesystem(), table: &mut program.table }
}

fn generator(host: &mut StoreData) -> Random<'_> {
    Random(&mut Program::of(host).random)
}

struct Table;

impl HasData for Table {
    type Data<'a> = &'a mut ResourceTable;
}

/// State of a program in one instance.
struct Program {
    context: WasiCtx,
    table: ResourceTable,
    clock: Clock,
    random: fastrand::Rng,
    input: Input,
    output: Output,
    errors: Errors,
    /// The reason why its directory could not be opened.
    refused: Option<String>,
}

impl Program {
    /// The state of the instance, made by its first call.
    fn of(host: &mut StoreData) -> &mut Self {
        host.extension(Self::new)
    }

    fn new(host: &HostState) -> Self {
        let settings = host.program_settings();
        let (clock, input) = (Clock::default(), Input::default());
        let output = Output { bytes: Arc::default(), sink: host.stream_sink() };
        let errors = Errors(Arc::new(Mutex::new(host.error_lines())));
        let mut builder = WasiCtx::builder();
        builder
            .args(&settings.arguments)
            .envs(&settings.environment)
            .stdin(input.clone())
            .stdout(Writable(output.clone()))
            .stderr(Writable(errors.clone()))
            .wall_clock(clock.clone())
            .monotonic_clock(clock.clone())
            // Or threads of Tokio would read files.
            .allow_blocking_current_thread(true);
        let opened = settings
            .directory
            .as_ref()
            .map(|directory| builder.preopened_dir(directory.path(), "/", FsPerms::ReadOnly));
        let refused = opened.and_then(Result::err).map(|error| error.to_string());
        let (context, mut table) = (builder.build(), ResourceTable::new());
        table.set_max_capacity(MOST_HANDLES);
        let random = fastrand::Rng::with_seed(SEED);
        Self { context, table, clock, random, input, output, errors, refused }
    }
}

/// Begins a program: sets its standard input.
pub(super) fn begin(host: &mut StoreData, input: &[u8]) -> Result<()> {
    let program = Program::of(host);
    if let Some(reason) = &program.refused {
        wasmtime::bail!("the directory of a program cannot be opened: {reason}");
    }
    *locked(&program.input.0) = Bytes::copy_from_slice(input);
    Ok(())
}

/// Ends a program, moves its standard output to `output`, and gives its exit code, or the trap as
/// an error.
pub(super) fn end(
    host: &mut StoreData,
    ended: Result<Option<Val>>,
    output: &mut Vec<u8>,
) -> Result<i32> {
    let program = Program::of(host);
    locked(&program.errors.0).end();
    output.append(&mut locked(&program.output.bytes));
    match ended {
        Ok(Some(Val::Result(Err(_)))) => Ok(1),
        Ok(_) => Ok(0),
        Err(error) => Ok(error.downcast::<I32Exit>()?.0),
    }
}

/// All clocks: they advance with each reading, ns.
#[derive(Clone, Default)]
struct Clock(Arc<AtomicU64>);

impl Clock {
    fn read(&self) -> u64 {
        self.0.fetch_add(STEP, Ordering::Relaxed).saturating_add(STEP)
    }

    /// The time without a reading.
    fn time(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn advance_to(&self, time: u64) {
        self.0.fetch_max(time, Ordering::Relaxed);
    }
}

impl HostWallClock for Clock {
    fn resolution(&self) -> Duration {
        Duration::from_nanos(STEP)
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(EPOCH.saturating_add(self.read()))
    }
}

impl HostMonotonicClock for Clock {
    fn resolution(&self) -> u64 {
        STEP
    }

    fn now(&self) -> u64 {
        self.read()
    }
}

/// The monotonic clock, with timers that do not wait.
struct Timers;

impl HasData for Timers {
    type Data<'a> = TimersView<'a>;
}

struct TimersView<'a> {
    clock: &'a Clock,
    table: &'a mut ResourceTable,
}

impl clocks::monotonic_clock::Host for TimersView<'_> {
    fn now(&mut self) -> Result<u64> {
        Ok(self.clock.read())
    }

    fn resolution(&mut self) -> Result<u64> {
        Ok(STEP)
    }

    fn subscribe_instant(&mut self, when: u64) -> Result<Resource<DynPollable>> {
        let timer = Timer { clock: self.clock.clone(), when };
        let timer = self.table.push(timer)?;
        subscribe(self.table, timer)
    }

    fn subscribe_duration(&mut self, duration: u64) -> Result<Resource<DynPollable>> {
        self.subscribe_instant(self.clock.time().saturating_add(duration))
    }
}

/// A timer that ends when somebody waits for it.
struct Timer {
    clock: Clock,
    when: u64,
}

#[async_trait]
impl Pollable for Timer {
    async fn ready(&mut self) {
        self.clock.advance_to(self.when);
    }
}

/// The generator of preview 1.
struct Generator;

impl HasData for Generator {
    type Data<'a> = Random<'a>;
}

struct Random<'a>(&'a mut fastrand::Rng);

impl Random<'_> {
    fn bytes(&mut self, length: u64) -> Result<Vec<u8>> {
        match usize::try_from(length) {
            Ok(length) if length <= MOST_OUTPUT => {
                let mut bytes = vec![0; length];
                self.0.fill(&mut bytes);
                Ok(bytes)
            }
            _ => wasmtime::bail!("{length} random bytes at once are too many"),
        }
    }
}

impl random::random::Host for Random<'_> {
    fn get_random_bytes(&mut self, length: u64) -> Result<Vec<u8>> {
        self.bytes(length)
    }

    fn get_random_u64(&mut self) -> Result<u64> {
        Ok(self.0.u64(..))
    }
}

impl random::insecure::Host for Random<'_> {
    fn get_insecure_random_bytes(&mut self, length: u64) -> Result<Vec<u8>> {
        self.bytes(length)
    }

    fn get_insecure_random_u64(&mut self) -> Result<u64> {
        Ok(self.0.u64(..))
    }
}

impl random::insecure_seed::Host for Random<'_> {
    fn insecure_seed(&mut self) -> Result<(u64, u64)> {
        Ok((self.0.u64(..), self.0.u64(..)))
    }
}
