//! The standard input, a Markdown text, as HTML, by the crate `pulldown-cmark`.

use pulldown_cmark::{Options, Parser, html};
use std::io::{Read, Result, Write, stdin, stdout};

fn main() -> Result<()> {
    let mut text = String::new();
    stdin().read_to_string(&mut text)?;
    let mut page = String::with_capacity(text.len() * 3 / 2);
    html::push_html(&mut page, Parser::new_ext(&text, Options::all()));
    stdout().write_all(page.as_bytes())
}
