//! The format that a request asks for.

use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName};

const JSON: &str = "application/json";
const TEXT: &str = "text/plain";

/// `true` for JSON results: `Accept` prefers JSON to plain text, or names neither and the body is
/// JSON.
pub(super) fn wants_json(headers: &HeaderMap) -> bool {
    match [quality(headers, JSON), quality(headers, TEXT)] {
        [None, None] => ranges(headers, CONTENT_TYPE).any(|(range, _)| range == JSON),
        [json, text] => json.unwrap_or(0.0) > text.unwrap_or(0.0),
    }
}

fn quality(headers: &HeaderMap, wanted: &str) -> Option<f32> {
    let named = ranges(headers, ACCEPT).filter(|(range, _)| range == wanted);
    named.map(|(_, quality)| quality).reduce(f32::max)
}

/// The media types of a header with their qualities. A header that is no text names none.
fn ranges(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = (String, f32)> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(|range| {
        let mut parts = range.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let quality = parts.find_map(|part| part.strip_prefix("q="));
        (name, quality.map_or(1.0, |quality| quality.parse().unwrap_or(0.0)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_what_asks_for_it() {
        for (accept, content, expected) in [
            (None, None, false),
            (Some("*/*"), Some("application/x-www-form-urlencoded"), false),
            (Some("application/json"), None, true),
            (Some("text/html, Application/JSON;q=0.9, */*;q=0.1"), None, true),
            (Some("text/plain, application/json;q=0.5"), None, false),
            (Some("text/plain"), Some("application/json"), false),
            (Some("application/json;q=0"), Some("application/json"), false),
            (Some("*/*"), Some("application/json; charset=utf-8"), true),
            (None, Some("application/json"), true),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in [(ACCEPT, accept), (CONTENT_TYPE, content)] {
                headers.extend(value.map(|value| (name, value.parse().unwrap())));
            }
            assert_eq!(wants_json(&headers), expected, "{accept:?} {content:?}");
        }
    }
}
