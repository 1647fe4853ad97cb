//! Pieces of Markdown: tables, code spans, footnotes.

use std::fmt::Write;

/// Text that cannot break out of a table cell or start HTML.
pub(super) fn escape(text: &str) -> String {
    let text = text.trim().replace(char::is_control, " ");
    text.replace('|', "\\|").replace('<', "&lt;").replace('>', "&gt;")
}

/// A name in code style. Backticks within would end it; they become quotes. Within a table
/// a bar ends the cell even in a code span, unless escaped.
pub(super) fn code(name: &str) -> String {
    let name = name.trim().replace('`', "'").replace(char::is_control, " ");
    format!("`{}`", name.replace('|', "\\|"))
}

/// A table whose cells are Markdown already.
#[derive(Debug)]
pub(super) struct Table {
    columns: usize,
    text: String,
}

impl Table {
    /// Starts a table: the first column is left-aligned, numbers follow right-aligned.
    pub(super) fn new<S: AsRef<str>>(headings: &[S]) -> Self {
        Self::aligned(headings, "---:")
    }

    /// Starts a table of words: everything left-aligned.
    pub(super) fn of_words<S: AsRef<str>>(headings: &[S]) -> Self {
        Self::aligned(headings, "---")
    }

    fn aligned<S: AsRef<str>>(headings: &[S], others: &str) -> Self {
        let mut table = Self { columns: headings.len(), text: String::new() };
        table.row(headings);
        let rules: Vec<&str> =
            (0..headings.len()).map(|column| if column == 0 { "---" } else { others }).collect();
        table.row(&rules);
        table
    }

    /// Adds a row. Missing cells at the end stay empty, surplus ones are dropped.
    pub(super) fn row<S: AsRef<str>>(&mut self, cells: &[S]) {
        self.text.push('|');
        for column in 0..self.columns {
            let cell = cells.get(column).map_or("", AsRef::as_ref);
            // Writing to a string cannot fail.
            let _ = write!(self.text, " {cell} |");
        }
        self.text.push('\n');
    }

    /// The whole table, with an empty line after it.
    pub(super) fn finish(mut self) -> String {
        self.text.push('\n');
        self.text
    }
}

/// A fold that is closed at first; nothing where there is nothing in it.
pub(super) fn details(summary: &str, body: &str) -> String {
    if body.is_empty() {
        return String::new();
    }
    format!("<details>\n<summary>{summary}</summary>\n\n{}\n\n</details>\n\n", body.trim_end())
}

/// Reasons given once and referred to by number.
#[derive(Debug, Default)]
pub(super) struct Footnotes {
    reasons: Vec<String>,
}

impl Footnotes {
    /// The mark for a reason; the same reason has the same mark.
    pub(super) fn mark(&mut self, reason: &str) -> String {
        let place = self.reasons.iter().position(|known| known == reason).unwrap_or_else(|| {
            self.reasons.push(reason.to_owned());
            self.reasons.len() - 1
        });
        format!("<sup>{}</sup>", place + 1)
    }

    /// The notes, to stand below the table. Empty if nothing was marked.
    pub(super) fn finish(self) -> String {
        let mut text = String::new();
        for (index, reason) in self.reasons.iter().enumerate() {
            let _ = writeln!(text, "<sup>{}</sup> {}<br>", index + 1, escape(reason));
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_records_cannot_break_the_table() {
        assert_eq!(escape("a|b\n<script>"), "a\\|b &lt;script&gt;");
        assert_eq!(code("a`b\nc"), "`a'b c`");
    }

    #[test]
    fn a_reason_is_given_once() {
        let mut notes = Footnotes::default();
        let marks = ["x", "y", "x"].map(|reason| notes.mark(reason));
        assert_eq!(marks, ["<sup>1</sup>", "<sup>2</sup>", "<sup>1</sup>"]);
        assert_eq!(notes.finish(), "<sup>1</sup> x<br>\n<sup>2</sup> y<br>\n\n");
    }
}
