//! What is not shown, and that the report stays small.

use super::{DIRTY, EMPTY, Place, assert_has, cell, large_matrix, records, untimed};
use touchstone::record::{Record, Status};

fn skipped(threads: usize) -> Record {
    let cell = cell("alpha", "pooling", EMPTY, threads, 1.0);
    let cell = untimed(cell, Status::Skipped, "more threads than processors");
    records([cell]).remove(0)
}

#[test]
fn skipped_cells_are_one_sentence() {
    let timed = records([cell("alpha", "pooling", EMPTY, 1, 1000.0)]);
    let without = Place::with(&timed).page();
    assert!(!without.contains("were skipped"), "{without}");
    let mut all = timed;
    all.extend([4, 8, 16].map(skipped));
    let place = Place::with(&all);
    let with = place.page();
    let start = with.find(" Rows of 4, 8 and 16 threads were skipped").unwrap();
    let end = start + with[start..].find("\n\n").unwrap();
    assert_eq!(with.replace(&with[start..end], ""), without);
    assert!(!std::fs::read_to_string(place.image("heatmap.svg")).unwrap().contains("16 threads"));

    // A cell that was skipped this time keeps the time it had.
    let page = Place::with(&[all.remove(0), skipped(1)]).page();
    assert_has(&page, "1.000 µs [0.990 – 1.010]");
}

#[test]
fn threads_and_executors_without_any_time_have_no_row() {
    let no_pool = "there is no pool";
    let page = Place::with(&records([
        cell("alpha", "instance_reuse", EMPTY, 1, 1000.0),
        untimed(cell("alpha", "pooling", EMPTY, 1, 1.0), Status::Unsupported, no_pool),
        untimed(cell("alpha", "pooling", EMPTY, 4, 1.0), Status::Unsupported, no_pool),
        untimed(cell("beta", "pooling", EMPTY, 1, 1.0), Status::Unsupported, no_pool),
        untimed(cell("beta", "pooling", DIRTY, 1, 1.0), Status::Unsupported, no_pool),
    ]))
    .page();
    assert!(!page.contains("alpha_pooling") && !page.contains("4_threads"), "{page}");
    assert_has(&page, "| unsupported | `alpha`, `beta` | there is no pool | `pooling` |");
    assert_has(&page, "### `beta`\n\nThis backend can do nothing of this.");
}

#[test]
fn a_precompiled_twin_has_a_row_in_the_map_only_if_it_differs() {
    let two = |cow: f64| {
        let place = Place::with(&records([
            cell("alpha", "pooling", EMPTY, 1, 1000.0),
            cell("alpha", "pooling_precompiled", EMPTY, 1, 1005.0),
            cell("alpha", "pooling_cow", EMPTY, 1, 500.0),
            cell("alpha", "pooling_cow_precompiled", EMPTY, 1, cow),
        ]));
        place.page();
        let read = |name| std::fs::read_to_string(place.image(name)).unwrap();
        (read("heatmap.svg"), read("latency.svg"))
    };
    let (map, latency) = two(700.0);
    assert!(!map.contains("alpha_pooling_precompiled"));
    assert!(map.contains("alpha_pooling_cow_precompiled"));
    assert_has(&map, "1 precompiled twin not shown");
    assert!(!latency.contains("_precompiled"));
    assert_has(&latency, "Precompiled twins are left out.");
    assert_has(&two(501.0).0, "2 precompiled twins not shown");
}

#[test]
fn settings_are_printed_once() {
    let set = |backend: &str, strategy: &str, settings: [&str; 3]| {
        let mut cell = cell(backend, strategy, EMPTY, 1, 1000.0);
        for (name, value) in ["fuel", "code", "reset"].into_iter().zip(settings) {
            cell.effective.insert(name.to_owned(), value.to_owned());
        }
        cell
    };
    let backend = |name: &str, fuel: &str| {
        [
            set(name, "pooling", [fuel, "made here", "dropped"]),
            set(name, "pooling_precompiled", [fuel, "from a file", "dropped"]),
            set(name, "pooling_cow", [fuel, "made here", "kept"]),
            set(name, "pooling_cow_precompiled", [fuel, "from a file", "mapped"]),
        ]
    };
    let page = Place::with(&records([backend("alpha", "off"), backend("beta", "on")].concat()));
    let page = page.page();
    assert_has(
        &page,
        "- all: execution: compiled; fuel: off; strategy: native\n- not precompiled: code: made \
         here\n- precompiled: code: from a file\n- `pooling`: reset: dropped\n- `pooling_cow`: \
         reset: kept\n- `pooling_cow_precompiled`: reset: mapped\n",
    );
    assert_has(&page, "fuel: on; strategy: native\n- strategies: as with `alpha`\n");
}

#[test]
fn the_report_of_a_whole_matrix_is_small() {
    let place = Place::with(&large_matrix(&[1, 2]));
    let page = place.page();
    assert!(page.len() < 90_000, "{} bytes", page.len());
    let images = std::fs::read_dir(&place.options.images).unwrap().map(Result::unwrap);
    let pngs = images.filter(|file| file.path().extension().is_some_and(|e| e == "png"));
    let bytes: u64 = pngs.map(|file| file.metadata().unwrap().len()).sum();
    assert!(bytes < 1_200_000, "{bytes} bytes");
}
