//! The report, made from records that are made up.

mod charts;
mod checks;
mod counts;
mod experiment;
#[path = "../../../tests/fixtures/records.rs"]
mod fixtures;
mod gate;
mod needs;
mod order;
#[path = "../../../tests/fixtures/place.rs"]
mod place;
mod shares;
mod smaller;
#[path = "../../../tests/fixtures/svg.rs"]
mod svg;
mod threads;

use fixtures::{Run, cell, comparison, contender, executor, large_matrix, null, refusal, resets};
use place::{DIRTY, EMPTY, Place};
use std::path::PathBuf;
use touchstone_record::{COUNTS, Line, Means, Metric, PEERS, Purpose, Status};
use touchstone_report as report;

/// A few cells of two engines with everything that can happen to a cell.
fn small() -> Run {
    let no_pool = "the runtime has no pool | and says <so>";
    let cells = [
        cell("alpha", "instance_reuse", EMPTY, 1, 130.0),
        cell("alpha", "instance_reuse", EMPTY, 2, 140.0),
        cell("alpha", "recreate_instance", EMPTY, 1, 45_000.0)
            .with(Metric::Prepare, 40_000.0)
            .with(Metric::Invoke, 1_000.0)
            .with(Metric::Finish, 4_000.0)
            .noisy(),
        cell("alpha", "recreate_instance", EMPTY, 2, 95_000.0),
        cell("alpha", "instance_reuse", DIRTY, 1, 10_800.0),
        cell("beta", "interpreted", EMPTY, 1, 62_000_000.0),
    ];
    let (wrong, trapped) = (Status::Wrong, Status::Trapped);
    Run::of_cells(cells)
        .and([
            refusal(("alpha", "pooling"), None, Status::Unsupported, no_pool),
            refusal(("alpha", "recreate_instance"), Some(DIRTY), wrong, "output differs"),
            refusal(("beta", "interpreted"), Some(DIRTY), trapped, "out of bounds"),
        ])
        .and(null(EMPTY, ("alpha", "instance_reuse"), [0.98, 1.0, 1.015]))
        .and(comparison(
            Purpose::Overhead,
            EMPTY,
            contender(("alpha", "instance_reuse"), Means::Contract),
            contender(("alpha", "instance_reuse"), Means::Raw),
            [1.03, 1.04, 1.05],
        ))
}

fn assert_has(page: &str, text: &str) {
    assert!(page.contains(text), "the page lacks {text:?}:\n{page}");
}

#[test]
fn a_small_page() {
    insta::assert_snapshot!(Place::with(&small()).page());
}

#[test]
fn values_with_interference_are_marked_everywhere() {
    let page = Place::with(&small()).page();
    assert_has(&page, "1 of 6 cells (17 %) are marked");
    assert_has(&page, "| Cells marked † | 1 (17 %) |");
    // The time, what is computed of it, and the ratio of which it is one side.
    assert_has(&page, "45.00 µs [no interval]†");
    assert_has(&page, "| 95.00 µs [94.06 – 95.95] | 0.947 ×† |");
    assert_has(&page, "| `alpha_recreate_instance` | 40.00 µs† | 1.000 µs† | 4.000 µs† |");
    // Nothing else is.
    assert_has(&page, "| 140.0 ns [138.6 – 141.4] |");
    let clean = large_matrix(&[1]);
    let is_noisy = |line: &Line| matches!(line, Line::Observations(_));
    let one = clean.lines.iter().filter(|line| is_noisy(line)).take(1).cloned();
    // One process is not enough to be published without a mark.
    assert_has(&Place::with(&Run::of(one)).page(), "1 of 1 cell (100 %) are marked");
}

const BESIDE: &str = r#"
[table]
title = "Beside each other"
text = "As elsewhere."
[[table.columns]]
heading = "alpha, once"
executor = "alpha_recreate_instance"
[[table.columns]]
heading = "gamma"
executor = "gamma_pooling"
[[table.rows]]
case = "call_empty_function"
guest = "test_runtime"
threads = 1
published = ["41.5 µs", ""]
[[table.rows]]
case = "dirty_1mb_of_memory"
guest = "test_runtime"
threads = 1
"#;

fn with_table(text: &str) -> Place {
    let place = Place::with(&small());
    place.table(text);
    place
}

