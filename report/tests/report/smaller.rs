//! Omitted parts, and the size of the report.

use super::{DIRTY, EMPTY, Place, Run, Status, assert_has, cell, large_matrix, refusal};
use touchstone_record::Line;

fn skipped(threads: usize) -> Line {
    let reason = "more threads than processors";
    let mut line = refusal(("alpha", "pooling"), Some(EMPTY), Status::Skipped, reason);
    if let Line::Refusal(refusal) = &mut line {
        (refusal.strategy, refusal.threads) = (None, Some(threads));
    }
    line
}

#[test]
fn skipped_threads_are_one_sentence() {
    let timed = Run::of_cells([1, 2].map(|n| cell("alpha", "pooling", EMPTY, n, 1000.0)));
    assert!(!Place::with(&timed).page().contains("were skipped"));
    let page = Place::with(&timed.and([4, 8, 16].map(skipped))).page();
    assert_has(&page, " Rows on 4 and 8 and 16 threads were skipped");
}

#[test]
fn threads_and_executors_without_any_time_have_no_row() {
    let unsupported =
        |executor, case| refusal(executor, case, Status::Unsupported, "there is no pool");
    let reuse = cell("alpha", "instance_reuse", EMPTY, 1, 1000.0);
    let page = Place::with(&Run::of_cells([reuse]).and([
        unsupported(("alpha", "pooling"), None),
        unsupported(("beta", "pooling"), None),
        unsupported(("beta", "pooling_cow"), Some(DIRTY)),
    ]))
    .page();
    assert!(!page.contains("alpha_pooling") && !page.contains("### `beta`"), "{page}");
    assert_has(&page, "| unsupported | `alpha` | there is no pool | `pooling` |");
    assert_has(
        &page,
        "| unsupported | `beta` | there is no pool | `pooling`<br>`pooling_cow` in \
         dirty_1mb_of_memory on test_runtime |",
    );
}

#[test]
fn settings_are_printed_once() {
    let set = |strategy: &str, emulated: Option<&str>, settings: [&str; 3]| {
        let mut cell = cell("alpha", strategy, EMPTY, 1, 1000.0);
        for (name, value) in ["fuel", "code", "reset"].into_iter().zip(settings) {
            cell.effective.insert(name.to_owned(), Some(value.to_owned()));
        }
        cell.emulated = emulated.map(str::to_owned);
        cell
    };
    let page = Place::with(&Run::of_cells([
        set("pooling", None, ["off", "made here", "dropped"]),
        set("pooling_precompiled", None, ["off", "from a file", "dropped"]),
        set("pooling_cow", Some("ours"), ["off", "made here", "kept"]),
        set("pooling_cow_precompiled", Some("ours"), ["off", "from a file", "mapped"]),
    ]));
    assert_has(
        &page.page(),
        "- code:\n  - from a file: `pooling_precompiled`, `pooling_cow_precompiled`\n  - made here: \
         `pooling`, `pooling_cow`\n- fuel: off\n- reset:\n  - dropped: `pooling`, \
         `pooling_precompiled`\n  - kept: `pooling_cow`\n  - mapped: \
         `pooling_cow_precompiled`\n- strategy:\n  - by the runtime itself: `pooling`, \
         `pooling_precompiled`\n  - ours: `pooling_cow`, `pooling_cow_precompiled`\n",
    );
}

#[test]
fn settings_that_engines_share_are_printed_once() {
    let set = |engine: &str, reset: &str| {
        let mut cell = cell(engine, "pooling", EMPTY, 1, 1000.0);
        for (name, value) in [("fuel", "off"), ("reset", reset)] {
            cell.effective.insert(name.to_owned(), Some(value.to_owned()));
        }
        cell
    };
    let page = Place::with(&Run::of_cells([set("alpha", "dropped"), set("beta", "kept")])).page();
    let shared = "<summary><code>alpha</code>, <code>beta</code></summary>\n\n- fuel: off\n";
    assert_has(&page, shared);
    assert_has(&page, "<summary><code>beta</code></summary>\n\n- reset: kept\n");
    assert_eq!(page.matches("- fuel: off").count(), 1);
}

#[test]
fn the_report_of_a_whole_matrix_is_small() {
    let place = Place::with(&large_matrix(&[1, 2]));
    let page = place.page();
    assert!(page.len() < 110_000, "{} bytes", page.len());
    let images = std::fs::read_dir(&place.options.images).unwrap().map(Result::unwrap);
    let bytes: u64 = images.map(|file| file.metadata().unwrap().len()).sum();
    assert!(bytes < 200_000, "{bytes} bytes");
}
