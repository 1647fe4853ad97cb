//! What to choose: a table by needs, and a few facts. Where the numbers do not carry a
//! statement, it is not made.

use super::facts;
use super::markdown::{Table, code};
use super::matrix::{Executor, Matrix, Work};
use super::rank::{Leaders, leaders};
use super::units::{count, median};
use crate::record::{Estimate, Role};
use std::fmt::Write;
use touchstone_executor::{Execution, InstanceFrom, MemoryFrom, Strategy};

/// What somebody may need: the heading of a row, and whether an executor will do.
type Need = (&'static str, fn(&Matrix<'_>, &Executor) -> bool);

/// No need but speed.
static ANY: Need = ("Fastest clean instance of all", |_, _| true);

/// No machine code made at run time.
static INTERPRETED: Need =
    ("Interpreted code", |matrix, e| matrix.execution(&e.engine) == Some(Execution::Interpreted));

/// Machine code.
static COMPILED: Need =
    ("Compiled code", |matrix, e| matrix.execution(&e.engine) == Some(Execution::Compiled));

/// The guest's code in the host, without a runtime.
static BASELINE: Need = ("Baseline (for comparison)", |matrix, e| matrix.is_baseline(&e.engine));

/// The rows, from above.
static NEEDS: [&Need; 6] = [
    &ANY,
    &("A new instance each call", |_, executor| executor.strategy.is_new_instance()),
    &("Only what the runtime itself offers", |matrix, executor| matrix.is_native(executor)),
    &INTERPRETED,
    &COMPILED,
    &("Plain new instance (for comparison)", |matrix, executor| {
        let plain = [PLAIN, Strategy::INTERPRETED];
        plain.contains(&executor.strategy.base()) && matrix.is_native(executor)
    }),
];

/// What one gets without choosing, of engines that compile.
pub(super) const PLAIN: Strategy = Strategy::new(InstanceFrom::Recreate, MemoryFrom::Segments);

/// A column: a work on a number of threads.
type Column<'a> = (&'a Work, usize);

/// The part of the page.
pub(super) fn section(all: &Matrix<'_>) -> String {
    let candidates = &candidates(all);
    let matrix = &choices(candidates);
    let mut text = String::from("## What to choose, and why\n\n");
    if let Some(leaky) = leaky(candidates) {
        let _ = write!(text, "{leaky}\n\n");
    }
    if matrix.works.is_empty() {
        text.push_str("Nothing that can be chosen was timed.\n\n");
        return text;
    }
    let _ = write!(
        text,
        "The fastest strategy for each need: its median on its best engine, and what ties with \
         it. {} Empty calls and calls that write memory run almost no guest code: they show the \
         cost of a clean instance, not the speed of code. Nobody can choose the baseline: it runs \
         no modules and isolates nothing.\n\n",
        facts::ties(&all.records.noise)
    );
    let mut payloads: Vec<Column<'_>> =
        matrix.works_of(Role::Payload).map(|work| (work, 1)).collect();
    for guest in matrix.guests() {
        let mut columns = columns(matrix, guest);
        if !columns.is_empty() {
            columns.append(&mut payloads);
            let _ = write!(text, "On {}:\n\n{}", code(guest), table(all, matrix, &columns));
        }
    }
    text.push_str(&other_works(matrix));
    for fact in facts::all(matrix) {
        let _ = writeln!(text, "- {fact}");
    }
    text.push('\n');
    text
}

/// What runs modules: all but the baseline.
fn candidates<'a>(all: &Matrix<'a>) -> Matrix<'a> {
    all.only(|cell| !all.is_baseline(&cell.engine))
}

/// What can be chosen: an executor whose calls leak is no choice.
fn choices<'a>(candidates: &Matrix<'a>) -> Matrix<'a> {
    candidates.only(|cell| candidates.records.checks.leaks(&cell.executor()).is_empty())
}

/// The fastest executor for a need.
#[derive(Debug)]
pub(super) struct Headline {
    /// The need, in words.
    pub need: &'static str,
    /// The work that was timed.
    pub work: Work,
    /// The executor with the lowest median.
    pub executor: Executor,
    /// Its time of one call, ns.
    pub time: Estimate,
}

