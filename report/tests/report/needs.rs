//! The advice of the page, and its rules.

use super::fixtures::{self, Cell};
use super::{DIRTY, EMPTY, Metric, Place, Run, assert_has, cell, comparison, contender};
use touchstone_executor::Execution;
use touchstone_record::{LAYOUTS, Line, Means, PEERS, Purpose};
use touchstone_report as report;

const DIVISION: &str = r#"
ladder = ["alpha", "beta"]
threads = ["alpha_instance_reuse", "alpha_pooling"]
limits = ["One machine."]
[[findings]]
text = "Reuse takes {subject}, the pool {baseline}: {ratio} times slower."
call = { case = "call_empty_function", guest = "test_runtime" }
subject = "alpha_instance_reuse"
baseline = "alpha_pooling"
[[engines]]
text = "A new instance of alpha takes {subject}."
call = { case = "call_empty_function", guest = "test_runtime" }
subject = "alpha_recreate_instance"
baseline = "alpha_recreate_instance"
[[work]]
title = "Real"
page = "threads"
engines = ["alpha"]
rows = [{ label = "a write", case = "dirty_1mb_of_memory", guest = "test_runtime" }]
[[findings]]
text = "A clean instance takes {subject}, a used one {baseline}: {ratio} times slower."
call = { case = "call_empty_function", guest = "test_runtime" }
subject = "alpha_instance_reuse"
[[needs]]
need = "Any"
call = { case = "call_empty_function", guest = "test_runtime" }
adopt = "as you like"
avoid = "never"
[[needs]]
need = "The runtime's own"
call = { case = "call_empty_function", guest = "test_runtime" }
owner = "runtime"
adopt = "as its manual says"
avoid = "never"
[[needs]]
need = "Interpreted"
call = { case = "call_empty_function", guest = "test_runtime" }
execution = "interpreted"
adopt = "as its manual says"
avoid = "calls are long"
[[needs]]
need = "Pools of alpha"
call = { case = "call_empty_function", guest = "test_runtime" }
engines = ["alpha"]
strategies = ["pooling", "pooling_cow"]
adopt = "as its manual says"
avoid = "never"
[[pages]]
file = "threads"
title = "Threads"
answers = "How well does it scale?"
parts = ["threads"]
"#;

fn divided(run: &Run) -> Place {
    let place = Place::with(run);
    place.divide(DIVISION);
    place
}

fn null(case: &str, engine: &str, reach: f64) -> Vec<Line> {
    fixtures::null(case, (engine, "pooling"), [1.0 - reach, 1.0, 1.0 + reach / 2.0])
}

/// A row of the table of needs.
fn row<'a>(page: &'a str, need: &str) -> &'a str {
    page.lines().find(|line| line.starts_with(&format!("| {need}"))).unwrap()
}

#[test]
fn every_need_has_its_own_candidates() {
    let mut reuse = cell("alpha", "instance_reuse_resident", EMPTY, 1, 100.0);
    reuse.emulated = Some("ours".to_owned());
    let mut run = Run::of_cells([
        reuse,
        cell("beta", "pooling_cow", EMPTY, 1, 400.0),
        cell("alpha", "pooling", EMPTY, 1, 300.0),
        cell("alpha", "recreate_instance", EMPTY, 1, 200.0),
        cell("gamma", "interpreted", EMPTY, 1, 200_000.0),
    ]);
    run.header.engines.get_mut("beta").unwrap().execution = Execution::Interpreted;
    let page = divided(&run).page();
    assert_has(
        row(&page, "Any"),
        "`alpha_instance_reuse_resident` (Touchstone) | 100 ns [99 – 101]",
    );
    assert_has(row(&page, "The runtime's own"), "`alpha_recreate_instance` (the runtime) | 200 ns");
    assert_has(row(&page, "Interpreted"), "`beta_pooling_cow` (the runtime) | 400 ns");
    assert_has(row(&page, "Pools of alpha"), "`alpha_pooling` (the runtime) | 300 ns");
    assert_has(row(&page, "Pools of alpha"), "| as its manual says | never |");
    for candidates in [
        "- *Any*: all strategies on all engines.\n",
        "- *The runtime's own*: the runtime's own strategies on all engines.\n",
        "- *Interpreted*: all strategies on all interpreters.\n",
        "- *Pools of alpha*: `pooling` and `pooling_cow` on `alpha`.\n",
    ] {
        assert_has(&page, candidates);
    }
}

