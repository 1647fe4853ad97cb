//! A second record file: its estimates are those of the report, and a bad file changes
//! nothing.

use super::fixtures::{Run, cell};
use super::{MADE, Page, open, options, rows};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use touchstone_record::{self as record, BENCH};
use touchstone_report::{self as report, Options};

const INPUT: &str = "document.getElementById('file')";
const ALL: &str = "#case=*&guest=*&threads=*&sort=second";

/// Writes the stored records with each line changed.
fn changed(folder: &Path, mut change: impl FnMut(&mut Value)) -> PathBuf {
    let text = std::fs::read_to_string(record::default_path(BENCH)).unwrap();
    let lines = text.lines().map(|line| {
        let mut line = serde_json::from_str(line).unwrap();
        change(&mut line);
        format!("{line}\n")
    });
    let path = folder.join("changed.jsonl");
    std::fs::write(&path, lines.collect::<String>()).unwrap();
    path
}

/// Multiplies the samples of calls.
fn times(line: &mut Value, factor: f64) {
    let Some(call) = line.get_mut("metrics").and_then(|all| all.get_mut("call")) else { return };
    if let Some(one) = call.as_f64() {
        *call = json!(one * factor);
    } else {
        for total in call["total"].as_array_mut().unwrap() {
            *total = json!(total.as_f64().unwrap() * factor);
        }
    }
}

fn second(page: &mut Page) -> String {
    page.wait("!document.getElementById('second').hidden");
    page.text("document.getElementById('second').textContent")
}

/// The file that the page would offer as a download.
fn csv(page: &mut Page) -> String {
    page.text(
        "new Promise((done) => { const make = URL.createObjectURL; \
         URL.createObjectURL = (blob) => { URL.createObjectURL = make; blob.text().then(done); return make(blob); }; \
         const click = HTMLAnchorElement.prototype.click; \
         HTMLAnchorElement.prototype.click = () => { HTMLAnchorElement.prototype.click = click; }; \
         document.getElementById('csv').click(); })",
    )
}

/// All cells of the view: median and interval here and in the second file, and the ratio of
/// the medians.
fn pairs(page: &mut Page) -> Vec<[String; 5]> {
    let text = csv(page);
    let pair = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let place = |at: usize| fields[at].to_owned();
        [
            [place(6), place(7), place(8), place(9)].join(" "),
            [place(12), place(13), place(14), place(15)].join(" "),
            place(6),
            place(12),
            place(16),
        ]
    };
    text.lines().skip(1).map(pair).collect()
}

#[test]
fn the_same_file_has_the_same_estimates() {
    let Some(mut page) = open(ALL) else { return };
    page.choose(INPUT, &record::default_path(BENCH));
    let text = second(&mut page);
    let cells = touchstone_grouped(MADE.cells);
    assert!(
        text.contains(&format!(
            "{cells} cells compared, 0 only in the first, 0 only in the second."
        )),
        "{text}"
    );
    assert!(text.contains(&MADE.book.header.run) && !text.contains("differ"), "{text}");
    let pairs = pairs(&mut page);
    assert_eq!(pairs.len(), MADE.cells);
    for [here, there, _, _, ratio] in pairs {
        // The median, both ends of its interval and the mark, to the last digit.
        assert_eq!(here, there);
        assert_eq!(ratio, "1");
    }
    let shown = super::column(&mut page, "second");
    assert!(!shown.is_empty() && shown.iter().all(|text| text.starts_with("1.00")), "{shown:?}");
    // The comparison can be ended.
    page.eval("document.getElementById('remove').click()");
    assert_eq!(page.number("document.querySelectorAll('#head .second').length"), 0.0);
    page.assert_clean();
}

fn touchstone_grouped(number: usize) -> String {
    let (thousands, rest) = (number / 1000, number % 1000);
    if thousands == 0 { rest.to_string() } else { format!("{thousands},{rest:03}") }
}

