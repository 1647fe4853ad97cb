//! Requested settings of a backend, and its effective configuration.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::functions::{Functions, Imports};
use crate::guest::GuestModule;
use crate::host::{LogSink, StreamSink};

/// Requested settings of a backend. Settings of the guest (heap pages, limits) are part of
/// [`crate::guest::GuestModule`].
///
/// ```
/// use std::sync::Arc;
/// use touchstone_executor::{Config, Imports, wasi};
///
/// let arguments = vec!["tool".to_owned(), "--help".to_owned()];
/// let settings = wasi::Settings { arguments, ..wasi::Settings::default() };
/// let config = Config {
///     imports: Imports::Zero,
///     interruptible: true,
///     wasi: Some(Arc::new(settings)),
///     ..Config::default()
/// };
/// # assert!(config.is_interruptible());
/// ```
#[derive(Clone)]
pub struct Config {
    /// Time limit of one call: from each entry into the guest, which with
    /// [`Abi::Bytes`](crate::Abi::Bytes) are its allocator and the export, and for a new
    /// instance also its start function. The guest is then stopped with
    /// [`TrapKind::DeadlineExceeded`](crate::TrapKind::DeadlineExceeded). `None` disables the
    /// check, which costs time in every loop of most engines; timed rows have none.
    pub deadline: Option<Duration>,
    /// `true` if calls may have a deadline of their own or be interrupted
    /// ([`CallOptions`](crate::CallOptions)), as with a `deadline`. The check costs the same.
    pub interruptible: bool,
    /// `true` if runtimes count the executed operators, if they can, and calls may have a limit of
    /// fuel. Counting slows all of the guest's code, so timed rows do not count.
    pub metered: bool,
    /// The host functions. [`Functions::standard`] by default.
    pub functions: Functions,
    /// The answer to imports that no host function answers. By default the module is not loaded.
    pub imports: Imports,
    /// Highest level that the guest may log at: 0 off, 1 error … 5 trace.
    pub max_log_level: u32,
    /// Receiver of the guest's log lines, of each text the first 64 KiB. A pool may call it while
    /// it holds a lock, so it must not call instances of the same module.
    pub log: Option<Arc<LogSink>>,
    /// Receiver of a copy of what guests write to the standard output and the standard error of
    /// WASI. The rule for `log` holds for it too.
    pub streams: Option<Arc<StreamSink>>,
    /// Number of instances that may live at the same time, for backends that reserve memory.
    pub instances: u32,
    /// `true` if a compiler may use all processors.
    pub parallel_compilation: bool,
    /// The component that makes values of the input's bytes for [`Abi::Codec`](crate::Abi::Codec).
    /// It is a part of the host: it is compiled, instantiated and given the types outside of the
    /// calls, and no deadline stops it.
    pub codec: Option<GuestModule>,
    /// Arguments, environment and directory of WASI programs. Nothing by default.
    pub wasi: Option<Arc<crate::wasi::Settings>>,
    /// Bytes that guests have at the end of their memories, read-only, in the place of as many
    /// bytes of their own. Engines for which it [cannot be mapped](crate::Engine::maps_regions)
    /// refuse to load; so does Wasmtime for guests that write in bulk (`memory.fill`,
    /// `memory.copy`). The host reads and writes nothing there for the guest: such a parameter of a
    /// host function lies outside the memory.
    pub region: Option<Arc<crate::memory::Region>>,
}

impl Config {
    /// `true` if the guest's code must check whether it has to stop.
    pub fn is_interruptible(&self) -> bool {
        self.interruptible || self.deadline.is_some()
    }
}

impl Default for Config {
    /// No deadline, no meter, the standard host functions, no stubs for other imports, no log, no
    /// copies of streams, 32 instances, parallel compilation, no codec, nothing for programs of
    /// WASI, no region.
    fn default() -> Self {
        Self {
            deadline: None,
            interruptible: false,
            metered: false,
            functions: Functions::standard(),
            imports: Imports::default(),
            max_log_level: 0,
            log: None,
            streams: None,
            instances: 32,
            parallel_compilation: true,
            codec: None,
            wasi: None,
            region: None,
        }
    }
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config")
            .field("deadline", &self.deadline)
            .field("interruptible", &self.interruptible)
            .field("metered", &self.metered)
            .field("imports", &self.imports)
            .field("max_log_level", &self.max_log_level)
            .field("instances", &self.instances)
            .field("parallel_compilation", &self.parallel_compilation)
            .field("codec", &self.codec.as_ref().map(GuestModule::name))
            .field("wasi", &self.wasi)
            .finish_non_exhaustive()
    }
}

/// The effective configuration, as keys and values in words; part of every record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct EffectiveConfig(BTreeMap<String, String>);

impl EffectiveConfig {
    /// An empty configuration.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an entry, in builder style.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<String>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// All entries, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

impl From<EffectiveConfig> for BTreeMap<String, String> {
    fn from(effective: EffectiveConfig) -> Self {
        effective.0
    }
}
