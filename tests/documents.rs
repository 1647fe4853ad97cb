//! The tables of docs/wasmtime-14313.md equal what the stored records give. After new records:
//!
//! ```sh
//! TOUCHSTONE_WRITE_DOCUMENTS=1 cargo test --release --test documents
//! ```

use std::fmt::Write;
use std::path::Path;
use touchstone::record::{self, BENCH, Book, CellKey, Executor, Metric, Place};
use touchstone_executor::guest::{GuestModule, HeapPages, WASM_PAGE};
use touchstone_report::races::ratio;
use touchstone_report::units::{median, page_size, times};

const WRITE: &str = "TOUCHSTONE_WRITE_DOCUMENTS";
const PAGE: &str = "docs/wasmtime-14313.md";
/// The columns: the reset in place, and what Wasmtime has itself.
const STRATEGIES: [&str; 4] =
    ["instance_reuse_tracked", "pooling_cow_resident", "pooling_cow", "recreate_instance_cow"];

/// The numbers of BENCHMARK.md, computed again from the records without this project's code.
#[test]
fn the_page_has_the_numbers_of_the_records() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("checks/recompute.py");
    let has_toml = |status: std::process::ExitStatus| status.success();
    let python = std::process::Command::new("python3").args(["-c", "import tomllib"]).status();
    if !python.is_ok_and(has_toml) {
        assert!(std::env::var_os("CI").is_none(), "python3 3.11 or newer is missing");
        eprintln!("python3 3.11 or newer is missing: the numbers were not computed again");
        return;
    }
    let ran = std::process::Command::new(script).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
}

/// The versions that the page of codecs names are those of the guests.
#[test]
fn the_page_of_codecs_names_the_versions_of_the_guests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let (page, lock) = (read("benchmark/codecs.md"), read("test-runtime/Cargo.lock"));
    let crates = "bincode borsh wincode postcard messagepack-serde serde_json prost capnp planus rkyv \
                  bytemuck zerocopy";
    for name in crates.split_whitespace() {
        let (_, rest) = lock.split_once(&format!("name = \"{name}\"\nversion = \"")).unwrap();
        let (version, _) = rest.split_once('"').unwrap();
        let named =
            page.split(['|', '(', ')']).any(|own| own.trim() == format!("{name} {version}"));
        assert!(named, "{name} {version}");
    }
}

fn book(file: &str) -> Book {
    record::load(record::default_path(file)).unwrap().newest().unwrap()
}

fn executor(strategy: &str) -> Executor {
    Executor { engine: "wasmtime".to_owned(), strategy: strategy.parse().unwrap() }
}

/// Bytes of a built guest's memory.
fn memory(guest: &str, extra: u32) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("test-runtime/built");
    let bytes = std::fs::read(folder.join(guest).with_extension("wasm")).unwrap();
    let heap = HeapPages { extra, ..HeapPages::default() };
    let guest = GuestModule::new(guest, &bytes, heap).unwrap();
    let bytes = guest.info().memory.unwrap().initial_bytes();
    format!("{:.1} MiB ({} pages of 64 KiB)", bytes as f64 / f64::from(1 << 20), bytes / WASM_PAGE)
}

fn begin(first: &str, rest: &[&str]) -> String {
    let headings = STRATEGIES.map(|name| format!("`{name}`"));
    let mut text = format!("| {first} | Threads | {} |", headings.join(" | "));
    rest.iter().for_each(|heading| write!(text, " {heading} |").unwrap());
    text += "\n| --- | ---: |";
    (0..STRATEGIES.len() + rest.len()).for_each(|_| text += " ---: |");
    text + "\n"
}

/// From the matrix: memories of two sizes.
fn sizes(book: &Book) -> String {
    let mut text = begin("Memory; written", &[]);
    for (case, extra, written) in [
        ("call_empty_function_with_32_pages", 32, "4 KiB"),
        ("call_empty_function", 2048, "4 KiB"),
        ("dirty_1mb_of_memory", 2048, "1 MiB"),
    ] {
        for threads in [1, 2] {
            let time = |strategy: &str| {
                let Executor { engine, strategy } = executor(strategy);
                let (case, guest) = (case.to_owned(), "test_runtime".to_owned());
                let cell = CellKey { case, guest, engine, strategy, threads };
                book.estimate(&cell, Metric::Call)
            };
            let times = STRATEGIES.map(time);
            if times.iter().all(Option::is_none) {
                continue;
            }
            write!(text, "| {}; {written} | {threads} |", memory("test-runtime", extra)).unwrap();
            for time in times {
                write!(text, " {} |", time.map_or("–".to_owned(), |time| median(&time))).unwrap();
            }
            text.push('\n');
        }
    }
    text
}

/// From the experiment: written pages, and what the tuned pool takes in the same rounds.
fn pages(book: &Book) -> String {
    let points = &book.points["resets"];
    let [reset, pool, ..] = STRATEGIES.map(executor);
    let mut text = begin("Written", &["tuned pool / reset"]);
    for (threads, pages) in [1, 64, 256, 1024, 4096, 16_384]
        .iter()
        .flat_map(|pages: &u64| [(1_u64, *pages), (2, *pages)])
    {
        let place = Place::default().with("touch", "byte").with("place", "contiguous");
        let place = place.with("drift", "same").with("threads", threads).with("pages", pages);
        write!(text, "| {} | {threads} |", page_size(pages as f64)).unwrap();
        for strategy in STRATEGIES {
            let time =
                points.get(&place.at(&executor(strategy))).and_then(|own| own.sampled("call"));
            write!(text, " {} |", time.map_or("–".to_owned(), |time| median(&time))).unwrap();
        }
        let ratio = ratio(points, &place, "call", &pool, &reset);
        writeln!(text, " {} |", ratio.map_or("–".to_owned(), |judged| times(&judged.ratio)))
            .unwrap();
    }
    text
}

/// The machine and the commit of a run.
fn origin(book: &Book, command: &str) -> String {
    let (machine, tools) = (&book.header.machine, &book.header.tools);
    let date = &book.header.started_at[..10];
    let (cpu, cores, kernel) = (&machine.cpu, machine.cores, &machine.kernel);
    format!(
        "`{command}` of {date}, commit `{}`, on {cpu}, {cores} processors, Linux {kernel}.\n",
        tools.commit
    )
}

/// The text with a part in the place of the one between its markers.
fn with_part(text: &str, name: &str, part: &str) -> String {
    let (begin, end) = (format!("<!-- BEGIN {name} -->\n"), format!("<!-- END {name} -->"));
    let start = text.find(&begin).unwrap_or_else(|| panic!("{PAGE} lacks {begin}")) + begin.len();
    let rest = text[start..].find(&end).unwrap_or_else(|| panic!("{PAGE} lacks {end}"));
    format!("{}{part}{}", &text[..start], &text[start + rest..])
}

#[test]
fn the_tables_of_the_page_are_those_of_the_records() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let stored = std::fs::read_to_string(&path).unwrap();
    let (bench, resets) = (book(BENCH), book("resets.jsonl"));
    let sizes = format!("{}\n{}", origin(&bench, "make bench"), sizes(&bench));
    let pages = format!("{}\n{}", origin(&resets, "make resets"), pages(&resets));
    let page = with_part(&stored, "sizes", &sizes);
    let page = with_part(&page, "pages", &pages);
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(path, page).unwrap();
    } else {
        assert!(
            page == stored,
            "{PAGE} differs from the records; set {WRITE}=1 to write it\n{page}"
        );
    }
}