#[test]
fn a_slower_run_says_how_much_slower() {
    let folder = tempfile::tempdir().unwrap();
    let guest = MADE.book.header.works[0].guest.clone();
    let file = changed(folder.path(), |line| {
        times(line, 2.0);
        if line["kind"] == "run" {
            line["machine"]["cpu"] = json!("another processor");
            for work in line["works"].as_array_mut().unwrap() {
                if work["guest"] == json!(guest) {
                    work["guest_sha256"] = json!("0000");
                    work["init"] = Value::Null;
                }
            }
        }
    });
    let Some(mut page) = open(ALL) else { return };
    page.choose(INPUT, &file);
    let text = second(&mut page);
    assert!(text.contains("another processor") && text.contains("The machines differ"), "{text}");
    assert!(text.contains(&format!("Other bytes, not compared: {guest}.")), "{text}");
    let mut compared = 0;
    for [_, _, here, there, ratio] in pairs(&mut page) {
        if there.is_empty() {
            assert_eq!(ratio, "");
            continue;
        }
        compared += 1;
        assert_eq!(there.parse::<f64>().unwrap(), 2.0 * here.parse::<f64>().unwrap());
        assert_eq!(ratio, "2");
    }
    let of_guest = MADE.book.cells.keys().filter(|cell| cell.guest == guest).count();
    assert!(of_guest > 0 && compared > 0 && compared <= MADE.cells - of_guest + 1, "{compared}");
    page.assert_clean();
}

