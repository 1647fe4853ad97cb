//! `touchstone completions` and `touchstone man`: made from the options themselves.

use super::Ended;
use anyhow::{Context, Result};
use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;
use std::path::PathBuf;
use touchstone::files::stage;
use touchstone::run::shown;
use touchstone::terminal::{complain, print};

const COMPLETIONS: &str = "completions";
const MAN: &str = "man";

/// The two commands, which the list of commands does not show.
pub(super) fn commands() -> [Command; 2] {
    let shell = Arg::new("shell").value_name("SHELL").required(true);
    let shell = shell.value_parser(value_parser!(Shell)).help("For this shell");
    let folder = Arg::new("folder").value_name("DIR").value_parser(value_parser!(PathBuf));
    let folder = folder.help("Write a page for each command to DIR [default: print that of all]");
    let about = "Prints a script that completes commands and options";
    let example = "Example:\n  touchstone completions bash \
                   >~/.local/share/bash-completion/completions/touchstone";
    let completions = Command::new(COMPLETIONS).about(about).arg(shell).after_help(example);
    let about = "Prints the manual page, or writes one for each command";
    let man = Command::new(MAN).about(about).arg(folder);
    let man = man.after_help("Example:\n  touchstone man ~/.local/share/man/man1");
    [completions, man].map(|command| command.hide(true).max_term_width(100))
}

/// Executes one of the two commands, of a program with all commands; `None` for others.
pub(super) fn execute(name: &str, given: &ArgMatches, mut all: Command) -> Option<Result<Ended>> {
    match name {
        COMPLETIONS => {
            let shell = given.get_one::<Shell>("shell").copied()?;
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut all, "touchstone", &mut text);
            let text = String::from_utf8_lossy(&text);
            Some(print(&text).map(|()| Ended::Well))
        }
        MAN => Some(manual(given.get_one::<PathBuf>("folder"), all)),
        _ => None,
    }
}

fn manual(folder: Option<&PathBuf>, mut all: Command) -> Result<Ended> {
    all.build();
    let page = |command: Command| {
        let mut text = Vec::new();
        clap_mangen::Man::new(command).render(&mut text).context("cannot make the page")?;
        anyhow::Ok(text)
    };
    let Some(folder) = folder else {
        let text = page(all)?;
        return print(&String::from_utf8_lossy(&text)).map(|()| Ended::Well);
    };
    let write = |name: String, text: Vec<u8>| {
        stage(folder.join(format!("{name}.1")), &text).and_then(touchstone::files::Staged::commit)
    };
    let own = all.get_subcommands().filter(|own| !own.is_hide_set() && own.get_name() != "help");
    for command in own.cloned() {
        let name = format!("touchstone-{}", command.get_name());
        write(name.clone(), page(command.name(name.leak() as &str))?)?;
    }
    write("touchstone".to_owned(), page(all)?)?;
    complain(&format!("wrote the pages to {}", shown(folder)));
    Ok(Ended::Well)
}
