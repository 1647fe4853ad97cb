//! Texts in messages. Those of guests are not trusted: they may be long, and may hold sequences
//! that move a terminal's cursor.

use std::ops::RangeInclusive;

/// Longest name of a guest in a message, characters.
pub const NAME: usize = 80;

/// A text with its [hostile](is_hostile) characters escaped.
pub fn harmless(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hostile(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}

/// A text as one [harmless] line: breaks of lines and tabulators are spaces.
pub fn line(text: &str) -> String {
    harmless(&text.replace(['\n', '\r', '\t'], " "))
}

/// `true` if a character controls a terminal, changes the direction of writing, breaks a line, or
/// cannot be seen: the categories Cc, Cf, Zl and Zp of Unicode, what it calls default ignorable
/// (without the 16 selectors of a variant, which emoji have), and noncharacters, which XML forbids.
pub fn is_hostile(c: char) -> bool {
    let is_hidden = || HIDDEN.iter().any(|range| range.contains(&c));
    c.is_control() || (!c.is_ascii() && is_hidden()) || u32::from(c) & 0xfffe == 0xfffe
}

/// Characters without a width of their own, in the order of their numbers.
const HIDDEN: [RangeInclusive<char>; 25] = [
    '\u{ad}'..='\u{ad}',
    '\u{34f}'..='\u{34f}',
    '\u{600}'..='\u{605}',
    '\u{61c}'..='\u{61c}',
    '\u{6dd}'..='\u{6dd}',
    '\u{70f}'..='\u{70f}',
    '\u{890}'..='\u{891}',
    '\u{8e2}'..='\u{8e2}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{200b}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{3164}'..='\u{3164}',
    '\u{fdd0}'..='\u{fdef}',
    '\u{feff}'..='\u{feff}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{fff0}'..='\u{fffb}',
    '\u{110bd}'..='\u{110bd}',
    '\u{110cd}'..='\u{110cd}',
    '\u{13430}'..='\u{1343f}',
    '\u{1bca0}'..='\u{1bca3}',
    '\u{1d173}'..='\u{1d17a}',
    '\u{e0000}'..='\u{e0fff}',
];

/// The first `most` characters of a text, and `…` if there are more.
pub fn abridged(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A guest's name in a message: without control characters, and at most [`NAME`] characters.
pub fn name(text: &str) -> String {
    harmless(&abridged(text, NAME))
}

/// A regular noun as it stands behind a count: `1 page`, `2 pages`, `2 processes`.
pub fn plural(noun: &str, count: impl TryInto<u64>) -> String {
    let end = match count.try_into() {
        Ok(1) => "",
        _ if noun.ends_with('s') => "es",
        _ => "s",
    };
    format!("{noun}{end}")
}

/// Longest name that others are compared with, bytes.
const LONGEST_WANTED: usize = 256;
/// Steps of all comparisons of a name with others, at most: about 10 ms.
const MOST_STEPS: usize = 10_000_000;

/// Up to three names that resemble the wanted one: they contain it, are contained in it, or share
/// most of its letters in order. Where comparing all takes too long, some names are left out.
pub fn similar<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    if wanted.len() > LONGEST_WANTED {
        return Vec::new();
    }
    let mut left = MOST_STEPS;
    let mut scored: Vec<(usize, &str)> = names
        .filter(|name| {
            let rest = left.checked_sub((wanted.len() + 1) * (name.len() + 1));
            left = rest.unwrap_or(left);
            rest.is_some() && !name.is_empty()
        })
        .filter_map(|name| {
            let distance = strsim::levenshtein(wanted, name);
            let is_near = name.contains(wanted)
                || wanted.contains(name)
                || distance <= wanted.len().max(name.len()) / 2;
            is_near.then_some((distance, name))
        })
        .collect();
    scored.sort();
    scored.dedup();
    scored.into_iter().take(3).map(|(_, name)| name.to_owned()).collect()
}

/// Similar names as the end of a message; empty if there are none. Names of a guest are shown as
/// by [`name`].
pub fn near(candidates: &[String]) -> String {
    let names: Vec<String> = candidates.iter().map(|candidate| name(candidate)).collect();
    if names.is_empty() { String::new() } else { format!("; near: {}", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guests_text_cannot_move_the_cursor() {
        assert_eq!(harmless("a\x1b[2Jb\nü"), "a\\u{1b}[2Jb\\nü");
        assert_eq!(harmless("a\u{202e}b"), "a\\u{202e}b");
        for hidden in
            ['\u{61c}', '\u{feff}', '\u{ad}', '\u{9b}', '\u{2028}', '\u{ffff}', '\u{e0041}']
        {
            assert_eq!(harmless(&format!("a{hidden}b")), format!("a{}b", hidden.escape_default()));
        }
        for plain in ["µs – 2 ×†", "日本 עברית", "👍\u{fe0f}", "a\u{a0}b"] {
            assert_eq!(harmless(plain), plain);
        }
        assert_eq!(line("a\r\n\tb\0"), "a   b\\u{0}");
    }

    #[test]
    fn nouns_stand_behind_counts_as_they_are_spelled() {
        let spelled = [("page", 1), ("page", 0), ("process", 1), ("process", 3)];
        let words = spelled.map(|(noun, count)| plural(noun, count as u64));
        assert_eq!(words, ["page", "pages", "process", "processes"]);
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        assert_eq!(abridged("äöü", 2), "äö…");
        assert_eq!(abridged("äöü", 3), "äöü");
        assert_eq!(name(&"x".repeat(1000)).chars().count(), NAME + 1);
    }
}
