//! What the page advises, and by which rules.

use super::{DIRTY, EMPTY, Place, assert_has, cell, large_matrix, pair, records, untimed};
use touchstone::record::{CellRecord, Phases, Record, Status};

fn null(case: &str, backend: &str, stray: f64) -> Record {
    let subject = format!("{backend}_pooling");
    let mut pair = pair("null", &subject, [1.0 - stray, 1.0, 1.0 + stray / 2.0]);
    pair.case = case.to_owned();
    Record::Pair(Box::new(pair))
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
    let cells = times.map(|(backend, strategy, ns)| cell(backend, strategy, EMPTY, 1, ns));
    let page = Place::with(&records(cells)).page();
    assert_has(
        row(&page, "Fastest clean instance of all"),
        "`instance_reuse` 1.000 µs (`alpha`, 2 more backends tie)<br>tie: \
         `recreate_instance_cow`, `pooling_cow` and 1 more |",
    );
    // One more backend of another strategy is not one more of this.
    assert_has(row(&page, "A new instance each call"), "1.001 µs (`gamma`)<br>tie: `pooling_cow`");
    assert_has(row(&page, "Plain new instance"), "`recreate_instance` 9.000 µs (`alpha`) |");
    assert_has(&page, "It cannot be told from `recreate_instance_cow`, `pooling_cow` and 1 more.");
}

#[test]
fn every_need_has_its_own_candidates() {
    let mut reuse = cell("alpha", "instance_reuse_resident", EMPTY, 1, 100.0);
    reuse.support = Some("emulated".to_owned());
    let mut pulley = cell("beta", "pooling_cow", EMPTY, 1, 400.0);
    pulley.effective.insert("execution".to_owned(), "interpreted (bytecode)".to_owned());
    let page = Place::with(&records([
        reuse,
        pulley,
        cell("alpha", "pooling", EMPTY, 1, 300.0),
        cell("gamma", "interpreted", EMPTY, 1, 200_000.0),
    ]))
    .page();
    assert_has(row(&page, "Fastest clean instance of all"), "`instance_reuse_resident` 100.0 ns");
    assert_has(row(&page, "A new instance each call"), "`pooling` 300.0 ns (`alpha`)");
    assert_has(row(&page, "Only what the runtime itself offers"), "`pooling` 300.0 ns");
    assert_has(row(&page, "Interpreted code"), "`pooling_cow` 400.0 ns (`beta`)");
    assert_has(row(&page, "Compiled code"), "`instance_reuse_resident` 100.0 ns");
    assert_has(row(&page, "Plain new instance"), "`interpreted` 200.0 µs (`gamma`)");
    assert_has(
        &page,
        "If every call must have a new instance, or only what the runtime itself offers will do: \
         `pooling` (300.0 ns).",
    );
}

#[test]
fn a_difference_counts_by_the_null_rows_of_its_own_case() {
    let mut all = records([EMPTY, DIRTY].into_iter().flat_map(|case| {
        [
            cell("alpha", "instance_reuse", case, 1, 1000.0),
            cell("alpha", "pooling", case, 1, 1040.0),
        ]
    }));
    // The middle row of each case decides: 5 % and 1 %. One that strays by
    // half, of slow calls in few rounds, does not.
    for (case, strays) in [(EMPTY, [0.04, 0.05, 0.5]), (DIRTY, [0.005, 0.01, 0.02])] {
        for (backend, stray) in ["alpha", "beta", "gamma"].into_iter().zip(strays) {
            all.push(null(case, backend, stray));
        }
    }
    let page = Place::with(&all).page();
    let row = row(&page, "Fastest clean instance of all");
    assert_has(row, "1.000 µs (`alpha`)<br>tie: `pooling` | `instance_reuse` 1.000 µs (`alpha`) |");
    assert_has(&page, "5.0 % for `call_empty_function` and 1.0 % for `dirty_1mb_of_memory`");
    assert_has(&page, "the worst strays by 50 %");
    assert_has(&page, "5.0 % for `call_empty_function` (worst of 3 rows: 50 %, `gamma_pooling`)");
}

