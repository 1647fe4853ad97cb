//! The machine and the tools of the run, the effective settings of each executor, and the cells
//! without a time.

use crate::Records;
use crate::markdown::{NOTHING, Table, below, code, details, markdown};
use crate::matrix::Matrix;
use crate::units::{count, grouped, joined, percent};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use touchstone_executor::Strategy;
use touchstone_record::escape::html;
use touchstone_record::{Book, Header, Refusal, Sampling, Status};

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

fn table<N: AsRef<str>>(heads: [&str; 2], rows: impl IntoIterator<Item = (N, String)>) -> String {
    let mut table = Table::of_words(heads[0], [heads[1]]);
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

/// For each setting, each value with the strategies that have it on some guest.
type Settings = BTreeMap<String, BTreeMap<String, BTreeSet<Strategy>>>;

/// The effective settings of each executor, probed after loading.
pub(crate) fn settings(book: &Book) -> String {
    let mut engines: BTreeMap<&str, Settings> = BTreeMap::new();
    for ((executor, _), setup) in &book.setups {
        let settings = engines.entry(&executor.engine).or_default();
        let emulated = setup.emulated.as_deref().unwrap_or("by the runtime itself");
        let effective = setup.effective.iter();
        let effective = effective.filter_map(|(name, value)| Some((&**name, value.as_deref()?)));
        for (name, value) in effective.chain([("strategy", emulated)]) {
            let values = settings.entry(markdown(name)).or_default();
            values.entry(markdown(value)).or_default().insert(executor.strategy);
        }
    }
    if engines.is_empty() {
        return "## Effective configuration\n\nThe run does not say what was in force.\n\n"
            .to_owned();
    }
    let blocks: String = by_engines(&engines)
        .into_iter()
        .map(|(engines, settings)| {
            let names = engines.iter().map(|engine| format!("<code>{}</code>", html(engine)));
            details(&joined(names, ", "), &settings.concat())
        })
        .collect();
    format!(
        "## Effective configuration\n\nSettings found in force after loading, not those that were asked for. Settings that several engines share stand once, below the names of all of them. A \
         value without strategies is the same under all of them. A strategy with two values has \
         them on different guests.\n\n{blocks}"
    )
}

/// The settings, each once with all engines that have it: those of the most engines first.
fn by_engines<'a>(engines: &BTreeMap<&'a str, Settings>) -> Vec<(Vec<&'a str>, Vec<String>)> {
    let mut sharing: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (engine, settings) in engines {
        for (name, values) in settings {
            sharing.entry(bullet(name, values)).or_default().push(engine);
        }
    }
    let mut blocks: BTreeMap<Vec<&str>, Vec<String>> = BTreeMap::new();
    for (setting, engines) in sharing {
        blocks.entry(engines).or_default().push(setting);
    }
    let mut blocks: Vec<_> = blocks.into_iter().collect();
    blocks.sort_by_key(|(engines, _)| std::cmp::Reverse(engines.len()));
    blocks
}

/// A setting of an engine: each value once, with the strategies that have it where there are
/// several.
fn bullet(name: &str, values: &BTreeMap<String, BTreeSet<Strategy>>) -> String {
    if let Some((value, _)) = values.first_key_value().filter(|_| values.len() == 1) {
        return format!("- {name}: {value}\n");
    }
    let values = values.iter().map(|(value, strategies)| {
        format!("  - {value}: {}\n", joined(strategies.iter().map(code), ", "))
    });
    format!("- {name}:\n{}", values.collect::<String>())
}

/// More strategies or places than these are counted, not named.
const MOST_NAMED: usize = 4;

/// The cells without a time, by reason.
pub(crate) fn refusals(book: &Book) -> String {
    let table = refused(&book.refusals);
    let text = match &*table {
        "" => "Every cell of the run has a time.\n\n",
        _ => {
            "A cell that is wrong, traps, fails or cannot be run is listed with its reason, and its \
             time is never published.\n\n"
        }
    };
    format!("## Cells without a time\n\n{text}{table}")
}

/// The cells that are wrong, trap or fail; nothing where there are none.
pub(crate) fn failures(book: &Book) -> String {
    let failures = book.refusals.iter().filter(|refusal| refusal.status.is_failure());
    below("## Failed cells", &refused(failures))
}

/// A table of refusals, those with the same reason together; empty where there are none.
fn refused<'a>(refusals: impl IntoIterator<Item = &'a Refusal>) -> String {
    let mut groups: BTreeMap<(Status, &str, &str), Vec<&Refusal>> = BTreeMap::new();
    for refusal in refusals {
        let key = (refusal.status, refusal.reason.as_str(), refusal.engine.as_str());
        groups.entry(key).or_default().push(refusal);
    }
    // Engines with the same refusals and reason share a row; the worst failures come first.
    type Row<'a> = (Reverse<Option<Status>>, Status, &'a str, String);
    let mut rows: BTreeMap<Row<'_>, Vec<String>> = BTreeMap::new();
    for ((status, reason, engine), refusals) in groups {
        let failure = Reverse(status.is_failure().then_some(status));
        let row = (failure, status, reason, what(&refusals));
        rows.entry(row).or_default().push(code(engine));
    }
    let mut table = Table::of_words("Status", ["Engines", "Reason", "Cells"]);
    for ((_, status, reason, what), engines) in rows {
        table.row(status.to_string(), [engines.join(", "), markdown(reason), what]);
    }
    table.finish()
}

/// The strategies of an engine's refusals with their places, those alike together.
fn what(refusals: &[&Refusal]) -> String {
    let mut places: BTreeMap<String, BTreeSet<Option<Strategy>>> = BTreeMap::new();
    for refusal in refusals {
        places.entry(place(refusal)).or_default().insert(refusal.strategy);
    }
    let mut alike: BTreeMap<BTreeSet<Option<Strategy>>, Vec<String>> = BTreeMap::new();
    for (place, strategies) in places {
        alike.entry(strategies).or_default().push(place);
    }
    let part = |(strategies, places): (BTreeSet<Option<Strategy>>, Vec<String>)| {
        // What is refused everywhere has no row in any other table: it is named.
        let everywhere = places.iter().any(String::is_empty);
        let names: Option<Vec<String>> = strategies.iter().map(|own| own.map(code)).collect();
        let names = match names {
            None => "all strategies".to_owned(),
            Some(names) if names.len() > MOST_NAMED && !everywhere => {
                format!("{} strategies", names.len())
            }
            Some(names) => names.join(", "),
        };
        match places.len() {
            _ if everywhere => names,
            0..=MOST_NAMED => format!("{names} {}", places.join("; ")),
            several => format!("{names} in {}", count(several, "place")),
        }
    };
    joined(alike.into_iter().map(part), "<br>")
}

/// Where a refusal holds; empty where it holds everywhere.
fn place(refusal: &Refusal) -> String {
    let parts = [
        refusal.case.as_ref().map(|case| format!("in {}", markdown(case))),
        refusal.guest.as_ref().map(|guest| format!("on {}", markdown(guest))),
        refusal.threads.map(|threads| format!("with {}", count(threads, "thread"))),
    ];
    joined(parts.into_iter().flatten(), " ")
}
