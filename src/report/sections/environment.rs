//! What the numbers were made on and with.

use super::quiet;
use crate::record::{CellRecord, Provenance, Skipped};
use crate::report::markdown::{Table, code, escape};
use crate::report::matrix::Matrix;
use crate::report::select::{LeftOut, Selected};
use crate::report::units::count;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Machine, versions, guests, sampling, and the records that were left out.
pub(in crate::report) fn section(selected: &Selected, skipped: &[Skipped]) -> String {
    let matrix = &selected.matrix;
    let provenances: Vec<&Provenance> = matrix
        .cells()
        .iter()
        .map(|cell| &cell.provenance)
        .chain(selected.pairs.iter().map(|pair| &pair.provenance))
        .collect();
    [
        machine(selected),
        versions(&provenances, matrix),
        guests(matrix),
        sampling(&provenances),
        quiet::section(matrix),
        left_out(selected.left_out, skipped),
    ]
    .concat()
}

fn machine(selected: &Selected) -> String {
    let machine = &selected.machine;
    let mut table = Table::of_words(&["Hardware and system", ""]);
    let yes_no = if machine.pagemap_scan { "yes" } else { "no" };
    let rows = [
        ("CPU", escape(&machine.cpu)),
        ("Processors used", machine.cores.to_string()),
        ("Memory", format!("{} KiB", machine.memory_kib)),
        ("Linux version", escape(&machine.kernel)),
        ("OS", escape(&machine.os)),
        ("`PAGEMAP_SCAN`", yes_no.to_owned()),
        ("Transparent huge pages", escape(&machine.huge_pages)),
    ];
    for (name, value) in rows {
        table.row(&[name, &value]);
    }
    format!("## Environment\n\n{}", table.finish())
}

/// The distinct values, each with the records that carry it if there are several.
fn distinct<'a>(values: impl Iterator<Item = &'a str>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    let several = counts.len() > 1;
    let texts: Vec<String> = counts
        .into_iter()
        .map(|(value, number)| {
            let value = escape(value);
            if several { format!("{value} ({})", count(number, "record")) } else { value }
        })
        .collect();
    texts.join("<br>")
}

fn versions(provenances: &[&Provenance], matrix: &Matrix) -> String {
    let mut table = Table::of_words(&["Item", "Version"]);
    let tools = |of: fn(&Provenance) -> &str| distinct(provenances.iter().map(|p| of(p)));
    table.row(&["touchstone".to_owned(), tools(|p| &p.tools.touchstone)]);
    table.row(&["commit".to_owned(), tools(|p| &p.tools.commit)]);
    table.row(&["compiler".to_owned(), tools(|p| &p.tools.rustc)]);
    table.row(&["build profile".to_owned(), tools(|p| &p.tools.profile)]);
    let binaries = provenances.iter().map(|p| p.tools.binary.as_str()).filter(|b| !b.is_empty());
    let binaries = distinct(binaries);
    if !binaries.is_empty() {
        table.row(&["binary (SHA-256)".to_owned(), binaries]);
    }
    for backend in matrix.backends() {
        let own = matrix.cells().iter().filter(|cell| cell.key.backend == backend);
        let versions = own.map(|cell| cell.runtime_version.as_str()).filter(|v| !v.is_empty());
        table.row(&[code(backend), distinct(versions)]);
    }
    format!("### Versions\n\n{}", table.finish())
}

fn guests(matrix: &Matrix) -> String {
    if matrix.cells().is_empty() {
        return "### Guests\n\nNo cell names a guest.\n\n".to_owned();
    }
    let mut table = Table::of_words(&["Guest", "SHA-256"]);
    for guest in matrix.guests() {
        let digest = |cell: &&CellRecord| cell.key.guest == guest && !cell.guest_sha256.is_empty();
        let digest = matrix.cells().iter().find(digest);
        table.row(&[code(guest), digest.map_or("–".to_owned(), |cell| code(&cell.guest_sha256))]);
    }
    format!("### Guests\n\nThe same bytes for every backend.\n\n{}", table.finish())
}

fn sampling(provenances: &[&Provenance]) -> String {
    let mut counts: BTreeMap<[String; 4], usize> = BTreeMap::new();
    for provenance in provenances {
        let sampling = &provenance.sampling;
        let key = [
            escape(&sampling.name),
            format!("{} ms", sampling.warm_up_ms),
            format!("{} ms", sampling.measurement_ms),
            format!("{} ms", sampling.throughput_ms),
        ];
        *counts.entry(key).or_default() += 1;
    }
    let mut table =
        Table::new(&["Sampling", "warm-up", "samples together", "throughput rounds", "records"]);
    for (key, number) in counts {
        let [name, warm_up, measurement, throughput] = key;
        table.row(&[name, warm_up, measurement, throughput, number.to_string()]);
    }
    let runs = distinct(provenances.iter().map(|p| p.run.as_str()));
    let first = provenances.iter().map(|p| p.recorded_at.as_str()).min().unwrap_or_default();
    let last = provenances.iter().map(|p| p.recorded_at.as_str()).max().unwrap_or_default();
    format!(
        "### Sampling\n\nRecorded from {} to {}; run: {runs}.\n\n{}",
        escape(first),
        escape(last),
        table.finish()
    )
}

fn left_out(left_out: LeftOut, skipped: &[Skipped]) -> String {
    let mut text = String::from("### Records left out\n\n");
    let reasons = [
        (left_out.superseded, "made again later"),
        (left_out.other_machine, "made on another machine than the newest record"),
        (left_out.other_guest, "made with other guest bytes than the newest of that guest"),
        (
            left_out.other_version,
            "made with another runtime version than the newest of that backend",
        ),
    ];
    let reasons: Vec<String> = reasons
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, why)| format!("{number} {why}"))
        .collect();
    if reasons.is_empty() {
        text.push_str("No whole record was left out.");
    } else {
        let _ = write!(text, "{}: {}.", count(left_out.total(), "record"), reasons.join(", "));
    }
    if skipped.is_empty() {
        text.push_str(" No line was damaged.\n\n");
        return text;
    }
    let _ = write!(text, " {} could not be believed:\n\n", count(skipped.len(), "line"));
    for line in skipped {
        let _ = writeln!(text, "- line {}: {}", line.line, escape(&line.reason));
    }
    text.push('\n');
    text
}