/// What is fastest on the first guest: for an empty call by need, for a call that writes
/// memory, and for a payload. Each on the fewest threads that were timed.
pub(super) fn headlines(all: &Matrix<'_>) -> Vec<Headline> {
    let matrix = &choices(&candidates(all));
    let [any, new, own, ..] = NEEDS;
    let wanted = [
        (any.0, any, Role::EmptyCall),
        (new.0, new, Role::EmptyCall),
        (own.0, own, Role::EmptyCall),
        ("Fastest clean instance after memory was written", any, Role::DirtyMemory),
        ("Fastest payload on a clean instance", any, Role::Payload),
    ];
    let headline = |(name, need, role): (&'static str, &Need, Role)| {
        let work = matrix.main_work(role)?;
        let threads = matrix.threads(work).first().copied()?;
        let best = leaders(matrix, work, threads, |executor| (need.1)(matrix, executor))?.best;
        let (executor, time) = (best.0.clone(), best.1);
        Some(Headline { need: name, work: work.clone(), executor, time })
    };
    wanted.into_iter().filter_map(headline).collect()
}

/// What is not to be chosen. `None` where nothing leaks.
fn leaky(candidates: &Matrix<'_>) -> Option<String> {
    let name = |executor: &Executor| {
        let leaks = candidates.records.checks.leaks(executor);
        (!leaks.is_empty()).then(|| format!("{} ({})", code(executor), leaks.join(", ")))
    };
    let names: Vec<String> = candidates.executors.iter().filter_map(name).collect();
    let why = "Not to be chosen, because a call sees state that the call before left";
    (!names.is_empty()).then(|| format!("{why}: {}.", names.join("; ")))
}

/// The works of the overview on a guest: on one thread, and on the most.
fn columns<'a>(matrix: &'a Matrix<'_>, guest: &str) -> Vec<Column<'a>> {
    let works = matrix.overview().into_iter().filter(|work| work.guest == guest);
    works
        .flat_map(|work| {
            let threads = matrix.threads(work);
            let least = threads.first().copied();
            let most = threads.last().copied().filter(|most| Some(*most) != least);
            least.into_iter().chain(most).map(move |threads| (work, threads))
        })
        .collect()
}

/// A row for each need that anybody meets. `all` has the baseline beside what there is to
/// choose from.
fn table(all: &Matrix<'_>, matrix: &Matrix<'_>, columns: &[Column<'_>]) -> String {
    let heading = |(work, threads): &Column<'_>| {
        format!("{}, {}", name(matrix, work), count(*threads, "thread"))
    };
    let mut table = Table::of_words("Need", columns.iter().map(heading));
    let rows = NEEDS.into_iter().map(|need| (matrix, need)).chain([(all, &BASELINE)]);
    for (matrix, need) in rows {
        let cells: Vec<_> = columns.iter().map(|column| cell(matrix, column, need)).collect();
        if cells.iter().any(Option::is_some) {
            table.row(need.0, cells);
        }
    }
    table.finish()
}

/// A work as the heading of a column.
fn name(matrix: &Matrix<'_>, work: &Work) -> String {
    match matrix.role(work) {
        Some(Role::EmptyCall) => "Empty call".to_owned(),
        Some(Role::DirtyMemory) => "Memory written".to_owned(),
        Some(Role::Payload) => format!("Payload ({})", code(&work.case)),
        None => code(&work.case),
    }
}

/// The fastest strategy that meets a need, its time on its best engine, and what ties.
fn cell(matrix: &Matrix<'_>, column: &Column<'_>, need: &Need) -> Option<String> {
    let Leaders { best: (best, time), same, others, unknown } =
        leaders(matrix, column.0, column.1, |executor| (need.1)(matrix, executor))?;
    let same = match same {
        0 => String::new(),
        1 => ", 1 more engine ties".to_owned(),
        more => format!(", {more} more engines tie"),
    };
    let (strategy, engine) = (code(best.strategy), code(&best.engine));
    let mut text = format!("{strategy} {} ({engine}{same})", median(&time));
    let named: Vec<String> = others.iter().take(2).map(code).collect();
    match others.len() {
        0 => {}
        1..=2 => text += &format!("<br>tie: {}", named.join(" and ")),
        all => text += &format!("<br>tie: {} and {} more", named.join(", "), all - 2),
    }
    if time.interval.is_none() {
        text.push_str("<br>no interval: nothing is slower for certain");
    } else if unknown > 0 {
        let _ = write!(text, "<br>{unknown} without an interval not ranked");
    }
    Some(text)
}

/// All works without a role, on one thread.
fn other_works(matrix: &Matrix<'_>) -> String {
    let known = matrix.overview();
    let is_other = |work: &&Work| !known.contains(work) && matrix.role(work) != Some(Role::Payload);
    let needs = [&ANY, &COMPILED, &INTERPRETED];
    let mut table = Table::of_words("Other calls, 1 thread", needs.map(|need| need.0));
    for work in matrix.works.iter().filter(is_other) {
        let name = format!("{} on {}", name(matrix, work), code(&work.guest));
        table.row(name, needs.map(|need| cell(matrix, &(work, 1), need)));
    }
    table.finish()
}
