//! The shown numbers equal those of BENCHMARK.md, to the last digit.

use super::{MADE, column, open, options, rows, set, view};
use touchstone_executor::Owner;
use touchstone_record::{CellKey, Estimate, Executor, Metric, Role};
use touchstone_report::{self as report, units};

/// The whole file, as it lies on the disk.
fn file() -> String {
    std::fs::read_to_string(MADE.page()).unwrap()
}

#[test]
fn the_file_is_small_and_refers_to_nothing() {
    let file = file();
    assert!(file.len() < 3_000_000, "{} bytes", file.len());
    assert!(file.contains("default-src 'none'; script-src 'sha256-"));
    for (at, _) in file.match_indices("http") {
        let rest = &file[at..];
        let is_harmless =
            rest.starts_with("http-equiv") || rest.starts_with("http://www.w3.org/2000/svg");
        assert!(is_harmless, "{}", &rest[..60]);
    }
    assert_eq!(file.matches("<script").count(), 2);
    assert_eq!(file.matches("</script").count(), 2);
}

#[test]
fn the_same_records_give_the_same_bytes_and_other_bytes_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(folder.path());
    report::write(&options).unwrap();
    let page = options.pages.join("index.html");
    assert_eq!(std::fs::read_to_string(&page).unwrap(), file());
    assert!(report::check(&options).unwrap().files.is_empty());
    std::fs::write(&page, "changed by hand").unwrap();
    assert_eq!(report::check(&options).unwrap().files, std::slice::from_ref(&page));
    std::fs::remove_file(&page).unwrap();
    assert_eq!(report::check(&options).unwrap().files, [page]);
}

#[test]
fn the_first_view_is_the_empty_call_on_the_first_guest() {
    let Some(mut page) = open("") else { return };
    let view = view(&mut page);
    let role = MADE.book.work(&view.case, &view.guest).and_then(|facts| facts.role);
    assert_eq!((role, view.threads), (Some(Role::EmptyCall), 1));
    assert_eq!(rows(&mut page), view.timed().len());
    // The baseline is what the runtime offers itself.
    let base = page.text("document.querySelector('#body .base .pick').textContent");
    let base: Executor = base.parse().unwrap();
    let ratios = column(&mut page, "ratio");
    assert!(ratios.contains(&"1.00".to_owned()), "{ratios:?}");
    if MADE.book.header.engines.contains_key("wasmtime") {
        assert_eq!((&*base.engine, base.strategy.owner()), ("wasmtime", Owner::Runtime));
    }
    let headlines = page.number("document.querySelectorAll('#headlines tbody tr').length");
    assert!((3.0..=7.0).contains(&headlines), "{headlines}");
    let facts = page.text("document.getElementById('facts').textContent");
    let header = &MADE.book.header;
    for fact in [&header.machine.cpu, &header.started_at, &header.tools.commit] {
        assert!(facts.contains(fact.as_str()), "{facts}");
    }
    page.assert_clean();
}

#[test]
fn every_time_is_that_of_the_benchmark_page() {
    let Some(mut page) = open("#case=*&guest=*&threads=*") else { return };
    assert_eq!(rows(&mut page), MADE.cells);
    page.eval(
        "while (!document.getElementById('more').hidden) document.getElementById('more').click()",
    );
    let shown = page.texts(
        "[...document.querySelectorAll('#body tr.cell')].map((row) => { \
         const text = (name) => row.querySelector(`:scope > .${name}`).textContent; \
         return `${row.dataset.key} ${text('median')} [${text('interval')}]${text('mark')}`; })",
    );
    assert_eq!(shown.len(), MADE.cells);
    for line in shown {
        let mut parts = line.splitn(5, ' ');
        let mut next = || parts.next().unwrap().to_owned();
        let (case, guest, executor, threads, time) = (next(), next(), next(), next(), next());
        let executor: Executor = executor.parse().unwrap();
        let cell = executor.cell(&case, &guest, threads.parse().unwrap());
        let estimate = MADE.book.estimate(&cell, Metric::Call).unwrap();
        let time = time.replacen('‡', "", 1);
        let one_mode = Estimate { modes: None, ..estimate };
        assert_eq!(time, units::time_with_interval(&one_mode), "{cell:?}");
    }
    page.assert_clean();
}

#[test]
fn refusals_have_their_reasons() {
    let Some(mut page) = open("") else { return };
    let view = view(&mut page);
    assert_eq!(page.number("document.querySelectorAll('.reason').length"), 0.0);
    set(&mut page, "refused", "on");
    page.eval(
        "while (!document.getElementById('more').hidden) document.getElementById('more').click()",
    );
    let shown = page.texts(
        "[...document.querySelectorAll('#body tr.cell')].filter((row) => row.querySelector('.reason')) \
         .map((row) => `${row.querySelector('.pick').textContent} ${row.querySelector('.reason').textContent}`)",
    );
    let named =
        MADE.book.refusals.iter().filter_map(|own| {
            Some(Executor { engine: own.engine.clone(), strategy: own.strategy? })
        });
    let timed = MADE.book.cells.keys().map(CellKey::executor);
    let all: std::collections::BTreeSet<Executor> = named.chain(timed).collect();
    let expected = all.into_iter().filter_map(|executor| {
        let cell = executor.cell(&view.case, &view.guest, view.threads);
        if MADE.book.cells.contains_key(&cell) {
            return None;
        }
        let refusal = MADE.book.refusal(&cell)?;
        Some(format!("{executor} {}: {}", refusal.status, refusal.reason))
    });
    let mut expected: Vec<String> = expected.collect();
    let mut shown = shown;
    expected.sort();
    shown.sort();
    assert!(!expected.is_empty());
    assert_eq!(shown, expected);
    // All of them, in the order of every column.
    page.go(&super::address("#case=*&guest=*&threads=*&refused=1&sort=executor&desc=1"));
    assert_eq!(rows(&mut page), MADE.cells);
    assert!(page.text("document.getElementById('count').textContent").contains(" refusals, "));
    page.assert_clean();
}
