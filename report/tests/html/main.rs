//! The interactive page, used in a browser: what it shows of the stored records, what can be
//! done with it, and that nothing leaves it.

mod browser;
mod compared;
#[path = "../../../tests/fixtures/records.rs"]
mod fixtures;
mod looks;
mod shown;
mod used;

use browser::Page;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use touchstone_record::{self as record, BENCH, Book, Metric};
use touchstone_report::{self as report, Options};

/// The report of the stored records in a folder.
struct Made {
    folder: tempfile::TempDir,
    book: Book,
    cells: usize,
}

impl Made {
    fn options(&self) -> Options {
        options(self.folder.path())
    }

    fn page(&self) -> PathBuf {
        self.options().pages.join("index.html")
    }
}

fn options(folder: &Path) -> Options {
    Options {
        explanations: folder.join("explanations.toml"),
        draft: true,
        ..Options::of_project(folder.join("BENCHMARK.md"))
    }
}

static MADE: LazyLock<Made> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let cells = report::write(&options(folder.path())).unwrap().cells;
    let (book, _) = record::newest(record::default_path(BENCH), "make bench").unwrap();
    Made { folder, book, cells }
});

/// The view of the opened page.
struct View {
    case: String,
    guest: String,
    threads: usize,
}

impl View {
    /// `true` if a cell is in the view.
    fn has(&self, cell: &record::CellKey) -> bool {
        cell.case == self.case && cell.guest == self.guest && cell.threads == self.threads
    }

    /// The cells that have a time.
    fn timed(&self) -> Vec<&'static record::CellKey> {
        let timed = MADE.book.cells.keys().filter(|cell| self.has(cell));
        timed.filter(|cell| MADE.book.estimate(cell, Metric::Call).is_some()).collect()
    }
}

/// Opens the page with an end of its address; `None` where there is no browser.
fn open(hash: &str) -> Option<Page> {
    Page::open(&address(hash))
}

fn address(hash: &str) -> String {
    format!("file://{}{hash}", MADE.page().display())
}

/// The rows of the view, whether they are drawn or not.
#[track_caller]
fn rows(page: &mut Page) -> usize {
    let text = page.text("document.getElementById('count').textContent");
    text.split(" of ").next().unwrap().replace(',', "").parse().unwrap()
}

fn view(page: &mut Page) -> View {
    let value = |id: &str| format!("document.getElementById('{id}').value");
    View {
        case: page.text(&value("case")),
        guest: page.text(&value("guest")),
        threads: page.text(&value("threads")).parse().unwrap(),
    }
}

/// Sets a control as a user would.
fn set(page: &mut Page, id: &str, value: &str) {
    page.eval(&format!(
        "(() => {{ const one = document.getElementById('{id}'); \
         if (one.type === 'checkbox') one.checked = {value:?} === 'on'; else one.value = {value:?}; \
         one.dispatchEvent(new Event('input', {{ bubbles: true }})); \
         one.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()"
    ));
}

/// The texts of a column of the drawn rows that have a time.
#[track_caller]
fn column(page: &mut Page, name: &str) -> Vec<String> {
    page.texts(&format!(
        "[...document.querySelectorAll('#body tr.cell > .{name}')].map((one) => one.textContent)"
    ))
}
