//! Modules in the text format.

use crate::files::without_mark;
use std::borrow::Cow;
use std::path::Path;

/// The binary form of a file's bytes: WebAssembly text is translated, components included; other
/// bytes are returned unchanged. Text begins with a parenthesis, after comments and spaces, or has
/// a name that ends in `.wat`. Fails with line and column of invalid text.
pub fn binary<'a>(bytes: &'a [u8], file: &Path) -> Result<Cow<'a, [u8]>, wat::Error> {
    let text = without_mark(bytes);
    let named = file.extension().is_some_and(|extension| extension == "wat");
    if bytes.starts_with(b"\0asm") || !(named || looks_like_text(text)) {
        return Ok(Cow::Borrowed(bytes));
    }
    let translated = wat::Parser::new().parse_bytes(Some(file), text)?;
    Ok(Cow::Owned(translated.into_owned()))
}

/// `true` if the first bytes after spaces and comments are `(module` or `(component`.
fn looks_like_text(bytes: &[u8]) -> bool {
    let mut rest = bytes.trim_ascii_start();
    loop {
        let end: &[u8] = match rest {
            [b';', b';', ..] => b"\n",
            [b'(', b';', ..] => b";)",
            _ => break,
        };
        let Some(at) = rest.windows(end.len()).position(|found| found == end) else { return false };
        rest = rest[at + end.len()..].trim_ascii_start();
    }
    let Some(rest) = rest.strip_prefix(b"(") else { return false };
    let rest = rest.trim_ascii_start();
    rest.starts_with(b"module") || rest.starts_with(b"component")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_translated_whatever_its_name_is() {
        for text in [
            "(module)",
            "  ;; a (comment)\n(; another ;) ( module )",
            "(component)",
            "\u{feff}(module)",
        ] {
            let binary = binary(text.as_bytes(), Path::new("file")).unwrap();
            assert!(binary.starts_with(b"\0asm"), "{text}");
        }
        // A module may consist of fields alone: only the name tells.
        for text in ["(func)", "\u{feff}(func)"] {
            let binary = binary(text.as_bytes(), Path::new("a.wat")).unwrap();
            assert!(binary.starts_with(b"\0asm"), "{text}");
        }
    }

    #[test]
    fn what_is_no_text_stays_as_it_is() {
        for bytes in [&b"\0asm\x01\0\0\0"[..], b"", b"(func)", b";; (module)", b"\xff(module)"] {
            assert_eq!(&*binary(bytes, Path::new("file.wasm")).unwrap(), bytes);
        }
        assert!(matches!(binary(b"\0asm", Path::new("a.wat")), Ok(Cow::Borrowed(_))));
    }

    #[test]
    fn an_error_shows_line_and_column() {
        let error = binary(b"(module\n  (fun))", Path::new("some/file.wat")).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("file.wat:2:4"), "{message}");
        assert!(binary(b"(module \xff)", Path::new("file")).is_err());
    }
}
