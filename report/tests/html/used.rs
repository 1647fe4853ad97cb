//! The use of the table: filters, sorting, another baseline, details, a download, and the address
//! that leads back to a view.

use super::fixtures::{Run, cell};
use super::{MADE, Page, address, column, open, options, rows, set, view};
use serde_json::json;
use touchstone_record::{BENCH, CellKey, Metric};
use touchstone_report::{self as report, Options};

/// A page of three cells, of which one is marked: among the stored ones there may be none.
fn with_a_mark() -> Page {
    let folder = tempfile::tempdir().unwrap();
    let missing = || folder.path().join("missing");
    let of = Options {
        records: folder.path().join(BENCH),
        division: missing(),
        tables: missing(),
        experiments: missing(),
        charts: missing(),
        ..options(folder.path())
    };
    let cell = |engine, ns| cell(engine, "recreate_instance", "a_call", 1, ns);
    let cells = [cell("one", 10.0), cell("another", 20.0).noisy(), cell("a_third", 30.0)];
    Run::of_cells(cells).append(&of.records);
    report::write(&of).unwrap();
    Page::open(&format!("file://{}", of.pages.join("index.html").display())).unwrap()
}

#[test]
fn filters_choose_the_rows() {
    let Some(mut page) = open("") else { return };
    let view = view(&mut page);
    let all = view.timed();
    let number = |wanted: &dyn Fn(&CellKey) -> bool| all.iter().filter(|cell| wanted(cell)).count();
    let engine = all[0].engine.clone();
    page.eval("document.querySelector('#engines [data-all=\"\"]').click()");
    assert_eq!(rows(&mut page), 0);
    assert!(page.text("document.getElementById('body').textContent").contains("No cell matches"));
    page.eval(&format!("document.querySelector('#engines input[value=\"{engine}\"]').click()"));
    assert_eq!(rows(&mut page), number(&|cell| cell.engine == engine));
    let strategy = all[0].strategy.to_string();
    page.eval("document.querySelector('#strategies [data-all=\"\"]').click()");
    page.eval(&format!(
        "document.querySelector('#strategies input[value=\"{strategy}\"]').click()"
    ));
    assert_eq!(rows(&mut page), 1);
    page.eval("document.getElementById('reset').click()");
    assert_eq!(rows(&mut page), all.len());
    set(&mut page, "q", &format!("{strategy} {engine}"));
    let name = |cell: &CellKey| cell.executor().to_string();
    assert_eq!(
        rows(&mut page),
        number(&|cell| name(cell).contains(&strategy) && name(cell).contains(&engine))
    );
    page.eval("document.getElementById('reset').click()");
    for (id, of) in [("case", &view.case), ("guest", &view.guest)] {
        set(&mut page, id, "");
        assert!(rows(&mut page) > all.len(), "{id}");
        set(&mut page, id, of);
        assert_eq!(rows(&mut page), all.len());
    }
    set(&mut page, "case", "");
    set(&mut page, "guest", "");
    set(&mut page, "threads", "");
    assert_eq!(rows(&mut page), MADE.cells);
    set(&mut page, "clean", "on");
    let marked =
        |cell: &&CellKey| MADE.book.estimate(cell, Metric::Call).is_some_and(|own| own.marked);
    assert_eq!(rows(&mut page), MADE.cells - MADE.book.cells.keys().filter(marked).count());
    page.assert_clean();
}

#[test]
fn a_column_sorts_both_ways_and_says_so() {
    let Some(mut page) = open("") else { return };
    let sorted = |page: &mut super::Page, name: &str| {
        page.text(&format!("document.querySelector('#head .{name}').getAttribute('aria-sort')"))
    };
    let names = "[...document.querySelectorAll('#body .pick')].map((one) => one.textContent)";
    assert_eq!(sorted(&mut page, "median"), "ascending");
    for name in ["executor", "median", "interval", "ratio", "samples", "mark"] {
        let click = format!("document.querySelector('#head [data-sort={name}]').click()");
        page.eval("document.getElementById('reset').click()");
        if name == "mark" {
            page.assert_clean();
            page = with_a_mark();
        }
        page.eval(&click);
        let first = page.texts(names);
        let way = sorted(&mut page, name);
        page.eval(&click);
        let second = page.texts(names);
        assert_ne!(way, sorted(&mut page, name));
        assert_ne!(first, second, "{name}");
        if name == "executor" {
            let mut expected = first.clone();
            expected.sort();
            assert_eq!(first, expected);
            assert_eq!(sorted(&mut page, "median"), "none");
        }
    }
    page.assert_clean();
}

