//! Text and bytes: JSON, Unicode, legacy encodings, patterns, compression.

use alloc::string::String;

use encoding_rs::Encoding;
use miniz_oxide::{deflate::compress_to_vec, inflate::decompress_to_vec};
use regex_automata::{hybrid::dfa::DFA, meta::Regex, util::syntax};
use serde_json::Value;
use sha2::{Digest, Sha256};
use unicode_normalization::UnicodeNormalization;

/// Parses the input as JSON and prints it, parses what was printed and prints
/// that in the other style; input that is no JSON becomes a string first.
pub fn json(input: &[u8], digest: &mut Sha256) {
    let value = match serde_json::from_slice::<Value>(input) {
        Ok(value) => value,
        Err(error) => {
            let mut object = serde_json::Map::new();
            object.insert("line".into(), error.line().into());
            object.insert("error".into(), alloc::format!("{error}").into());
            object.insert("text".into(), String::from_utf8_lossy(input).into());
            Value::Object(object)
        }
    };
    let pretty = serde_json::to_string_pretty(&value).unwrap_or_default();
    let again = serde_json::from_str::<Value>(&pretty).unwrap_or_default();
    digest.update(pretty);
    digest.update(serde_json::to_string(&again).unwrap_or_default());
}

/// Brings the input into each normalisation form.
pub fn normalization(input: &[u8], digest: &mut Sha256) {
    let text = String::from_utf8_lossy(input);
    digest.update(text.nfc().collect::<String>());
    digest.update(text.nfd().collect::<String>());
    digest.update(text.nfkc().collect::<String>());
    digest.update(text.nfkd().stream_safe().collect::<String>());
}

/// Encodes the input into each of these encodings and back.
pub fn encodings(input: &[u8], digest: &mut Sha256) {
    const LABELS: &str = "utf-8 utf-16le utf-16be ibm866 iso-8859-2 iso-8859-3 iso-8859-4 \
        iso-8859-5 iso-8859-6 iso-8859-7 iso-8859-8 iso-8859-8-i iso-8859-10 iso-8859-13 \
        iso-8859-14 iso-8859-15 iso-8859-16 koi8-r koi8-u macintosh windows-874 windows-1250 \
        windows-1251 windows-1252 windows-1253 windows-1254 windows-1255 windows-1256 \
        windows-1257 windows-1258 x-mac-cyrillic gbk gb18030 big5 euc-jp iso-2022-jp shift_jis \
        euc-kr x-user-defined";
    let text = String::from_utf8_lossy(input);
    for label in LABELS.split(' ') {
        let Some(encoding) = Encoding::for_label(label.as_bytes()) else {
            continue;
        };
        let (bytes, output, _) = encoding.encode(&text);
        let (decoded, _) = output.decode_without_bom_handling(&bytes);
        let (raw, _, _) = encoding.decode(input);
        digest.update(encoding.name());
        digest.update(&bytes);
        digest.update(decoded.as_bytes());
        digest.update(raw.as_bytes());
    }
}

/// Searches the input with a few patterns, then with itself as the pattern, in
/// two kinds of automaton.
pub fn expressions(input: &[u8], digest: &mut Sha256) {
    const PATTERNS: [&str; 6] = [
        r"(?i)\bк\w+|straße",
        r"[\p{Greek}\p{Cyrillic}]+\s+\p{Lu}\p{Ll}*",
        r"(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})",
        r"\b[\w.+-]+@[\w-]+\.[\w.-]+\b",
        r"\p{Emoji}|\p{Age:6.0}|\p{sb=Upper}",
        r"(foo|bar|baz|quux)[0-9]{1,3}?",
    ];
    let text = String::from_utf8_lossy(input);
    for pattern in PATTERNS.into_iter().chain([&*text]) {
        digest.update(pattern);
        match Regex::new(pattern) {
            Ok(regex) => {
                for found in regex.find_iter(text.as_bytes()) {
                    // Of 32 bits wherever this runs.
                    digest.update((found.start() as u32).to_le_bytes());
                    digest.update((found.end() as u32).to_le_bytes());
                }
            }
            Err(error) => digest.update(alloc::format!("{error}")),
        }
    }
    let ascii = syntax::Config::new().unicode(false).utf8(false);
    if let Ok(lazy) = DFA::builder().syntax(ascii).build("[a-z]+[0-9]+") {
        let mut cache = lazy.create_cache();
        let end = lazy.try_search_fwd(&mut cache, &regex_automata::Input::new(input));
        digest.update(alloc::format!("{end:?}"));
    }
}

/// Compresses the input at each level and back.
pub fn compression(input: &[u8], digest: &mut Sha256) {
    for level in 0..=10 {
        let packed = compress_to_vec(input, level);
        let unpacked = decompress_to_vec(&packed).unwrap_or_default();
        assert!(unpacked == input, "the input changed on the way");
        digest.update(packed);
    }
}
