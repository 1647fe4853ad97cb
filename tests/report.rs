//! The report, made from records that are made up.

#[path = "report/choose.rs"]
mod choose;
#[path = "report/counts.rs"]
mod counts;
#[path = "fixtures/records.rs"]
mod fixtures;
#[path = "report/isolation.rs"]
mod isolation;
#[path = "report/shares.rs"]
mod shares;
#[path = "report/smaller.rs"]
mod smaller;
#[path = "fixtures/svg.rs"]
mod svg;

use fixtures::{append, cell, large_matrix, pair, provenance, records, untimed};
use std::path::{Path, PathBuf};
use touchstone::record::{CellRecord, Interval, PEERS, Phases, Record, Status};
use touchstone::report::{self, Options};

const EMPTY: &str = "call_empty_function";
const DIRTY: &str = "dirty_1mb_of_memory";

/// A folder with a record file in it.
struct Place {
    _folder: tempfile::TempDir,
    options: Options,
}

impl Place {
    fn with(all: &[Record]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let options = Options {
            records: at("records.jsonl"),
            page: at("BENCHMARK.md"),
            images: at("image"),
            tables: at("tables"),
            costs: at("costs.json"),
            trust: at("trust"),
        };
        append(&options.records, all);
        Self { _folder: folder, options }
    }

    /// Writes the report and returns the page.
    fn page(&self) -> String {
        report::write(&self.options).unwrap();
        std::fs::read_to_string(&self.options.page).unwrap()
    }

    fn image(&self, name: &str) -> PathBuf {
        self.options.images.join(name)
    }
}

/// A few cells of two backends with everything that can happen to a cell.
fn small() -> Vec<Record> {
    let no_pool = "the runtime has no pool | and says <so>";
    let mut all = records([
        cell("alpha", "instance_reuse", EMPTY, 1, 130.0),
        cell("alpha", "instance_reuse", EMPTY, 2, 140.0),
        cell("alpha", "recreate_instance", EMPTY, 1, 45_000.0),
        cell("alpha", "recreate_instance", EMPTY, 2, 95_000.0),
        untimed(cell("alpha", "pooling", EMPTY, 1, 1.0), Status::Unsupported, no_pool),
        untimed(cell("alpha", "pooling", EMPTY, 2, 1.0), Status::Unsupported, no_pool),
        cell("alpha", "instance_reuse", DIRTY, 1, 10_800.0),
        untimed(cell("alpha", "recreate_instance", DIRTY, 1, 1.0), Status::Wrong, "output differs"),
        cell("beta", "interpreted", EMPTY, 1, 62_000_000.0),
        untimed(cell("beta", "interpreted", DIRTY, 1, 1.0), Status::Trapped, "out of bounds"),
    ]);
    all.push(Record::Pair(Box::new(pair("null", "alpha_instance_reuse", [0.98, 1.0, 1.015]))));
    all.push(Record::Pair(Box::new(pair("overhead", "alpha_instance_reuse", [1.0, 1.01, 1.02]))));
    all
}

fn assert_has(page: &str, text: &str) {
    assert!(page.contains(text), "the page lacks {text:?}:\n{page}");
}

#[test]
fn a_small_page() {
    insta::assert_snapshot!(Place::with(&small()).page());
}

#[test]
fn times_on_shared_cores_are_named() {
    let page = |disturbed: Option<Vec<usize>>| {
        let mut all = small();
        let shared = |record: &mut Record| {
            let Record::Cell(cell) = record else { return };
            if cell.key.threads == 2 && cell.status == Status::Ok {
                cell.samples = vec![(10, 10); 10];
                cell.disturbed.clone_from(&disturbed);
            }
        };
        all.iter_mut().for_each(shared);
        Place::with(&all).page()
    };
    assert!(!page(None).contains("### Quiet times"));
    let quiet = page(Some(vec![1, 2, 3, 4]));
    assert_has(&quiet, "While 2 of 6 cells were timed");
    assert_has(&quiet, "4 were made before anybody looked");
    assert_has(&quiet, "No published time was disturbed.");
    let shared = page(Some(vec![1, 2, 3, 4, 5]));
    assert_has(&shared, "2 were never quiet for long enough");
    assert_has(
        &shared,
        "- `call_empty_function_from_test_runtime/alpha_recreate_instance/2_threads`",
    );
}

