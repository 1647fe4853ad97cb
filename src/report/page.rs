//! The page: its parts in order, between two markers.

use super::choose;
use super::gate::{self, Gate};
use super::markdown::code;
use super::matrix::Matrix;
use super::sections::{
    checks, comparisons, density, environment, failed, metrics, resets, rows, settings, shares,
    swap, tables, threads,
};
use super::units::{MARK, count, percent};
use crate::record::estimate::{CLEAN_SAMPLES, PROCESSES};
use crate::tables::{Layout, Shares};
use anyhow::{Result, bail};

/// The generated part begins with this line.
pub(super) const BEGIN: &str = "<!-- BEGIN touchstone report -->";

/// The generated part ends with this line.
pub(super) const END: &str = "<!-- END -->";

/// How to make the page again.
const MAKING: &str = "## How this page was made\n\n`make bench` measures; `make report` generates \
     this page and its charts from `records/` alone. The same records give the same bytes on any \
     machine.\n\n";

/// The generated part, markers included. `figures` is the section of the charts.
pub(super) fn generated(
    matrix: &Matrix<'_>,
    gate: &Gate,
    (layouts, calls): &(Vec<Layout>, Vec<Shares>),
    figures: &str,
) -> String {
    let parts = [
        gate::draft(gate),
        introduction(matrix),
        choose::section(matrix),
        figures.to_owned(),
        environment::section(matrix),
        tables::section(matrix, layouts),
        shares::section(matrix, calls),
        rows::section(matrix),
        metrics::phases(matrix),
        metrics::kernel(matrix),
        checks::section(&matrix.records.checks),
        threads::section(matrix),
        swap::section(matrix.records.swaps.as_ref()),
        density::section(matrix.records.densities.as_ref()),
        resets::section(matrix.records.resets.as_ref()),
        comparisons::section(matrix.records),
        gate::anomalies(gate, &matrix.records.other_builds()),
        failed::section(matrix.book),
        settings::section(matrix.book),
        MAKING.to_owned(),
    ];
    // A name in a record cannot end the part early: the next run would take
    // what follows for text of the page's owner and keep it.
    let body = parts.concat().replace("<!--", "< !--");
    format!(
        "{BEGIN}\n<!-- Made by: make report\n     Edits up to the END marker are lost. -->\n\n{body}{END}\n"
    )
}

/// What the page is, and what † means on it.
fn introduction(matrix: &Matrix<'_>) -> String {
    let text = "# Benchmark\n\nWebAssembly executors side by side, on the same guests: the time \
                of one call on a clean instance, alone and while other threads do the same. Every \
                ratio is a time over the baseline's time: times slower than the baseline, lower \
                is better.\n\n";
    let (cells, marked) = matrix.counts();
    if cells == 0 {
        return text.to_owned();
    }
    let share = percent(marked as f64 / cells as f64);
    let sampling = &matrix.book.header.sampling.name;
    let sketch = match sampling.as_str() {
        "full" => String::new(),
        other => format!(
            "**Caution**: this run was sampled with {} instead of {}. Its numbers are a sketch.\n\n",
            code(other),
            code("full")
        ),
    };
    format!(
        "{text}{MARK} marks a value with interference: fewer than {PROCESSES} processes gave \
         {CLEAN_SAMPLES} undisturbed samples each, and the value may read up to 2 × slow. {} of \
         {} ({share}) are marked; a ratio is marked when one of its sides is.\n\n{sketch}",
        marked,
        count(cells, "cell"),
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
