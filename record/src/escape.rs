//! The one place that makes text of others safe for an output: a terminal, Markdown, HTML and SVG,
//! JSON in a script element, tab-separated values.
//!
//! Texts of records have no control characters and none that cannot be seen, because
//! [`load`](crate::load) replaces them. The functions here escape what an output
//! would take for syntax. They replace those characters as well: texts also come from modules, case
//! files, and messages of engines.

use std::fmt::{Display, Write};
use touchstone_executor::guest::text::{is_hostile, line};

/// Text for a terminal, with breaks of lines and tabulators. Of escape sequences, those that set
/// one of the `allowed` attributes stay. Other hostile characters are escaped as in JSON, so that a
/// line of JSON stays one.
pub(crate) fn terminal(text: &str, allowed: &[&str]) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| is_hostile(c) && !matches!(c, '\n' | '\t')) {
        let (before, from) = rest.split_at(at);
        shown.push_str(before);
        let set = |code: &&str| from.strip_prefix("\x1b[")?.strip_prefix(*code)?.strip_prefix('m');
        rest = match allowed.iter().find_map(set) {
            Some(after) => {
                shown.push_str(&from[..from.len() - after.len()]);
                after
            }
            None => {
                let mut others = from.chars();
                let units = |c: char| c.encode_utf16(&mut [0; 2]).to_vec();
                for unit in others.next().into_iter().flat_map(units) {
                    // Writing to a string cannot fail.
                    let _ = write!(shown, "\\u{unit:04x}");
                }
                others.as_str()
            }
        };
    }
    shown + rest
}

/// A text in Markdown, in a paragraph, a list or a cell of a table: it is shown as it is, but for
/// what stands between two backticks, which is [`code`].
pub fn markdown(text: &str) -> String {
    let text = line(text);
    let text = text.trim();
    let mut shown = String::with_capacity(text.len());
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let (mut is_within, mut end) = (false, 0);
    for (at, c) in text.char_indices() {
        if at < end {
            continue;
        }
        let (before, after) = (&text[..at], &text[at + c.len_utf8()..]);
        match c {
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '&' if after.starts_with(|c: char| c == '#' || c.is_alphanumeric()) => {
                shown.push_str("&amp;");
            }
            // GitHub takes it for mathematics, also behind a backslash.
            '$' => shown.push_str("&#36;"),
            // Addresses become links in the flavour of GitHub, unless a tag divides them.
            ':' if after.starts_with("//") => shown.push_str("<span>:</span>"),
            '.' if is_www(before) => shown.push_str("<span>.</span>"),
            '@' if after.starts_with(|c: char| !c.is_whitespace()) => {
                shown.push_str("<span>@</span>")
            }
            '`' => match quoted(before, after) {
                Some(name) => {
                    shown += &code(name);
                    end = at + name.len() + 2;
                }
                None => shown.push_str("\\`"),
            },
            '\\' | '*' | '[' | ']' | '|' | '~' => shown.extend(['\\', c]),
            '_' => {
                // The signs around a row of them decide for all of it.
                if !before.ends_with('_') {
                    let next = after.trim_start_matches('_').chars().next();
                    is_within = is_word(before.chars().next_back()) && is_word(next);
                }
                shown.push_str(if is_within { "_" } else { "\\_" });
            }
            // Headings, lists and lines below headings begin so.
            '#' | '+' | '-' | '=' if before.is_empty() => shown.extend(['\\', c]),
            '.' | ')'
                if !before.is_empty()
                    && before.bytes().all(|byte| byte.is_ascii_digit())
                    && (after.is_empty() || after.starts_with(' ')) =>
            {
                shown.extend(['\\', c]);
            }
            _ => shown.push(c),
        }
    }
    shown
}

/// The text up to the backtick that ends it, if both backticks are single ones.
fn quoted<'a>(before: &str, after: &'a str) -> Option<&'a str> {
    let (name, rest) = after.split_once('`')?;
    let is_one = !name.trim().is_empty() && !before.ends_with('`') && !rest.starts_with('`');
    is_one.then_some(name)
}

/// `true` if a text ends with the first part of an address.
fn is_www(text: &str) -> bool {
    let end = text.len().checked_sub(3).and_then(|at| text.as_bytes().get(at..));
    end.is_some_and(|end| end.eq_ignore_ascii_case(b"www"))
}

