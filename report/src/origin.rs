//! Where numbers come from: which run, on which commit and which machine.

use super::Records;
use super::units::count;
use crate::pages::{Page, Part};
use strum::IntoEnumIterator;
use touchstone_record::escape::{code, markdown};
use touchstone_record::{Book, CHECKS, COUNTS, Check, Header, Machine, PEERS, SWAPS};

/// The files whose run is of another commit or machine than the benchmarks', a line each:
/// nothing of them stands in one table with times of the benchmarks, but a reader has to know.
/// Checks may come from several runs of one file, with a line for each run.
pub(super) fn other_builds(records: &Records) -> Vec<String> {
    let own = &records.bench.header;
    let books = [(PEERS, records.peers.as_ref()), (SWAPS, records.swaps.as_ref())];
    let own_books = records.books.iter().filter(|(name, _)| *name != SWAPS);
    let books = books.into_iter().chain(own_books.map(|(name, book)| (name.as_str(), Some(book))));
    let books = books.chain([(COUNTS, records.counts.as_ref())]);
    let books = books.filter_map(|(name, book)| Some((name, &book?.header)));
    let mut files: Vec<(String, &Header)> =
        books.map(|(name, header)| (code(name), header)).collect();
    for (header, checks) in checks_by_run(records) {
        let names: Vec<String> = checks.iter().map(ToString::to_string).collect();
        files.push((format!("{} ({})", code(CHECKS), names.join(", ")), header));
    }
    let line = |(name, other): (String, &Header)| {
        let machine = another_machine(other, own);
        let is_other = machine.is_some() || other.tools.commit != own.tools.commit;
        is_other.then(|| {
            format!(
                "{name} is of commit {}{}, the benchmarks of {}",
                markdown(&other.tools.commit),
                machine.map(|machine| format!(" {machine}")).unwrap_or_default(),
                markdown(&own.tools.commit)
            )
        })
    };
    files.into_iter().filter_map(line).collect()
}

/// The runs that checks come from, each with its checks.
fn checks_by_run(records: &Records) -> Vec<(&Header, Vec<Check>)> {
    let mut runs: Vec<(&Header, Vec<Check>)> = Vec::new();
    for check in Check::iter() {
        let Some(checked) = records.checks.get(check) else { continue };
        match runs.iter_mut().find(|(header, _)| header.run == checked.header.run) {
            Some((_, checks)) => checks.push(check),
            None => runs.push((checked.header, vec![check])),
        }
    }
    runs
}

/// The runs that a page shows: date, commit, and the machine where it is not that of the
/// benchmarks.
pub(super) fn of_page(records: &Records, page: &Page) -> String {
    let own = &records.bench.header;
    let mut headers: Vec<&Header> = Vec::new();
    let parts = page.parts.iter().flat_map(|part| of_part(records, part));
    for header in parts.chain((!page.tables.is_empty()).then_some(own)) {
        if headers.iter().all(|known| known.run != header.run) {
            headers.push(header);
        }
    }
    if headers.is_empty() {
        headers.push(own);
    }
    let run = |header: &&Header| {
        let machine = another_machine(header, own);
        format!(
            "{}, commit {}{}",
            markdown(header.started_at.split('T').next().unwrap_or_default()),
            code(&header.tools.commit),
            machine.map(|machine| format!(", {machine}")).unwrap_or_default()
        )
    };
    let runs: Vec<String> = headers.iter().map(run).collect();
    format!("{} {}", if runs.len() == 1 { "Run" } else { "Runs" }, runs.join("; "))
}

/// The runs that a part shows.
fn of_part<'a>(records: &'a Records, part: &Part) -> Vec<&'a Header> {
    let bench = Some(&records.bench);
    let books = match part {
        Part::Threads
        | Part::Phases
        | Part::Counts
        | Part::Environment
        | Part::Refusals
        | Part::Settings => [bench, None],
        Part::Comparisons => [bench, records.peers.as_ref()],
        Part::Swap => [records.swaps.as_ref(), None],
        Part::Dropping => [of_experiment(records, "resets"), None],
        Part::Experiment(name) => [of_experiment(records, name), None],
        Part::Conformance => return of_check(records, Check::Conformance),
        Part::Features => return of_check(records, Check::Features),
        Part::Isolation => return of_check(records, Check::Isolation),
        Part::Hostile => return of_check(records, Check::Hostile),
        Part::Survival => return of_check(records, Check::Survival),
    };
    books.into_iter().flatten().map(|book| &book.header).collect()
}

fn of_experiment<'a>(records: &'a Records, name: &str) -> Option<&'a Book> {
    records.book(records.experiments.iter().find(|own| own.name == *name)?)
}

fn of_check(records: &Records, check: Check) -> Vec<&Header> {
    records.checks.get(check).map(|checked| checked.header).into_iter().collect()
}

/// The machine of a run; `None` where it is that of the benchmarks.
fn another_machine(header: &Header, bench: &Header) -> Option<String> {
    let key = |machine: &Machine| (machine.cpu.clone(), machine.cores, machine.kernel.clone());
    let Machine { cpu, cores, kernel, .. } = &header.machine;
    (key(&header.machine) != key(&bench.machine)).then(|| {
        format!(
            "on another machine: {}, {}, Linux {}",
            markdown(cpu),
            count(*cores, "processor"),
            markdown(kernel)
        )
    })
}