#[test]
fn a_bad_file_is_refused_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let header = std::fs::read_to_string(record::default_path(BENCH)).unwrap();
    let header = header.lines().next().unwrap().to_owned();
    let other = header.replacen(r#""schema":2"#, r#""schema":1"#, 1);
    let odd = r#"{"kind":"observations","case":"a","guest":"b","engine":"c","strategy":"d","process":0,"metrics":{"call":{"total":3}}}"#;
    let bad = [
        (write("empty.jsonl", ""), "holds no run"),
        (write("picture.png", "\u{0}PNG\n\u{1}"), "line 1: not JSON"),
        (write("null.jsonl", "null\n[1]\n3\n"), "line 1: not a record"),
        (write("old.jsonl", &other), "layout version 1 where this page reads 2"),
        (write("alone.jsonl", &format!("{header}\n{odd}\n")), "none of its cells"),
        (write("odd.jsonl", r#"{"kind":"run","schema":2,"works":7}"#), "was not read"),
    ];
    let Some(mut page) = open("") else { return };
    let all = rows(&mut page);
    let message = "document.getElementById('message')";
    for (file, part) in &bad {
        page.choose(INPUT, file);
        let name = file.file_name().unwrap().to_str().unwrap();
        page.wait(&format!("{message}.textContent.startsWith('{name} was not read: ')"));
        let text = page.text(&format!("{message}.textContent"));
        assert!(text.contains(part), "{text}");
        assert_eq!(rows(&mut page), all);
    }
    // A file that was read before stays, and lines that cannot be read are counted.
    let records = std::fs::read_to_string(record::default_path(BENCH)).unwrap();
    let cut = write("cut.jsonl", &format!("{records}{{\"kind\":\"observ"));
    page.choose(INPUT, &cut);
    let text = second(&mut page);
    assert!(text.contains("1 line skipped (line "), "{text}");
    assert_eq!(page.eval(&format!("{message}.hidden")), json!(true));
    page.choose(INPUT, &bad[1].0);
    page.wait(&format!("!{message}.hidden"));
    assert!(page.text(&format!("{message}.textContent")).contains("still compared"));
    let shown = super::column(&mut page, "second");
    assert!(shown.iter().all(|text| text.starts_with("1.00")), "{shown:?}");
    page.assert_clean();
}

/// Counts how many elements the searches of the page's script look at.
const COUNT: &str = "window.looked = 0; for (const name of ['includes', 'indexOf', 'some', 'filter', 'find']) { \
     const own = Array.prototype[name]; \
     Array.prototype[name] = function (...all) { window.looked += this.length; return own.apply(this, all); }; }";

#[test]
fn a_long_file_is_read_in_steps_that_grow_with_it() {
    const SAMPLES: usize = 30_000;
    let folder = tempfile::tempdir().unwrap();
    let records = std::fs::read_to_string(record::default_path(BENCH)).unwrap();
    let mut lines: Vec<&str> = records.lines().collect();
    let long = lines.iter().position(|line| line.contains(r#""observations""#)).unwrap();
    let mut line: Value = serde_json::from_str(lines[long]).unwrap();
    let noisy: Vec<usize> = (0..SAMPLES).filter(|place| place % 2 == 0).collect();
    line["metrics"]["call"] = json!({"total": vec![7; SAMPLES], "noisy": noisy});
    let line = line.to_string();
    lines[long] = &line;
    // Failures that name other cells: comparing each line with each cell would take quadratic time.
    let refusals: Vec<String> = (0..3000)
        .map(|n| {
            json!({"kind": "refusal", "engine": "e", "case": format!("c{n}"), "threads": 1,
                   "status": "failed", "reason": "r"})
            .to_string()
        })
        .collect();
    lines.splice(1..1, refusals.iter().map(String::as_str));
    let path = folder.path().join("long.jsonl");
    std::fs::write(&path, lines.join("\n")).unwrap();
    let Some(mut page) = open("") else { return };
    page.eval(COUNT);
    page.choose(INPUT, &path);
    let text = second(&mut page);
    assert!(!text.contains("skipped"), "{text}");
    // The loops looked at 225 million flags and 40 million refusals.
    let looked = page.number("window.looked");
    assert!(looked < 3e6, "{looked}");
    page.assert_clean();
}

#[test]
fn samples_that_nothing_measures_are_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let mut left = 3;
    let file = changed(folder.path(), |line| {
        if line["kind"] == "observations" && left > 0 {
            left -= 1;
            let wrong = [json!(0), json!({"total": []}), json!({"calls": 0, "total": [1]})];
            line["metrics"]["call"] = wrong[left].clone();
        }
    });
    let Some(mut page) = open("") else { return };
    page.choose(INPUT, &file);
    let text = second(&mut page);
    assert!(text.contains("3 lines skipped (line "), "{text}");
    page.assert_clean();
}

#[test]
fn a_file_can_be_dropped() {
    let Some(mut page) = open("") else { return };
    let files = [record::default_path(BENCH)];
    for kind in ["dragEnter", "dragOver", "drop"] {
        let data = json!({"items": [], "files": files, "dragOperationsMask": 1});
        page.call(
            "Input.dispatchDragEvent",
            json!({"type": kind, "x": 300, "y": 300, "data": data}),
        );
    }
    assert!(second(&mut page).contains(&MADE.book.header.run));
    page.assert_clean();
}

#[test]
fn texts_of_both_files_stay_text() {
    if open("").is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let of = Options { records: folder.path().join(BENCH), ..options(folder.path()) };
    let hostile = "=1+1<img src=x onerror=alert(1)></script>\u{202e}";
    let mut run = Run::of_cells([cell(hostile, "recreate_instance", hostile, 1, 10.0)]);
    run.header.run = hostile.to_owned();
    run.append(&of.records);
    report::write(&of).unwrap();
    let mut page =
        Page::open(&format!("file://{}", of.pages.join("index.html").display())).unwrap();
    // The name as the report shows it, because a page reads a second file as it is.
    let name = touchstone_executor::guest::text::line(hostile);
    let cells = Run::of_cells([cell(&name, "recreate_instance", &name, 1, 10.0)]);
    let other = folder.path().join("other.jsonl");
    Run { header: run.header, ..cells }.append(&other);
    page.choose(INPUT, &other);
    let text = second(&mut page);
    assert!(text.contains("=1+1<img") && !text.contains('\u{202e}'), "{text}");
    assert_eq!(page.number("document.querySelectorAll('img').length"), 0.0);
    let text = csv(&mut page);
    assert_eq!(text.matches(",'=1+1").count(), 3, "{text}");
    assert!(!text.contains(",=") && text.lines().nth(1).unwrap().starts_with("'="), "{text}");
    page.assert_clean();
}
