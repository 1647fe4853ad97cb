//! Counts in the report.

use super::{EMPTY, Place, assert_has, small};
use touchstone::cost::{Costs, Operators, Usage};
use touchstone::record::Record;

/// The small page's records, and counts of them.
fn counted() -> (Place, Costs) {
    let all = small();
    let Record::Cell(cell) = &all[0] else { panic!("a cell") };
    let mut costs = Costs::here();
    costs.machine = cell.provenance.machine.clone();
    let operators = Operators {
        guest_sha256: cell.guest_sha256.clone(),
        guest_bytes: 1234,
        operators: 1_553_012,
        warm: None,
        counted_by: vec!["alpha".to_owned()],
    };
    costs.operators.insert(format!("{EMPTY}_from_test_runtime"), operators);
    let usage = Usage {
        runtime_version: cell.runtime_version.clone(),
        guest_sha256: cell.guest_sha256.clone(),
        artifact_bytes: 2048,
        page_faults: Some(29.0),
        system_calls: Some(1.25),
        signals: None,
    };
    costs.usage.insert(cell.key.id(), usage);
    (Place::with(&all), costs)
}

#[test]
fn operators_stand_beside_the_times_and_usage_in_a_section_of_its_own() {
    let (place, costs) = counted();
    costs.store(&place.options.costs).unwrap();
    let page = place.page();
    assert_has(&page, "| Benchmark function | operators |");
    assert_has(&page, "_from_test_runtime_on_1_threads | 1,553,012 |");
    assert_has(&page, "| `alpha_instance_reuse` | 29 | 1.25 | – | 2.00 KiB |");
    assert_has(&page, "dirty_1mb_of_memory_from_test_runtime_on_1_threads | – |");
}

#[test]
fn counts_of_another_guest_or_runtime_do_not_stand_there() {
    let (place, mut costs) = counted();
    costs.operators.values_mut().for_each(|one| one.guest_sha256 = "other".to_owned());
    costs.usage.values_mut().for_each(|one| one.runtime_version = "other".to_owned());
    costs.store(&place.options.costs).unwrap();
    let page = place.page();
    assert!(!page.contains("1,553,012") && !page.contains("## Counts"), "{page}");
}

#[test]
fn operators_and_what_others_published_stand_in_tables_laid_out_by_hand() {
    let (place, costs) = counted();
    costs.store(&place.options.costs).unwrap();
    let layout = r#"
        [table]
        title = "Functions across"
        text = "Text."
        aside = "theirs, elsewhere"
        operators = true
        relative = true
        [[table.functions]]
        heading = "empty"
        case = "call_empty_function"
        guest = "test_runtime"
        threads = 1
        aside = "5 CUs"
        [[table.functions]]
        heading = "dirty"
        case = "dirty_1mb_of_memory"
        guest = "test_runtime"
        threads = 1
    "#;
    std::fs::create_dir(&place.options.tables).unwrap();
    std::fs::write(place.options.tables.join("1.toml"), layout).unwrap();
    let page = place.page();
    assert_has(&page, "| Executor | empty | dirty |\n");
    assert_has(&page, "| *theirs, elsewhere* | *5 CUs* | – |\n| operators | 1,553,012 | – |\n");
    // 10.8 µs against 130 ns.
    assert_has(&page, "+8208 %<br>10.80 µs");

    let down =
        layout.replace("[[table.functions]]", "[[table.rows]]").replace("relative = true", "");
    let down = format!(
        "{down}\n[[table.columns]]\nheading = \"alpha\"\nexecutor = \"alpha_instance_reuse\""
    );
    std::fs::write(place.options.tables.join("1.toml"), down).unwrap();
    let page = place.page();
    assert_has(&page, "| Benchmark function | operators | theirs, elsewhere | alpha |");
    assert_has(&page, "| empty | 1,553,012 | *5 CUs* | 130.0 ns");
}