#[test]
fn a_table_laid_out_by_hand_has_published_numbers_and_no_gap_without_a_reason() {
    let page = with_table(BESIDE).page();
    assert_has(&page, "## Beside each other\n\nAs elsewhere.");
    assert_has(&page, "| Benchmark function | alpha, once | gamma |");
    assert_has(&page, "<br>*41.5 µs* | –<sup>1</sup> |");
    assert_has(&page, "</sup> gamma was not part of the build that was measured");
    assert_has(&page, "| wrong<sup>2</sup> | –<sup>1</sup> |");
}

#[test]
fn columns_are_given_as_multiples_of_the_first() {
    let text = BESIDE
        .replace("title =", "multiples = true\ntitle =")
        .replace("gamma_pooling", "alpha_instance_reuse");
    let page = with_table(&text).page();
    // The first has none, and a wrong output is no time to hold anything against.
    assert_has(&page, "<br>*41.5 µs* | **0.00289 ×†**<br>130.0 ns");
    assert_has(&page, "| wrong<sup>1</sup> | 10.80 µs");
}

#[test]
fn rows_are_given_as_multiples_of_the_first() {
    let text = BESIDE
        .replace("title =", "relative = true\ntitle =")
        .replace("gamma_pooling", "alpha_instance_reuse");
    let page = with_table(&text).page();
    // 130 ns and 10,800 ns; the other column has no second time.
    assert_has(&page, "<br>*41.5 µs* | 130.0 ns");
    assert_has(&page, "| wrong<sup>1</sup> | **83.1 ×**<br>10.80 µs");
}

