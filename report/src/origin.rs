//! Where numbers come from: which run, on which commit and which machine.

use super::Records;
use super::units::{count, joined};
use crate::markdown::{code, markdown};
use crate::pages::{Page, Part};
use crate::sections::checks::Checked;
use indexmap::IndexMap;
use strum::IntoEnumIterator;
use touchstone_record::{
    Book, CHECKS, COUNTS, Check, Header, Machine, OVERSUBSCRIBED, PEERS, SWAPS,
};

/// The files whose run is of another commit or machine than the benchmarks', a line each:
/// nothing of them stands in one table with times of the benchmarks, but a reader has to know.
/// Checks may come from several runs of one file, with a line for each run.
pub(super) fn other_builds(records: &Records) -> Vec<String> {
    let own = &records.bench.header;
    let mut books: Vec<_> = records.books.iter().collect();
    // Experiments after comparisons, counts last.
    books.sort_by_key(|(name, _)| (*name == COUNTS, *name != PEERS, *name != SWAPS));
    let books = books.into_iter().map(|(name, book)| (code(name), &book.header));
    // The runs that checks come from, each with its checks.
    let mut runs: IndexMap<&str, (&Header, Vec<String>)> = IndexMap::new();
    for check in Check::iter() {
        let Some(Checked { header, .. }) = records.checks.get(check) else { continue };
        runs.entry(&header.run).or_insert((header, Vec::new())).1.push(check.to_string());
    }
    let name = |checks: Vec<String>| format!("{} ({})", code(CHECKS), checks.join(", "));
    let files = books.chain(runs.into_values().map(|(header, checks)| (name(checks), header)));
    let line = |(name, other): (String, &Header)| {
        let machine = another_machine(other, own);
        let is_other = machine.is_some() || other.tools.commit != own.tools.commit;
        let same = if own.is_of_build(other) { "; the program was the same" } else { "" };
        let machine = machine.map(|machine| format!(" {machine}")).unwrap_or_default();
        let [of, own] = [other, own].map(|header| markdown(&header.tools.commit));
        is_other
            .then(|| format!("{name} is of commit {of}{machine}, the benchmarks of {own}{same}"))
    };
    files.filter_map(line).collect()
}

/// The runs that a page shows: date, commit, and the machine where it is not that of the
/// benchmarks.
pub(super) fn of_page(records: &Records, page: &Page) -> String {
    if page.parts == [Part::Machines] {
        return "Runs of several machines, which the table names".to_owned();
    }
    let own = &records.bench.header;
    let parts = page.parts.iter().flat_map(|part| of_part(records, part)).flatten();
    let parts = parts.chain((!page.tables.is_empty()).then_some(own));
    let mut headers: IndexMap<&str, &Header> = parts.map(|header| (&*header.run, header)).collect();
    if headers.is_empty() {
        headers.insert(&own.run, own);
    }
    let run = |header: &&Header| {
        let machine = another_machine(header, own);
        format!(
            "{}, commit {}{}",
            markdown(header.date()),
            code(&header.tools.commit),
            machine.map(|machine| format!(", {machine}")).unwrap_or_default()
        )
    };
    let runs = joined(headers.values().map(run), "; ");
    format!("{} {runs}", if headers.len() == 1 { "Run" } else { "Runs" })
}

fn of_part<'a>(records: &'a Records, part: &Part) -> [Option<&'a Header>; 2] {
    let bench = Some(&records.bench.header);
    let of = |book: Option<&'a Book>| book.map(|book| &book.header);
    let experiment = |name: &str| {
        let own = records.experiments.iter().find(|own| own.name == name)?;
        of(records.book(&own.records))
    };
    match part {
        Part::Threads => [bench, of(records.book(OVERSUBSCRIBED))],
        Part::Comparisons => [bench, of(records.peers())],
        Part::Pairs => [bench, experiment("resets")],
        Part::Dropping => [experiment("resets"), None],
        Part::Experiment(name) => [experiment(name), None],
        Part::Check(check) => [records.checks.get(*check).map(|checked| checked.header), None],
        _ => [bench, None],
    }
}

/// The machine of a run; `None` where it is that of the benchmarks.
fn another_machine(header: &Header, bench: &Header) -> Option<String> {
    let key = |machine: &Machine| (machine.cpu.clone(), machine.cores, machine.kernel.clone());
    let Machine { cpu, cores, kernel, .. } = &header.machine;
    (key(&header.machine) != key(&bench.machine)).then(|| {
        let (cpu, kernel) = (markdown(cpu), markdown(kernel));
        format!("on another machine: {cpu}, {}, Linux {kernel}", count(*cores, "processor"))
    })
}
