use super::Ended;
use super::common::print_lines;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use touchstone::case::binary;
use touchstone::features::support_for;
use touchstone::files::read_whole;
use touchstone::inspect::{Identity, Inspection, Memory, Segments, inspect};
use touchstone::terminal::{Style, Table, print};
use touchstone_executor::guest::text::{abridged, harmless, name, plural};
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Execution, Strategy, Support};

/// Shows what a module contains, and which strategies of which engines can run it.
///
/// Lists imports and what answers them, exports with their types, memories, segments, the
/// features of WebAssembly that the module needs, and for each engine the strategies that are
/// supported and the reasons for the others. Runs nothing. Exits with 1 when no engine of this
/// build can run the module, and with 2 when the file is no WebAssembly.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  touchstone inspect module.wasm")]
pub(super) struct Inspect {
    /// Inspect this module or component, raw or as a zstd-compressed Substrate blob
    file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Most lines of a list.
const LINES: usize = 200;
/// Longest type, characters.
const TYPE: usize = 120;

#[derive(serde::Serialize)]
struct Offer {
    engine: String,
    supported: Vec<Strategy>,
    refused: Vec<Refused>,
}

#[derive(serde::Serialize)]
struct Refused {
    reason: String,
    strategies: Vec<Strategy>,
}

impl Inspect {
    pub(super) fn execute(self) -> Result<Ended> {
        let bytes = read_whole(&self.file)?;
        let unusable = || format!("cannot use {}", self.file.display());
        let bytes = binary(&bytes, &self.file).with_context(unusable)?;
        let found = inspect(&bytes).with_context(unusable)?;
        let file_name = self.file.file_name().unwrap_or_default().to_string_lossy();
        let guest = GuestModule::new(&file_name, &bytes, HeapPages::default());
        let offers = guest.as_ref().map_or_else(|_| Vec::new(), offers);
        if self.json {
            let file = self.file.display().to_string();
            let line = Line { file, engines: &offers, found: &found };
            print_lines([serde_json::to_value(line)?])?;
        } else {
            print(&in_words(&self.file, &found, &offers))?;
        }
        Ok(Ended::well_if(offers.iter().any(|offer| !offer.supported.is_empty())))
    }
}

/// The support of each engine of this build. The baseline is left out unless it contains the guest.
fn offers(guest: &GuestModule) -> Vec<Offer> {
    let mut offers = Vec::new();
    let engines = touchstone_runtimes::engines();
    for engine in &engines {
        let mut offer =
            Offer { engine: engine.id().to_owned(), supported: Vec::new(), refused: Vec::new() };
        // A strategy that the engine never supports says nothing about the module.
        for strategy in Strategy::all().into_iter().filter(|of| engine.support(*of).is_supported())
        {
            match support_for(&**engine, strategy, guest, &engines) {
                Support::Unsupported { reason } => {
                    match offer.refused.iter_mut().find(|known| known.reason == reason) {
                        Some(known) => known.strategies.push(strategy),
                        None => offer.refused.push(Refused { reason, strategies: vec![strategy] }),
                    }
                }
                _ => offer.supported.push(strategy),
            }
        }
        if !offer.supported.is_empty() || engine.execution() != Execution::Native {
            offers.push(offer);
        }
    }
    offers
}

#[derive(serde::Serialize)]
struct Line<'a> {
    file: String,
    engines: &'a [Offer],
    #[serde(flatten)]
    found: &'a Inspection,
}

fn in_words(file: &Path, found: &Inspection, offers: &[Offer]) -> String {
    let style = Style::of_stdout();
    let mut text = format!("{}\n", style.bold(&harmless(&file.display().to_string())));
    let mut facts = Table::new(&[]).indented(2);
    let mut fact = |key: &str, value: String| facts.row([key.to_owned(), value]);
    let Identity { is_packed, bytes, sha256 } = &found.identity;
    let kind = if found.is_component { "component" } else { "module" };
    let packed = if *is_packed { ", compressed" } else { "" };
    fact(kind, format!("{bytes} bytes{packed}, SHA-256 {sha256}"));
    for (key, reason) in [("invalid", &found.invalid), ("refused", &found.refused)] {
        reason.iter().for_each(|reason| fact(key, harmless(reason)));
    }
    let features = match (&found.invalid, found.features.is_empty()) {
        (Some(_), _) => "unknown".to_owned(),
        (None, true) => "none beyond WebAssembly 2.0".to_owned(),
        (None, false) => found.features.join(", "),
    };
    fact("features", features);
    for memory in &found.memories {
        fact("memory", memory_in_words(memory));
    }
    fact("start", if found.has_start { "a start function runs first" } else { "none" }.to_owned());
    let Inspection { functions, tables, globals, data, elements, .. } = found;
    let modules = match found.core_modules {
        0 => String::new(),
        count => format!(", {count} core modules"),
    };
    fact("defines", format!("{functions} functions, {tables} tables, {globals} globals{modules}"));
    let segments = |of: &Segments| format!("{} active, {} passive segments", of.active, of.passive);
    fact("data", format!("{}, {} bytes", segments(data), data.bytes));
    fact("elements", segments(elements));
    text += &facts.render(style);

    let imports = found.imports.iter().map(|import| {
        let module = match import.module.is_empty() {
            true => String::new(),
            false => format!("{}.", name(&import.module)),
        };
        let ty = format!("{} {}", import.kind, abridged(&import.ty, TYPE));
        [module + &name(&import.name), ty, import.answer.in_words().to_owned()]
    });
    text += &list("imports", imports, style);
    let exports = found.exports.iter().map(|export| {
        let ty = format!("{} {}", export.kind, abridged(&export.ty, TYPE));
        [name(&export.name), ty, String::new()]
    });
    text += &list("exports", exports, style);
    if offers.is_empty() {
        return text + "\nno engine can run it\n";
    }
    text += "\nengines\n";
    let names = |strategies: &[Strategy]| {
        strategies.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    for Offer { engine, supported, refused } in offers {
        let count = match (supported.len(), refused.is_empty()) {
            (0, _) => style.bad("no strategy"),
            (count, true) => style.good(&format!("all {count} strategies")),
            (_, false) => names(supported),
        };
        text += &format!("  {engine}: {count}\n");
        for Refused { reason, strategies } in refused {
            text += &format!("    not {}: {}\n", names(strategies), harmless(reason));
        }
    }
    text
}

fn memory_in_words(memory: &Memory) -> String {
    let Memory { minimum, maximum, page, .. } = memory;
    let noun = plural("page", *minimum);
    let maximum = maximum.map_or_else(|| "no maximum".to_owned(), |most| format!("at most {most}"));
    let mut text = format!("{minimum} {noun} of {page} bytes, {maximum}");
    for (is_so, word) in [
        (memory.is_imported, ", imported"),
        (memory.is_64, ", 64-bit"),
        (memory.is_shared, ", shared"),
    ] {
        text += if is_so { word } else { "" };
    }
    text
}

fn list(heading: &str, rows: impl ExactSizeIterator<Item = [String; 3]>, style: Style) -> String {
    let count = rows.len();
    if count == 0 {
        return format!("\n{heading}: none\n");
    }
    let mut table = Table::new(&[]).indented(2);
    rows.take(LINES).for_each(|row| table.row(row));
    let more = match count.saturating_sub(LINES) {
        0 => String::new(),
        more => format!("  and {more} more (--json lists all)\n"),
    };
    format!("\n{heading}\n{}{more}", table.render(style))
}
