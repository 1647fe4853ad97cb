//! What the page advises, and by which rules.

use super::fixtures::{self, Cell};
use super::{DIRTY, EMPTY, Metric, Place, Run, Status, assert_has, cell, large_matrix, refusal};
use touchstone::record::Line;
use touchstone_executor::Execution;

fn null(case: &str, engine: &str, reach: f64) -> Vec<Line> {
    fixtures::null(case, (engine, "pooling"), [1.0 - reach, 1.0, 1.0 + reach / 2.0])
}

/// A row of the table of needs.
fn row<'a>(page: &'a str, need: &str) -> &'a str {
    page.lines().find(|line| line.starts_with(&format!("| {need}"))).unwrap()
}

#[test]
fn ties_are_counted_by_strategy_first() {
    let times = [
        ("alpha", "instance_reuse", 1000.0),
        ("beta", "instance_reuse", 1010.0),
        ("gamma", "instance_reuse", 1015.0),
        ("alpha", "pooling_cow", 1012.0),
        ("beta", "pooling_cow", 1018.0),
        ("beta", "pooling", 1019.0),
        ("gamma", "recreate_instance_cow", 1001.0),
        ("alpha", "recreate_instance", 9000.0),
    ];
    let cells = times.map(|(engine, strategy, ns)| cell(engine, strategy, EMPTY, 1, ns));
    let page = Place::with(&Run::of_cells(cells)).page();
    assert_has(
        row(&page, "Fastest clean instance of all"),
        "`instance_reuse` 1.000 µs (`alpha`, 2 more engines tie)<br>tie: \
         `recreate_instance_cow`, `pooling_cow` and 1 more |",
    );
    // One more engine of another strategy is not one more of this.
    assert_has(row(&page, "A new instance each call"), "1.001 µs (`gamma`)<br>tie: `pooling_cow`");
    assert_has(row(&page, "Plain new instance"), "`recreate_instance` 9.000 µs (`alpha`) |");
}

#[test]
fn every_need_has_its_own_candidates() {
    let mut reuse = cell("alpha", "instance_reuse_resident", EMPTY, 1, 100.0);
    reuse.emulated = Some("ours".to_owned());
    let mut run = Run::of_cells([
        reuse,
        cell("beta", "pooling_cow", EMPTY, 1, 400.0),
        cell("alpha", "pooling", EMPTY, 1, 300.0),
        cell("gamma", "interpreted", EMPTY, 1, 200_000.0),
    ]);
    run.header.engines.get_mut("beta").unwrap().execution = Execution::Interpreted;
    let page = Place::with(&run).page();
    assert_has(row(&page, "Fastest clean instance of all"), "`instance_reuse_resident` 100.0 ns");
    assert_has(row(&page, "A new instance each call"), "`pooling` 300.0 ns (`alpha`)");
    assert_has(row(&page, "Only what the runtime itself offers"), "`pooling` 300.0 ns");
    assert_has(row(&page, "Interpreted code"), "`pooling_cow` 400.0 ns (`beta`)");
    assert_has(row(&page, "Compiled code"), "`instance_reuse_resident` 100.0 ns");
    assert_has(row(&page, "Plain new instance"), "`interpreted` 200.0 µs (`gamma`)");
    assert_has(
        &page,
        "- **Fastest**: 100.0 ns for an empty call with `alpha_instance_reuse_resident`. Reset one",
    );
}

#[test]
fn a_difference_counts_by_the_noise_floor_of_its_own_case() {
    let mut run = Run::of_cells([EMPTY, DIRTY].into_iter().flat_map(|case| {
        [
            cell("alpha", "instance_reuse", case, 1, 1000.0),
            cell("alpha", "pooling", case, 1, 1040.0),
        ]
    }));
    // The middle one of each case decides: 5 % and 1 %. One that differs from itself by
    // half, of slow calls in few rounds, does not.
    for (case, reaches) in [(EMPTY, [0.04, 0.05, 0.5]), (DIRTY, [0.005, 0.01, 0.02])] {
        for (engine, reach) in ["alpha", "beta", "gamma"].into_iter().zip(reaches) {
            run = run.and(null(case, engine, reach));
        }
    }
    let page = Place::with(&run).page();
    let row = row(&page, "Fastest clean instance of all");
    assert_has(row, "1.000 µs (`alpha`)<br>tie: `pooling` | `instance_reuse` 1.000 µs (`alpha`) |");
    assert_has(&page, "5.0 % for `call_empty_function` and 1.0 % for `dirty_1mb_of_memory`");
    assert_has(
        &page,
        "5.0 % for `call_empty_function` (worst of 3 executors: 50 %, `gamma_pooling`)",
    );
}

#[test]
fn a_precompiled_variant_stands_behind_its_strategy() {
    let page = Place::with(&Run::of_cells([
        cell("alpha", "pooling", EMPTY, 1, 1000.0),
        cell("alpha", "pooling_precompiled", EMPTY, 1, 990.0),
        cell("beta", "pooling_cow_precompiled", EMPTY, 1, 5000.0),
    ]))
    .page();
    assert_has(row(&page, "Fastest clean instance of all"), "| `pooling` 1.000 µs (`alpha`) |");
    // The tables have both.
    assert_has(&page, "| alpha_pooling | alpha_pooling_precompiled |");
}

