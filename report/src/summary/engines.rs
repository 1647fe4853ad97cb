//! Engines at a glance, and real work: a few calls of each suite.

use super::{failed_assertions, named, verdict};
use crate::Content;
use crate::charts::{self, Overall};
use crate::markdown::{Table, below, code, markdown};
use crate::matrix::{Executor, Matrix, Work};
use crate::pages::{Group, Part};
use crate::rank::fastest;
use crate::units::{self, brief, prose_list};
use touchstone_record::{Estimate, Metric, Role};

pub(super) fn section(content: &Content<'_>) -> String {
    let matrix = content.matrix;
    let headings = [
        "Best clean empty call of the runtime's own",
        "Best of all",
        "Best clean call with JSON",
        "Execution / native",
        "Compile + load",
        "Failed assertions",
    ];
    let mut table = Table::new("Engine", headings);
    let execution = charts::overall(matrix, content.shown);
    let empty = matrix.main_work(Role::EmptyCall);
    let payload = content.pages.payload.as_ref();
    for engine in matrix.engines() {
        let is_own = |executor: &Executor| executor.engine == engine;
        let best = |work, wanted: &dyn Fn(&Executor) -> bool| fastest(matrix, work, wanted);
        let native = |executor: &Executor| is_own(executor) && matrix.is_native(executor);
        // The baseline's code is compiled before.
        let guest = payload.filter(|_| !matrix.is_baseline(engine));
        let cells = [
            empty.and_then(|work| best(work, &native)).map(named),
            empty.and_then(|work| best(work, &is_own)).map(named),
            payload.and_then(|work| best(work, &is_own)).map(named),
            execution.get(engine).map(units::times),
            guest.and_then(|work| compile_and_load(matrix, engine, work)),
            failed_assertions(matrix, engine),
        ];
        table.row_of_some(code(engine), cells);
    }
    let table = table.finish();
    if table.is_empty() {
        return table;
    }
    let notes = content.pages.engines.iter().filter_map(|of| verdict::finding(matrix, of));
    let notes: String = notes.map(|note| note + "\n\n").collect();
    let json = payload.map(|work| format!(" The call with JSON is {}.", work.names()));
    let once = match table.contains(ONCE) {
        true => "; \"once\": one process of the run compiled it",
        false => "",
    };
    format!(
        "## Engines at a glance\n\n{} Compile + load is once per module{once}.{}\n\n{table}{notes}",
        means(&execution),
        json.unwrap_or_default()
    )
}

/// Beside a time that only one process compiled for.
const ONCE: &str = " (once)";

fn means(execution: &Overall) -> String {
    let over = match &execution.suites[..] {
        [] => String::new(),
        suites => format!(" ({})", prose_list(suites)),
    };
    let clean = match &execution.clean[..] {
        [] => String::new(),
        suites => format!(" Calls of {} are on a clean instance.", prose_list(suites)),
    };
    format!(
        "\"Execution / native\" is the time of a call on a used instance over that of native code. The \
         mean is geometric, over the suites that every engine of the column ran{over}.{clean} The \
         chart below has all suites."
    )
}

/// Compiling and loading the guest of the payload, for its fastest strategy if that is known.
fn compile_and_load(matrix: &Matrix<'_>, engine: &str, work: &Work) -> Option<String> {
    let own =
        |executor: &&Executor| executor.engine == engine && !executor.strategy.is_precompiled();
    let best = fastest(matrix, work, |executor| executor.engine == engine);
    let all = matrix.executors.iter().filter(own);
    best.map(|(executor, _)| executor).into_iter().chain(all).find_map(|executor| {
        let load = matrix.metric(executor, work, Metric::Load)?;
        let compile = matrix.metric(executor, work, Metric::Compile)?;
        let interval = load.interval.zip(compile.interval);
        let interval = interval.map(|(load, own)| (load.0 + own.0, load.1 + own.1));
        let sum = Estimate { interval, ..Estimate::exact(compile.median + load.median) };
        let once = if interval.is_none() { ONCE } else { "" };
        Some(brief(&sum) + once)
    })
}

/// Rows of a group that are shown.
const MOST: usize = 8;

/// Real work: a few calls of each suite.
pub(super) fn work(content: &Content<'_>) -> String {
    let tables: String = content.pages.work.iter().map(|of| group(content, of)).collect();
    if tables.is_empty() && content.picks.is_empty() {
        return own_cases(content);
    }
    let text = "## Real work\n\nThe time of a call on a clean instance under the fastest strategy \
                of each engine.";
    below(text, &tables)
}

/// A run of cases that the pages do not name.
fn own_cases(content: &Content<'_>) -> String {
    let matrix = content.matrix;
    let engines = matrix.engines();
    let mut table = Table::new("Call", engines.iter().map(code));
    for work in &matrix.works {
        let best = |engine: &&str| fastest(matrix, work, |own| own.engine == *engine).map(named);
        table.row_of_some(work.names(), engines.iter().map(best));
    }
    let text = format!(
        "## Calls\n\nThe time of a call on a clean instance under the fastest strategy of each \
         engine. All strategies and threads: {}",
        content.link_to_part(&Part::Threads)
    );
    below(&text, &table.finish())
}

fn group(content: &Content<'_>, group: &Group) -> String {
    let mut table = Table::new("Call", group.engines.iter().map(code));
    for row in group.rows.iter().take(MOST) {
        let work = Work::from(row);
        let best = |engine: &String| fastest(content.matrix, &work, |own| own.engine == *engine);
        let best = group.engines.iter().map(|engine| best(engine).map(|(_, time)| brief(&time)));
        table.row_of_some(markdown(&row.label), best);
    }
    let link = content.link_named(&group.page, "Details");
    let table = below(&format!("### {}\n\n{link}", markdown(&group.title)), &table.finish());
    match group.note.trim().replace('\n', " ") {
        note if note.is_empty() || table.is_empty() => table,
        note => format!("{table}{note}\n\n"),
    }
}
