//! The machine and the tools of the run.

use crate::Records;
use crate::markdown::{NOTHING, Table, code, markdown};
use crate::matrix::Matrix;
use crate::units::{count, grouped, percent};
use std::collections::BTreeMap;
use touchstone_record::{Header, Sampling};

/// Machine, versions, guests, sampling, and what of the record file was left out.
pub(crate) fn section(matrix: &Matrix<'_>) -> String {
    let header = &matrix.book.header;
    let guests = matrix.guests().into_iter().flat_map(|guest| {
        let works = || header.works.iter().filter(|facts| facts.guest == guest);
        let file = works().next().map_or(NOTHING.to_owned(), |facts| code(&facts.guest_sha256));
        let inits = works().filter_map(|facts| facts.init.as_ref());
        let inits: BTreeMap<_, _> = inits.map(|init| (&init.export, init)).collect();
        let inits = inits.into_values().map(|init| {
            (format!("{} after {}", code(guest), code(&init.export)), code(&init.sha256))
        });
        std::iter::once((code(guest), file)).chain(inits).collect::<Vec<_>>()
    });
    format!(
        "## Environment\n\n{}### Versions\n\n{}### Guests\n\nThe same bytes for every engine.\n\n\
         {}### Sampling\n\n{}{}",
        machine(header),
        versions(header),
        table(["Guest", "SHA-256"], guests),
        sampling(matrix),
        left_out(matrix.records),
    )
}

fn table<N: AsRef<str>>(
    headings: [&str; 2],
    rows: impl IntoIterator<Item = (N, String)>,
) -> String {
    let mut table = Table::of_words(headings[0], [headings[1]]);
    rows.into_iter().for_each(|(name, value)| table.row(name, [value]));
    table.finish()
}

fn machine(header: &Header) -> String {
    let machine = &header.machine;
    let mut siblings: Vec<String> = machine.siblings.iter().map(|list| markdown(list)).collect();
    siblings.dedup();
    let siblings = if siblings.is_empty() { "unknown".to_owned() } else { siblings.join("; ") };
    let rows = [
        ("CPU", markdown(&machine.cpu)),
        ("Processors used", machine.cores.to_string()),
        ("Hardware threads of one core", siblings),
        ("Memory", format!("{} KiB", machine.memory_kib)),
        ("Linux version", markdown(&machine.kernel)),
        ("OS", markdown(&machine.os)),
        ("`PAGEMAP_SCAN`", if machine.pagemap_scan { "yes" } else { "no" }.to_owned()),
        ("Protection keys (PKU)", if machine.protection_keys { "yes" } else { "no" }.to_owned()),
        ("Transparent huge pages", markdown(&machine.huge_pages)),
    ];
    table(["Hardware and system", ""], rows)
}

fn versions(header: &Header) -> String {
    let tools = &header.tools;
    let rows = [
        ("touchstone", &tools.touchstone),
        ("commit", &tools.commit),
        ("binary (SHA-256)", &tools.binary),
        ("compiler", &tools.rustc),
        ("build profile", &tools.profile),
    ];
    let rows = rows.into_iter().map(|(name, value)| (name.to_owned(), markdown(value)));
    let engines = header.engines.iter();
    let engines = engines.map(|(engine, facts)| (code(engine), markdown(&facts.version)));
    table(["Item", "Version"], rows.chain(engines))
}

fn sampling(matrix: &Matrix<'_>) -> String {
    let header = &matrix.book.header;
    let Sampling { name, seed, processes, samples, sample_us, in_process } = &header.sampling;
    let (cells, marked, share) = matrix.counts();
    let engines = if *in_process { "all engines in one process" } else { "a process per engine" };
    let rows = [
        ("Run", format!("{}, started {}", markdown(&header.run), markdown(&header.started_at))),
        ("Sampling", code(name)),
        ("Seed of the order of cells", seed.to_string()),
        ("Processes per cell", format!("{processes} ({engines})")),
        ("Samples per process", samples.to_string()),
        ("Time of a sample", format!("{} µs or one call", grouped(*sample_us))),
        ("Cells with a time", grouped(cells as u64)),
        ("Cells marked †", format!("{} ({})", grouped(marked as u64), percent(share))),
    ];
    table(["Sampling", ""], rows)
}

fn left_out(records: &Records) -> String {
    let skipped = records.skipped.first().map_or(&[][..], |(_, lines)| lines);
    let older = count(records.older_runs, "older run");
    let mut text = match records.older_runs {
        0 => "The record file holds this run alone.".to_owned(),
        _ => format!("The record file holds {older} that the page leaves out."),
    };
    if !skipped.is_empty() {
        text += &format!(" {} could not be read:\n", count(skipped.len(), "line"));
    }
    for line in skipped {
        text += &format!("\n- line {}: {}", line.line, markdown(&line.reason));
    }
    text + "\n\n"
}
