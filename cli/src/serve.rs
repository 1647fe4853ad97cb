use super::Ended;
use anyhow::Result;
use std::path::PathBuf;
use std::time::Duration;
use touchstone::host::{catalogue, executors};
use touchstone::plan::cores;
use touchstone::run::seconds;
use touchstone::terminal::complain;
use touchstone_executor::Strategy;
use touchstone_systems::host::{self, Conduct, Limits, Most, Server};

/// Serves the functions of components and modules over HTTP.
///
/// X-Contract names a file of DIR without its ending. A GET lists its functions with their types. A
/// POST calls the function that X-Func names. The body is the list of its parameters, in the format
/// of the codec that X-Codec names: json or toml, or a file of CODECS without its ending. The
/// answer is the list of the results: as text, or in JSON if Accept or Content-Type says
/// application/json. X-Target names the file of DIR that provides what the contract imports. A
/// function that takes bytes has no codec and answers with bytes: `func(list<u8>)` of a component,
/// and of a module `(i32, i32)`, where they lie and how many, beside an `alloc`. This takes a
/// number of bytes and returns where they go.
///
/// Each call has a clean instance. A file is loaded when a request first names it, and again when
/// it has changed. At most --guests of them stay loaded, each contract with a target as one more;
/// the one that was used least recently goes first. When all connections are taken, a new one gets
/// the place of the one that keeps the host waiting longest.
///
/// SIGTERM and Ctrl-C end the host after the requests that it has, a second signal at once. It
/// exits with 0 after SIGTERM, and with 130 after Ctrl-C.
///
/// This is an instrument, not a production host. It has --threads threads for calls, up to three
/// others, and up to two per processor to compile. It keeps at most --guests guests and one
/// instance of each per thread, and for each connection a request, an answer and 256 KiB.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  touchstone serve contracts --listen 127.0.0.1:8080")]
pub(super) struct Serve {
    /// Offer the .wasm and .wat files in DIR
    #[arg(value_name = "DIR")]
    contracts: PathBuf,
    /// Use the codec components in CODECS [default: JSON and TOML]
    #[arg(value_name = "CODECS")]
    codecs: Option<PathBuf>,
    /// Listen on this address; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: String,
    /// Run the guests on this engine [default: the first that can and that limits recursion]
    #[arg(long, value_name = "ENGINE")]
    engine: Option<String>,
    /// Provide clean instances by this strategy [default: the fastest that the engine has]
    #[arg(long, value_name = "STRATEGY")]
    strategy: Option<Strategy>,
    /// Make calls on N threads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Answer 504 to a call that takes more than SECONDS, with loading its guests
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = seconds, default_value = "10")]
    timeout: Duration,
    /// Keep at most N guests loaded
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=65_536), default_value_t = 64)]
    guests: u32,
    /// Keep guests loaded whose modules and code have at most BYTES together
    #[arg(long, value_name = "BYTES", default_value_t = 256 << 20)]
    guest_bytes: usize,
    /// Answer 413 to a body of more than BYTES
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20)]
    max_body: usize,
    /// Answer 500 to a request whose answer has more than BYTES
    #[arg(long, value_name = "BYTES", default_value_t = 16 << 20)]
    max_answer: usize,
    /// Answer 431 to headers of more than BYTES, at least 8192
    #[arg(long, value_name = "BYTES", default_value_t = 16 << 10)]
    max_headers: usize,
    /// Serve at most N connections at the same time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536), default_value_t = 256)]
    connections: u32,
    /// Answer 503 to a call while N others wait for a thread
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536), default_value_t = 1024)]
    waiting: u32,
}

impl Serve {
    pub(super) fn execute(self) -> Result<Ended> {
        let engines = touchstone_runtimes::engines();
        let threads = self.threads.map_or_else(cores, usize::from);
        let executors = executors(&engines, self.engine.as_deref(), self.strategy)?;
        let most = Most { entries: self.guests as usize, bytes: self.guest_bytes };
        let (contracts, codecs) = (&self.contracts, self.codecs.as_deref());
        let catalogue = catalogue(contracts, codecs, executors, self.timeout, threads, most)?;
        let limits = Limits {
            body: self.max_body,
            headers: self.max_headers,
            answer: self.max_answer,
            time: self.timeout,
            connections: self.connections,
            waiting: self.waiting as usize,
            threads,
        };
        let server = Server::bind(self.listen, catalogue, limits, Conduct::default())?;
        complain(&format!("listening on http://{}", server.address()));
        match server.run()? {
            host::Ended::Terminated => Ok(Ended::Well),
            host::Ended::Interrupted => Ok(Ended::Stopped),
        }
    }
}
