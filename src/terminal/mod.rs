//! Terminal output: tables, colours, and writing to a pipe that may close.

pub mod progress;

use crate::record::Skipped;
use anyhow::{Context, Result};
use std::fmt::Write as _;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;

/// Writes to the standard output. A closed pipe (`… | head`) is not an error.
///
/// # Errors
///
/// When writing fails for another reason.
pub fn print(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to the standard output")
        }
        _ => Ok(()),
    }
}

/// Writes a line to the standard error and ignores failures.
pub fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Prints which lines of a record file were skipped.
pub fn warn_of_skipped(records: &Path, skipped: &[Skipped]) {
    for Skipped { line, reason } in skipped {
        complain(&format!("warning: {} line {line} is skipped: {reason}", records.display()));
    }
}

/// A path relative to the current folder where it lies below, otherwise as it is.
#[must_use]
pub fn short(path: &Path) -> String {
    let here = std::env::current_dir().ok();
    let below = here.and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned));
    match below {
        Some(below) if !below.as_os_str().is_empty() => below.display().to_string(),
        _ => path.display().to_string(),
    }
}

/// Colours of the output; none if it is not a terminal.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    colour: bool,
}

impl Style {
    /// That of the standard output.
    #[must_use]
    pub fn of_stdout() -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self { colour: wanted && std::io::stdout().is_terminal() }
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Bold text.
    #[must_use]
    pub fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// Dimmed text.
    #[must_use]
    pub fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    /// Text about success.
    #[must_use]
    pub fn good(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// Text about failure.
    #[must_use]
    pub fn bad(self, text: &str) -> String {
        self.wrap("31", text)
    }
}

/// Columns of aligned text. The last column is not padded.
#[derive(Debug, Default)]
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    right: Vec<usize>,
    indent: usize,
}

impl Table {
    /// A table with these headings.
    #[must_use]
    pub fn new(head: &[&str]) -> Self {
        Self { head: head.iter().map(|&name| name.to_owned()).collect(), ..Self::default() }
    }

    /// Aligns these columns to the right.
    #[must_use]
    pub fn right(mut self, columns: &[usize]) -> Self {
        columns.clone_into(&mut self.right);
        self
    }

    /// Puts spaces before each line.
    #[must_use]
    pub fn indented(mut self, indent: usize) -> Self {
        self.indent = indent;
        self
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The table as text.
    #[must_use]
    pub fn render(&self, style: Style) -> String {
        let lines = || std::iter::once(&self.head).chain(&self.rows);
        let columns = lines().map(Vec::len).max().unwrap_or(0);
        // The last column does not widen anything: nothing stands beside it.
        let width = |column: usize| {
            lines()
                .filter(|line| line.len() > column + 1)
                .map(|line| line[column].chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for (index, line) in lines().enumerate() {
            let mut shown = " ".repeat(self.indent);
            for (column, cell) in line.iter().enumerate() {
                let width = widths[column];
                // Writing to a string cannot fail.
                let _ = if self.right.contains(&column) {
                    write!(shown, "{cell:>width$}  ")
                } else {
                    write!(shown, "{cell:<width$}  ")
                };
            }
            let shown = shown.trim_end();
            match index {
                0 if self.head.is_empty() => continue,
                0 => text.push_str(&style.dim(shown)),
                _ => text.push_str(shown),
            }
            text.push('\n');
        }
        text
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
