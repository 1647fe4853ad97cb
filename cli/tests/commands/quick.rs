//! The overview of `make quick`, which always ends with a page, and a program outside of a clone.

use crate::command::Folder;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use touchstone::case::{Guests, built_in};
use touchstone::plan::{Budget, Filter, Rows, default_rows};
use touchstone::record::{self, Purpose};
use touchstone::run::{Job, Selection};

const PROGRAM: &str = env!("CARGO_BIN_EXE_touchstone");

/// Longest time of the overview of one engine, on a busy machine.
const LONGEST: Duration = Duration::from_secs(300);

#[test]
fn the_overview_is_small_and_has_every_engine() {
    let (cases, engines) = (built_in().unwrap(), touchstone_runtimes::engines());
    let selection =
        Selection { overview: true, purposes: vec![Purpose::Overview], ..Selection::default() };
    let mut guests = Guests::built();
    let rows = default_rows();
    let budget = |_| Budget::quick(1);
    let job = Job::new(&cases, &engines, &mut guests, &rows, &selection, budget, false).unwrap();
    assert!(job.cells.len() <= 150, "{} cells", job.cells.len());
    assert!(job.contests.len() <= 12, "{} comparisons", job.contests.len());
    assert!(job.compares.is_empty());
    for engine in &engines {
        let own = job.cells.iter().filter(|cell| cell.key.engine == engine.id());
        assert!(own.count() > 0, "{}", engine.id());
    }
    // Both sides of each comparison are cells, too.
    for of in &job.contests {
        for side in [&of.subject, &of.baseline] {
            let key = of.cell(side);
            assert!(job.cells.iter().any(|cell| cell.key == key), "{}", key.name(None));
        }
    }
    // The rows are of this purpose alone.
    let rows = Rows::load(&rows, &cases).unwrap();
    let plan = touchstone::plan::Plan::new(&cases, &engines, &mut guests).unwrap();
    let (others, _) =
        rows.select(&[Purpose::Against], &cases, &engines, &plan, &Filter::All).unwrap();
    assert!(others.iter().all(|own| own.of.purpose == Purpose::Against));
}

/// The texts at a key, anywhere in a file of `benches/`.
fn texts(value: &toml::Value, key: &str) -> BTreeSet<String> {
    let own = |value: &toml::Value| match value {
        toml::Value::String(text) => vec![text.clone()],
        toml::Value::Array(all) => {
            all.iter().filter_map(|t| Some(t.as_str()?.to_owned())).collect()
        }
        _ => Vec::new(),
    };
    match value {
        toml::Value::Array(all) => all.iter().flat_map(|value| texts(value, key)).collect(),
        toml::Value::Table(all) => {
            let own = all.get(key).into_iter().flat_map(own);
            own.chain(all.values().flat_map(|value| texts(value, key))).collect()
        }
        _ => BTreeSet::new(),
    }
}

#[test]
fn selections_name_what_there_is() {
    let read = |name: &str| -> toml::Value {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../benches").join(name);
        toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    };
    let cases: BTreeSet<String> =
        built_in().unwrap().iter().map(|case| case.name.clone()).collect();
    for file in ["overview.toml", "main_page.toml"] {
        let value = read(file);
        let unknown: Vec<_> = texts(&value, "cases").difference(&cases).cloned().collect();
        assert!(unknown.is_empty(), "{file}: no case {unknown:?}");
        for engine in texts(&value, "engines") {
            let is_known = touchstone_runtimes::absent(&engine).is_some()
                || touchstone_runtimes::engines().iter().any(|known| known.id() == engine);
            assert!(is_known, "{file}: no engine {engine}");
        }
    }
    // The rows of real work on the main page.
    let selected = texts(&read("main_page.toml"), "cases");
    let shown = texts(&read("pages.toml")["work"], "case");
    let missing: Vec<_> = shown.difference(&selected).collect();
    assert!(!shown.is_empty() && missing.is_empty(), "main_page.toml is without {missing:?}");
}

/// The overview of some engines, small enough for a test.
const SMALL: &str = "call_empty_function_from_test_runtime/(wasmi_|wasmtime_instance_reuse_tracked\
                     |wasmtime_pooling_cow_resident)|overview/wasmi_";

/// Runs a script of a shell whose parameters are the program and the arguments of the overview, and
/// finds records and page.
fn overview(script: &str) {
    let folder = Folder::new();
    let records = folder.at("results/records.jsonl");
    let began = Instant::now();
    let output = Command::new("sh")
        .args(["-c", script, PROGRAM, "bench", "--overview", SMALL, "--sampling", "quick"])
        .args(["--report", "--records"])
        .arg(&records)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let Output { status, stdout, stderr } = output;
    let (out, err) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{script}: {status}\n{out}{err}");
    assert!(began.elapsed() < LONGEST, "{script}: {:?}", began.elapsed());
    assert!(err.contains("measuring ") && err.contains("takes about"), "{err}");
    let said = ["Picks: the fastest clean call for each need", "Interference: "];
    assert!(said.iter().all(|said| out.contains(said)), "{out}");
    let page = std::fs::read_to_string(records.with_file_name("BENCHMARK.md")).unwrap();
    assert!(page.contains("# Benchmark") && page.contains("**Machine**"), "{page}");
    assert!(record::load(&*records).unwrap().is_whole(0), "{script}");
    let (book, skipped) = record::newest(&*records, "make quick").unwrap();
    assert!(skipped.is_empty() && !book.cells.is_empty(), "{script}");
}

/// Busy loops, until it is dropped.
struct Busy(Vec<std::process::Child>);