/// The values of the ratios that are shown.
fn ratios(page: &mut super::Page) -> Vec<f64> {
    column(page, "ratio").iter().map(|text| text.trim_end_matches('†').parse().unwrap()).collect()
}

#[test]
fn a_row_becomes_the_baseline() {
    let Some(mut page) = open("") else { return };
    let before = ratios(&mut page);
    let number = before.len();
    // Of the last row, by the pointer; of the row in the middle, by its key.
    let place = number / 2;
    page.eval(&format!(
        "document.querySelectorAll('#body tr.cell')[{place}].querySelector('.median').click()"
    ));
    let after = ratios(&mut page);
    assert_eq!(after[place], 1.0);
    assert!(after[0] < 1.0 && after[number - 1] > 1.0);
    let pressed = "[...document.querySelectorAll('#body .pick[aria-pressed=true]')].length";
    assert_eq!(page.number(pressed), 1.0);
    let name = page.text("document.querySelector('#body .base .pick').textContent");
    assert!(
        page.text("document.getElementById('count').textContent")
            .ends_with(&format!("Baseline: {name}."))
    );
    // By keys: the focus stays on the row.
    page.eval("document.querySelector('#body .pick[tabindex=\"0\"]').focus()");
    page.press("ArrowUp");
    page.press("Enter");
    assert_eq!(ratios(&mut page)[place - 1], 1.0);
    page.press("ArrowDown");
    page.press("ArrowDown");
    page.press("Enter");
    assert_eq!(ratios(&mut page)[place + 1], 1.0);
    page.press("End");
    page.press("Enter");
    assert_eq!(ratios(&mut page)[number - 1], 1.0);
    page.assert_clean();
}

#[test]
fn details_tell_where_a_number_comes_from() {
    let Some(mut page) = open("") else { return };
    let view = view(&mut page);
    page.eval("document.querySelector('#body .open').click()");
    assert_eq!(
        page.text("document.querySelector('#body .open').getAttribute('aria-expanded')"),
        "true"
    );
    let details = page.text("document.querySelector('#body .detail').textContent");
    let header = &MADE.book.header;
    for text in [&header.run, &header.tools.commit, &header.tools.binary, &view.case, &view.guest] {
        assert!(details.contains(text.as_str()), "{text}: {details}");
    }
    let name = page.text("document.querySelector('#body .pick').textContent");
    let cell = view.timed().into_iter().find(|cell| cell.executor().to_string() == name).unwrap();
    let samples: usize = MADE.book.samples(cell, Metric::Call).iter().map(|own| own.0.len()).sum();
    assert_eq!(
        page.number("document.querySelectorAll('#body .detail td.number').length"),
        samples as f64
    );
    let setup = &MADE.book.setups[&(cell.executor(), cell.guest.clone())];
    for (key, value) in &setup.effective {
        assert!(
            details.contains(&format!("{key}{}", value.as_deref().unwrap())),
            "{key}: {details}"
        );
    }
    page.eval("document.querySelector('#body .open').click()");
    assert_eq!(page.number("document.querySelectorAll('#body .detail').length"), 0.0);
    page.assert_clean();
}

