//! Sentences of a Markdown document, with their lines.

use std::mem;
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Stands for a space inside a code span, so that the span counts as one word.
pub(crate) const CODE_SPACE: char = '\u{2423}';

/// Abbreviations whose full stop does not end a sentence.
const ABBREVIATIONS: [&str; 6] = ["e.g.", "i.e.", "vs.", "cf.", "ca.", "etc."];

/// Where a sentence stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A heading; never split.
    Heading,
    /// A paragraph, a list item or a cell of a table.
    Text,
}

/// One sentence, its white space reduced to single spaces.
#[derive(Debug)]
pub(crate) struct Sentence {
    /// Line of the document on which the sentence begins, from 1.
    pub(crate) line: usize,
    pub(crate) place: Place,
    /// The text. Code spans keep their backquotes; a space inside one is [`CODE_SPACE`].
    pub(crate) text: String,
}

impl Sentence {
    /// Number of words. A code span is part of one word; punctuation alone is no word.
    pub(crate) fn words(&self) -> usize {
        let is_word = |word: &&str| word.contains(|of: char| of.is_alphanumeric() || of == '`');
        self.text.split(' ').filter(is_word).count()
    }

    /// The text with empty code spans: what rules about words look at.
    pub(crate) fn prose(&self) -> String {
        let parts = self.text.split('`').enumerate();
        parts.map(|(at, part)| if at % 2 == 0 { part } else { "``" }).collect()
    }

    /// The text as a reader sees it.
    pub(crate) fn shown(&self) -> String {
        self.text.replace(CODE_SPACE, " ")
    }
}

/// All sentences of `document`, in order. Code blocks, HTML and descriptions of images are
/// left out. A sentence ends with its paragraph, list item, heading or cell at the latest.
pub(crate) fn sentences(document: &str) -> Vec<Sentence> {
    let lines: Vec<usize> =
        document.bytes().enumerate().filter(|(_, of)| *of == b'\n').map(|(at, _)| at).collect();
    let mut reader = Reader { lines, ..Reader::default() };
    for (event, range) in Parser::new_ext(document, Options::ENABLE_TABLES).into_offset_iter() {
        reader.read(&event, &range);
    }
    reader.end();
    reader.found
}

#[derive(Default)]
struct Reader {
    /// Offsets of the document's line ends.
    lines: Vec<usize>,
    found: Vec<Sentence>,
    /// Words of the open paragraph, each with its line.
    words: Vec<(usize, String)>,
    /// `true` if the next piece of text begins a new word.
    apart: bool,
    is_heading: bool,
    /// Open code blocks, HTML blocks and images.
    skipped: usize,
}

impl Reader {
    fn read(&mut self, event: &Event, range: &Range<usize>) {
        match event {
            Event::Start(Tag::CodeBlock(_) | Tag::HtmlBlock | Tag::Image { .. }) => {
                self.skipped += 1;
            }
            Event::End(TagEnd::CodeBlock | TagEnd::HtmlBlock | TagEnd::Image) => {
                self.skipped -= 1;
            }
            _ if self.skipped > 0 => {}
            Event::Start(Tag::Heading { .. }) => {
                self.end();
                self.is_heading = true;
            }
            Event::End(TagEnd::Heading(_)) => {
                self.end();
                self.is_heading = false;
            }
            Event::Start(Tag::Paragraph | Tag::Item | Tag::TableCell)
            | Event::End(TagEnd::Paragraph | TagEnd::Item | TagEnd::TableCell) => self.end(),
            Event::InlineHtml(html) if html.starts_with("<br") => self.end(),
            Event::SoftBreak | Event::HardBreak => self.apart = true,
            Event::Text(text) => self.text(text, range.start),
            Event::Code(code) => {
                let code = code.replace(char::is_whitespace, &CODE_SPACE.to_string());
                self.text(&format!("`{code}`"), range.start);
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str, at: usize) {
        let line = 1 + self.lines.partition_point(|end| *end < at);
        for (index, part) in text.split(char::is_whitespace).enumerate() {
            self.apart |= index > 0;
            if part.is_empty() {
                continue;
            }
            match self.words.last_mut() {
                Some((_, word)) if !self.apart => word.push_str(part),
                _ => self.words.push((line, part.to_owned())),
            }
            self.apart = false;
        }
    }

    /// Ends the paragraph: its words become sentences.
    fn end(&mut self) {
        let place = if self.is_heading { Place::Heading } else { Place::Text };
        let mut sentence: Option<Sentence> = None;
        for (line, word) in mem::take(&mut self.words) {
            let is_last = place == Place::Text && ends_sentence(&word);
            let open =
                sentence.get_or_insert_with(|| Sentence { line, place, text: String::new() });
            if !open.text.is_empty() {
                open.text.push(' ');
            }
            open.text.push_str(&word);
            if is_last {
                self.found.extend(sentence.take());
            }
        }
        self.found.extend(sentence);
        self.apart = true;
    }
}

fn ends_sentence(word: &str) -> bool {
    let word = word.trim_end_matches(['"', '\'', '”', '’', ')', ']']);
    word.ends_with(['.', '!', '?']) && !ABBREVIATIONS.iter().any(|of| word.ends_with(of))
}
