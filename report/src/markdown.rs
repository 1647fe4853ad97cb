//! Pieces of Markdown: tables, folds, footnotes.

use indexmap::IndexSet;

pub(super) use touchstone_record::escape::{code, in_cell, markdown};

/// The cell without a value.
pub(super) const NOTHING: &str = "–";

/// A table whose cells are Markdown already.
pub(super) struct Table {
    text: String,
    has_rows: bool,
}

impl Table {
    /// Starts a table: the first column is left-aligned, numbers follow right-aligned.
    pub(super) fn new(first: &str, others: impl IntoIterator<Item: AsRef<str>>) -> Self {
        Self::aligned(first, others, "---:")
    }

    /// Starts a table of words: everything left-aligned.
    pub(super) fn of_words(first: &str, others: impl IntoIterator<Item: AsRef<str>>) -> Self {
        Self::aligned(first, others, "---")
    }

    fn aligned(first: &str, others: impl IntoIterator<Item: AsRef<str>>, rule: &str) -> Self {
        let (mut text, mut rules) = (format!("| {first} |"), "| --- |".to_owned());
        for heading in others {
            text += &format!(" {} |", heading.as_ref());
            rules += &format!(" {rule} |");
        }
        Self { text: format!("{text}\n{rules}\n"), has_rows: false }
    }

    /// Adds a row. Of the cells after the first, those without a value have a dash.
    pub(super) fn row<C: Into<Option<String>>>(
        &mut self,
        first: impl AsRef<str>,
        others: impl IntoIterator<Item = C>,
    ) {
        self.has_rows = true;
        self.text += &format!("| {} |", first.as_ref());
        for cell in others {
            self.text += &format!(" {} |", cell.into().as_deref().unwrap_or(NOTHING));
        }
        self.text.push('\n');
    }

    /// Adds a row unless none of its cells has a value.
    pub(super) fn row_of_some(
        &mut self,
        first: impl AsRef<str>,
        others: impl IntoIterator<Item = Option<String>>,
    ) {
        let others: Vec<_> = others.into_iter().collect();
        if others.iter().any(Option::is_some) {
            self.row(first, others);
        }
    }

    /// The whole table, with an empty line after it. Empty if it has no rows.
    pub(super) fn finish(self) -> String {
        if self.has_rows { self.text + "\n" } else { String::new() }
    }
}

/// Text with a table or a list below it; empty where that is empty.
pub(super) fn below(text: &str, table: &str) -> String {
    if table.is_empty() { String::new() } else { format!("{text}\n\n{table}") }
}

/// A fold that is closed at first, with a summary in HTML; nothing where there is nothing in it.
pub(super) fn details(summary: &str, body: &str) -> String {
    if body.is_empty() {
        return String::new();
    }
    format!("<details>\n<summary>{summary}</summary>\n\n{}\n\n</details>\n\n", body.trim_end())
}

/// Reasons given once and referred to by number.
#[derive(Default)]
pub(super) struct Footnotes(IndexSet<String>);

impl Footnotes {
    /// The mark for a reason; the same reason has the same mark.
    pub(super) fn mark(&mut self, reason: &str) -> String {
        let (place, _) = self.0.insert_full(reason.to_owned());
        format!("<sup>{}</sup>", place + 1)
    }

    /// The notes, to stand below the table. Empty if nothing was marked.
    pub(super) fn finish(self) -> String {
        let notes = (1..).zip(&self.0);
        let notes: String = notes
            .map(|(number, reason)| format!("<sup>{number}</sup> {}<br>\n", markdown(reason)))
            .collect();
        if notes.is_empty() { notes } else { notes + "\n" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_given_once() {
        let mut notes = Footnotes::default();
        let marks = ["x", "y", "x"].map(|reason| notes.mark(reason));
        assert_eq!(marks, ["<sup>1</sup>", "<sup>2</sup>", "<sup>1</sup>"]);
        assert_eq!(notes.finish(), "<sup>1</sup> x<br>\n<sup>2</sup> y<br>\n\n");
    }
}
