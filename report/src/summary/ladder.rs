//! Strategies beside each other, and new instances on Touchstone's memories against those of the
//! runtime itself; the cost of further threads.

use crate::Content;
use crate::markdown::{NOTHING, Table, below, code};
use crate::matrix::{Cell, Executor, Work};
use crate::pages::Part;
use crate::rank::{fastest, ties};
use crate::units::{brief, count, joined, times};
use std::collections::BTreeSet;
use touchstone_executor::Strategy;
use touchstone_record::Role;

pub(super) fn section(content: &Content<'_>) -> String {
    let matrix = content.matrix;
    let works = matrix.main_works(&[Role::EmptyCall, Role::DirtyMemory]);
    let mut table = Table::new("Strategy", content.pages.ladder.iter().map(code));
    for strategy in Strategy::all().into_iter().filter(|strategy| !strategy.is_precompiled()) {
        let cell = |engine: &String| {
            let executor = Executor { engine: engine.clone(), strategy };
            let times = works.iter().map(|work| match matrix.cell(&executor, work, 1) {
                Cell::Timed(time) => Some(brief(&time)),
                Cell::Refused(refusal) if refusal.status.is_failure() => {
                    Some(refusal.status.to_string())
                }
                _ => None,
            });
            let times: Vec<Option<String>> = times.collect();
            let texts = times.iter().map(|time| time.as_deref().unwrap_or(NOTHING));
            times.iter().any(Option::is_some).then(|| joined(texts, "<br>"))
        };
        table.row_of_some(code(strategy), content.pages.ladder.iter().map(cell));
    }
    let text = format!(
        "## Strategies\n\nOne call on a clean instance, one thread: {} on {}. {NOTHING}: the \
         engine cannot do it.",
        joined(works.iter().map(|work| code(&work.case)), ", below it "),
        code(works.first().map_or("", |work| &work.guest)),
    );
    match below(&text, &table.finish()) {
        none if none.is_empty() => none,
        table => table + &new_instances(content),
    }
}

/// On how many calls of an engine a new instance on a memory of Touchstone's is slower than the
/// fastest new instance that the runtime offers itself, and which they are. Empty where no engine
/// has both.
fn new_instances(content: &Content<'_>) -> String {
    let matrix = content.matrix;
    let is_new = |executor: &Executor| {
        executor.strategy.is_new_instance() && !executor.strategy.is_precompiled()
    };
    let of = |work: &Work, engine: &str, is_own: bool| {
        let wanted = |other: &Executor| {
            other.engine == engine && is_new(other) && matrix.is_native(other) == is_own
        };
        fastest(matrix, work, wanted)
    };
    let engines = matrix.engines();
    let engines = engines.into_iter().filter(|engine| !matrix.is_baseline(engine));
    let mut slower = Table::of_words("Call", ["The runtime's own", "On Touchstone's memory"]);
    let (mut pairs, mut exceptions, mut both) = (0_usize, 0_usize, BTreeSet::new());
    for (engine, work) in engines.flat_map(|own| matrix.works.iter().map(move |work| (own, work))) {
        let (Some(own), Some(ours)) = (of(work, engine, true), of(work, engine, false)) else {
            continue;
        };
        pairs += 1;
        both.insert(engine);
        if ours.1.median > own.1.median && !ties(own.1, ours.1, None) {
            exceptions += 1;
            let cell = |(executor, time)| format!("{} {}", brief(&time), code(executor));
            slower.row(work.names(), [own, ours].map(cell));
        }
    }
    if pairs == 0 {
        return String::new();
    }
    let found = match exceptions {
        0 => "None is slower beyond both intervals.".to_owned(),
        _ => format!("Slower beyond both intervals: {exceptions}.\n\n{}", slower.finish()),
    };
    format!(
        "A new instance on a memory of Touchstone's, against the fastest that the runtime offers, \
         slots of its pool included: {pairs} calls of the matrix on {} engines, one thread. \
         Instances reset in place are not among them \
         ([losses](BENCHMARK.md#recommendations)). {found}\n\n",
        both.len()
    )
}

/// The cost of further threads.
pub(super) fn threads(content: &Content<'_>) -> String {
    let matrix = content.matrix;
    let works = matrix.main_works(&[Role::EmptyCall, Role::DirtyMemory]);
    let most = works.iter().filter_map(|work| matrix.most_threads(work)).max();
    let Some(most) = most.filter(|most| *most > 1) else { return String::new() };
    let headings = works.iter().flat_map(|work| {
        let alone = format!("{}, alone", code(&work.case));
        [alone, format!("on {}", count(most, "thread")), "slow-down".to_owned()]
    });
    let mut table = Table::new("Executor", headings);
    for executor in &content.pages.threads {
        let cells = works.iter().flat_map(|work| {
            let time = |threads| matrix.time(executor, work, threads);
            let [alone, several] = [1, most].map(|n| time(n).as_ref().map(brief));
            [alone, several, matrix.slow_down(executor, work, most).as_ref().map(times)]
        });
        table.row_of_some(code(executor), cells);
    }
    let text = format!(
        "## Threads\n\nThe time of one call, alone and of one thread while the others do the same. The \
         slow-down is the number of threads over the ratio of the throughputs: 1.00 is perfect \
         scaling. The processes' median ratio counts, so the quotient of the two times may differ a \
         little. Every thread is pinned to a processor of its own. \
         {}",
        content.link_to_part(&Part::Threads)
    );
    below(&text, &table.finish())
}
