//! The command `touchstone`: one file per command; [`common`] has their shared code.
//!
//! Exit codes: 0 on success; 1 when a comparison or a check found a difference, or a cell or
//! guest failed; 2 when the input or the command is invalid; 130 after Ctrl-C, 143 after SIGTERM.

mod bench;
mod cases;
mod common;
mod compare;
mod doctor;
mod experiment;
mod export;
mod init;
mod inspect;
mod list;
mod machine;
mod merge;
mod peers;
mod repeat;
mod report;
mod run;
#[cfg(feature = "systems")]
mod serve;
mod show;
mod texts;
mod verify;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::process::ExitCode;
use touchstone::files::{self, Embedded};
use touchstone::run::stopped_code;
use touchstone_executor::guest::text::abridged;

/// Compares WebAssembly executors side by side: runtimes, instantiation
/// strategies, threads and payloads, on the same guests.
#[derive(Debug, Parser)]
#[command(name = "touchstone", version, arg_required_else_help = true, max_term_width = 100)]
struct Arguments {
    /// Use the cases, guests, tables and templates of DIR, which has `benches` and `test-runtime`
    /// [default: those of the clone, or those of the program itself]
    #[arg(long, global = true, value_name = "DIR")]
    data: Option<std::path::PathBuf>,
    #[command(subcommand)]
    command: Command,
}

macro_rules! commands {
    ($($(#[$attribute:meta])? $module:ident::$command:ident,)*) => {
        #[derive(Debug, Subcommand)]
        enum Command {
            $($(#[$attribute])? $command($module::$command),)*
        }

        impl Command {
            fn execute(self) -> anyhow::Result<Ended> {
                match self {
                    $($(#[$attribute])? Self::$command(command) => command.execute(),)*
                }
            }
        }
    };
}

commands! {
    bench::Bench,
    compare::Compare,
    list::List,
    merge::Merge,
    export::Export,
    show::Show,
    report::Report,
    run::Run,
    peers::Peers,
    #[cfg(feature = "systems")]
    serve::Serve,
    cases::Cases,
    repeat::Repeat,
    doctor::Doctor,
    machine::Machine,
    verify::Verify,
    inspect::Inspect,
    init::Init,
}

/// The end of a command that did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Well,
    /// Something differs or failed.
    Badly,
    Stopped,
}

impl Ended {
    fn well_if(well: bool) -> Self {
        if well { Self::Well } else { Self::Badly }
    }
}

const MESSAGE: usize = 8000;

/// The data files of the project, for a program outside of a clone.
const EMBEDDED: Embedded = Embedded {
    archive: include_bytes!(concat!(env!("OUT_DIR"), "/data")),
    digest: env!("TOUCHSTONE_DATA_DIGEST"),
    commit: env!("TOUCHSTONE_COMMIT"),
};

/// The value of `--data`. Experiments are declared in that folder, and have commands of their own,
/// so it is read before the arguments are.
fn data() -> Option<OsString> {
    let mut all = std::env::args_os().take_while(|argument| argument != "--");
    while let Some(argument) = all.next() {
        if argument == "--data" {
            return all.next();
        }
        let value = argument.to_str().and_then(|text| text.strip_prefix("--data="));
        if let Some(value) = value {
            return Some(value.into());
        }
    }
    None
}

fn execute() -> anyhow::Result<Ended> {
    files::embed(EMBEDDED);
    if let Some(folder) = data() {
        files::choose(folder.into())?;
    }
    let groups = experiment::groups();
    let own = Arguments::command();
    let all = groups.iter().fold(own, |all, group| all.subcommand(group.command()));
    let all = all.subcommands(texts::commands());
    let arguments = run::spread(std::env::args_os());
    let given = all.clone().try_get_matches_from(arguments);
    let given = given.unwrap_or_else(|error| run::with_hint(error).exit());
    if let Some((name, given)) = given.subcommand()
        && let Some(group) = groups.iter().find(|group| group.name() == name)
    {
        return group.execute(given);
    }
    if let Some((name, given)) = given.subcommand()
        && let Some(ended) = texts::execute(name, given, all)
    {
        return ended;
    }
    match Arguments::from_arg_matches(&given) {
        Ok(arguments) => arguments.command.execute(),
        Err(error) => error.exit(),
    }
}

fn main() -> ExitCode {
    match execute() {
        Ok(Ended::Well) => ExitCode::SUCCESS,
        Ok(Ended::Badly) => ExitCode::from(1),
        Ok(Ended::Stopped) => ExitCode::from(stopped_code()),
        Err(error) => {
            touchstone::terminal::complain(&abridged(&format!("error: {error:#}"), MESSAGE));
            ExitCode::from(2)
        }
    }
}
