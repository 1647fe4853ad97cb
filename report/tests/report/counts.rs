//! Counts in the report.

use super::{COUNTS, EMPTY, Metric, Place, Run, assert_has, cell, small};
use std::collections::BTreeMap;
use touchstone_record::{Count, Line};

/// The small page's records, and counts of them for a guest of these bytes.
fn counted(guest_sha256: &str) -> Place {
    let place = Place::with(&small());
    let count = Line::Count(Count {
        case: EMPTY.to_owned(),
        guest: "test_runtime".to_owned(),
        guest_sha256: guest_sha256.to_owned(),
        metrics: BTreeMap::from([(Metric::Operators, 1_553_012)]),
        counted_by: vec!["alpha".to_owned()],
    });
    let mut usage = cell("alpha", "instance_reuse", EMPTY, 1, 1.0)
        .with(Metric::PageFaults, 29.0)
        .with(Metric::SystemCalls, 1.25)
        .with(Metric::ArtifactBytes, 2048.0);
    usage.metrics.remove(&Metric::Call);
    Run::of(usage.lines()).and([count]).append(&place.beside(COUNTS));
    place
}

#[test]
fn operators_stand_beside_the_times_and_usage_in_a_section_of_its_own() {
    let page = counted("test_runtime-digest").page();
    assert_has(&page, "| Call | operators | of a second call |");
    assert_has(&page, "` on `test_runtime` | 1,553,012 |");
    assert_has(&page, "| Executor | page faults | system calls | signals | artifact bytes |");
    assert_has(&page, "| `alpha_instance_reuse` | 29 | 1.25 | – | 2.00 KiB |");
}

#[test]
fn operators_of_another_guest_do_not_stand_there() {
    let page = counted("other").page();
    assert!(!page.contains("1,553,012"), "{page}");
}

#[test]
fn operators_and_what_others_published_stand_in_tables_laid_out_by_hand() {
    let place = counted("test_runtime-digest");
    let layout = r#"
        [table]
        title = "Functions"
        text = "Text."
        aside = "theirs, elsewhere"
        operators = true
        [[table.columns]]
        heading = "alpha"
        executor = "alpha_instance_reuse"
        [[table.rows]]
        heading = "empty"
        case = "call_empty_function"
        guest = "test_runtime"
        threads = 1
        aside = "5 CUs"
        [[table.rows]]
        heading = "dirty"
        case = "dirty_1mb_of_memory"
        guest = "test_runtime"
        threads = 1
    "#;
    place.table(layout);
    let page = place.page();
    assert_has(&page, "| Benchmark function | operators | theirs, elsewhere | alpha |");
    assert_has(&page, "| empty | 1,553,012 | *5 CUs* | 130.0 ns");
}

#[test]
fn files_of_another_commit_are_named() {
    let place = Place::with(&small());
    let mut counts = Run::of(Vec::new());
    counts.header.tools.commit = "def".to_owned();
    counts.append(&place.beside(COUNTS));
    let page = place.page();
    assert_has(&page, "`counts.jsonl` is of commit def, the benchmarks of ");
    assert!(!page.contains("another machine"), "{page}");
    counts.header.machine.cpu = "Other CPU".to_owned();
    std::fs::remove_file(place.beside(COUNTS)).unwrap();
    counts.append(&place.beside(COUNTS));
    let says = "`counts.jsonl` is of commit def on another machine: Other CPU, ";
    assert_has(&place.page(), says);
}