impl Busy {
    fn new(number: usize) -> Self {
        let one = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        Self((0..number).map(|_| one()).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn the_overview_ends_with_a_page_whatever_the_machine_is_like() {
    if !has_wasmi() {
        return;
    }
    let busy = Busy::new(2);
    overview("exec \"$0\" \"$@\"");
    drop(busy);
    // Few addresses, so that pools cannot be made; a home that cannot be written; one processor.
    overview(
        "ulimit -v 6000000; unset XDG_CACHE_HOME; taskset -pc 0 $$ >/dev/null; \
         HOME=/proc PATH=/nowhere exec \"$0\" \"$@\"",
    );
}

fn has_wasmi() -> bool {
    touchstone_runtimes::engines().iter().any(|engine| engine.id() == "wasmi")
}

/// A copy of the program in a folder that is in no clone.
struct Alone {
    folder: Folder,
    program: PathBuf,
}

impl Alone {
    fn new() -> Self {
        let folder = Folder::new();
        let program = folder.at("touchstone");
        std::fs::copy(PROGRAM, &program).unwrap();
        Self { folder, program }
    }

    /// Runs it in its folder. The data files of the clone are hidden, where the kernel allows that.
    fn run(&self, arguments: &[&str]) -> (bool, String) {
        let clone = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let hide = "for hidden in benches test-runtime records; do \
                        mount -t tmpfs none \"$0/$hidden\" || exit 1; \
                    done; exec \"$@\"";
        let unshare = ["--user", "--map-root-user", "--mount"];
        let allowed = Command::new("unshare")
            .args(unshare)
            .args(["sh", "-c", hide])
            .arg(&clone)
            .arg("true")
            .output();
        let mut command = match allowed.is_ok_and(|output| output.status.success()) {
            true => {
                let mut command = Command::new("unshare");
                command.args(unshare).args(["sh", "-c", hide]).arg(&clone).arg(&self.program);
                command
            }
            false => Command::new(&self.program),
        };
        let output = command
            .args(arguments)
            .current_dir(self.folder.at(""))
            .env("XDG_CACHE_HOME", self.folder.at("cache"))
            .env_remove("TOUCHSTONE_DATA")
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }

    #[track_caller]
    fn well(&self, arguments: &[&str]) -> String {
        let (is_well, text) = self.run(arguments);
        assert!(is_well, "{arguments:?}: {text}");
        text
    }
}

#[test]
fn a_program_without_its_clone_carries_its_data() {
    if !has_wasmi() {
        return;
    }
    let alone = Alone::new();
    assert!(alone.well(&["cases"]).contains("call_empty_function"));
    let cells = "^call_empty_function_from_test_runtime/wasmi_.*/1_threads";
    assert!(alone.well(&["list", cells]).contains("wasmi"));
    let module =
        wat::parse_str("(module (func (export \"f\") (param i32) (result i32) local.get 0))");
    alone.folder.file("module.wasm", module.unwrap());
    let ran = alone.well(&["run", "module.wasm", "--call", "f", "--args", "7"]);
    assert!(ran.contains("7"), "{ran}");
    // Records and page go to the current folder.
    let filter = "^call_empty_function_from_test_runtime/wasmi_instance_reuse/1_threads";
    alone.well(&["bench", filter, "--sampling", "quick", "--report"]);
    for file in ["records/records.jsonl", "BENCHMARK.md", "benchmark/index.html"] {
        assert!(alone.folder.at(file).exists(), "{file}");
    }
    assert!(!alone.folder.at("README.md").exists());
    alone.well(&["show"]);
    alone.well(&["report", "--draft"]);
    let (a, b) = ("wasmi_interpreted", "wasmi_instance_reuse_tracked");
    let short = ["--processes", "2", "--rounds", "3", "--threshold", "1000"];
    alone.well(&[&["compare", a, b], &short[..]].concat());
    // Unpacked once, and named by the content.
    let cache = alone.folder.at("cache/touchstone");
    assert_eq!(cache.read_dir().unwrap().count(), 1);

    // Another folder of data files wins.
    let (is_well, text) = alone.run(&["cases", "--data", "nowhere"]);
    assert!(!is_well && text.contains("has no folder benches/cases"), "{text}");
    std::fs::create_dir_all(alone.folder.at("own/benches/cases")).unwrap();
    let (is_well, text) = alone.run(&["cases", "--data=own"]);
    assert!(!is_well && text.contains("there is no case (*.toml) in"), "{text}");
}

#[test]
fn shells_and_man_get_what_they_read() {
    let folder = Folder::new();
    let made = |arguments: &[&str]| {
        let output = Command::new(PROGRAM).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    for shell in ["bash", "zsh", "fish"] {
        let script = made(&["completions", shell]);
        assert!(script.contains("bench") && script.contains("density"), "{shell}");
    }
    assert!(made(&["man"]).starts_with(".ie"), "it is no manual page");
    let pages = folder.at("man");
    made(&["man", pages.to_str().unwrap()]);
    for page in ["touchstone.1", "touchstone-bench.1", "touchstone-resets.1"] {
        assert!(pages.join(page).exists(), "{page}");
    }
}

/// Each command shows an example.
#[test]
fn the_help_of_each_command_has_an_example() {
    let help = |arguments: &[&str]| {
        let output = Command::new(PROGRAM).args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let all = help(&["--help"]);
    let list = all.split("Commands:\n").nth(1).unwrap();
    let names = list.lines().take_while(|line| line.starts_with("  "));
    // Longer descriptions are wrapped.
    let names = names.filter(|line| !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    let names: Vec<&str> = names.filter(|name| *name != "help").collect();
    assert!(names.len() > 10, "{all}");
    for name in names {
        let text = help(&[name, "--help"]);
        let example = text.split("Example:\n  ").nth(1).unwrap_or_default();
        assert!(example.contains(&format!("touchstone {name}")), "{text}");
    }
}
