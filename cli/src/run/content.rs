//! The first bytes of an answer, and the digest of all.

use serde::{Deserialize, Serialize};
use touchstone::lab::abbreviate_to;
use touchstone::record::hex;
use touchstone_executor::guest::text::{abridged, harmless, plural};

/// Kept bytes of an output. Whole outputs are compared by digest.
pub(super) const KEPT: usize = 1 << 20;
/// Most shown lines of a text.
const LINES: usize = 40;
/// Most characters of a line.
const LINE: usize = 400;

/// The first bytes, and the identity of all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Content {
    /// The first bytes, in hexadecimal: [`KEPT`] of an output, of a memory those of `--dump`.
    shown: String,
    pub(super) length: u64,
    pub(super) sha256: String,
}

impl Content {
    pub(super) fn new(shown: &[u8], all: &[u8]) -> Self {
        let sha256 = touchstone::case::digest(all);
        Self { shown: hex(shown), length: all.len() as u64, sha256 }
    }

    pub(super) fn of_output(output: &[u8]) -> Self {
        Self::new(&output[..output.len().min(KEPT)], output)
    }

    pub(super) fn hex(&self) -> String {
        format!("0x{}", self.shown)
    }

    /// All bytes; `None` if only the first are kept.
    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        self.first().filter(|bytes| bytes.len() as u64 == self.length)
    }

    fn first(&self) -> Option<Vec<u8>> {
        touchstone::case::parse_hex(&self.hex()).ok()
    }

    /// At most `most` bytes, and the number of all if there are more.
    pub(super) fn abbreviated(&self, most: usize) -> String {
        match self.bytes() {
            Some(bytes) => abbreviate_to(&bytes, most),
            None => {
                let start = &self.shown[..self.shown.len().min(2 * most)];
                format!("0x{start}… ({} bytes)", self.length)
            }
        }
    }

    /// The text if the bytes are UTF-8 whose only control characters separate lines and words or
    /// start terminal sequences. Only the beginning of a long text.
    fn text(&self) -> Option<String> {
        let mut bytes = self.first()?;
        if bytes.len() as u64 != self.length
            && let Err(error) = std::str::from_utf8(&bytes)
            && error.error_len().is_none()
        {
            // The last character is cut.
            bytes.truncate(error.valid_up_to());
        }
        let text = String::from_utf8(bytes).ok()?;
        let is_of_text = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t' | '\x1b');
        (!text.is_empty() && text.chars().all(is_of_text)).then_some(text)
    }

    /// One line: a text in quotes, other bytes in hexadecimal. At most `most` characters or bytes.
    pub(super) fn line(&self, most: usize) -> String {
        match self.text() {
            Some(text) => {
                let is_all = self.bytes().is_some() && text.chars().nth(most).is_none();
                let all = if is_all { String::new() } else { format!(" ({} bytes)", self.length) };
                format!("\"{}\"{all}", harmless(&abridged(&text, most)))
            }
            None => self.abbreviated(most),
        }
    }

    /// All of it: a text of several lines as an indented block, anything else in one line.
    pub(super) fn block(&self, most: usize, indent: &str) -> String {
        let text = self.text().filter(|text| text.trim_end_matches('\n').contains('\n'));
        let Some(text) = text else { return self.line(most) };
        let mut lines = text.lines();
        let shown: String = lines
            .by_ref()
            .take(LINES)
            .map(|line| format!("\n{indent}| {}", harmless(&abridged(line, LINE))))
            .collect();
        let is_all = lines.next().is_none() && self.bytes().is_some();
        let more = if is_all { String::new() } else { format!("\n{indent}…") };
        format!("{} {}{shown}{more}", self.length, plural("byte", self.length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_shown_as_such_and_cannot_move_the_cursor() {
        let line = |bytes: &[u8]| Content::of_output(bytes).line(8);
        assert_eq!(line(b"hi\n"), "\"hi\\n\"");
        assert_eq!(line("gr\u{fc}\u{df}e".as_bytes()), "\"gr\u{fc}\u{df}e\"");
        assert_eq!(line(b"\x1b[2Jred"), "\"\\u{1b}[2Jred\"");
        assert_eq!(line(b"123456789"), "\"12345678\u{2026}\" (9 bytes)");
        assert_eq!(line(b"a\0b"), "0x610062");
        assert_eq!(line(b"\xff"), "0xff");
        assert_eq!(line(b""), "empty");
        let block = |bytes: &[u8]| Content::of_output(bytes).block(8, "  ");
        assert_eq!(block(b"one\n"), "\"one\\n\"");
        assert_eq!(block(b"one\n\x1b[2J"), "8 bytes\n  | one\n  | \\u{1b}[2J");
        assert!(block("x\n".repeat(LINES + 1).as_bytes()).ends_with("\n  | x\n  \u{2026}"));
    }

    #[test]
    fn a_long_text_may_be_cut_within_a_character() {
        let long = "\u{fc}".repeat(KEPT);
        let content = Content::of_output(&long.as_bytes()[1..]);
        assert!(content.line(3).starts_with("0x"));
        let content = Content::of_output(format!("x{long}").as_bytes());
        assert_eq!(content.line(2), format!("\"x\u{fc}\u{2026}\" ({} bytes)", 2 * KEPT + 1));
    }
}