#[test]
fn a_cell_is_disturbed_by_its_time_its_throughput_or_its_warm_row() {
    let mut one = cell("alpha", "pooling", EMPTY, 1, 1.0);
    one.samples = vec![(1, 1); 50];
    assert!(!one.is_disturbed(), "nobody looked");
    one.disturbed = Some((0..44).collect());
    assert!(!one.is_disturbed(), "six are left");
    one.disturbed = Some((0..45).collect());
    assert!(one.is_disturbed());
    one.disturbed = Some(Vec::new());
    one.throughput_rounds = vec![(1, vec![1]); 7];
    one.throughput_disturbed = vec![0, 1, 2, 3];
    assert!(!one.is_disturbed(), "three are left");
    one.throughput_disturbed.push(4);
    assert!(one.is_disturbed());
    one.throughput_disturbed.clear();
    one.phases = Some(Phases { disturbed: true, ..Phases::default() });
    assert!(!one.is_disturbed(), "parts of a call alone");
    let warm = Interval { median_ns: 1.0, low_ns: None, high_ns: None };
    one.phases = Some(Phases { disturbed: true, warm: Some(warm), ..Phases::default() });
    assert!(one.is_disturbed());
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
    std::fs::create_dir(&place.options.tables).unwrap();
    std::fs::write(place.options.tables.join("1.toml"), text).unwrap();
    place
}

#[test]
fn a_table_laid_out_by_hand_has_published_numbers_and_no_gap_without_a_reason() {
    let page = with_table(BESIDE).page();
    assert_has(&page, "### Beside each other\n\nAs elsewhere.");
    assert_has(&page, "| Benchmark function | alpha, once | gamma |");
    assert_has(&page, "<br>*41.5 µs* | –<sup>1</sup> |");
    assert_has(&page, "</sup> no record is of gamma_pooling");
    assert_has(&page, "| wrong<sup>2</sup> | –<sup>1</sup> |");
}

#[test]
fn columns_are_given_as_multiples_of_the_first() {
    let text = BESIDE
        .replace("title =", "multiples = true\ntitle =")
        .replace("gamma_pooling", "alpha_instance_reuse");
    let page = with_table(&text).page();
    // The first has none, and a wrong output is no time to hold anything against.
    assert_has(&page, "<br>*41.5 µs* | **0.00289 ×**<br>130.0 ns");
    assert_has(&page, "| wrong<sup>1</sup> | 10.80 µs");
}

#[test]
fn functions_stand_side_by_side_with_their_ratio() {
    let text = r#"
        table.title = "Sizes"
        table.text = ""
        [[table.functions]]
        heading = "small"
        case = "call_empty_function"
        guest = "test_runtime"
        threads = 1
        [[table.functions]]
        heading = "large"
        case = "dirty_1mb_of_memory"
        guest = "test_runtime"
        threads = 1
    "#;
    let page = with_table(text).page();
    assert_has(&page, "| Executor | small | large | last / first |");
    // 130 ns and 10,800 ns.
    assert_has(&page, "| 83.1 × |");
}