#[test]
fn of_candidates_that_tie_the_order_picks_and_the_others_are_counted() {
    let times = [
        ("beta", "instance_reuse", 1000.0),
        ("alpha", "instance_reuse", 1010.0),
        ("alpha", "pooling_cow", 1040.0),
        ("alpha", "recreate_instance", 9000.0),
    ];
    let cells = times.map(|(engine, strategy, ns)| cell(engine, strategy, EMPTY, 1, ns));
    let run = Run::of_cells(cells);
    assert_has(row(&divided(&run).page(), "Any"), "`alpha_instance_reuse` (Touchstone) \\[1\\] |");
    // 4 % lie within the noise floor of this case, but not within that of another.
    let floor = |case, reach| run.clone().and(null(case, "alpha", reach));
    let page = divided(&floor(EMPTY, 0.05)).page();
    assert_has(row(&page, "Any"), "`alpha_pooling_cow` (the runtime) \\[2\\] |");
    let both = floor(EMPTY, 0.01).and(null(DIRTY, "alpha", 0.05));
    assert_has(row(&divided(&both).page(), "Any"), "\\[1\\] |");
}

#[test]
fn a_precompiled_variant_or_a_baseline_is_never_picked() {
    let mut native = cell("native", "instance_reuse", EMPTY, 1, 50.0);
    native.emulated = Some("on Touchstone's memory".to_owned());
    let page = divided(&Run::of_cells([
        cell("alpha", "pooling", EMPTY, 1, 1000.0),
        cell("alpha", "pooling_precompiled", EMPTY, 1, 990.0),
        native,
    ]))
    .page();
    assert_has(row(&page, "Any"), "`alpha_pooling` (the runtime) |");
}

#[test]
fn findings_are_computed_and_left_out_where_a_time_is_missing() {
    let reuse: Cell = cell("alpha", "instance_reuse", EMPTY, 1, 100.0);
    let pool = cell("alpha", "pooling", EMPTY, 1, 2000.0);
    let page = divided(&Run::of_cells([reuse.clone(), pool.clone().noisy()])).page();
    assert_has(&page, "1. Reuse takes 100 ns [99 – 101], the pool 2.00 µs†: 20.0† times slower.");
    assert!(!page.contains("A clean instance takes"), "{page}");
    let used = reuse.with(Metric::WarmCall, 50.0);
    let page = divided(&Run::of_cells([used])).page();
    assert_has(&page, "1. A clean instance takes 100 ns [99 – 101], a used one 50.0 ns");
    assert!(!page.contains("Reuse takes"), "{page}");
}

#[test]
fn a_page_says_what_it_answers_and_is_linked() {
    let cells = [1, 2].map(|n| cell("alpha", "pooling", EMPTY, n, 1000.0));
    let page = divided(&Run::of_cells(cells)).page();
    assert_has(&page, "| [Threads](benchmark/threads.md) | How well does it scale? |");
    assert_has(&page, "# Threads\n\nHow well does it scale?");
    assert_has(&page, "[Summary](../BENCHMARK.md)");
    assert_has(
        &page,
        "| `alpha_pooling` | 1.00 µs [0.99 – 1.01] | 1.00 µs [0.99 – 1.01] | 1.00 × |",
    );
}