#[test]
fn a_table_that_does_not_fit_is_refused_with_its_place() {
    for (from, to, says) in [
        (r#"["41.5 µs", ""]"#, r#"["41.5 µs"]"#, "has 2 columns, but 1 published values"),
        ("threads = 1", "thread = 1", "1.toml is invalid"),
        ("gamma_pooling", "gamma", "'gamma' is no executor"),
    ] {
        let place = with_table(&BESIDE.replacen(from, to, 1));
        let error = format!("{:#}", report::write(&place.options).unwrap_err());
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn an_untimed_cell_has_a_word_and_a_reason() {
    let page = Place::with(&small()).page();
    let failures =
        page.find("| wrong | `alpha` | output differs | `recreate_instance` in").unwrap();
    assert_has(&page, "in dirty_1mb_of_memory on test_runtime |");
    // What cannot be done comes after what went wrong, and has no column.
    let refusals = page
        .find("| unsupported | `alpha` | the runtime has no pool \\| and says &lt;so&gt; | `pooling` |")
        .unwrap();
    assert!(failures < refusals && !page.contains("alpha_pooling"));
}

#[test]
fn the_newest_run_of_a_file_is_shown_and_no_other() {
    let run = |ns| Run::of_cells([cell("alpha", "pooling", EMPTY, 1, ns)]);
    let mut newest = run(2222.0);
    // A clock that was set back between two runs.
    newest.header.started_at = "1999-12-31T23:59:59Z".to_owned();
    let place = Place::with(&run(1111.0).and(cell("beta", "pooling", EMPTY, 1, 3.0).lines()));
    newest.append(&place.options.records);
    let page = place.page();
    assert_has(&page, "2.222 µs");
    assert!(!page.contains("1.111 µs") && !page.contains("beta"));
    assert_has(&page, "The record file holds 1 older run that the page leaves out.");
    assert_eq!(report::write(&place.options).unwrap().older_runs, 1);
}

#[test]
fn a_short_run_is_called_one() {
    let mut quick = Run::of_cells([cell("alpha", "pooling", EMPTY, 1, 1000.0)]);
    quick.header.sampling.name = "quick".to_owned();
    assert_has(&Place::with(&quick).page(), "**Caution**: this run was sampled with `quick`");
}

#[test]
fn the_environment_is_that_of_the_header() {
    let mut run = small();
    run.header.machine.siblings = vec!["0-1".to_owned(), "0-1".to_owned()];
    let page = Place::with(&run).page();
    for row in [
        "| Hardware threads of one core | 0-1 |",
        "| commit | 0123456789ab |",
        "| `beta` | beta 1.0 |",
        "| `test_runtime` | `test_runtime-digest` |",
        "| Seed of the order of cells | 7 |",
        "| Processes per cell | 3 (a process per engine) |",
    ] {
        assert_has(&page, row);
    }
}

#[test]
fn damaged_lines_are_named() {
    let place = Place::with(&small());
    let mut lines = std::fs::read_to_string(&place.options.records).unwrap();
    let number = lines.lines().count();
    lines.push_str("{\"kind\":\"refusal\",\"ca\n{\"schema\":99}\n");
    std::fs::write(&place.options.records, lines).unwrap();
    let written = report::write(&place.options).unwrap();
    let (_, skipped) = &written.skipped[0];
    let numbers: Vec<usize> = skipped.iter().map(|skipped| skipped.line).collect();
    assert_eq!(numbers, [number + 1, number + 2]);
    let page = place.page();
    assert_has(&page, "2 lines could not be read");
    assert_has(&page, "layout version 99 where this build reads 2");
}

#[test]
fn the_same_records_give_the_same_bytes() {
    let mut run = small();
    let (one, two) = (Place::with(&run), Place::with(&run));
    run.lines.reverse();
    let reversed = Place::with(&run);
    let files = report::write(&one.options).unwrap().files;
    report::write(&two.options).unwrap();
    report::write(&two.options).unwrap();
    report::write(&reversed.options).unwrap();
    for path in files {
        let name = path.strip_prefix(one.options.page.parent().unwrap()).unwrap();
        let read = |place: &Place| std::fs::read(place.options.page.with_file_name(name)).unwrap();
        assert!(read(&one) == read(&two), "{} differs", path.display());
        assert!(read(&one) == read(&reversed), "{} depends on the order", path.display());
    }
}

#[test]
fn check_finds_what_differs() {
    let place = Place::with(&small());
    report::write(&place.options).unwrap();
    let check = || report::check(&place.options).unwrap().files;
    assert_eq!(check(), Vec::<PathBuf>::new());

    let page = std::fs::read_to_string(&place.options.page).unwrap();
    std::fs::write(&place.options.page, page.replace("130 ns", "100 ns")).unwrap();
    std::fs::remove_file(place.image("ladder.svg")).unwrap();
    let wanted = vec![place.image("ladder.svg"), place.options.page.clone()];
    assert_eq!(check(), wanted);
}

#[test]
fn text_outside_the_markers_is_kept() {
    let place = Place::with(&small());
    std::fs::write(&place.options.page, "# Mine\n\nAbove.\n").unwrap();
    let page = place.summary();
    assert!(page.starts_with("# Mine\n\nAbove.\n\n<!-- BEGIN touchstone report -->\n"));
    std::fs::write(&place.options.page, format!("{page}\nBelow.\n")).unwrap();
    let again = place.summary();
    assert_eq!(again, format!("{page}\nBelow.\n"));
    // Editing one's own text is no difference.
    assert!(report::check(&place.options).unwrap().files.is_empty());

    std::fs::write(&place.options.page, "<!-- BEGIN touchstone report -->\nno end").unwrap();
    let error = format!("{:#}", report::write(&place.options).unwrap_err());
    assert!(error.contains("<!-- END -->"), "{error}");
}

#[test]
fn a_folder_that_cannot_be_written_leaves_the_old_report_whole() {
    let place = Place::with(&small());
    std::fs::write(&place.options.page, "old").unwrap();
    // A file where the folder should be: not even root can write into that.
    std::fs::write(&place.options.images, "in the way").unwrap();
    let error = format!("{:#}", report::write(&place.options).unwrap_err());
    assert!(error.contains("cannot write") && error.contains("image"), "{error}");
    assert_eq!(std::fs::read_to_string(&place.options.page).unwrap(), "old");
}

#[test]
fn no_records_are_a_clear_error() {
    let place = Place::empty();
    let error = || format!("{:#}", report::write(&place.options).unwrap_err());
    assert!(error().contains("cannot read records from"), "{}", error());
    for (text, says) in [
        ("", "holds no run; `touchstone bench` makes one"),
        ("junk\n", "holds no run that this build can read: line 1"),
    ] {
        std::fs::write(&place.options.records, text).unwrap();
        assert!(error().contains(says), "{}", error());
        assert!(!place.options.page.exists());
    }
}

#[test]
fn comparisons_alone_and_cells_without_a_time_make_a_page() {
    let page = Place::with(&Run::of(null(EMPTY, ("alpha", "pooling"), [0.99, 1.0, 1.01]))).page();
    assert_has(&page, "### Executors against themselves");
    assert_has(&page, "Nothing was timed.");

    let failed = refusal(("alpha", "pooling"), Some(EMPTY), Status::Failed, "no memory");
    let page = Place::with(&Run::of([failed])).page();
    assert!(!page.contains("## Charts"), "{page}");
    assert_has(&page, "The run holds no comparisons");
    assert_has(&page, "| failed | `alpha` | no memory |");
}

#[test]
fn a_ratio_says_how_many_times_slower_than_the_baseline_the_subject_is() {
    let against = |subject, interval| {
        let [subject, baseline] =
            [subject, "pooling"].map(|name| contender(("alpha", name), Means::Contract));
        comparison(Purpose::Against, EMPTY, subject, baseline, interval)
    };
    let run = small()
        .and(against("instance_reuse", [0.004, 0.005, 0.008]))
        .and(against("recreate_instance", [1.5, 2.0, 2.5]))
        .and(against("recreate_instance_cow", [0.995, 1.0, 1.005]))
        .and(against("pooling_cow", [0.9, 1.0, 1.1]));
    let page = Place::with(&run).page();
    let row = |name: &str| {
        let start = format!("| `alpha_{name}` | alpha_pooling |");
        page.lines().find(|line| line.starts_with(&start)).unwrap()
    };
    let fast = "| 0.00500 × [0.00312 – 0.00800] | 5.000 ns | 1.000 µs | faster |";
    assert_has(row("instance_reuse"), fast);
    assert_has(row("recreate_instance"), "| 2.000 × [1.500 – 2.667] |");
    assert_has(row("recreate_instance"), "| slower |");
    assert_has(row("recreate_instance_cow"), "| equivalent |");
    assert_has(row("pooling_cow"), "| not enough data |");
    assert_has(&page, "Of 4 comparisons: 1 slower, 1 equivalent, 1 faster, 1 not enough data;");
}

#[test]
fn peers_come_from_a_file_of_their_own() {
    let place = Place::with(&small());
    let page = place.page();
    assert_has(&page, "There are no records of peers");

    let mut subject = contender(("alpha", "instance_reuse"), Means::Contract);
    let mut baseline = contender(("omega", "pooling_cow"), Means::Contract);
    let peers = |subject: &_, baseline: &_, interval| {
        comparison(Purpose::Peers, EMPTY, Clone::clone(subject), Clone::clone(baseline), interval)
    };
    let mut lines = peers(&subject, &baseline, [0.004, 0.005, 0.008]);
    subject.threads = 2;
    lines.extend(peers(&subject, &baseline, [0.04, 0.05, 0.08]));
    baseline.threads = 2;
    lines.extend(peers(&subject, &baseline, [0.4, 0.5, 0.8]));
    Run::of(lines).append(&place.beside(PEERS));

    let page = place.page();
    for threads in ["1", "2_against_1", "2"] {
        assert_has(
            &page,
            &format!("`call_empty_function_from_test_runtime_on_{threads}_threads`:"),
        );
    }
    assert_has(&page, "| `alpha_instance_reuse` | omega_pooling_cow");
    assert_has(&page, "| 0.00500 × [0.00312 – 0.00800] |");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]

    /// Whatever a record says, the report is made, and made again the same.
    #[test]
    fn no_text_in_a_record_breaks_the_page(
        name in "\\PC{0,12}|<!-- END -->|a\\|b`c|\\x01",
        reason in ".{0,40}|<!-- BEGIN touchstone report -->|</details>",
        ns in proptest::num::f64::ANY,
    ) {
        let odd = cell(&name, "pooling", &name, 1, if ns.is_finite() { ns } else { 1.0 }).on(&name);
        let failed = refusal(("alpha", "pooling_cow"), Some(&name), Status::Failed, &reason);
        let place = Place::with(&small().and(odd.lines()).and([failed]));
        let page = place.summary();
        proptest::prop_assert_eq!(page.matches("<!-- END -->").count(), 1);
        proptest::prop_assert!(report::check(&place.options).unwrap().files.is_empty());
    }
}