#[test]
fn a_table_that_does_not_fit_is_refused_with_its_place() {
    for (from, to, says) in [
        (r#"["41.5 µs", ""]"#, r#"["41.5 µs"]"#, "has 2 columns, but 1 published values"),
        ("threads = 1", "thread = 1", "1.toml is wrong"),
    ] {
        let place = with_table(&BESIDE.replacen(from, to, 1));
        let error = format!("{:#}", report::write(&place.options).unwrap_err());
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn an_untimed_cell_has_a_word_and_a_reason() {
    let mut all = small();
    let partly = "not for this guest";
    let partly =
        untimed(cell("alpha", "instance_reuse", DIRTY, 2, 1.0), Status::Unsupported, partly);
    all.extend(records([partly, cell("alpha", "recreate_instance", DIRTY, 2, 9000.0)]));
    let page = Place::with(&all).page();
    assert_has(&page, "unsupported<sup>");
    assert_has(&page, "wrong<sup>");
    assert_has(&page, "</sup> output differs<br>");
    assert_has(&page, "the runtime has no pool \\| and says &lt;so&gt;");
    assert!(!page.contains("///"), "a failed cell without a reason:\n{page}");
}

#[test]
fn only_what_can_stand_side_by_side_is_taken() {
    let at = |minute, mut cell: CellRecord| {
        cell.provenance = provenance(minute);
        cell
    };
    let mut elsewhere = at(1, cell("alpha", "pooling", EMPTY, 1, 1111.0));
    elsewhere.provenance.machine.cores = 64;
    let mut old_guest = at(2, cell("alpha", "pooling", EMPTY, 1, 2222.0));
    old_guest.guest_sha256 = "other".to_owned();
    let mut old_version = at(3, cell("alpha", "instance_reuse", EMPTY, 1, 3333.0));
    old_version.runtime_version = "alpha 0.9".to_owned();
    let superseded = at(4, cell("alpha", "pooling_cow", EMPTY, 1, 4444.0));
    let newest = at(5, cell("alpha", "pooling_cow", EMPTY, 1, 5555.0));
    let place = Place::with(&records([elsewhere, old_guest, old_version, superseded, newest]));
    let page = place.page();
    assert_has(&page, "5.555 µs");
    for time in ["1.111 µs", "2.222 µs", "3.333 µs", "4.444 µs"] {
        assert!(!page.contains(time), "{time} was taken");
    }
    assert_has(&page, "4 records: 1 made again later, 1 made on another machine");
    let left_out = report::write(&place.options).unwrap().left_out;
    assert_eq!((left_out.other_guest, left_out.other_version), (1, 1));
}

/// A clock that was set back between two runs.
#[test]
fn the_later_line_is_the_newer_whatever_the_clock_said() {
    let mut before = cell("alpha", "pooling", EMPTY, 1, 1111.0);
    before.provenance.recorded_at = "2999-12-31T23:59:59Z".to_owned();
    let after = cell("alpha", "pooling", EMPTY, 1, 2222.0);
    let page = Place::with(&records([before, after])).page();
    assert_has(&page, "2.222 µs");
    assert!(!page.contains("1.111 µs"));
}

#[test]
fn a_short_run_is_called_one() {
    let mut quick = cell("alpha", "pooling", EMPTY, 1, 1000.0);
    quick.provenance.sampling.name = "quick".to_owned();
    let page = Place::with(&records([quick])).page();
    assert_has(&page, "**Caution**: 1 of 1 timed cell");
}

#[test]
fn damaged_lines_are_named() {
    let place = Place::with(&small());
    let mut lines = std::fs::read_to_string(&place.options.records).unwrap();
    lines.push_str("{\"kind\":\"cell\",\"schema\":1,\"ca\n{\"schema\":99}\n");
    std::fs::write(&place.options.records, lines).unwrap();
    let written = report::write(&place.options).unwrap();
    let numbers: Vec<usize> = written.skipped_lines.iter().map(|skipped| skipped.line).collect();
    assert_eq!(numbers, [13, 14]);
    let page = place.page();
    assert_has(&page, "2 lines could not be believed");
    assert_has(&page, "- line 14: layout version 99 where this build reads 1");
}

#[test]
fn the_same_records_give_the_same_bytes() {
    let mut all = small();
    let (one, two) = (Place::with(&all), Place::with(&all));
    all.reverse();
    let reversed = Place::with(&all);
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
    assert_eq!(report::check(&place.options).unwrap(), Vec::<PathBuf>::new());

    let page = std::fs::read_to_string(&place.options.page).unwrap();
    std::fs::write(&place.options.page, page.replace("130.0 ns", "100.0 ns")).unwrap();
    std::fs::remove_file(place.image("latency.svg")).unwrap();
    let wanted = vec![place.image("latency.svg"), place.options.page.clone()];
    assert_eq!(report::check(&place.options).unwrap(), wanted);
}

#[test]
fn text_outside_the_markers_is_kept() {
    let place = Place::with(&small());
    std::fs::write(&place.options.page, "# Mine\n\nAbove.\n").unwrap();
    let page = place.page();
    assert!(page.starts_with("# Mine\n\nAbove.\n\n<!-- BEGIN touchstone report -->\n"));
    std::fs::write(&place.options.page, format!("{page}\nBelow.\n")).unwrap();
    let again = place.page();
    assert_eq!(again, format!("{page}\nBelow.\n"));
    // Editing one's own text is no difference.
    assert!(report::check(&place.options).unwrap().is_empty());

    std::fs::write(&place.options.page, "<!-- BEGIN touchstone report -->\nno end").unwrap();
    let error = format!("{:#}", report::write(&place.options).unwrap_err());
    assert!(error.contains("<!-- END -->"), "{error}");
}

#[test]
fn a_chart_without_records_is_removed_and_nothing_else_is() {
    let place = Place::with(&small());
    report::write(&place.options).unwrap();
    std::fs::write(place.image("mine.svg"), "mine").unwrap();
    std::fs::write(place.image("pooling.svg"), "of an earlier report").unwrap();
    assert_eq!(report::check(&place.options).unwrap(), [place.image("pooling.svg")]);
    let removed = report::write(&place.options).unwrap().removed;
    assert_eq!(removed, [place.image("pooling.svg")]);
    assert!(place.image("mine.svg").exists());
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
    let empty = Place::with(&[]);
    let error = format!("{:#}", report::write(&empty.options).unwrap_err());
    assert!(error.contains("holds no records; `make bench` makes them"), "{error}");
    assert!(!empty.options.page.exists());

    std::fs::write(&empty.options.records, "junk\n").unwrap();
    let error = format!("{:#}", report::write(&empty.options).unwrap_err());
    assert!(error.contains("1 line could not be believed, the first of them line 1"), "{error}");

    std::fs::remove_file(&empty.options.records).unwrap();
    assert!(report::write(&empty.options).is_err());
}

#[test]
fn pairs_alone_and_cells_without_a_time_make_a_page() {
    let pairs = [Record::Pair(Box::new(pair("null", "alpha_pooling", [0.99, 1.0, 1.01])))];
    let page = Place::with(&pairs).page();
    assert_has(&page, "There are no records of any cell.");
    assert_has(&page, "Nothing was timed, so there is nothing to choose by.");

    let only = untimed(cell("alpha", "pooling", EMPTY, 1, 1.0), Status::Failed, "no memory");
    let page = Place::with(&records([only])).page();
    assert_has(&page, "There is nothing to draw for the chart `heatmap`.");
    assert_has(&page, "There are no records of pairs");
}

#[test]
fn peers_are_a_table_of_their_own_with_the_ratio_turned_round() {
    let mut all = small();
    let row = |threads, reference: &str, ratios| {
        let mut row = pair(PEERS, "alpha_pooling", ratios);
        (row.threads, row.reference) = (threads, reference.to_owned());
        Record::Pair(Box::new(row))
    };
    all.push(row(2, "beta_pooling", [0.004, 0.005, 0.008]));
    all.push(row(2, "itself", [0.98, 1.0, 1.02]));
    all.push(row(1, "itself", [0.98, 1.0, 1.02]));
    let page = Place::with(&all).page();
    let (_, section) = page.split_once("## Against the peer\n").unwrap();
    let (section, pairs) = section.split_once("\n## Pairs\n").unwrap();
    let lines: Vec<&str> = section.lines().filter(|line| line.contains("alpha")).collect();
    let [alone, beta, itself]: [&str; 3] = lines.try_into().unwrap();
    let start = "| `call_empty_function` | `test_runtime` |";
    assert_eq!(beta, format!("{start} 2 | `alpha_pooling` | beta_pooling | 200 [125 – 250] |"));
    assert!(alone.starts_with(&format!("{start} 1 |")) && itself.contains("| itself |"));
    assert!(!pairs.contains("beta_pooling") && !pairs.contains("`peers`"), "{pairs}");
    assert_has(&Place::with(&small()).page(), "There are no records of peers");
}

#[test]
fn no_text_of_a_chart_lies_on_another() {
    for all in [small(), large_matrix(&[1, 2]), large_matrix(&[1, 2, 4, 8, 16])] {
        let place = Place::with(&all);
        let files = report::write(&place.options).unwrap().files;
        for path in files.iter().filter(|path| path.extension().is_some_and(|e| e == "svg")) {
            assert_readable(path);
        }
    }
}

/// No text of a chart is too small, outside the picture or on another.
fn assert_readable(path: &Path) {
    let picture = std::fs::read_to_string(path).unwrap();
    let (width, height) = svg::size(&picture);
    let texts = svg::texts(&picture);
    for (index, text) in texts.iter().enumerate() {
        assert!(text.size >= 11.0, "{}: {text:?} is too small", path.display());
        let inside = text.left >= 0.0
            && text.right <= width
            && text.middle > 5.0
            && text.middle < height - 5.0;
        assert!(inside, "{}: {text:?} leaves the picture", path.display());
        let other = texts[index + 1..].iter().find(|other| text.overlaps(other));
        assert!(other.is_none(), "{}: {text:?} lies on {other:?}", path.display());
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]

    /// Whatever a record says, the report is made, and made again the same.
    #[test]
    fn no_text_in_a_record_breaks_the_page(
        name in "\\PC{0,12}|<!-- END -->|a\\|b`c|\\x01",
        reason in ".{0,40}|<!-- BEGIN touchstone report -->|</details>",
        median in proptest::option::of(proptest::num::f64::ANY),
    ) {
        let mut odd = cell(&name, &name, &name, 1, 1.0);
        (odd.median_ns, odd.low_ns) = (median.filter(|ns| ns.is_finite()), None);
        let failed = untimed(cell("alpha", &name, EMPTY, 1, 1.0), Status::Failed, &reason);
        let mut all = small();
        all.extend(records([odd, failed]));
        let place = Place::with(&all);
        let page = place.page();
        proptest::prop_assert_eq!(page.matches("<!-- END -->").count(), 1);
        proptest::prop_assert!(report::check(&place.options).unwrap().is_empty());
    }
}

/// Writes the report of a large matrix to the folder in `TOUCHSTONE_LOOK`, to be
/// looked at: `TOUCHSTONE_LOOK=/tmp/look cargo test --test report -- --ignored`.
#[test]
#[ignore = "for looking at the charts"]
fn look() {
    let folder = PathBuf::from(std::env::var_os("TOUCHSTONE_LOOK").unwrap());
    for (name, threads) in [("two", vec![1, 2]), ("sixteen", vec![1, 2, 4, 8, 16])] {
        let folder = folder.join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let options = Options {
            records: folder.join("records.jsonl"),
            page: folder.join("BENCHMARK.md"),
            images: folder.join("image"),
            tables: folder.join("tables"),
            costs: folder.join("costs.json"),
            trust: folder.join("trust"),
        };
        let _ = std::fs::remove_file(&options.records);
        append(&options.records, &large_matrix(&threads));
        report::write(&options).unwrap();
    }
}
