//! The page: its parts in order, between two markers.

use super::charts::Chart;
use super::choose;
use super::counts::Counts;
use super::rank::Believable;
use super::sections::{
    conformance, environment, failed, full, hostile, isolation, pairs, peers, phases, pictures,
    rows, settings, shares, survival, swap, tables, threads, usage,
};
use super::select::Selected;
use super::trust::Trust;
use crate::record::Skipped;
use crate::tables::Layouts;
use anyhow::{Result, bail};

/// The generated part begins with this line.
pub(super) const BEGIN: &str = "<!-- BEGIN touchstone report -->";

/// The generated part ends with this line.
pub(super) const END: &str = "<!-- END -->";

/// Command that makes the page.
const COMMAND: &str = "cargo run --release -- report";

/// What the page is made of.
pub(super) struct Sources<'a> {
    /// The records that belong beside each other.
    pub selected: &'a Selected,
    /// Counts beside them.
    pub counts: &'a Counts,
    /// What was found about correctness and isolation.
    pub trust: &'a Trust,
    /// What differences may be believed.
    pub believable: &'a Believable,
    /// Lines of the record file that could not be believed.
    pub skipped: &'a [Skipped],
    /// The charts.
    pub charts: &'a [Chart],
    /// Tables laid out by hand.
    pub layouts: &'a Layouts,
    /// The way from the page to the images.
    pub folder: &'a str,
}

/// The generated part, markers included.
pub(super) fn generated(sources: &Sources<'_>) -> String {
    let Sources { selected, counts, trust, believable, skipped, charts, layouts, folder } =
        *sources;
    let matrix = &selected.matrix;
    let parts = [
        "# Benchmark\n\nWebAssembly executors side by side, on the same guests: how long one call \
         on a clean instance takes, alone and while other threads do the same.\n\n"
            .to_owned(),
        choose::section(matrix, believable, trust),
        pictures::section(charts, matrix, folder),
        environment::section(selected, skipped),
        tables::section(matrix, counts, &layouts.tables, selected.machine.cores),
        shares::section(matrix, &layouts.shares),
        rows::section(matrix, counts, &selected.skipped_threads),
        full::section(matrix, trust),
        phases::section(matrix),
        usage::section(matrix, counts),
        conformance::section(trust),
        isolation::section(trust),
        hostile::section(trust),
        survival::section(trust),
        threads::section(matrix),
        peers::section(&selected.pairs),
        swap::section(&selected.swaps),
        pairs::section(&selected.pairs, believable),
        failed::section(matrix),
        settings::section(matrix),
        making(),
    ];
    // A name in a record cannot end the part early: the next run would take
    // what follows for text of the page's owner and keep it.
    let body = parts.concat().replace("<!--", "< !--");
    format!(
        "{BEGIN}\n<!-- Made by: {COMMAND}\n     Edits up to the END marker are lost. -->\n\n{body}{END}\n"
    )
}

/// How to make the page again.
fn making() -> String {
    format!(
        "## How this page was made\n\n`make bench` measures and appends one record for each cell; \
         `touchstone report` (`{COMMAND}`) makes this page and its charts from the records alone. \
         The same records give the same bytes, on any machine.\n\n"
    )
}

/// Puts the generated part into a page; what stands outside the markers stays.
///
/// # Errors
///
/// When only one of the markers is there: it cannot be told what may be replaced.
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