#[test]
fn a_missing_interval_is_neither_narrow_nor_zero() {
    let best = cell("alpha", "pooling", EMPTY, 1, 1000.0).without_interval();
    let other = cell("alpha", "pooling_cow", EMPTY, 1, 5000.0);
    let page = Place::with(&Run::of_cells([best, other.clone()])).page();
    let all = "Fastest clean instance of all";
    assert_has(row(&page, all), "(`alpha`)<br>no interval: nothing is slower for certain |");
    assert_has(&page, "1.000 µs [no interval]");

    let worse = cell("alpha", "pooling", EMPTY, 1, 9000.0).without_interval();
    let page = Place::with(&Run::of_cells([worse, other])).page();
    assert_has(row(&page, all), "5.000 µs (`alpha`)<br>1 without an interval not ranked |");
}

#[test]
fn each_guest_of_the_overview_has_a_table() {
    let page = Place::with(&Run::of_cells([
        cell("alpha", "instance_reuse", EMPTY, 1, 1000.0),
        cell("alpha", "instance_reuse", EMPTY, 1, 3000.0).on("large_runtime"),
        cell("alpha", "instance_reuse", "other", 1, 9000.0).on("third"),
    ]))
    .page();
    assert_has(&page, "On `test_runtime`:\n\n| Need | Empty call, 1 thread |");
    assert_has(&page, "On `large_runtime`:\n\n| Need | Empty call, 1 thread |");
    assert_has(&page, "| `other` on `third` | `instance_reuse` 9.000 µs (`alpha`) |");
}

#[test]
fn a_payload_has_a_column_of_its_own() {
    let page = Place::with(&Run::of_cells([
        cell("alpha", "instance_reuse", "payload", 1, 7000.0).on("service"),
        cell("alpha", "instance_reuse", EMPTY, 1, 1000.0),
    ]))
    .page();
    assert_has(&page, "| Need | Empty call, 1 thread | Payload (`payload`), 1 thread |");
    assert_has(row(&page, "Fastest"), "| `instance_reuse` 7.000 µs (`alpha`) |");
    assert!(!page.contains("Other calls"), "{page}");
}

#[test]
fn making_and_dropping_an_instance_has_its_share_of_a_call() {
    let plain = cell("alpha", "recreate_instance", EMPTY, 1, 300_000.0)
        .with(Metric::Prepare, 80.0)
        .with(Metric::Invoke, 10.0)
        .with(Metric::Finish, 10.0);
    let page = Place::with(&Run::of_cells([plain])).page();
    assert_has(&page, "is at least 90 % of an empty call (lowest of 1 engine).\n");
}

#[test]
fn the_advice_is_short() {
    let page = Place::with(&large_matrix(&[1, 2])).page();
    let advice = page.split("## Charts").next().unwrap();
    assert!(advice.matches("\n- ").count() <= 6, "{advice}");
    assert!(advice.len() < 7000, "{} bytes:\n{advice}", advice.len());
}

/// A cell of code that was compiled for the host.
fn baseline(strategy: &str, case: &str, ns: f64) -> Cell {
    let mut cell = cell("native", strategy, case, 1, ns);
    cell.emulated = Some("on Touchstone's memory".to_owned());
    cell.with(Metric::Prepare, 1.0).with(Metric::Invoke, 99.0).with(Metric::Finish, 0.0)
}

#[test]
fn a_baseline_is_shown_and_never_chosen() {
    let plain = cell("alpha", "recreate_instance", EMPTY, 1, 4000.0);
    let chosen = [
        cell("alpha", "instance_reuse", EMPTY, 1, 100.0),
        cell("alpha", "instance_reuse", DIRTY, 1, 3000.0),
        plain.with(Metric::Prepare, 90.0).with(Metric::Invoke, 10.0).with(Metric::Finish, 0.0),
        cell("beta", "interpreted", EMPTY, 1, 9000.0),
    ];
    let native = [
        baseline("instance_reuse", EMPTY, 50.0),
        baseline("recreate_instance", EMPTY, 60.0),
        baseline("instance_reuse", DIRTY, 2990.0),
    ];
    let no_pool = "there is no runtime with a pool";
    let without = Place::with(&Run::of_cells(chosen.clone())).page();
    let with = Place::with(&Run::of_cells(chosen.into_iter().chain(native)).and([refusal(
        ("native", "pooling"),
        None,
        Status::Unsupported,
        no_pool,
    )]));
    let page = with.page();
    let advice = |page: &str| {
        let (_, part) = page.split_once("## What to choose").unwrap();
        let (part, _) = part.split_once("## Charts").unwrap();
        let lines = part.lines().filter(|line| !line.starts_with("| Baseline"));
        lines.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(advice(&page), advice(&without));
    assert_has(
        row(&page, "Baseline (for comparison)"),
        "| `instance_reuse` 50.00 ns (`native`) | `instance_reuse` 2.990 µs (`native`) |",
    );
    // The tables have it, and so have the charts.
    assert_has(&page, "### `native`\n\nThe baseline: the guests' own code");
    assert_has(&page, "| native_instance_reuse |");
    let chart = std::fs::read_to_string(with.image("latency.svg")).unwrap();
    assert!(chart.contains("native (baseline)") && chart.contains("native_instance_reuse"));
}

#[test]
fn a_baseline_alone_is_nothing_to_choose_by() {
    let page = Place::with(&Run::of_cells([baseline("instance_reuse", EMPTY, 50.0)])).page();
    assert_has(&page, "Nothing that can be chosen was timed.");
    assert!(!page.contains("| Baseline"), "{page}");
}
