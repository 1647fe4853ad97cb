//! Terminal output: tables, colours, and writing to a pipe that may close. All that is written
//! passes [`escape`](crate::escape), which leaves only the sequences of [`Style`].

mod progress;

use crate::Skipped;
use crate::escape::terminal;
use anyhow::{Context, Result};
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;

pub use progress::Progress;

/// Writes to the standard output. A closed pipe (`… | head`) is not an error.
pub fn print(text: &str) -> Result<()> {
    let allowed: &[&str] = if Style::of_stdout().colour { &CODES } else { &[] };
    print_bytes(terminal(text, allowed).as_bytes())
}

/// Writes bytes unchanged to the standard output, for another program. A closed pipe is not an
/// error.
pub fn print_bytes(bytes: &[u8]) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to the standard output")
        }
        _ => Ok(()),
    }
}

/// Writes a line to the standard error and ignores failures.
pub fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", terminal(text, &[]));
}

/// More skipped lines of a file than these are counted, not named.
const MOST_NAMED: usize = 20;

pub fn warn_of_skipped(records: &Path, skipped: &[Skipped]) {
    let records = records.display();
    for Skipped { line, reason } in skipped.iter().take(MOST_NAMED) {
        complain(&format!("warning: {records} line {line} is skipped: {reason}"));
    }
    if let Some(more) = skipped.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
        complain(&format!("warning: {more} more lines of {records} are skipped"));
    }
}

/// `true` if a terminal gets escape sequences: not with `NO_COLOR` or `TERM=dumb`.
pub fn takes_escapes() -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb")
}

/// The attributes that a [`Style`] sets; the first takes them back.
const CODES: [&str; 5] = ["0", "1", "2", "31", "32"];

/// Colours of the output; none if it is not a terminal.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    colour: bool,
}

impl Style {
    pub fn of_stdout() -> Self {
        Self { colour: takes_escapes() && std::io::stdout().is_terminal() }
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    pub fn good(self, text: &str) -> String {
        self.wrap("32", text)
    }

    pub fn bad(self, text: &str) -> String {
        self.wrap("31", text)
    }
}

/// Columns of aligned text.
pub struct Table {
    table: comfy_table::Table,
    head: bool,
    right: Vec<usize>,
    indent: usize,
}

impl Table {
    pub fn new(head: &[&str]) -> Self {
        let mut table = comfy_table::Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        if !head.is_empty() {
            table.set_header(head);
        }
        Self { table, head: !head.is_empty(), right: Vec::new(), indent: 0 }
    }

    pub fn right(mut self, columns: &[usize]) -> Self {
        columns.clone_into(&mut self.right);
        self
    }

    pub fn indented(mut self, indent: usize) -> Self {
        self.indent = indent;
        self
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.table.add_row(cells.into_iter().collect::<Vec<_>>());
    }

    pub fn render(mut self, style: Style) -> String {
        for (index, column) in self.table.column_iter_mut().enumerate() {
            column.set_padding((0, 2));
            if self.right.contains(&index) {
                column.set_cell_alignment(comfy_table::CellAlignment::Right);
            }
        }
        let line = |(index, line): (usize, String)| {
            let line = format!("{:indent$}{}", "", line.trim_end(), indent = self.indent);
            (if self.head && index == 0 { style.dim(&line) } else { line }) + "\n"
        };
        self.table.lines().enumerate().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_lines_have_no_trailing_space() {
        let mut table = Table::new(&["name", "time", "note"]).right(&[1]).indented(1);
        table.row(["a".to_owned(), "1 µs".to_owned(), String::new()]);
        table.row(["longer".to_owned(), "22 µs".to_owned(), "why".to_owned()]);
        let plain = Style { colour: false };
        assert_eq!(
            table.render(plain),
            " name     time  note\n a        1 µs\n longer  22 µs  why\n"
        );
    }
}