#[test]
fn plain_is_what_there_is_a_record_of() {
    let reuse = cell("alpha", "instance_reuse", EMPTY, 1, 1000.0);
    let page = Place::with(&records([reuse.clone()])).page();
    assert!(!page.contains("times faster"), "{page}");
    assert!(!page.contains("alpha_recreate_instance"), "{page}");

    let plain = cell("alpha", "interpreted", EMPTY, 1, 50_000.0);
    let page = Place::with(&records([reuse.clone(), plain.clone()])).page();
    assert_has(
        &page,
        "50.0 times faster than a plain new instance (`alpha_interpreted`, 50.00 µs)",
    );

    let other = cell("beta", "recreate_instance", EMPTY, 1, 20_000.0);
    let page = Place::with(&records([reuse, plain, other])).page();
    assert_has(
        &page,
        "20.0 times faster than the fastest plain new instance (`beta_recreate_instance`, 20.00 \
         µs). The plain new instance of the same backend (`alpha_interpreted`, 50.00 µs) takes \
         50.0 times as long.",
    );
}

#[test]
fn a_precompiled_twin_stands_behind_its_strategy() {
    let page = Place::with(&records([
        cell("alpha", "pooling", EMPTY, 1, 1000.0),
        cell("alpha", "pooling_precompiled", EMPTY, 1, 990.0),
        cell("beta", "pooling_cow_precompiled", EMPTY, 1, 5000.0),
    ]))
    .page();
    assert_has(row(&page, "Fastest clean instance of all"), "| `pooling` 1.000 µs (`alpha`) |");
    // The tables have both.
    assert_has(&page, "| `alpha_pooling_precompiled` | 990.0 ns |");
}

#[test]
fn a_missing_interval_is_neither_narrow_nor_zero() {
    let mut best = cell("alpha", "pooling", EMPTY, 1, 1000.0);
    best.low_ns = None;
    let other = cell("alpha", "pooling_cow", EMPTY, 1, 5000.0);
    let page = Place::with(&records([best.clone(), other.clone()])).page();
    let all = "Fastest clean instance of all";
    assert_has(row(&page, all), "(`alpha`)<br>no interval: nothing is slower for certain |");
    assert_has(&page, "1.000 µs [no interval]");

    best.median_ns = Some(9000.0);
    let page = Place::with(&records([best, other])).page();
    assert_has(row(&page, all), "5.000 µs (`alpha`)<br>1 without an interval not ranked |");
}

#[test]
fn another_guest_has_a_table_only_if_other_strategies_lead() {
    let on = |guest: &str, mut cell: CellRecord| {
        cell.key.guest = guest.to_owned();
        cell
    };
    let two = |guest, reuse, pooling| {
        [
            on(guest, cell("alpha", "instance_reuse", EMPTY, 1, reuse)),
            on(guest, cell("alpha", "pooling", EMPTY, 1, pooling)),
        ]
    };
    let small = two("test_runtime", 1000.0, 2000.0);
    let same = Place::with(&records([small.clone(), two("large_runtime", 3e3, 4e3)].concat()));
    assert_has(&same.page(), "On `large_runtime` the same strategies lead.");
    let other = Place::with(&records([small, two("large_runtime", 4e3, 3e3)].concat())).page();
    assert_has(&other, "On `large_runtime` other strategies lead:\n\n| Need |");
}