#[test]
fn an_address_leads_back_to_its_view() {
    let Some(mut page) = open("") else { return };
    let start = rows(&mut page);
    set(&mut page, "guest", "");
    set(&mut page, "q", "reuse");
    page.eval("document.querySelector('#engines input').click()");
    page.eval("document.querySelector('#head [data-sort=interval]').click()");
    page.eval("document.querySelectorAll('#body .pick')[3].click()");
    set(&mut page, "refused", "on");
    let shown = "document.getElementById('table').innerText";
    let (table, hash) = (page.text(shown), page.text("location.hash"));
    page.go(&address(&hash));
    assert_eq!(page.text(shown), table);
    assert_eq!(page.text("location.hash"), hash);
    assert_eq!(page.text("document.getElementById('q').value"), "reuse");
    // Back and forward.
    page.go(&address(""));
    set(&mut page, "clean", "on");
    set(&mut page, "threads", "");
    let more = rows(&mut page);
    assert!(more > start / 2);
    page.eval("history.back()");
    page.wait("document.getElementById('threads').value === '1'");
    assert_eq!(page.eval("document.getElementById('clean').checked"), json!(true));
    page.eval("history.back()");
    page.wait("!document.getElementById('clean').checked");
    assert_eq!(rows(&mut page), start);
    page.eval("history.go(2)");
    page.wait("document.getElementById('threads').value === ''");
    assert_eq!(rows(&mut page), more);
    // A link of the overview is such an address.
    page.eval("document.querySelectorAll('#headlines a')[1].click()");
    page.wait("document.getElementById('threads').value === '1'");
    let name = page.text("document.querySelectorAll('#headlines a')[1].textContent");
    assert_eq!(page.text("document.querySelector('#body .base .pick').textContent"), name);
    // What an address cannot mean is left out.
    page.go(&address("#case=none&threads=x&sort=none&base=%00&engines=a,b&q=%3Cb%3E"));
    assert_eq!(rows(&mut page), 0);
    page.eval("document.getElementById('reset').click()");
    assert_eq!(rows(&mut page), start);
    page.assert_clean();
}

#[test]
fn the_view_can_be_downloaded() {
    let Some(mut page) = open("") else { return };
    let view = view(&mut page);
    let folder = tempfile::tempdir().unwrap();
    let behaviour =
        json!({"behavior": "allow", "downloadPath": folder.path(), "eventsEnabled": true});
    page.call("Browser.setDownloadBehavior", behaviour);
    set(&mut page, "refused", "on");
    page.eval("document.getElementById('csv').click()");
    page.event("Browser.downloadProgress", |of| of["state"] == "completed");
    let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    assert!(file.extension().is_some_and(|end| end == "csv"), "{}", file.display());
    let text = std::fs::read_to_string(&file).unwrap();
    let mut lines = text.lines();
    let head = "executor,engine,strategy,case,guest,threads,median_ns,low_ns,high_ns,marked,ratio,\
                baseline,status,reason";
    assert_eq!(lines.next(), Some(head));
    let base = page.text("document.querySelector('#body .base .pick').textContent");
    let mut timed = 0;
    for line in lines {
        let fields: Vec<&str> = line.splitn(14, ',').collect();
        let executor: touchstone_record::Executor = fields[0].parse().unwrap();
        assert_eq!(
            [fields[1], fields[3], fields[4]],
            [&*executor.engine, &*view.case, &*view.guest]
        );
        let cell = executor.cell(&view.case, &view.guest, view.threads);
        let Some(estimate) = MADE.book.estimate(&cell, Metric::Call) else {
            let refusal = MADE.book.refusal(&cell).unwrap();
            assert_eq!(fields[12], refusal.status.to_string());
            assert_eq!(fields[13].trim_matches('"').replace("\"\"", "\""), refusal.reason);
            continue;
        };
        timed += 1;
        let number = |at: usize| fields[at].parse::<f64>().unwrap_or_default();
        assert_eq!(number(6), estimate.median);
        let (low, high) = estimate.interval.unwrap_or_default();
        assert!((number(7) - low).abs() <= 1e-9 * low && (number(8) - high).abs() <= 1e-9 * high);
        assert_eq!(fields[9], estimate.marked.to_string());
        assert_eq!((fields[0] == base, fields[11]), (number(10) == 1.0, &*base));
    }
    assert_eq!(timed, view.timed().len());
    page.assert_clean();
}
