//! The charts: what they say, that they can be read, and when there is none.

use super::{DIRTY, EMPTY, Place, assert_has, cell, large_matrix, small, svg};
use crate::fixtures::Run;
use std::path::{Path, PathBuf};
use touchstone_record::files::project;
use touchstone_record::{Line, Metric};
use touchstone_report as report;

/// The text of a chart.
fn chart(place: &Place, name: &str) -> String {
    std::fs::read_to_string(place.image(&format!("{name}.svg"))).unwrap()
}

/// Every file of a report that is a chart.
fn charts(place: &Place) -> Vec<PathBuf> {
    let files = report::write(&place.options).unwrap().files;
    files.into_iter().filter(|path| path.extension().is_some_and(|e| e == "svg")).collect()
}

/// Nothing of a chart is outside the picture, and no text is too small or on another.
fn assert_readable(path: &Path) {
    let picture = std::fs::read_to_string(path).unwrap();
    let (width, height) = svg::size(&picture);
    assert!(width <= 900.0 && height <= 900.0, "{}: {width} × {height}", path.display());
    for (x, y) in svg::points(&picture) {
        let inside = (-0.1..=width + 0.1).contains(&x) && (-0.1..=height + 0.1).contains(&y);
        assert!(inside, "{}: {x}, {y} is outside", path.display());
    }
    let texts = svg::texts(&picture);
    for (index, text) in texts.iter().enumerate() {
        assert!(text.size * 800.0 / width >= 12.0, "{}: {text:?} is too small", path.display());
        let inside = text.left >= 0.0
            && text.right <= width
            && text.middle > 5.0
            && text.middle < height - 5.0;
        assert!(inside, "{}: {text:?} leaves the picture", path.display());
        let other = texts[index + 1..].iter().find(|other| text.overlaps(other));
        assert!(other.is_none(), "{}: {text:?} lies on {other:?}", path.display());
    }
}

#[test]
fn the_charts_can_be_read() {
    let mut many = large_matrix(&[1, 2, 4, 8, 16]);
    many.header.machine.cores = 16;
    for all in [small(), suite(), large_matrix(&[1, 2]), many] {
        let place = Place::with(&all);
        resets().append(&place.beside("resets.jsonl"));
        let charts = charts(&place);
        assert!(charts.len() >= 4);
        charts.iter().for_each(|path| assert_readable(path));
    }
}

/// The charts of the page as it is published.
#[test]
fn the_charts_of_the_project_can_be_read() {
    let mut place = Place::empty();
    place.options.records = project("records/records.jsonl");
    place.options.tables = project("benches/tables");
    place.options.charts = project("benches/charts.toml");
    let charts = charts(&place);
    // Each on a light and on a dark ground; that of resets needs records of its own.
    assert!(charts.len() >= 16, "{charts:?}");
    charts.iter().for_each(|path| assert_readable(path));
    let page = std::fs::read_to_string(&place.options.page).unwrap();
    assert_has(&page, "On Wasmtime, a clean empty call takes ");
}

#[test]
fn each_chart_has_a_sentence_with_numbers() {
    let page = Place::with(&small()).page();
    // 45 µs over 130 ns, and the mark of the interference.
    assert_has(
        &page,
        "On Alpha, a clean empty call takes 130 ns with `instance_reuse`. Others take 45 µs† with \
         `recreate_instance` (346† times slower).\n\n<picture>",
    );
    assert_has(&page, "takes 130 ns with `alpha_instance_reuse`");
    assert_has(
        &page,
        "On 2 threads at the same time, one empty call takes 1.1 times as long with \
         `alpha_instance_reuse` (130 ns → 140 ns). With `alpha_recreate_instance` it takes \
         2.1† times as long (45 µs† → 95 µs).",
    );
}

#[test]
fn a_marked_value_is_hollow_and_explained() {
    let place = Place::with(&small());
    place.page();
    let noisy = chart(&place, "ladder");
    assert_has(&noisy, "45 µs†");
    assert_has(&noisy, "hollow");
    let clean = small().lines.into_iter().filter(|line| match line {
        Line::Observations(seen) => seen.cell.strategy.to_string() == "instance_reuse",
        _ => true,
    });
    let place = Place::with(&Run::of(clean));
    place.page();
    let clean = chart(&place, "ladder");
    assert!(!clean.contains("hollow") && !clean.contains('†'));
}

#[test]
fn a_chart_without_records_is_removed_and_nothing_else_is() {
    let place = Place::with(&small());
    report::write(&place.options).unwrap();
    std::fs::write(place.image("mine.svg"), "mine").unwrap();
    std::fs::write(place.image("execution.svg"), "of an earlier report").unwrap();
    assert_eq!(report::check(&place.options).unwrap().removed, [place.image("execution.svg")]);
    let removed = report::write(&place.options).unwrap().removed;
    assert_eq!(removed, [place.image("execution.svg")]);
    assert!(place.image("mine.svg").exists());
}