#[test]
fn page_faults_are_blamed_only_where_the_times_part() {
    let with = |strategy: &str, ns, faults| {
        let mut cell = cell("alpha", strategy, DIRTY, 1, ns);
        cell.phases = Some(Phases { page_faults_per_call: faults, ..Phases::default() });
        let mut empty = cell.clone();
        empty.key.case = EMPTY.to_owned();
        empty.phases = Some(Phases { prepare_ns: 90, invoke_ns: 10, ..Phases::default() });
        [cell, empty]
    };
    let resident = with("instance_reuse_resident", 20_000.0, 0.0);
    let plain = with("recreate_instance", 300_000.0, 257.0);
    let page = Place::with(&records([resident, plain].concat())).page();
    assert_has(&page, "without any take at most 20.00 µs, all others (257 a call or more)");

    let resident = with("instance_reuse_resident", 400_000.0, 0.0);
    let plain = with("recreate_instance", 300_000.0, 257.0);
    let page = Place::with(&records([resident, plain].concat())).page();
    assert_has(&page, "is at least 90 % of an empty call (lowest of 1 backend).\n");
}

#[test]
fn the_advice_is_short() {
    let page = Place::with(&large_matrix(&[1, 2])).page();
    let advice = page.split("## Charts").next().unwrap();
    assert!(advice.matches("\n- ").count() <= 6, "{advice}");
    assert!(advice.len() < 6000, "{} bytes:\n{advice}", advice.len());
}

/// A cell of code that was compiled into the host.
fn baseline(strategy: &str, case: &str, ns: f64) -> CellRecord {
    let mut cell = cell("omega", strategy, case, 1, ns);
    cell.support = Some("emulated".to_owned());
    let how = "native: compiled into the host";
    cell.effective.insert("execution".to_owned(), how.to_owned());
    cell.phases = Some(Phases { prepare_ns: 1, invoke_ns: 99, ..Phases::default() });
    cell
}

#[test]
fn a_baseline_is_shown_and_never_chosen() {
    let with_phases = |mut cell: CellRecord| {
        cell.phases = Some(Phases { prepare_ns: 90, invoke_ns: 10, ..Phases::default() });
        cell
    };
    let chosen = [
        cell("alpha", "instance_reuse", EMPTY, 1, 100.0),
        cell("alpha", "instance_reuse", DIRTY, 1, 3000.0),
        with_phases(cell("alpha", "recreate_instance", EMPTY, 1, 4000.0)),
        cell("beta", "interpreted", EMPTY, 1, 9000.0),
    ];
    let floor = [
        baseline("instance_reuse", EMPTY, 50.0),
        baseline("recreate_instance", EMPTY, 60.0),
        baseline("instance_reuse", DIRTY, 2990.0),
        untimed(
            baseline("pooling", EMPTY, 1.0),
            Status::Unsupported,
            "there is no runtime that could have a pool",
        ),
    ];
    let without = Place::with(&records(chosen.clone())).page();
    let with = Place::with(&records([&chosen[..], &floor[..]].concat()));
    let page = with.page();
    let advice = |page: &str| {
        let part = page.split("## Charts").next().unwrap();
        part.lines().filter(|line| !line.starts_with("- **Floor**")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(advice(&page), advice(&without));
    assert_has(
        &page,
        "- **Floor**: with the guest's code compiled into the host, and no runtime, an empty call \
         takes 50.00 ns (`omega_instance_reuse`), the fastest executor 2.00 × as long; a call that \
         dirties 1 MiB takes 2.990 µs (`omega_instance_reuse`), the fastest executor cannot be \
         told from it. It is a baseline",
    );
    assert_has(&page, "Of the executors that reset one instance, `alpha_instance_reuse` has");
    // The tables have it, and so have the charts.
    assert_has(&page, "### `omega`\n\nA baseline, not an executor to choose");
    assert_has(&page, "| omega_instance_reuse |");
    let chart = std::fs::read_to_string(with.image("latency.svg")).unwrap();
    assert!(chart.contains("omega (baseline)") && chart.contains("omega_instance_reuse"));
}

#[test]
fn a_baseline_alone_is_nothing_to_choose_by() {
    let page = Place::with(&records([baseline("instance_reuse", EMPTY, 50.0)])).page();
    assert_has(&page, "Nothing but a baseline was timed, so there is nothing to choose by.");
    assert!(!page.contains("**Floor**"), "{page}");
}
