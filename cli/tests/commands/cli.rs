//! The command: list, bench, compare and the others, and bad input to each.

use crate::command::{Folder, built, command, touchstone};
use crate::fixtures::{Run, cell};
use crate::report::recorded_in;
use std::io::Read;
use std::process::Stdio;
use touchstone::record::{self, Line};
use touchstone_executor::Strategy;

const EMPTY: &str = "call_empty_function";

/// An executor of this build that resets one instance.
fn reuse() -> Option<String> {
    let strategy: Strategy = "instance_reuse".parse().unwrap();
    let engines = touchstone_runtimes::engines();
    let wasm = |engine: &&std::sync::Arc<dyn touchstone_executor::adapter::MeasuredEngine>| {
        engine.execution() != touchstone_executor::Execution::Native
            && engine.support(strategy).is_supported()
    };
    engines.iter().find(wasm).map(|engine| format!("{}_{strategy}", engine.id()))
}

#[test]
fn list_has_a_line_for_each_cell_and_each_reason() {
    let ran = touchstone(&["list", "--json"]);
    let lines = ran.lines();
    assert_eq!((ran.code, &*ran.err), (0, ""));
    let (mut cells, mut names) = (0, Vec::new());
    for line in &lines {
        let line = line.as_object().unwrap();
        let mut keys: Vec<&str> = line.keys().map(String::as_str).collect();
        keys.sort_unstable();
        let expected = ["case", "engine", "guest", "reason", "status", "strategy", "threads"];
        assert_eq!(keys, expected);
        let status = line["status"].as_str().unwrap();
        let of_cells = ["runtime", "touchstone", "unsupported"];
        // What is left out may be so for all cases, guests or threads.
        let is_cell = line["guest"] != "*";
        cells += usize::from(is_cell);
        let fits = [&of_cells[..], &["not asked for", "skipped"]][usize::from(!is_cell)];
        assert!(fits.contains(&status) || status == "unsupported", "{line:?}");
        assert_eq!(line["reason"].is_null(), status == "runtime", "{line:?}");
        let keys = ["case", "guest", "engine", "strategy", "threads", "reason"];
        names.push(keys.map(|key| line[key].to_string()));
    }
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all);
    assert!(cells > 0 && cells < all);
    let cores = touchstone::plan::cores() as u64;
    let crowded = |line: &&serde_json::Value| line["threads"].as_u64().is_some_and(|n| n > cores);
    assert!(lines.iter().filter(crowded).all(|line| line["status"] == "skipped"));
}

#[test]
fn list_is_a_table_for_people_and_takes_a_filter() {
    let out = touchstone(&["list", "^call_empty_function_from_test_runtime/.*/1_threads"]).well();
    assert!(out.starts_with("case "), "{out}");
    assert!(!out.contains("dirty") && !out.contains("large_runtime"), "{out}");
    assert!(!out.contains('\x1b'), "colours without a terminal");
    let starts: Vec<_> = out.lines().take(3).map(|line| line.find("test_runtime")).collect();
    assert_eq!(starts[1], starts[2]);
    assert!(out.lines().last().unwrap().ends_with(" cells"), "{out}");
    assert!(out.contains("test_runtime can change: memory ("), "{out}");
}

#[test]
fn commands_take_the_names_that_other_commands_print() {
    let titled = "^records/karmem/write 10000/wasmi_instance_reuse_tracked/1_threads$";
    let untitled = "^karmem_write_10000_from_records/wasmi_instance_reuse_tracked/1_threads$";
    let listed = touchstone(&["list", titled]).well();
    assert!(listed.contains("karmem_write_10000"), "{listed}");
    assert_eq!(touchstone(&["list", untitled]).well(), listed);
    // The guest is looked for only after the case was found.
    for (case, guests) in [
        ("karmem_write_10000_from_records", "records"),
        ("serde_json_noop_from_json-module", "json_module"),
        ("serde_json_noop_from_json_module", "json_module"),
    ] {
        let (a, b) = ("wasmi_interpreted", "wasmi_instance_reuse");
        touchstone(&["compare", a, b, "--case", case, "--guest", "none"])
            .refused(&["has no guest 'none'", guests]);
    }
}