/// A suite of two calls by three engines and the baseline, one of them without the second call.
fn suite() -> Run {
    let timed = |engine: &str, strategy: &str, case: &str, ns: f64, warm: f64| {
        cell(engine, strategy, case, 1, ns).with(Metric::WarmCall, warm).on("suite")
    };
    Run::of_cells([
        timed("native", "instance_reuse", "noop", 50.0, 1.0),
        timed("native", "instance_reuse", "sort", 150.0, 100.0),
        timed("native", "instance_reuse", "sum", 150.0, 100.0),
        timed("alpha", "instance_reuse", "noop", 90.0, 90.0),
        timed("alpha", "instance_reuse", "sort", 250.0, 200.0),
        timed("alpha", "instance_reuse", "sum", 850.0, 800.0),
        timed("beta", "interpreted", "sort", 2_050.0, 2_000.0),
        timed("beta", "interpreted", "sum", 4_550.0, 4_500.0),
        cell("gamma", "instance_reuse", "elsewhere", 1, 500.0),
        cell("alpha", "instance_reuse", EMPTY, 1, 90.0),
        cell("alpha", "instance_reuse", DIRTY, 1, 900.0),
    ])
}

#[test]
fn execution_is_the_geometric_mean_of_warm_calls_over_native_ones() {
    let place = Place::with(&suite());
    let page = place.page();
    let picture = chart(&place, "execution");
    // √(2 × 8) and √(20 × 45); the call that does nothing is left out.
    for text in ["4.00 ×", "30.0 ×", "2.00 ×", "20.0 ×", "2 calls", "1 call"] {
        assert_has(&picture, &format!("\n{text}\n"));
    }
    assert!(!picture.contains("gamma"));
    assert_has(
        &page,
        "The fastest engine that compiles takes 2.0 to 4.0 times as long as native code with \
         `alpha`, suite by suite. The fastest interpreter takes 20 to 30 times as long as native \
         code with `beta`.",
    );
    // √(4 × 2) and √(30 × 20).
    assert_has(
        &page,
        "over the suites that every engine of the column ran (suite and one case). The chart",
    );
    assert_has(&page, "| 2.83 × |");
    assert_has(&page, "| 24.5 × |");
}

#[test]
fn the_mean_over_all_suites_leaves_out_those_that_an_engine_lacks() {
    let without_sort = suite().lines.into_iter().filter(|line| match line {
        Line::Observations(seen) => seen.cell.engine != "beta" || seen.cell.case != "sort",
        _ => true,
    });
    let page = Place::with(&Run::of(without_sort)).page();
    // The other suite is the call that `beta` does not make.
    assert_has(&page, "that every engine of the column ran (suite). The chart");
    // 800 over 100 and 4,500 over 100.
    assert_has(&page, "| 8.00 × |");
    assert_has(&page, "| 45.0 × |");
    let clean = suite().lines.into_iter().map(|mut line| {
        if let Line::Observations(seen) = &mut line {
            seen.metrics.remove(&Metric::WarmCall);
        }
        line
    });
    let page = Place::with(&Run::of(clean)).page();
    assert_has(
        &page,
        "(suite and one case). Calls of suite and one case are on a clean instance. The",
    );
}

#[test]
fn a_mean_is_of_the_calls_that_all_engines_made() {
    let without_sum = suite().lines.into_iter().filter(|line| match line {
        Line::Observations(seen) => seen.cell.engine != "beta" || seen.cell.case != "sum",
        _ => true,
    });
    let place = Place::with(&Run::of(without_sum));
    place.page();
    let picture = chart(&place, "execution");
    assert!(picture.contains("1 call\n") && !picture.contains("2 calls"));
    assert!(picture.contains("\n2.00 ×\n") && !picture.contains("4.00 ×"));
}

/// Resets of three executors of which the first is the fastest up to somewhere between 1 and
/// 4 MiB.
fn resets() -> Run {
    let reset = |strategy: &str, pages: u64, ns: f64| super::resets(strategy, "same", pages, ns);
    let lines = [1, 16, 256, 1024, 16_384].into_iter().flat_map(|pages| {
        let each = pages as f64;
        reset("instance_reuse_tracked", pages, 100.0 + 40.0 * each)
            .chain(reset("pooling_cow_resident", pages, 10_000.0 + 20.0 * each))
            .chain(reset("recreate_instance", pages, 40_000.0 + 800.0 * each))
    });
    Run::of(lines)
}