/// A name in code style in Markdown. A code span has no escapes, so that a name that would end it,
/// or the cell of a table, is an element of HTML.
pub fn code(name: impl Display) -> String {
    let name = line(&name.to_string());
    let name = name.trim();
    if !name.is_empty() && !name.contains(['`', '|', '<']) {
        return format!("`{name}`");
    }
    let mut shown = String::from("<code>");
    for c in name.chars() {
        if c.is_ascii_punctuation() {
            // Writing to a string cannot fail.
            let _ = write!(shown, "&#{};", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    shown + "</code>"
}

/// Markdown that an author wrote, in a cell of a table.
pub fn in_cell(markdown: &str) -> String {
    markdown.trim().replace('\n', " ").replace('|', "\\|")
}

/// Text between tags or in the double quotes of an attribute, in HTML and SVG.
pub fn html(text: &str) -> String {
    let text = line(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;")
}

/// JSON that does not end the script element that it stands in.
pub fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// A field of tab-separated values. What a spreadsheet would compute has an apostrophe before it.
pub fn tsv(field: &str) -> String {
    let field = line(field);
    let is_number = field == "-" || field.parse::<f64>().is_ok();
    let is_formula = field.starts_with(['=', '+', '-', '@']) && !is_number;
    if is_formula { format!("'{field}") } else { field }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_no_sequences_but_its_own() {
        let text = "a\x1b[1mb\x1b[0m\tc\x1b[2J\u{9b}\u{202e}\u{e0041}\n";
        let escaped = "c\\u001b[2J\\u009b\\u202e\\udb40\\udc41\n";
        assert_eq!(terminal(text, &["0", "1"]), format!("a\x1b[1mb\x1b[0m\t{escaped}"));
        assert_eq!(terminal(text, &[]), format!("a\\u001b[1mb\\u001b[0m\t{escaped}"));
        let json = serde_json::json!(text).to_string();
        assert_eq!(serde_json::from_str::<String>(&terminal(&json, &[])).unwrap(), text);
    }

    #[test]
    fn markdown_shows_text_as_it_is() {
        for harmless in [
            "call_empty_function_from_a",
            "Example CPU @ 3.00GHz (family 6)",
            "a, b & c: 2 %, 1.5 × - x = y!",
            "1.95.0",
        ] {
            assert_eq!(markdown(harmless), harmless);
        }
        for (text, escaped) in [
            (" a|b\n<script> ", "a\\|b &lt;script&gt;"),
            ("![x](https://h/i)", "!\\[x\\](https<span>:</span>//h/i)"),
            ("a`b\\", "a\\`b\\\\"),
            ("`a_` ``b` `|` ` `", "`a_` \\`\\`b\\` <code>&#124;</code> \\` \\`"),
            ("__a__ *b*", "\\_\\_a\\_\\_ \\*b\\*"),
            ("# a", "\\# a"),
            ("1. a", "1\\. a"),
            ("- a", "\\- a"),
            ("&lt; &#60;", "&amp;lt; &amp;#60;"),
            ("www.a.b @c $d$", "www<span>.</span>a.b <span>@</span>c &#36;d&#36;"),
            ("a\x1b\u{202e}", "a\\\\u{1b}\\\\u{202e}"),
        ] {
            assert_eq!(markdown(text), escaped);
        }
    }

    #[test]
    fn a_name_cannot_end_its_code_span() {
        assert_eq!(code("a_b (c)"), "`a_b (c)`");
        assert_eq!(code("a`b|c\n"), "<code>a&#96;b&#124;c</code>");
        assert_eq!(code("<!-- END -->"), "<code>&#60;&#33;&#45;&#45; END &#45;&#45;&#62;</code>");
        assert_eq!(code(""), "<code></code>");
    }

    #[test]
    fn html_stays_text() {
        assert_eq!(in_script(r#"["</script><!--"]"#), r#"["\u003c/script>\u003c!--"]"#);
        assert_eq!(html(r#"<a b="&'">"#), "&lt;a b=&quot;&amp;'&quot;&gt;");
    }

    #[test]
    fn a_spreadsheet_computes_nothing() {
        assert_eq!(tsv("=1+2\t"), "'=1+2 ");
        assert_eq!(["-", "-1.5", "a=b", "@x"].map(tsv), ["-", "-1.5", "a=b", "'@x"]);
    }
}