#[test]
fn a_filter_that_means_nothing_names_near_ones() {
    touchstone(&["list", "call_emty_function_from_test_runtime"]).refused(&[
        "no cell matches",
        "near:",
        "call_empty_function_from_test_runtime",
    ]);
    touchstone(&["list", "call_emty_function"]).refused(&["near:", "call_empty_function"]);
    for command in ["list", "show", "bench", "repeat", "peers"] {
        let records = Folder::new();
        let file = records.at("records.jsonl");
        recorded_in(&file);
        let file = file.to_str().unwrap();
        let arguments = match command {
            "show" | "bench" => vec![command, "(unclosed", "--records", file],
            _ => vec![command, "(unclosed"],
        };
        touchstone(&arguments).refused(&["'(unclosed' is not a regular expression"]);
    }
}

#[test]
fn numbers_of_threads_that_are_not_possible_are_refused_with_the_reason() {
    let cores = touchstone::plan::cores();
    let few = format!(
        "processors would time the scheduler: the affinity mask and the control \
                       group of this process leave it {cores}"
    );
    let many = format!("99999 threads on {cores} processors are more than 16 on each");
    for (threads, says, of_bench) in
        [("0", "0 threads make no call", "0 threads make no call"), ("99999", &*few, &*many)]
    {
        touchstone(&["bench", "call_empty", "--threads", threads]).refused(&[of_bench]);
        let both = ["compare", "a_pooling", "b_pooling", "--threads", threads];
        touchstone(&both).refused(&[says]);
    }
}

/// As `make` runs them: cargo shows its progress, and one command measures and writes the page.
#[test]
fn the_targets_that_measure_show_the_build_and_always_write_the_page() {
    for target in ["quick", "bench"] {
        let mut make = std::process::Command::new("make");
        // The variable of the cargo that runs this test would be the Makefile's.
        make.args(["-n", target]).current_dir(touchstone::files::project("")).env_remove("CARGO");
        let output = make.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("cargo ")).collect();
        let [.., build, run] = lines[..] else { panic!("{text}") };
        assert!(build.starts_with("cargo build ") && !build.contains("--quiet"), "{text}");
        assert!(run.contains(" -- bench ") && run.ends_with(" --report"), "{text}");
    }
}

