//! The rules of CONTRIBUTING.md ("Writing style") that a program can check.

use std::fmt;
use std::sync::LazyLock;

use regex::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use serde::Deserialize;

use crate::markdown::{Place, Sentence, sentences};

/// Longest sentence, in words.
const MOST_WORDS: usize = 30;

/// First words that have no noun to refer to, or that begin a clause used as a subject, and
/// what to write instead. The last word is whole.
const OPENINGS: [(&str, &str); 17] = [
    ("It is", "the thing's name as the subject"),
    ("It was", "the thing's name as the subject"),
    ("It's", "the thing's name as the subject"),
    ("That", "the noun that \"that\" refers to"),
    ("That's", "the noun that \"that\" refers to"),
    ("This is what", "the noun and its verb"),
    ("This is why", "\"Therefore\" and the consequence"),
    ("This is how", "the noun and its verb"),
    ("This is where", "the noun and its verb"),
    ("Here is what", "the noun and its verb"),
    ("What", "a noun as the subject"),
    ("Whatever", "a noun as the subject"),
    ("Whoever", "the role: the user, the host's author"),
    ("Whichever", "a noun as the subject"),
    ("All that", "a noun as the subject"),
    ("Everything that", "a noun as the subject"),
    ("Nothing that", "a noun as the subject"),
];

/// Words that turn a heading into a sentence or a question.
const SENTENCE_WORDS: [&str; 29] = [
    "is",
    "are",
    "was",
    "were",
    "has",
    "have",
    "had",
    "does",
    "do",
    "did",
    "can",
    "cannot",
    "may",
    "must",
    "will",
    "should",
    "costs",
    "takes",
    "needs",
    "covers",
    "touches",
    "runs",
    "overtakes",
    "what",
    "how",
    "why",
    "whose",
    "which",
    "where",
];

static PHRASES: LazyLock<Vec<Phrase>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Entry {
        avoid: Vec<String>,
        write: String,
    }
    #[derive(Deserialize)]
    struct Words {
        phrase: Vec<Entry>,
    }
    let words: Words = toml::from_str(include_str!("words.toml")).expect("words.toml is valid");
    let phrase = |entry: Entry| {
        let spellings: Vec<String> = entry.avoid.iter().map(|of| regex::escape(of)).collect();
        let pattern = RegexBuilder::new(&format!(r"\b(?:{})\b", spellings.join("|")))
            .case_insensitive(true)
            .build()
            .expect("escaped words are a pattern");
        Phrase { pattern, avoid: entry.avoid, write: entry.write }
    };
    words.phrase.into_iter().map(phrase).collect()
});

/// The patterns of all phrases, for one search instead of many.
static PATTERNS: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSetBuilder::new(PHRASES.iter().map(|phrase| phrase.pattern.as_str()))
        .case_insensitive(true)
        .build()
        .expect("each of them is a pattern")
});

struct Phrase {
    pattern: Regex,
    avoid: Vec<String>,
    write: String,
}

/// All avoided spellings.
pub(crate) fn avoided() -> impl Iterator<Item = &'static str> {
    PHRASES.iter().flat_map(|phrase| phrase.avoid.iter().map(String::as_str))
}

/// A sentence that breaks a rule.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) line: usize,
    pub(crate) sentence: String,
    pub(crate) rule: String,
    /// Words that keep the rule.
    pub(crate) instead: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, sentence, rule, instead } = self;
        write!(to, "{line}: {sentence}\n    rule: {rule}\n    write: {instead}")
    }
}

/// All findings in a Markdown document, by line.
pub(crate) fn check(document: &str) -> Vec<Finding> {
    let sentences = sentences(document);
    sentences.iter().flat_map(|sentence| broken(sentence).map(|of| of.finding(sentence))).collect()
}

/// A broken rule, and what to write instead.
pub(crate) struct Broken {
    pub(crate) rule: String,
    pub(crate) instead: String,
}

impl Broken {
    fn finding(self, sentence: &Sentence) -> Finding {
        let Self { rule, instead } = self;
        Finding { line: sentence.line, sentence: sentence.shown(), rule, instead }
    }
}

fn broken(sentence: &Sentence) -> impl Iterator<Item = Broken> {
    let prose = sentence.prose();
    let mut broken = phrases(&prose);
    match sentence.place {
        Place::Heading => broken.extend(heading(&prose)),
        Place::Text => {
            broken.extend(length(sentence.words()));
            broken.extend(opening(&prose));
        }
    }
    broken.into_iter()
}

/// Avoided words in a text without code spans.
pub(crate) fn phrases(prose: &str) -> Vec<Broken> {
    let found = PATTERNS.matches(prose).into_iter().filter_map(|at| {
        let phrase = &PHRASES[at];
        let found = phrase.pattern.find(prose)?;
        let rule = format!("avoid \"{}\"", found.as_str());
        Some(Broken { rule, instead: phrase.write.clone() })
    });
    found.collect()
}

fn length(words: usize) -> Option<Broken> {
    (words > MOST_WORDS).then(|| Broken {
        rule: format!("a sentence has at most {MOST_WORDS} words; this one has {words}"),
        instead: "two sentences, one fact each, or a list".into(),
    })
}

fn opening(prose: &str) -> Option<Broken> {
    if prose.ends_with('?') {
        return None;
    }
    let begins = |with: &str| {
        let rest = prose.strip_prefix(with);
        rest.is_some_and(|rest| rest.starts_with([' ', ',']))
    };
    let (opening, instead) = OPENINGS.iter().find(|(opening, _)| begins(opening))?;
    let rule = format!("a sentence does not begin with \"{opening}\"");
    Some(Broken { rule, instead: (*instead).into() })
}

fn heading(prose: &str) -> Option<Broken> {
    let is_verb = |word: &str| {
        let word = word.trim_matches(|of: char| !of.is_alphanumeric()).to_lowercase();
        SENTENCE_WORDS.contains(&&*word)
    };
    let rule = if prose.ends_with(['.', '!', '?', ';']) {
        "a heading does not end like a sentence".into()
    } else {
        let word = prose.split(' ').find(|word| is_verb(word))?;
        format!("a heading is no sentence or question (\"{word}\")")
    };
    Some(Broken {
        rule,
        instead: "the name of the content: \"Data flow\", \"Thread scaling\"".into(),
    })
}