#[test]
fn a_division_that_does_not_fit_is_refused() {
    let table = "[[pages]]\nfile = \"more\"\ntitle = \"M\"\nanswers = \"?\"\ntables = [\"none\"]\n";
    for (text, says) in [
        (table, "the page 'more' names no table: 'none'"),
        ("[[pages]]\nfile = \"A\"\ntitle = \"\"\nanswers = \"\"", "the file name 'A'"),
        ("ladders = []", "unknown field `ladders`"),
    ] {
        let place = Place::with(&Run::of_cells([cell("alpha", "pooling", EMPTY, 1, 1.0)]));
        place.divide(text);
        let error = format!("{:#}", report::write(&place.options).unwrap_err());
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_deadline_and_the_call_beside_it_are_of_the_payload() {
    let executor = ("alpha", "instance_reuse");
    let limited = fixtures::comparison(
        Purpose::Deadline,
        DIRTY,
        fixtures::contender(executor, Means::Limited),
        fixtures::contender(executor, Means::Contract),
        [0.95, 1.38, 1.5],
    );
    let empty = cell("alpha", "instance_reuse", EMPTY, 1, 100.0);
    let page = |payload: &str, cells: Vec<Cell>| {
        let place = Place::with(&Run::of_cells(cells).and(limited.clone()));
        let payload = format!("payload = {{ case = \"{payload}\", guest = \"test_runtime\" }}");
        place.divide(&format!("{payload}\n{DIVISION}"));
        place.summary()
    };
    // The cell was not timed: its time is that of the comparison.
    let own = page(DIRTY, vec![empty.clone()]);
    assert_has(row(&own, "Any"), "| 1.00 µs [1.00 – 1.00] (in turns) | 1.380 × [0.950 – 2.005] |");
    assert_has(&own, "\"In turns\": the cell was not timed");
    let own = page(DIRTY, vec![empty.clone(), cell("alpha", "instance_reuse", DIRTY, 1, 900.0)]);
    assert_has(row(&own, "Any"), "| 900 ns [891 – 909] | 1.380 × [0.950 – 2.005] |");
    assert!(!own.contains("In turns"), "{own}");
    // Of another call the deadline was not timed.
    assert_has(row(&page(EMPTY, vec![empty]), "Any"), "| 100 ns [99 – 101] | – |");
}

/// Cells of a strategy of Touchstone's and of the runtime's own, with times of a call that writes.
fn reuse_and_pool(reuse: f64, pool: f64) -> [Cell; 4] {
    let ours = |case, ns| {
        let mut own = cell("alpha", "instance_reuse_tracked", case, 1, ns);
        own.emulated = Some("ours".to_owned());
        own
    };
    let theirs = |case, ns| cell("alpha", "pooling", case, 1, ns);
    [ours(EMPTY, 100.0), ours(DIRTY, reuse), theirs(EMPTY, 900.0), theirs(DIRTY, pool)]
}

#[test]
fn calls_that_the_runtimes_own_strategy_wins_or_may_win_are_named() {
    let page = |reuse, pool| divided(&Run::of_cells(reuse_and_pool(reuse, pool))).summary();
    assert_has(
        &page(2000.0, 1000.0),
        "- `alpha_pooling` against `alpha_instance_reuse_tracked`: a write (Real) 0.500 [0.490 – \
         0.510].",
    );
    assert_has(
        &page(1000.0, 1001.0),
        "- Undecided for `alpha_instance_reuse_tracked`: a write (Real) 1.00 [0.981 – 1.02].",
    );
    assert!(!page(1000.0, 2000.0).contains("own strategies are faster"));
}

#[test]
fn calls_that_write_pages_are_held_against_the_pick_on_every_course() {
    let place = divided(&Run::of_cells(reuse_and_pool(1000.0, 2000.0)));
    let reset = |drift: &str, strategy: &str, pages: u64, ns: f64| {
        super::resets(strategy, drift, pages, ns)
    };
    let lines = [1, 16, 256].into_iter().flat_map(|pages| {
        let each = pages as f64;
        let all = [
            reset("all", "instance_reuse_tracked", pages, 2000.0 * each),
            reset("all", "pooling", pages, 5000.0 + 1000.0 * each),
            // Another one is faster where the first is not.
            reset("all", "pooling_cow", pages, if pages == 1 { 500.0 } else { 3000.0 * each }),
            reset("same", "instance_reuse_tracked", pages, 100.0 * each),
            reset("same", "pooling", pages, 20_000.0),
        ];
        all.into_iter().flatten()
    });
    Run::of(lines).append(&place.beside("resets.jsonl"));
    let page = place.summary();
    for line in [
        "the same pages in each call, 1 thread | 1 MiB | `alpha_pooling` 20.00 µs | \
         `alpha_instance_reuse_tracked` 25.60 µs (1.28 ×) |\n",
        "all other pages in each call, 1 thread | 4 KiB | `alpha_pooling_cow` 500.0 ns | \
         `alpha_instance_reuse_tracked` 2.000 µs (4.00 ×) |\n",
        "all other pages in each call, 1 thread | 64 KiB | `alpha_pooling` 21.00 µs | \
         `alpha_instance_reuse_tracked` 32.00 µs (1.52 ×) |\n",
        "all other pages in each call, 1 thread | 1 MiB | `alpha_pooling` 261.0 µs | \
         `alpha_instance_reuse_tracked` 512.0 µs (1.96 ×) |\n",
    ] {
        assert_has(&page, line);
    }
}

#[test]
fn sentences_below_the_engines_have_numbers() {
    let page = divided(&Run::of_cells([cell("alpha", "recreate_instance", EMPTY, 1, 700.0)]));
    assert_has(&page.summary(), "A new instance of alpha takes 700 ns [693 – 707].");
}

#[test]
fn a_page_of_findings_alone_has_the_first_three() {
    let reuse = cell("alpha", "instance_reuse", EMPTY, 1, 100.0).with(Metric::WarmCall, 50.0);
    let pool = cell("alpha", "pooling", EMPTY, 1, 2000.0);
    let mut place = divided(&Run::of_cells([reuse, pool]));
    let finding = "[[findings]]\ntext = \"One more.\"\nsubject = \"alpha_pooling\"\n\
                   baseline = \"alpha_pooling\"\n\
                   call = { case = \"call_empty_function\", guest = \"test_runtime\" }\n";
    place.divide(&format!("{DIVISION}{}", finding.repeat(4)));
    let readme = place.options.page.with_file_name("README.md");
    place.options.readme = Some(readme.clone());
    assert_has(&place.summary(), "5. One more.");
    let readme = std::fs::read_to_string(readme).unwrap();
    assert_has(&readme, "3. One more.");
    assert!(!readme.contains("4. "), "{readme}");
}

#[test]
fn the_head_of_the_page_covers_builds_with_another_layout() {
    let cells = [("instance_reuse", 100.0), ("pooling", 1000.0)]
        .map(|(name, ns)| cell("alpha", name, EMPTY, 1, ns));
    let place = divided(&Run::of_cells(cells));
    place.divide(&format!(
        "{DIVISION}[[rungs]]\ntitle = \"Builds\"\nnote = \"\"\nrows = [{{ text = \"empty\", call = {{ case = \
         \"call_empty_function\", guest = \"test_runtime\" }}, subject = \"alpha_instance_reuse\", \
         baseline = \"alpha_pooling\" }}]\n"
    ));
    let peers = |binary: &str, ratio: f64| {
        let [subject, baseline] =
            ["instance_reuse", "pooling"].map(|name| contender(("alpha", name), Means::Contract));
        let mut run = Run::of(comparison(Purpose::Peers, EMPTY, subject, baseline, [ratio; 3]));
        run.header.tools.binary = binary.to_owned();
        run
    };
    peers("a", 0.1).append(&place.beside(PEERS));
    assert_has(&place.page(), "| 10.0 [10.0 – 10.0] | in turns |");
    let layouts = place.beside(LAYOUTS);
    for (binary, ratio) in [("b", 0.09), ("c", 0.11), ("d", 0.1)] {
        peers(binary, ratio).append(&layouts);
    }
    // The build itself, one of them again, and one that was broken off.
    for binary in ["a", "b", "e"] {
        peers(binary, 0.5).append(&layouts);
    }
    let lines = std::fs::read_to_string(&layouts).unwrap();
    let (kept, _end) = lines.trim_end().rsplit_once('\n').unwrap();
    std::fs::write(&layouts, format!("{kept}\n")).unwrap();
    let page = place.page();
    assert_has(&page, "| 10.0 [8.80 – 11.4] | in turns, 4 builds |");
    assert_has(&page, "3 more builds, with other padding before their code, repeated 1 of its");
}