#[test]
#[cfg(feature = "systems")]
fn a_publication_uses_commands_and_options_that_exist() {
    let mut publish = std::process::Command::new(touchstone::files::project("benches/publish.sh"));
    publish.arg("--dry").env("TOUCHSTONE", env!("CARGO_BIN_EXE_touchstone")).env("CHECKS", "true");
    let output = publish.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_reader_who_goes_away_is_no_error() {
    // `command()` has no piped children: the standard library does.
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_touchstone"))
        .args(["list", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 1];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn cases_are_printed_with_their_analysis() {
    let out = touchstone(&["cases"]).well();
    assert!(out.contains(EMPTY) && out.contains("test_empty_return (substrate convention)"));
    assert!(out.contains("The guest does nothing"), "{out}");
}

/// The cell of `executor` that does nothing, as a filter for it alone.
fn empty_cell(executor: &str) -> String {
    format!("^call_empty_function_from_test_runtime/{executor}/1_threads$")
}

#[test]
fn bench_measures_what_is_asked_for_and_appends_records() {
    let Some(executor) = reuse() else { return };
    let folder = Folder::new();
    let file = folder.at("deep/er/records.jsonl");
    let records = file.to_str().unwrap();
    let filter = empty_cell(&executor);
    let bench = |more: &[&str]| {
        let arguments = ["bench", &*filter, "--sampling", "quick", "--records", records];
        let ran = touchstone(&[&arguments[..], more].concat());
        assert_eq!((ran.code, &*ran.out), (0, ""), "{}", ran.err);
        ran.err
    };
    let said = bench(&["--seed", "7"]);
    assert!(said.contains("1 cells and 0 comparisons measured"), "{said}");
    assert!(said.contains("0 failed; records: "), "{said}");
    let load = || record::load(&file).unwrap();
    let processes = |lines: &[Line]| -> Vec<u32> {
        let process = |line: &Line| match line {
            Line::Observations(seen) => Some(seen.process),
            _ => None,
        };
        lines.iter().filter_map(process).collect()
    };
    let (header, lines) = &load().runs[0];
    assert_eq!((header.sampling.name.as_str(), header.sampling.seed), ("quick", 7));
    assert!(processes(lines).starts_with(&[0, 1, 2]), "{lines:?}");

    // A run that is continued has nothing left to do, unless interference asks for more.
    let before = lines.len();
    let said = bench(&["--resume"]);
    assert!(said.contains("going on with the run"), "{said}");
    let loaded = load();
    assert_eq!((loaded.runs.len(), loaded.skipped.len()), (1, 0));
    assert_eq!(loaded.runs[0].1[..before], lines[..]);
    let again = processes(&loaded.runs[0].1[before..]);
    assert!(again.iter().all(|process| *process >= 3), "{again:?}");

    bench(&[]);
    assert_eq!(load().runs.len(), 2);
    bench(&["--replace", "--in-process"]);
    let loaded = load();
    assert_eq!(loaded.runs.len(), 1);
    assert!(loaded.runs[0].0.sampling.in_process);
}

#[test]
fn bench_names_what_it_cannot_use() {
    let folder = Folder::new();
    let file = folder.at("records.jsonl");
    let records = file.to_str().unwrap();
    let bench = |more: &[&str]| touchstone(&[&["bench", "--records", records], more].concat());
    bench(&["call_emty_function"]).refused(&["nothing matches", "near:", "call_empty_function"]);
    bench(&["--engines", "nobody"]).refused(&["there is no engine 'nobody' in this build"]);
    bench(&["--strategies", "poling"]).refused(&["there is no strategy 'poling'"]);
    bench(&["--threads", "99999"]).refused(&["99999 threads on"]);
    bench(&["--budget", "0"]).refused(&["'0' is not a number of seconds above 0"]);
    bench(&["--resume", "--replace"]).refused(&["cannot be used with"]);
    bench(&["--worker"]).refused(&["--worker is for this program's own use"]);
    assert!(!file.exists(), "nothing was begun");
    let in_the_way = folder.file("in_the_way", "");
    if let Some(executor) = reuse() {
        let at = format!("{in_the_way}/records.jsonl");
        touchstone(&["bench", &empty_cell(&executor), "--records", &at])
            .refused(&["cannot make the folder", "name another file with --records"]);
        // The page of the project has all cells.
        touchstone(&["bench", &empty_cell(&executor), "--report"])
            .refused(&["--report would leave only these cells on the project's page"]);
    }
}

#[test]
fn a_backend_that_the_build_lacks_is_named_with_its_feature() {
    let absent = |name: &&&str| touchstone_runtimes::absent(name).is_some();
    let Some(name) = ["wasm3", "wasmer", "tinywasm"].iter().find(absent) else { return };
    let says = format!("; --features={name} adds its backend to a build");
    let executor = format!("{name}_instance_reuse");
    let module = built("test-runtime.wasm");
    for arguments in [
        &["bench", "--engines", name][..],
        &["bench", &executor],
        &["list", name],
        &["compare", &executor, &executor],
        &["repeat", name],
        &["peers", name],
        &["run", &module, "--call", "test_empty_return", "--engine", name],
    ] {
        let ran = touchstone(arguments);
        assert!(ran.code == 2 && ran.err.contains(&says), "{arguments:?}: {}", ran.err);
    }
}

#[test]
fn a_machine_whose_file_cannot_be_written_is_not_measured() {
    let folder = Folder::new();
    let into = format!("{}/machines", folder.file("in_the_way", ""));
    let ran = touchstone(&["machine", "--into", &into]);
    assert!(ran.code == 2 && ran.err.contains("name another folder with --into"), "{}", ran.err);
    // Nothing was looked at before.
    assert!(ran.out.is_empty(), "{}", ran.out);
}

#[test]
fn compare_holds_executors_runs_and_builds_against_each_other() {
    let Some(executor) = reuse() else { return };
    let short = ["--processes", "2", "--rounds", "3", "--threshold", "900", "--json"];
    let keys = ["name", "ratio", "low", "high", "marked", "verdict", "a_ns", "b_ns"];
    let ran = touchstone(&[&["compare", &*executor, &executor], &short[..]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let [line] = &ran.lines()[..] else { panic!("{}", ran.out) };
    assert!(keys.iter().all(|key| line.get(key).is_some()), "{line}");
    assert_eq!(line["name"], "call_empty_function_from_test_runtime");
    assert!(line["ratio"].as_f64().unwrap() > 0.0 && line["a_ns"].as_f64().unwrap() > 0.0);

    // Two builds: the same one twice.
    let build = env!("CARGO_BIN_EXE_touchstone");
    let builds = ["compare", build, build, "--executor", &executor];
    let ran = touchstone(&[&builds[..], &short].concat());
    assert_eq!((ran.code, ran.lines().len()), (0, 1), "{}", ran.err);
    let out = touchstone(&[&builds[..], &["--processes", "1", "--rounds", "3"]].concat()).out;
    assert!(out.contains("threshold 8 %"), "{out}");
    touchstone(&["compare", build, build]).refused(&["two builds need --executor"]);

    // Two runs of which the first is twice as slow.
    let folder = Folder::new();
    let run = |name: &str, ns: f64| {
        let path = folder.at(name);
        Run::of_cells([cell("alpha", "pooling", EMPTY, 1, ns)]).append(&path);
        path.display().to_string()
    };
    let (slow, quick) = (run("slow.jsonl", 2000.0), run("quick.jsonl", 1000.0));
    let ran = touchstone(&["compare", &slow, &quick, "--json"]);
    let [line] = &ran.lines()[..] else { panic!("{}", ran.out) };
    assert_eq!((ran.code, line["verdict"].as_str()), (1, Some("slower")));
    assert!((line["ratio"].as_f64().unwrap() - 2.0).abs() < 1e-6, "{line}");
    let out = touchstone(&["compare", &quick, &slow]).well();
    assert!(out.contains("0.500 × [") && out.contains("faster"), "{out}");
    assert!(out.contains("A / B: times slower than the baseline B; threshold 2 %"), "{out}");

    let empty = folder.file("empty.jsonl", "");
    touchstone(&["compare", &slow, &empty]).refused(&["holds no run"]);
    touchstone(&["compare", &slow, &executor]).refused(&["is a file and the other is not"]);
    touchstone(&["compare", &executor, "nobody_pooling"]).refused(&["'nobody_pooling' is neither"]);
    for pair in [["old.jsonl", &*quick], [&*quick, "old.jsonl"], ["old.jsonl", &*executor]] {
        touchstone(&[&["compare"], &pair[..]].concat()).refused(&["there is no file 'old.jsonl'"]);
    }
    touchstone(&["compare", &executor]).refused(&["<B>"]);
    let with = |more: &[&str]| touchstone(&[&["compare", &*executor, &executor], more].concat());
    with(&["--case", "call_emty_function"]).refused(&["near: call_empty_function"]);
    with(&["--guest", "nobody"]).refused(&["has no guest 'nobody'"]);
    with(&["--threshold", "0"]).refused(&["--threshold must be a number above 0"]);
    with(&["--rounds", "0"]).refused(&["--processes and --rounds must be at least 1"]);
    touchstone(&["compare", "--side"]).refused(&["--side is for this program's own use"]);
}

#[test]
fn peers_print_a_line_of_fields_for_each_row_and_record_them() {
    let folder = Folder::new();
    let file = folder.at("peers.jsonl");
    // Rows that are there in every build, if only with the reason why they cannot be timed.
    let filter = "wasmi_instance_reuse_tracked/call_empty_function_from_test_runtime/1_threads";
    let short = ["--processes", "1", "--rounds", "2"];
    let arguments = [&["peers", filter], &short[..]].concat();
    let records = ["--records", file.to_str().unwrap()];
    let ran = touchstone(&[&arguments[..], &records].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let lines: Vec<Vec<&str>> = ran.out.lines().map(|line| line.split('\t').collect()).collect();
    assert!(lines[0][0].starts_with("# ratio"), "{}", ran.out);
    let names = ["case", "guest", "threads", "strategy", "reference", "ratio", "low", "high"];
    assert_eq!(lines[1], names);
    assert!(lines.len() > 2, "{}", ran.out);
    for line in &lines[2..] {
        let start = ["call_empty_function", "test_runtime", "1", "wasmi_instance_reuse_tracked"];
        // Numbers, or a reason in a ninth field.
        assert!(line[..4] == start && line.len() == 8 + usize::from(line[5] == "-"), "{line:?}");
    }
    assert_eq!(record::load(&file).unwrap().runs.len(), 1);

    for option in ["--rounds", "--processes"] {
        touchstone(&["peers", filter, option, "0"]).refused(&["invalid value '0'"]);
    }
    let nowhere = touchstone(&["peers", "nowhere"]);
    assert_eq!(nowhere.code, 2);
    assert!(nowhere.err.contains("no comparison matches 'nowhere'"), "{}", nowhere.err);
}

#[test]
fn repeat_counts_the_calls_of_each_cell() {
    let Some(executor) = reuse() else { return };
    let cell = format!("call_empty_function_from_test_runtime/{executor}/1_threads");
    for calls in ["1", "7", "1000"] {
        let ran = touchstone(&["repeat", &cell, "--calls", calls]);
        assert_eq!((ran.code, &*ran.err), (0, ""));
        let line = ran.out.lines().find(|line| line.contains(&cell)).unwrap();
        assert_eq!(line.split_whitespace().nth(1), Some(calls), "{line}");
    }
    touchstone(&["repeat", "call_emty_function"]).refused(&["no cell matches", "near:"]);
    touchstone(&["repeat", &cell, "--calls", "0"]).refused(&["invalid value '0'"]);
    touchstone(&["repeat", &cell, "--seconds", "nan"]).refused(&["not a number of seconds"]);
}

#[test]
fn doctor_examines_the_machine_and_every_processor() {
    let out = touchstone(&["doctor", "--seconds", "0.2"]).well();
    let (_, table) = out.split_once("\nprocessor ").unwrap();
    let rows = table.lines().filter(|line| line.contains('%')).count();
    assert_eq!(rows, std::thread::available_parallelism().unwrap().get(), "{out}");
    for name in ["cores", "governor", "turbo", "load", "steal", "noisy neighbours"] {
        assert!(out.contains(name), "{name}: {out}");
    }
    for name in ["PAGEMAP_SCAN", "vm.max_map_count", "huge pages", "counters"] {
        assert!(out.contains(name), "{name}: {out}");
    }
    let lines = touchstone(&["doctor", "--seconds", "0.1", "--json"]).lines();
    let findings: Vec<_> = lines.iter().filter(|line| line.get("verdict").is_some()).collect();
    assert!(findings.len() > 10 && findings.len() + rows == lines.len());
    for found in findings {
        assert_eq!(found["advice"].is_null(), found["verdict"] == "good", "{found}");
    }
    for seconds in ["nan", "inf", "-1", "0"] {
        touchstone(&["doctor", &format!("--seconds={seconds}")])
            .refused(&["is not a number of seconds above 0"]);
    }
}

#[test]
fn a_folder_of_cases_is_made_and_measured() {
    let folder = Folder::new();
    let own = folder.at("own");
    let cases = own.to_str().unwrap();
    let out = touchstone(&["init", cases]).well();
    assert!(out.contains("touchstone bench --cases"), "{out}");
    touchstone(&["init", cases]).refused(&["is not empty"]);
    touchstone(&["init", "/nope/x"]).refused(&["cannot write to /nope/x"]);
    let Some(executor) = reuse() else { return };
    let filter = format!("sum_from_sum/{executor}/1_threads$");
    assert!(touchstone(&["list", &filter, "--cases", cases]).well().contains("\n1 cell\n"));
    let compared = ["compare", &executor, &executor, "--cases", cases, "--threshold", "1000"];
    touchstone(&compared).refused(&["name a case with --case"]);
    let short = ["--case", "sum", "--processes", "2", "--rounds", "3"];
    let ran = touchstone(&[&compared[..], &short].concat());
    assert!(ran.out.contains("sum_from_sum"), "{}{}", ran.out, ran.err);
    let both = ["bench", "--overview", "--cases", cases];
    touchstone(&both).refused(&["cannot be used with"]);
    // A folder that cannot take the page is found before the run, where the kernel lets this test
    // mount one.
    let records = folder.at("elsewhere.jsonl");
    let script =
        "mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\" || exit 77; exec \"$@\"";
    let mut command = std::process::Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]).arg(&own);
    command.args([env!("CARGO_BIN_EXE_touchstone"), "bench", &filter, "--cases", cases]);
    let output = command.arg("--records").arg(&records).output();
    if let Some(output) = output.ok().filter(|output| output.status.code() == Some(2)) {
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(err.contains("make the folder of the report writable"), "{err}");
    }
    assert!(!records.exists(), "something was measured");
    let ran = touchstone(&["bench", &filter, "--cases", cases, "--sampling", "quick"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    // There are neither ratios nor picks.
    assert!(ran.out.starts_with("call ") && ran.out.contains(&executor), "{}", ran.out);
    assert!(ran.out.lines().last().unwrap().starts_with("Interference: "), "{}", ran.out);
    assert!(ran.err.contains("1 cells and 0 comparisons measured"), "{}", ran.err);
    assert!(ran.err.contains("report: "), "{}", ran.err);
    assert_eq!(record::load(own.join("records/records.jsonl")).unwrap().runs.len(), 1);
    let page = std::fs::read_to_string(own.join("BENCHMARK.md")).unwrap();
    assert!(page.contains("## Calls\n") && page.contains("| `sum` on `sum` |"), "{page}");
    assert!(page.contains("both take `--cases DIR`"), "{page}");
    std::fs::remove_file(own.join("BENCHMARK.md")).unwrap();
    touchstone(&["report", "--cases", cases]).well();
    assert_eq!(std::fs::read_to_string(own.join("BENCHMARK.md")).unwrap(), page);
    touchstone(&["report", "--draft", "--layout", cases]).refused(&["a folder with pages.toml"]);
    let page = std::fs::read_to_string(own.join("benchmark/index.html")).unwrap();
    assert!(page.contains("sum"), "the case is not on the page");
    assert!(!page.contains("<table id=\"headlines\""), "a table of no picks");
    // Nor is a page behind a link written.
    std::fs::rename(own.join("BENCHMARK.md"), folder.at("page.md")).unwrap();
    std::os::unix::fs::symlink(folder.at("page.md"), own.join("BENCHMARK.md")).unwrap();
    touchstone(&["bench", &filter, "--cases", cases]).refused(&["through a symbolic link"]);
    std::fs::remove_file(own.join("BENCHMARK.md")).unwrap();
    // A wrong output is on the page, and fails the command.
    std::fs::write(own.join("expected.bin"), [1, 2, 3, 4]).unwrap();
    let ran = touchstone(&["bench", &filter, "--cases", cases, "--sampling", "quick"]);
    assert_eq!((ran.code, &*ran.out), (1, ""), "{}", ran.err);
    assert!(ran.err.contains("1 failed") && ran.err.contains("report: "), "{}", ran.err);
    let page = std::fs::read_to_string(own.join("BENCHMARK.md")).unwrap();
    let (_, failed) = page.split_once("## Failed cells").unwrap();
    assert!(failed.contains("| wrong |") && failed.contains("expected 0x01020304"), "{page}");
    // A guest that is not the listed one is not measured.
    std::fs::write(own.join("sum.wasm"), b"\0asm\x01\0\0\0").unwrap();
    touchstone(&["bench", &filter, "--cases", cases]).refused(&["sum.wasm"]);
}

#[test]
fn wrong_usage_ends_with_two_and_help_with_zero() {
    for arguments in [&["lst"][..], &["list", "--jsn"], &["show", "--samples"], &["run"], &[]] {
        let output = command().args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(!output.stderr.is_empty(), "{arguments:?}");
    }
    let names = ["bench", "compare", "list", "show", "report", "run", "peers", "cases"];
    for name in names
        .into_iter()
        .chain(["machine", "verify", "repeat", "doctor", "inspect", "init", "swap"])
    {
        let out = touchstone(&[name, "--help"]).well();
        assert!(out.contains("Usage: touchstone"), "{out}");
        assert!(touchstone(&["--help"]).well().contains(name));
    }
    assert_eq!(touchstone(&["--version"]).well().trim(), "touchstone 0.1.0");
}
