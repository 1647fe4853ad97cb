//! The page's markers: what stands between them is generated.

use anyhow::{Result, bail};

/// The generated part begins with this line.
pub(super) const BEGIN: &str = "<!-- BEGIN touchstone report -->";

pub(super) const END: &str = "<!-- END -->";

/// The generated part, markers included. A marker within the body is text.
pub(super) fn generated(body: &str) -> String {
    let body = [BEGIN, END]
        .iter()
        .fold(body.to_owned(), |body, marker| body.replace(marker, &marker.replace('<', "&lt;")));
    format!(
        "{BEGIN}\n<!-- Made by: touchstone report\n     Edits up to the END marker are lost. -->\n\n{body}{END}\n"
    )
}

/// Puts the generated part into a page; what stands outside the markers stays.
/// Fails when only one of the markers is there, because the part to replace is unknown.
pub(super) fn place(existing: Option<&str>, generated: &str) -> Result<String> {
    let Some(existing) = existing.filter(|text| !text.trim().is_empty()) else {
        return Ok(generated.to_owned());
    };
    let Some(begin) = existing.find(BEGIN) else {
        if existing.contains(END) {
            bail!("the page has the marker {END} but not {BEGIN} before it");
        }
        return Ok(format!("{}\n\n{generated}", existing.trim_end()));
    };
    let Some(end) = existing[begin..].find(END) else {
        bail!("the page has the marker {BEGIN} but not {END} after it");
    };
    let after = existing[begin + end + END.len()..].trim_start_matches(['\r', '\n']);
    let gap = if after.is_empty() { "" } else { "\n" };
    Ok(format!("{}{generated}{gap}{after}", &existing[..begin]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_around_the_markers_stays() {
        let block = |text: &str| format!("{BEGIN}\n{text}\n{END}\n");
        let old = format!("before\n{}\nafter\n", block("old"));
        let new = place(Some(&old), &block("new")).unwrap();
        assert_eq!(new, format!("before\n{}\nafter\n", block("new")));
        assert_eq!(place(Some(&new), &block("new")).unwrap(), new);
        assert_eq!(place(None, &block("new")).unwrap(), block("new"));
        assert_eq!(place(Some("mine\n"), &block("x")).unwrap(), format!("mine\n\n{}", block("x")));
    }

    #[test]
    fn half_a_pair_of_markers_is_an_error() {
        assert!(place(Some(BEGIN), "x").is_err());
        assert!(place(Some(END), "x").is_err());
    }
}