#[test]
fn the_chart_of_resets_marks_where_another_strategy_is_faster() {
    let place = Place::with(&small());
    assert!(!place.page().contains("that writes"), "no records, no chart");
    assert!(!place.image("resets.svg").exists());
    resets().append(&place.beside("resets.jsonl"));
    let page = place.page();
    // Both meet at 495 pages; as drawn, straight from 1 to 4 MiB, a little later.
    assert_has(
        &page,
        "A clean call that writes 4 KiB is fastest with `instance_reuse_tracked` (140 ns). From \
         about 2.2 MiB on, `pooling_cow_resident` is. At 64 MiB it takes 338 µs.",
    );
    assert_has(&chart(&place, "resets"), "from 2.2 MiB: pooling_cow_resident");
}

#[test]
fn without_a_crossing_dropping_is_said_to_be_slower() {
    let place = Place::with(&small());
    let Run { header, mut lines } = resets();
    lines.retain(|line| match line {
        Line::Point(point) => point.place.text("strategy") != Some("pooling_cow_resident"),
        _ => true,
    });
    Run { header, lines }.append(&place.beside("resets.jsonl"));
    assert_has(
        &place.page(),
        "with `instance_reuse_tracked` (140 ns). At 64 MiB it takes 655 µs. Where each call writes \
         the same pages, no strategy that drops pages is faster at any size.",
    );
}

#[test]
fn the_break_even_of_a_compiler_and_an_interpreter_is_named() {
    let costs = |cell: super::fixtures::Cell, compile: f64, load: f64, first: f64| {
        cell.with(Metric::Compile, compile).with(Metric::Load, load).with(Metric::FirstCall, first)
    };
    let place = Place::with(&Run::of_cells([
        costs(cell("alpha", "instance_reuse_tracked", EMPTY, 1, 1000.0), 9e6, 9e5, 1e5),
        costs(cell("beta", "interpreted", EMPTY, 1, 3000.0), 5e5, 4e5, 1e5),
    ]));
    // 10 ms and 1 µs a call against 1 ms and 3 µs a call.
    assert_has(
        &place.page(),
        "For empty calls, with compilation and load counted, `beta_interpreted` is done first with \
         few calls (1.0 ms). From about 4,500 calls on, `alpha_instance_reuse_tracked` is (14 ms).",
    );
    assert_has(&chart(&place, "break_even"), "from 4,500 calls: Alpha");
}

const TABLE: &str = r#"
[table]
title = "Then"
text = "As elsewhere."
[[table.columns]]
heading = "new"
executor = "alpha_recreate_instance"
[[table.columns]]
heading = "reuse"
executor = "alpha_instance_reuse"
[[table.rows]]
case = "call_empty_function"
guest = "test_runtime"
threads = 1
published = ["50 µs", "10 µs"]
[[table.rows]]
case = "dirty_1mb_of_memory"
guest = "test_runtime"
threads = 1
published = ["60 µs", "///"]
[[table.rows]]
case = "dirty_1mb_of_memory"
guest = "test_runtime"
threads = 4
published = ["70 µs", "30 µs"]
"#;

const THEN: &str = r#"
[[then_and_now]]
name = "then_new"
title = "Then and now"
table = "1"
then = "2022, a machine"
columns = ["new", "reuse"]
cases = { call_empty_function = "empty call", dirty_1mb_of_memory = "1 MiB written" }
guests = { test_runtime = "test_runtime" }
"#;

#[test]
fn published_values_stand_beside_ours() {
    let place = Place::with(&small());
    place.table(TABLE);
    std::fs::write(&place.options.charts, THEN).unwrap();
    let page = place.page();
    let picture = chart(&place, "then_new");
    for text in ["50 µs", "10 µs", "60 µs", "45 µs†", "130 ns", "Then: 2022, a machine", "–"]
    {
        assert_has(&picture, &format!("\n{text}\n"));
    }
    // Nothing of ours was timed on four threads.
    assert!(!picture.contains("70 µs"));
    assert_has(
        &page,
        "`new` took 5.0 times as long as `reuse` in 2022 and takes 346† times as long now (empty \
         call, test_runtime, 1 thread).",
    );
    charts(&place).iter().for_each(|path| assert_readable(path));
}

#[test]
fn a_chart_of_a_table_or_column_that_is_missing_is_an_error() {
    let place = Place::with(&small());
    place.table(TABLE);
    for (from, to, says) in [
        (
            "table = \"1\"",
            "table = \"2\"",
            "the chart then_new shows the table 2, which is missing",
        ),
        ("\"reuse\"]", "\"pool\"]", "the chart then_new shows the column pool, which 1 lacks"),
    ] {
        std::fs::write(&place.options.charts, THEN.replace(from, to)).unwrap();
        let error = format!("{:#}", report::write(&place.options).unwrap_err());
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn without_a_file_of_charts_there_is_none() {
    let place = Place::with(&small());
    std::fs::remove_file(&place.options.charts).unwrap();
    assert!(!place.page().contains("## Charts"));
    assert!(charts(&place).is_empty());
}
