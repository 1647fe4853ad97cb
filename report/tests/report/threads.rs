//! Rows on more threads than processors, and the fits of scalability.

use super::{DIRTY, EMPTY, Place, Run, assert_has, cell};

fn on(threads: usize, ns: f64) -> crate::fixtures::Cell {
    cell("alpha", "pooling", EMPTY, threads, ns)
}

#[test]
fn more_threads_than_processors_stand_apart_and_are_labelled() {
    let without = Place::with(&Run::of_cells([on(1, 1000.0), on(2, 1100.0)])).page();
    assert!(!without.contains("More threads than processors"));
    let run = Run::of_cells([on(1, 1000.0), on(2, 1100.0), on(4, 2310.0)]);
    let page = Place::with(&run).page();
    assert_has(&page, "## More threads than processors");
    assert_has(&page, "`call_empty_function` on `test_runtime`, 4 threads on 2 processors");
    // 4 calls in 2.31 µs are a share of 1 / 1.05 of what 2 threads make.
    assert_has(&page, "1.05");
    // The other tables and charts know two threads.
    assert!(!page.contains("throughput of 4"), "{page}");
    assert_has(&page, "throughput of 2");
    // With four processors they are like all others.
    let mut wider = run;
    wider.header.machine.cores = 4;
    let page = Place::with(&wider).page();
    assert!(!page.contains("More threads than processors"));
    assert_has(&page, "throughput of 4");
}

#[test]
fn a_file_of_its_own_has_the_rows_of_another_run() {
    let place = Place::with(&Run::of_cells([on(1, 1000.0), on(2, 1100.0)]));
    let mut other = Run::of_cells([on(2, 3000.0), on(4, 6000.0)]);
    other.header.machine.cpu = "Other CPU".to_owned();
    other.header.tools.commit = "ba9876543210".to_owned();
    other.append(&place.beside("oversubscribed.jsonl"));
    let page = place.page();
    for part in ["Machine: Other CPU", "commit `ba9876543210`", "4 threads on 2 processors"] {
        assert_has(&page, part);
    }
    assert!(!page.contains("3.000 µs"), "times of two machines stand in one table");
}

#[test]
fn a_model_is_fitted_to_three_numbers_of_threads_and_called_one() {
    let two = Place::with(&Run::of_cells([on(1, 1000.0), on(2, 1100.0)])).page();
    assert!(!two.contains("(model)"));
    // σ = 0.05, κ = 0.01 (N / X = (1 + σ(N − 1) + κN(N − 1)) / λ).
    let law = |n: f64| 1000.0 * (1.0 + 0.05 * (n - 1.0) + 0.01 * n * (n - 1.0));
    let mut run = Run::of_cells([1, 2, 4, 8].map(|n| on(n, law(n as f64))))
        .and(cell("alpha", "pooling", DIRTY, 1, 1000.0).lines());
    run.header.machine.cores = 8;
    let page = Place::with(&run).page();
    assert_has(&page, "## Scalability (model)");
    assert_has(&page, "Not measured");
    assert_has(&page, "| `alpha_pooling` | 0.0500 | 0.01000 | 10 threads |");
}

#[test]
fn a_published_row_on_more_threads_names_its_sharing_and_machine() {
    let place = Place::with(&Run::of_cells([on(1, 1000.0), on(2, 1100.0)]));
    place.table(
        r#"
        [table]
        title = "Published"
        text = "As elsewhere."
        [[table.columns]]
        heading = "alpha"
        executor = "alpha_pooling"
        [[table.rows]]
        case = "call_empty_function"
        guest = "test_runtime"
        threads = 4
        published = ["41.5 µs"]
        "#,
    );
    assert!(!place.page().contains("2 processors in turns"));
    let mut other = Run::of_cells([on(4, 6000.0)]);
    other.header.machine.cpu = "Other CPU (family 6)".to_owned();
    other.append(&place.beside("oversubscribed.jsonl"));
    let page = place.page();
    assert_has(&page, "on_4_threads<br>4 threads on 2 processors in turns, Other | 6.000 µs");
}
