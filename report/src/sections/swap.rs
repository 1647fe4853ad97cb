//! Hot swap: what changing the module costs, and what callers see of it.

use super::comparisons::{Row, legend, of};
use crate::markdown::{Table, code};
use crate::units::{marked, ratio_with_interval, time};
use touchstone_record::{Book, Executor, Means, Purpose};

pub(crate) fn section(book: Option<&Book>) -> String {
    let Some(book) = book else {
        return "## Hot swap\n\nThere are no records of swaps; `make swap` makes them.\n\n"
            .to_owned();
    };
    format!(
        "## Hot swap\n\nMessages of two kinds in random order (`make swap`, commit {}), each kind \
         answered by a module of its own.\n\n{}",
        code(&book.header.tools.commit),
        methods(book),
    )
}

/// A row for each method of each engine, the slowest first.
fn methods(book: &Book) -> String {
    let rows = of(book, Purpose::Swap);
    let is_sorted = |row: &&Row<'_>| matches!(row.0.baseline.means, Means::Sorted { .. });
    let mut own: Vec<&Row<'_>> = rows.iter().filter(is_sorted).collect();
    if own.is_empty() {
        return "The run compared no swap methods.\n\n".to_owned();
    }
    own.sort_by(|(a, a_judged), (b, b_judged)| {
        let engines = a.subject.executor.engine.cmp(&b.subject.executor.engine);
        engines.then(b_judged.subject_ns.total_cmp(&a_judged.subject_ns))
    });
    let headings = [
        "method",
        "strategy",
        "per message",
        "per message, sorted",
        "random / sorted",
        "against recompiling",
    ];
    let mut table = Table::new("Engine", headings);
    for (of, judged) in own {
        let Means::Swap { method } = &of.subject.means else { continue };
        // The same method against another one: recompiling.
        let against = rows.iter().find(|(other, _)| {
            other.subject == of.subject && matches!(other.baseline.means, Means::Swap { .. })
        });
        let time = |ns: f64| Some(marked(time(ns), judged.ratio.marked));
        let Executor { engine, strategy } = &of.subject.executor;
        let cells = [
            Some(code(method)),
            Some(code(strategy)),
            time(judged.subject_ns),
            time(judged.baseline_ns),
            Some(ratio_with_interval(&judged.ratio)),
            against.map(|(_, own)| format!("{}, {}", ratio_with_interval(&own.ratio), own.verdict)),
        ];
        table.row(code(engine), cells);
    }
    format!(
        "`recompile` compiles, loads and instantiates at each change of kind. `load_artifact` \
         loads what was compiled before. `instantiate` makes an instance of a loaded module. \
         `two_live_instances` keeps one of each. `pool` takes them from a pool. Sorted messages \
         need one change of module. {}\n\n{}",
        legend(),
        table.finish()
    )
}
