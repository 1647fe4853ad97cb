//! Texts in messages. Those of guests are not trusted: they may be long, and may hold sequences
//! that move a terminal's cursor.

/// Longest name of a guest in a message, characters.
pub const NAME: usize = 80;

/// A text with its control characters escaped, and those that change the direction of writing.
#[must_use]
pub fn harmless(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || is_mark(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}

/// Characters without a width that reorder or separate others.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The first `most` characters of a text, and `…` if there are more.
#[must_use]
pub fn abridged(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A guest's name in a message: without control characters, and at most [`NAME`] characters.
#[must_use]
pub fn name(text: &str) -> String {
    harmless(&abridged(text, NAME))
}

/// A regular noun as it stands behind a count: `1 page`, `2 pages`.
#[must_use]
pub fn plural(noun: &str, count: impl TryInto<u64>) -> String {
    let is_one = matches!(count.try_into(), Ok(1));
    format!("{noun}{}", if is_one { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guests_text_cannot_move_the_cursor() {
        assert_eq!(harmless("a\x1b[2Jb\nü"), "a\\u{1b}[2Jb\\nü");
        assert_eq!(harmless("a\u{202e}b"), "a\\u{202e}b");
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        assert_eq!(abridged("äöü", 2), "äö…");
        assert_eq!(abridged("äöü", 3), "äöü");
        assert_eq!(name(&"x".repeat(1000)).chars().count(), NAME + 1);
    }
}
